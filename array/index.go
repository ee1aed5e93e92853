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

// Take returns the elements of a along an axis at indices, Int32 or Int64: its shape is
// a's with the shape of indices in place of the axis. Negative indices count from the end.
// One outside the axis is ErrShape; a GPU finds it as it works, and the first copy to the
// host of anything computed from the result returns it. Into, CopyFrom and writes in place
// that depend on it wait until it is known, and write nothing when it is an error.
func Take(a, indices *Array, axis int) *Array {
	op := newOp(expr.Take.String(), here(), a, indices)
	if err := op.first(a, indices); err != nil {
		return failedArray(err)
	}
	dt, err := ops.Lookup(expr.Take).Check(a.dt)
	if err == nil && indices.dt != dtype.Int32 && indices.dt != dtype.Int64 {
		err = fmt.Errorf("%w: the indices are %v, not int32 or int64; Cast(gpk.Int64) them", dtype.ErrDType, indices.dt)
	}
	var shape []int
	if err == nil {
		shape, axis, err = layout.Take(a.lay.Shape, indices.lay.Shape, axis)
	}
	if err == nil && a.on() != indices.on() {
		err = otherDevice(a, indices)
	}
	if err != nil {
		return failedArray(op.fail(err))
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
	return join(expr.Stack.String(), here(), layout.Stack, axis, as)
}

// Repeat returns every element n times, one after the other, along an axis.
func (a *Array) Repeat(n, axis int) *Array {
	op := newOp(expr.Repeat.String(), here(), a)
	err := op.first(a)
	var shape []int
	if err == nil {
		shape, axis, err = layout.Repeat(a.lay.Shape, n, axis)
	}
	if err != nil {
		return failedArray(op.wrap(err))
	}
	op.strided, op.how = true, "one strided copy"
	op.run = func(o *job, s *device.Stream, dst device.View) error { return ops.Repeat(s, dst, o.view(0), n, axis) }
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
	var shape []int
	if err == nil {
		shape, err = layout.Pad(a.lay.Shape, widths)
	}
	if err != nil {
		return failedArray(op.fail(err))
	}
	widths = slices.Clone(widths)
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
