package array

import (
	"testing"

	"github.com/gpk-go/gpk/dtype"
)

// The cost of an operation on the host: 16 elements, computed on the CPU too.

func BenchmarkAddInto(b *testing.B) {
	x, y := Zeros(dtype.Float32, 16), Ones(dtype.Float32, 16)
	b.ReportAllocs()
	for b.Loop() {
		if err := Into(x, x.Add(y)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAdd(b *testing.B) {
	x, y := Zeros(dtype.Float32, 16), Ones(dtype.Float32, 16)
	b.ReportAllocs()
	for b.Loop() {
		if err := Eval(x.Add(y)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMatMul(b *testing.B) {
	x, dst := Ones(dtype.BFloat16, 8, 8), Ones(dtype.BFloat16, 8, 8)
	b.ReportAllocs()
	for b.Loop() {
		if err := Into(dst, x.MatMul(x)); err != nil {
			b.Fatal(err)
		}
	}
}
