package cpu

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/testrand"
)

// The benchmarks use matrices of benchEdge rows and columns and report the bytes that an
// operation has to move.
const benchEdge = 1024

func benchTensor(dt dtype.DType, turned bool) *tensor {
	x := dense(dt, []int{benchEdge, benchEdge})
	clear(x.bytes())
	if turned {
		x.strides[0], x.strides[1] = x.strides[1], x.strides[0]
	}
	return x
}

func BenchmarkBinary(b *testing.B) {
	for _, op := range []expr.Op{expr.Add, expr.Mul, expr.Div} {
		for _, dt := range []dtype.DType{dtype.Float32, dtype.Float64, dtype.BFloat16, dtype.Float16, dtype.Int32, dtype.Complex64} {
			if op == expr.Div && dt.IsInteger() {
				continue
			}
			b.Run(fmt.Sprintf("%v/%v", op, dt), func(b *testing.B) {
				x, y, z := benchTensor(dt, false), benchTensor(dt, false), benchTensor(dt, false)
				b.SetBytes(int64(3 * benchEdge * benchEdge * dt.Size()))
				for b.Loop() {
					_ = Binary(op, dt, dt, x.shape, x.p(), x.strides, y.p(), y.strides, z.p(), z.strides)
				}
			})
		}
	}
	b.Run("Add/float32/row", func(b *testing.B) {
		x, y, z := benchTensor(dtype.Float32, false), benchTensor(dtype.Float32, false), benchTensor(dtype.Float32, false)
		b.SetBytes(2 * benchEdge * benchEdge * 4)
		for b.Loop() {
			_ = Binary(expr.Add, dtype.Float32, dtype.Float32, x.shape, x.p(), x.strides, y.p(), []int{0, 1}, z.p(), z.strides)
		}
	})
	b.Run("Add/float32/transposed", func(b *testing.B) {
		x, y, z := benchTensor(dtype.Float32, false), benchTensor(dtype.Float32, true), benchTensor(dtype.Float32, false)
		b.SetBytes(3 * benchEdge * benchEdge * 4)
		for b.Loop() {
			_ = Binary(expr.Add, dtype.Float32, dtype.Float32, x.shape, x.p(), x.strides, y.p(), y.strides, z.p(), z.strides)
		}
	})
	b.Run("Add/float32/16", func(b *testing.B) {
		var v [16]float32
		p, shape, strides := unsafe.Pointer(&v), []int{4, 4}, []int{4, 1}
		for b.Loop() {
			_ = Binary(expr.Add, dtype.Float32, dtype.Float32, shape, p, strides, p, strides, p, strides)
		}
	})
}

func BenchmarkUnary(b *testing.B) {
	for _, op := range []expr.Op{expr.Neg, expr.ReLU, expr.GELU, expr.GELUTanh, expr.SiLU} {
		for _, dt := range []dtype.DType{dtype.Float32, dtype.BFloat16} {
			b.Run(fmt.Sprintf("%v/%v", op, dt), func(b *testing.B) {
				x, z := benchTensor(dt, false), benchTensor(dt, false)
				rng := testrand.New(b)
				x.each(func(_, k int) { put(dt, x.at(k), rng.NormFloat64()) })
				b.SetBytes(int64(2 * benchEdge * benchEdge * dt.Size()))
				for b.Loop() {
					_ = Unary(op, dt, dt, x.shape, x.p(), x.strides, z.p(), z.strides)
				}
			})
		}
	}
}

func BenchmarkCast(b *testing.B) {
	for _, c := range []struct {
		from, to dtype.DType
		turned   bool
	}{
		{dtype.Float32, dtype.Float32, false},
		{dtype.Float32, dtype.Float32, true},
		{dtype.BFloat16, dtype.BFloat16, true},
		{dtype.Float32, dtype.BFloat16, false},
		{dtype.BFloat16, dtype.Float32, false},
		{dtype.Float32, dtype.Float16, false},
		{dtype.Float16, dtype.Float32, false},
		{dtype.Float32, dtype.Int32, false},
		{dtype.Float64, dtype.Float32, false},
		{dtype.Float32, dtype.BFloat16, true},
	} {
		name := fmt.Sprintf("%v/%v", c.from, c.to)
		if c.turned {
			name += "/transposed"
		}
		b.Run(name, func(b *testing.B) {
			x, z := benchTensor(c.from, c.turned), benchTensor(c.to, false)
			b.SetBytes(int64(benchEdge * benchEdge * (c.from.Size() + c.to.Size())))
			for b.Loop() {
				_ = Cast(c.from, c.to, x.shape, x.p(), x.strides, z.p(), z.strides)
			}
		})
	}
}

func BenchmarkSum(b *testing.B) {
	for _, dt := range []dtype.DType{dtype.Float32, dtype.Float64, dtype.BFloat16, dtype.Int32} {
		for name, axes := range map[string]uint32{"all": 3, "rows": 2, "columns": 1} {
			b.Run(fmt.Sprintf("%v/%s", dt, name), func(b *testing.B) {
				x, z := benchTensor(dt, false), dense(dt.SumType(), []int{benchEdge})
				b.SetBytes(int64(benchEdge * benchEdge * dt.Size()))
				for b.Loop() {
					_ = Reduce(expr.Sum, dt, z.t, x.shape, axes, x.p(), x.strides, z.p())
				}
			})
		}
	}
}
