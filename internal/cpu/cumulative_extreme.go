package cpu

import (
	"math"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// CumExtreme computes the largest element of each line up to each index for op Maximum, and the smallest for Minimum.
// From the first NaN on all results are NaN, and 0 is above -0, as in Maximum and Minimum. dst has the type of x. Shapes,
// strides and aliasing are as for CumSum.
func CumExtreme(op expr.Op, xt dtype.DType, shape []int, axis int, x unsafe.Pointer, xs []int, dst unsafe.Pointer, ds []int) error {
	l := newLines(xt, xt, shape, axis, x, xs, dst, ds)
	inf := math.Inf(1)
	switch xt.ComputeType() {
	case dtype.Float32:
		cumExtremes(op, float32(-inf), float32(inf)).run(l, xt, xt)
	case dtype.Float64:
		cumExtremes(op, -inf, inf).run(l, xt, xt)
	default:
		k := wholeOf(xt)
		if k == nil {
			return unsupported(op, xt)
		}
		k.cumExtreme(op, l, xt)
	}
	return nil
}

// cumExtreme is CumExtreme for T.
func (ints[T]) cumExtreme(op expr.Op, l lines, xt dtype.DType) {
	lo, hi := bounds[T]()
	cumExtremes(op, lo, hi).run(l, xt, xt)
}

// cumExtremes returns the functions for running extremes, by Maximum or Minimum. lo and hi are the least and the greatest
// number of T.
func cumExtremes[T number](op expr.Op, lo, hi T) cumulation[T, T, T] {
	// Lines side by side: so holds the extreme of each so far.
	across := func(op expr.Op) func(so, in, out []T) {
		extremes := binaryKernel(op, dtype.Of[T]()).vv
		return func(so, in, out []T) {
			extremes(at0(so), at0(so), at0(in), len(in))
			copy(out, so)
		}
	}
	if op == expr.Minimum {
		return cumulation[T, T, T]{start: hi, step: across(expr.Minimum), line: func(in, out []T) {
			m := hi
			for i, v := range in {
				m = min(m, v)
				out[i] = m
			}
		}}
	}
	return cumulation[T, T, T]{start: lo, step: across(expr.Maximum), line: func(in, out []T) {
		m := lo
		for i, v := range in {
			m = max(m, v)
			out[i] = m
		}
	}}
}
