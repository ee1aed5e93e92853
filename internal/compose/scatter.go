package compose

import (
	"fmt"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// ScatterAdd returns a copy of a in which values are added to the elements at indices along an axis. It is the
// transpose of Take, and NumPy's add.at. Indices are Int32 or Int64, of any shape. Negative ones count from the end.
// If an index occurs several times, all its values are added. The order does not matter or depends only on the
// indices, so the bits are the same in every run on one device. values, of a's type, is broadcast to the shape of
// Take(a, indices, axis). Half types are computed in Float32 and rounded once, integers wrap. An index outside the
// axis is ErrShape, found as for Take. Bool is ErrDType.
//
// The CPU adds the values in order. A GPU adds integers of 32 and 64 bits in any order. It sorts all others by index
// and adds them in runs of 32, Float32 and Complex64 in double precision with one rounding. If Float32 and Complex64
// have few sums in narrow rows, such as 2^24 single elements at 2^16 indices, they are added exactly and rounded once.
//
//gpk:row To other places | the same | all but bool | a copy with values added at indices along an axis; equal indices add, in an order of the indices alone
func ScatterAdd[A Operand](o Operation[A], a, indices, values A, axis int) A {
	d, n, err := along(o, a, axis)
	var shape []int
	if err == nil {
		shape, err = scatterShape(o, a, indices, values, d)
	}
	if err == nil && n == 0 && indices.Size() > 0 {
		err = outsideOf(axis, n)
	}
	if err != nil {
		return o.Failed(err)
	}
	span := indices.NDim()
	values = o.View(values, func(l layout.Layout) (layout.Layout, error) { return l.BroadcastTo(shape) })
	count := indices.Size()
	if count == 0 || a.Size() == 0 {
		return o.Elementwise(expr.Where, filled(o, dtype.Bool, true, nil), o.Cast(a, a.DType()), a)
	}
	// The axes of the indices, as one, and the axis of a come first.
	var front, order []int
	for i := range shape {
		if i < d || i >= d+span {
			order = append(order, i)
		} else {
			front = append(front, i)
		}
	}
	rest := a.Size() / n
	v := reshape(o, permute(o, values, append(front, order...)), count, rest)
	x := o.View(a, func(l layout.Layout) (layout.Layout, error) { return l.Transpose(first(d, a.NDim())) })
	across := x.Shape()
	rows := func(out A) A { // moves the rows back to the axes of a
		out = reshape(o, out, across...)
		return o.Cast(o.View(out, func(l layout.Layout) (layout.Layout, error) { return l.Transpose(back(d, a.NDim())) }), a.DType())
	}

	if a.Device().Kind() != device.CPU && v.Err() == nil && v.Strides()[0] == 0 { // one row for all indices
		v = slice(o, v, 0, 0, 1)
	}
	reads := []A{dense(o, indices), dense(o, wide(o, v)), dense(o, reshape(o, wide(o, x), n, rest))}
	fail := o.Failure()
	out := o.Result(reads[2].DType(), []int{n, rest}, "sums in an order of the indices", reads, func(s *device.Stream, dst device.View, reads []device.View) error {
		return written(s, dst, func(dst device.View) error {
			return ops.ScatterAdd(s, dst, reads[0], reads[1], reads[2], outsideOf(axis, n), fail)
		})
	})
	if d == 0 { // the axes are already in order
		return reshape(o, narrow(o, out, a.DType()), across...)
	}
	return rows(narrow(o, out, a.DType()))
}

// scatterShape checks the types of ScatterAdd's operands, and returns the shape to which the
// values are broadcast.
func scatterShape[A Operand](o Operation[A], a, indices, values A, d int) ([]int, error) {
	if err := supports(o, expr.Add, a.DType()); err != nil {
		return nil, err
	}
	if err := indexType(indices); err != nil {
		return nil, err
	}
	if values.DType() != a.DType() {
		return nil, fmt.Errorf("%w: values of %v in an array of %v; Cast one", dtype.ErrDType, values.DType(), a.DType())
	}
	shape, _, err := layout.Take(a.Shape(), indices.Shape(), d)
	if err == nil {
		_, err = layoutOf(values).BroadcastTo(shape)
	}
	return shape, err
}

// first returns the order of n axes in which axis d comes first.
func first(d, n int) []int {
	order := []int{d}
	for i := range n {
		if i != d {
			order = append(order, i)
		}
	}
	return order
}

// back returns the inverse permutation of first.
func back(d, n int) []int {
	order := make([]int, n)
	for to, from := range first(d, n) {
		order[from] = to
	}
	return order
}
