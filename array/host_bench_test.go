package array

import (
	"testing"

	"github.com/gpk-go/gpk/dtype"
)

// The cost of an operation on the host: 16 elements, computed on the CPU too.

func BenchmarkAddInto(b *testing.B) {
	x, y, dst := Zeros(dtype.Float32, 16), Ones(dtype.Float32, 16), Zeros(dtype.Float32, 16)
	b.ReportAllocs()
	for b.Loop() {
		if err := Into(dst, x.Add(y)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkHostPath measures all of an operation except the kernel library and its
// launch.
func BenchmarkHostPath(b *testing.B) {
	a := onFake(b, 3)
	b.ReportAllocs()
	for b.Loop() {
		if err := Into(a[0], addFake(a[1], a[2])); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkHostPathFree(b *testing.B) {
	a := onFake(b, 2)
	b.ReportAllocs()
	for b.Loop() {
		z := addFake(a[0], a[1])
		if err := Eval(z); err != nil {
			b.Fatal(err)
		}
		z.Free()
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

// BenchmarkSum measures a sum of 1,000 elements that is stored and freed.
func BenchmarkSum(b *testing.B) {
	x := FromSlice(make([]float32, 1000))
	b.ReportAllocs()
	for b.Loop() {
		y := x.Sum()
		if err := Eval(y); err != nil {
			b.Fatal(err)
		}
		y.Free()
	}
}
