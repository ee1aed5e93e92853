package cpu

import (
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// BenchmarkChain measures ((x + y) z - x) max y, times 0.5, of 16 Mi elements.
func BenchmarkChain(b *testing.B) {
	for _, dt := range []dtype.DType{dtype.Float32, dtype.BFloat16} {
		b.Run(dt.String(), func(b *testing.B) {
			const n = 16 << 20
			p := &expr.Program{Scalars: []dtype.DType{dt}, Rank: 1}
			var leaves []ChainLeaf
			for range 3 {
				p.Leaves = append(p.Leaves, expr.Leaf{DType: dt})
				data := make([]complex128, n*dt.Size()/16)
				for i := range data {
					data[i] = 1
				}
				leaves = append(leaves, ChainLeaf{unsafe.Pointer(&data[0]), []int{1}})
			}
			leaf := func(i uint8) expr.Ref { return expr.Ref{Kind: expr.ToLeaf, N: i} }
			half := expr.Ref{Kind: expr.ToScalar}
			for i, args := range [][2]expr.Ref{{leaf(0), leaf(1)}, {{N: 0}, leaf(2)}, {{N: 1}, leaf(0)}, {{N: 2}, leaf(1)}, {{N: 3}, half}} {
				op := []expr.Op{expr.Add, expr.Mul, expr.Sub, expr.Maximum, expr.Mul}[i]
				p.Steps = append(p.Steps, expr.Step{Op: op, DType: dt, Args: [3]expr.Ref{args[0], args[1]}, N: 2})
			}
			dst := make([]complex128, n*dt.Size()/16)
			b.SetBytes(int64(4 * n * dt.Size()))
			for b.Loop() {
				c := Chain{Program: p, Shape: []int{n}, Leaves: leaves, Scalars: make([][2]uint64, 1)}
				if err := c.Elementwise(unsafe.Pointer(&dst[0]), []int{1}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
