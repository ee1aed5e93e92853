package matmul

import (
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/ops"
)

// square writes the squared moduli of x to dst. x is a product with contiguous rows. It
// is overwritten unless it is real and of dst's type. A complex element gives the rounded
// sum of two rounded squares. Sums of halves are float32: they are squared first, and
// then rounded to the half type.
func square(s *device.Stream, dst, x device.View) error {
	switch {
	case x.DType.IsComplex():
		all, re, im := parts(x)
		if err := ops.Apply2(s, expr.Mul, all, all, all); err != nil {
			return err
		}
		return ops.Apply2(s, expr.Add, dst, re, im)
	case x.DType != dst.DType:
		if err := ops.Apply2(s, expr.Mul, x, x, x); err != nil {
			return err
		}
		return ops.Cast(s, dst, x)
	}
	return ops.Apply2(s, expr.Mul, dst, x, x)
}

// parts returns three real views of a complex view whose last axis is contiguous: of all
// real and imaginary parts, of the real parts, and of the imaginary parts.
func parts(x device.View) (all, re, im device.View) {
	real := dtype.Float32
	if x.DType == dtype.Complex128 {
		real = dtype.Float64
	}
	view := func(offset int) device.View {
		v := device.View{Buffer: x.Buffer, DType: real, Layout: x.Layout}
		v.Layout.Offset = 2*x.Layout.Offset + offset
		v.Layout.Strides = make([]int, len(x.Layout.Strides))
		for i, t := range x.Layout.Strides {
			v.Layout.Strides[i] = 2 * t
		}
		return v
	}
	re, im, all = view(0), view(1), view(0)
	last := len(x.Layout.Shape) - 1
	all.Layout.Shape = append([]int{}, x.Layout.Shape...)
	all.Layout.Shape[last] *= 2
	all.Layout.Strides[last] = 1
	return all, re, im
}
