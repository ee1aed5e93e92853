package array

import (
	"fmt"
	"slices"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// Take returns the elements of a along an axis at indices, Int32 or Int64: its
// shape is a's with the shape of indices in place of the axis. Negative indices
// count from the end. One outside the axis is ErrShape; on a GPU it is found by
// the work itself and comes with the first copy to the host of anything computed
// from the result. Into, CopyFrom and writes in place that depend on it wait until
// it is known, and write nothing when it is an error.
func Take(a, indices *Array, axis int) *Array {
	op := newOp(expr.Take.String(), here(), a, indices)
	if err := op.first(a, indices); err != nil {
		return failedArray(err)
	}
	dt, err := ops.Lookup(expr.Take).Check(a.dt)
	if err == nil && indices.dt != dtype.Int32 && indices.dt != dtype.Int64 {
		err = fmt.Errorf("%w: the indices are %v, not int32 or int64; Cast(gpk.Int64) them", dtype.ErrDType, indices.dt)
	}
	if err == nil {
		axis, err = layout.Axis(axis, a.NDim())
	}
	if err == nil && a.lay.Shape[axis] == 0 && indices.lay.Size() > 0 {
		err = layout.Errorf("indices into axis %d, which has length 0", axis)
	}
	var shape []int
	if err == nil {
		shape = slices.Concat([]int{}, a.lay.Shape[:axis], indices.lay.Shape, a.lay.Shape[axis+1:])
		_, err = layout.Size(shape)
	}
	if err != nil {
		return failedArray(op.fail(err))
	}
	if a.on() != indices.on() {
		return failedArray(op.fail(otherDevice(a, indices)))
	}
	what := op.fail(nil)
	op.code, op.strided, op.how = expr.Take, true, "one gather"
	op.run = func(o *job, s *device.Stream, dst device.View) error {
		return ops.Take(s, dst, o.view(0), o.view(1), axis, func(err error) error {
			e := *what
			e.Err = err
			return &e
		})
	}
	return op.result(streamOf(a, indices), dt, layout.Dense(shape), 0, a, indices)
}

// Stack joins arrays of one type and shape along a new axis, before axis of
// theirs.
func Stack(axis int, as ...*Array) *Array {
	op := newOp(expr.Stack.String(), here(), as...)
	if len(as) == 0 {
		return failedArray(op.fail(layout.Errorf("no arrays to join")))
	}
	if err := op.first(as...); err != nil {
		return failedArray(err)
	}
	ax, err := layout.Axis(axis, as[0].NDim()+1)
	views := make([]*Array, len(as))
	for i, a := range as {
		if err == nil {
			err = sameType(as[0], a)
		}
		if err == nil && !slices.Equal(as[0].lay.Shape, a.lay.Shape) {
			err = layout.Errorf("%v and %v differ", as[0].lay.Shape, a.lay.Shape)
		}
		var lay layout.Layout
		if err == nil {
			lay, err = a.lay.Unsqueeze(ax)
		}
		if err != nil {
			return failedArray(op.fail(err))
		}
		views[i] = a.with(lay)
	}
	shape := slices.Insert(as[0].Shape(), ax, len(as))
	if _, err := layout.Size(shape); err != nil {
		return failedArray(op.fail(err))
	}
	if err := sameDevice(as); err != nil {
		return failedArray(op.fail(err))
	}
	op.joins(len(as), ax)
	return op.result(streamOf(as...), as[0].dt, layout.Dense(shape), 0, views...)
}

// Repeat returns every element n times, one after the other, along an axis.
func (a *Array) Repeat(n, axis int) *Array {
	op := newOp(expr.Repeat.String(), here(), a)
	if err := op.first(a); err != nil {
		return failedArray(err)
	}
	axis, err := layout.Axis(axis, a.NDim())
	if err == nil && n < 0 {
		err = layout.Errorf("every element %d times", n)
	}
	var shape []int
	if err == nil {
		// The product of the two may overflow, where the shape does not.
		shape = slices.Insert(a.Shape(), axis+1, n)
		if _, err = layout.Size(shape); err == nil {
			shape = slices.Delete(shape, axis+1, axis+2)
			if shape[axis] *= n; n > 0 && shape[axis]/n != a.lay.Shape[axis] {
				err = layout.Errorf("%v, %d times along axis %d, is too long", a.lay.Shape, n, axis)
			}
		}
	}
	if err != nil {
		return failedArray(op.fail(err))
	}
	op.strided, op.how = true, "one strided copy"
	op.run = func(o *job, s *device.Stream, dst device.View) error {
		return ops.Repeat(s, dst, o.view(0), n, axis)
	}
	return op.result(a.stream, a.dt, layout.Dense(shape), 0, a)
}

// Pad returns a with a number around it, as Full takes it: widths[d] elements before and
// after along axis d.
func (a *Array) Pad(widths [][2]int, value any) *Array {
	op := newOp(expr.Pad.String(), here(), a)
	if err := op.first(a); err != nil {
		return failedArray(err)
	}
	number, err := scalar(a.dt, value)
	if err == nil && len(widths) != a.NDim() {
		err = layout.Errorf("widths for %d axes of %v", len(widths), a.lay.Shape)
	}
	shape, widths := a.Shape(), slices.Clone(widths)
	for d, w := range widths {
		if err == nil && (w[0] < 0 || w[1] < 0) {
			err = layout.Errorf("widths %v along axis %d", w, d)
		}
		if err == nil {
			n := shape[d] + w[0] + w[1]
			if n < 0 || w[0] > n || w[1] > n {
				err = layout.Errorf("widths %v along axis %d are too long", w, d)
			}
			shape[d] = n
		}
	}
	if err == nil {
		_, err = layout.Size(shape)
	}
	if err != nil {
		return failedArray(op.fail(err))
	}
	op.strided, op.how = true, "a copy, and its borders filled"
	op.run = func(o *job, s *device.Stream, dst device.View) error {
		return ops.Pad(s, dst, o.view(0), widths, number)
	}
	return op.result(a.stream, a.dt, layout.Dense(shape), 0, a)
}

// Flip returns a view whose axes named run backwards; no axes means all.
func (a *Array) Flip(axes ...int) *Array {
	return a.viewed(expr.Flip.String(), here(), func(l layout.Layout) (layout.Layout, error) { return l.Flip(axes) })
}
