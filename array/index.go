package array

import (
	"fmt"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// Take returns the elements of a along an axis at indices, Int32 or Int64. The shape of the
// result is a's with the shape of indices in place of the axis. Negative indices count from
// the end. An index outside the axis is ErrShape. On a GPU the kernel finds it, and the
// first copy to the host of anything computed from the result returns the error. Into,
// CopyFrom and writes in place that depend on the result wait for this check, and write
// nothing if it fails.
func Take(a, indices *Array, axis int) *Array {
	return call{expr.Take.String(), here()}.take(a, indices, axis, nil)
}

// take is Take for a call. outside, if not nil, is the cause of the error for an index
// outside the axis.
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
	return c.gathered(a, indices, shape, axis, outside, ops.Take)
}

// takeAlong is ops.TakeAlong for a call. The caller has checked the operands and has broadcast them.
func (c call) takeAlong(a, indices *Array, axis int, outside error) *Array {
	if err := check(a, indices); err != nil {
		return c.failed(err, a, indices)
	}
	return c.gathered(a, indices, indices.Shape(), axis, outside, ops.TakeAlong)
}

// gathered returns the elements of a that run, ops.Take or ops.TakeAlong, selects.
func (c call) gathered(a, indices *Array, shape []int, axis int, outside error,
	run func(s *device.Stream, dst, x, indices device.View, axis int, fail func(error) error) error,
) *Array {
	what := c.fail(nil, a, indices)
	op := newNode(c)
	op.code, op.strided, op.how = expr.Take, true, "one gather"
	op.run = func(o *job, s *device.Stream, dst device.View) error {
		return run(s, dst, o.view(0), o.view(1), axis, func(err error) error {
			e := *what
			if e.Err = outside; outside == nil {
				e.Err = err
			}
			return &e
		})
	}
	return op.result(streamOf(a, indices), a.dt, layout.Dense(shape), 0, a, indices)
}
