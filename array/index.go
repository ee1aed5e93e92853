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
	c := call{expr.Take.String(), here()}
	err := check(a, indices)
	if err == nil && indices.dt != dtype.Int32 && indices.dt != dtype.Int64 {
		err = fmt.Errorf("%w: the indices are %v, not int32 or int64; Cast(gpk.Int64) them", dtype.ErrDType, indices.dt)
	}
	var shape []int
	if err == nil {
		shape, axis, err = layout.Take(a.lay.Shape, indices.lay.Shape, axis)
	}
	if err == nil {
		err = sameDevice(a, indices)
	}
	if err != nil {
		return c.failed(err, a, indices)
	}
	what := c.fail(nil, a, indices)
	op := newNode(c)
	op.code, op.strided, op.how = expr.Take, true, "one gather"
	op.run = func(o *job, s *device.Stream, dst device.View) error {
		return ops.Take(s, dst, o.view(0), o.view(1), axis, func(err error) error {
			e := *what
			e.Err = err
			return &e
		})
	}
	return op.result(streamOf(a, indices), a.dt, layout.Dense(shape), 0, a, indices)
}

// Stack joins arrays of one type and shape along a new axis, before axis of
// theirs.
func Stack(axis int, as ...*Array) *Array {
	return join(expr.Stack.String(), here(), layout.Stack, axis, as)
}

// Repeat returns every element n times, one after the other, along an axis.
func (a *Array) Repeat(n, axis int) *Array {
	c := call{expr.Repeat.String(), here()}
	err := a.check()
	var shape []int
	if err == nil {
		shape, axis, err = layout.Repeat(a.lay.Shape, n, axis)
	}
	if err != nil {
		return c.failed(err, a)
	}
	op := newNode(c)
	op.strided, op.how = true, "one strided copy"
	op.run = func(o *job, s *device.Stream, dst device.View) error { return ops.Repeat(s, dst, o.view(0), n, axis) }
	return op.result(a.stream, a.dt, layout.Dense(shape), 0, a)
}

// Pad returns a with a number around it, as Full takes it: widths[d] elements before and
// after along axis d.
func (a *Array) Pad(widths [][2]int, value any) *Array {
	c := call{expr.Pad.String(), here()}
	var number ops.Scalar
	var shape []int
	err := a.check()
	if err == nil {
		number, err = scalar(a.dt, value)
	}
	if err == nil {
		shape, err = layout.Pad(a.lay.Shape, widths)
	}
	if err != nil {
		return c.failed(err, a)
	}
	op := newNode(c)
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
