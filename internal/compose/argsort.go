package compose

import (
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// ArgSort returns the indices, Int64, that sort the elements along an axis, for real types and Bool. It is stable in
// both directions: equal elements, including -0 and 0, keep their order. NaN is the largest.
//
//gpk:row In order along an axis | int64 | real types, bool | the indices of the elements in ascending or descending order; NaN is the largest, equal elements keep their order
func ArgSort[A Operand](o Operation[A], a A, axis int, descending bool) A {
	d, n, err := ranked(o, a, axis)
	if err != nil {
		return o.Failed(err)
	}
	return argsorted(o, a, d, n, descending)
}

// BottomK returns the k smallest elements along an axis in ascending order, and their indices, Int64, for real types
// and Bool. NaN is the largest. Equal elements, including -0 and 0, are in the order of their indices. A k below 0 or
// above the axis' length is ErrShape.
//
//gpk:row In order along an axis | the same, and int64 | real types, bool | the k smallest elements in ascending order, and their indices; NaN is the largest, equal elements keep their order
func BottomK[A Operand](o Operation[A], a A, k, axis int) (values, indices A) {
	d, n, err := ranked(o, a, axis)
	if err == nil && (k < 0 || k > n) {
		err = layout.Errorf("k is %d, outside 0 to %d, the length of axis %d of %v", k, n, axis, a.Shape())
	}
	if err != nil {
		return o.Failed(err), o.Failed(err)
	}
	indices = slice(o, argsorted(o, a, d, n, false), d, 0, k)
	if err := indices.Err(); err != nil {
		return o.Failed(err), o.Failed(err)
	}
	return takenAlong(o, a, indices, d), indices
}

// ranked checks an operation that orders the elements along an axis.
func ranked[A Operand](o Operation[A], a A, axis int) (d, n int, err error) {
	if d, n, err = along(o, a, axis); err == nil {
		err = supports(o, expr.TopK, a.DType())
	}
	return d, n, err
}

// argsorted is ArgSort for a valid axis of length n.
func argsorted[A Operand](o Operation[A], a A, axis, n int, descending bool) A {
	if descending {
		return largest(o, a, n, axis)
	}
	if n > 0 && a.Size() > 0 && a.Err() == nil && hasKernels(a) {
		return argsortedHere(o, a, axis, false)
	}
	// The largest elements of the reversed line, in reversed order: the first of several
	// equal elements there is the last one of the line.
	flip := func(x A) A {
		return o.View(x, func(l layout.Layout) (layout.Layout, error) { return l.Flip([]int{axis}) })
	}
	return o.Elementwise(expr.Sub, n-1, flip(largest(o, flip(a), n, axis)))
}

// largest returns the indices of the k largest elements along an axis in descending order. Of
// equal elements the first one comes first.
func largest[A Operand](o Operation[A], a A, k, axis int) A {
	if err := a.Err(); err != nil { // an error of an earlier step
		return o.Failed(err)
	}
	shape := a.Shape()
	n := shape[axis]
	shape[axis] = k
	if k == 0 || a.Size() == 0 {
		return filled(o, dtype.Int64, 0, shape)
	}
	if k == n && hasKernels(a) {
		return argsortedHere(o, a, axis, true)
	}
	return o.Result(dtype.Int64, shape, "a sort of elements with their indices", []A{a}, func(s *device.Stream, dst device.View, reads []device.View) error {
		dt := reads[0].DType
		buf, err := s.Device().Alloc(int64(dst.Layout.Size())*int64(dt.Size()), s)
		if err != nil {
			return err
		}
		defer buf.Free()
		values := device.View{Buffer: buf, DType: dt, Layout: layout.Dense(dst.Layout.Shape)}
		return ops.TopK(s, values, dst, reads[0], k, axis)
	})
}

// argsortedHere is argsorted on the CPU. The array must not be empty.
func argsortedHere[A Operand](o Operation[A], a A, axis int, descending bool) A {
	return o.Result(dtype.Int64, a.Shape(), "a sort of indices", []A{a}, func(s *device.Stream, dst device.View, reads []device.View) error {
		return ops.ArgSort(s, dst, reads[0], axis, descending)
	})
}
