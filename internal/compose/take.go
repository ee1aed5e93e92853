package compose

import (
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// Take returns the elements of a at indices along an axis. The axes of indices, Int32 or Int64, replace that axis in
// the result. Negative indices count from the end. One outside the axis is ErrShape. On a GPU the kernel finds it:
// the first copy to the host of anything computed from the result returns the error, and Into, CopyFrom and writes in
// place that depend on the result wait for this check, and write nothing if it fails.
func Take[A Operand](o Operation[A], a, indices A, axis int) A {
	if err := o.Check(); err != nil {
		return o.Failed(err)
	}
	return take(o, a, indices, axis, nil)
}

// take is a step that performs Take. If outside is not nil, it is the cause of the error for an index outside the
// axis.
func take[A Operand](o Operation[A], x, indices A, axis int, outside error) A {
	err := carried(o, x, indices)
	if err == nil {
		err = indexType(indices)
	}
	var shape []int
	if err == nil {
		shape, axis, err = layout.Take(x.Shape(), indices.Shape(), axis)
	}
	if err != nil {
		return o.Failed(err)
	}
	return gathered(o, x, indices, shape, axis, outside, ops.Take)
}

// takeAlong returns, for each index, the element of x at it along an axis, and at the index's own position along the
// others. indices has the shape of the result, and x has that shape along the other axes. outside is the cause of the
// error for an index outside the axis.
func takeAlong[A Operand](o Operation[A], x, indices A, axis int, outside error) A {
	if err := carried(o, x, indices); err != nil {
		return o.Failed(err)
	}
	return gathered(o, x, indices, indices.Shape(), axis, outside, ops.TakeAlong)
}

// gathered returns the elements of x that run, ops.Take or ops.TakeAlong, selects.
func gathered[A Operand](o Operation[A], x, indices A, shape []int, axis int, outside error,
	run func(s *device.Stream, dst, x, indices device.View, axis int, fail func(error) error) error,
) A {
	fail := o.Failure()
	return o.Checked(x.DType(), shape, "one gather", []A{x, indices}, func(s *device.Stream, dst device.View, reads []device.View) error {
		return run(s, dst, reads[0], reads[1], axis, func(err error) error {
			if outside != nil {
				err = outside
			}
			return fail(err)
		})
	})
}

// carried returns the first error that arrays carry.
func carried[A any](o Operation[A], as ...A) error {
	for i := range as {
		if err := o.SameType(as[i : i+1]...); err != nil {
			return err
		}
	}
	return nil
}
