package array

import (
	"fmt"

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
	return call{expr.Take.String(), here()}.take(a, indices, axis, nil)
}

// take is Take. outside, if not nil, is the cause of an index outside the axis.
func (c call) take(a, indices *Array, axis int, outside error) *Array {
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
			if e.Err = outside; outside == nil {
				e.Err = err
			}
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

// Flip returns a view whose axes named run backwards; no axes means all.
func (a *Array) Flip(axes ...int) *Array {
	return a.viewed(expr.Flip.String(), here(), func(l layout.Layout) (layout.Layout, error) { return l.Flip(axes) })
}
