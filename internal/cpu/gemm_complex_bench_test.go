package cpu

import (
	"fmt"
	"testing"

	"github.com/gpk-go/gpk/dtype"
)

// BenchmarkGemmComplexSmall measures products with few rows or columns, and batches of small ones.
func BenchmarkGemmComplexSmall(b *testing.B) {
	for _, t := range []dtype.DType{dtype.Complex64, dtype.Complex128} {
		for _, c := range []struct {
			batch, m, n, k int
			transposed     bool // A is stored column by column
		}{
			{1, 256, 1, 256, false},
			{1, 256, 1, 256, true},
			{1, 1024, 1, 1024, false},
			{1, 1024, 1, 1024, true},
			{1, 1, 256, 256, false},
			{1, 256, 4, 256, false},
			{1, 256, 4, 256, true},
			{1, 64, 64, 64, false},
			{16384, 2, 1, 2, false},
			{16384, 2, 2, 2, false},
			{1024, 4, 4, 4, false},
			{1024, 4, 1, 4, false},
			{256, 8, 8, 8, false},
			{256, 8, 1, 8, false},
			{256, 16, 1, 16, false},
			{256, 16, 1, 16, true},
			{256, 16, 16, 16, false},
			{256, 16, 16, 16, true},
		} {
			b.Run(fmt.Sprintf("dtype=%v/batch=%d/m=%d/n=%d/k=%d/t=%v", t, c.batch, c.m, c.n, c.k, c.transposed), func(b *testing.B) {
				x, y, z := make([]byte, c.batch*c.m*c.k*t.Size()), make([]byte, c.batch*c.k*c.n*t.Size()), make([]byte, c.batch*c.m*c.n*t.Size())
				left, right := Operand{Data: ptr(&x[0]), RS: c.k, CS: 1}, Operand{Data: ptr(&y[0]), RS: c.n, CS: 1}
				if c.transposed {
					left.RS, left.CS = 1, c.m
				}
				for b.Loop() {
					if err := GemmBatch(t, t, c.batch, c.m, c.n, c.k, left, c.m*c.k, right, c.k*c.n, ptr(&z[0]), c.m*c.n, c.n, nil); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
