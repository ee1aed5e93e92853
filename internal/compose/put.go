package compose

import (
	"fmt"
	"slices"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// PutAlongAxis returns a copy of a with values at the elements whose index along an axis comes from indices, and whose
// other indices are those of the element of indices, as NumPy's put_along_axis. It is the inverse of TakeAlongAxis.
// Indices, Int32 or Int64, have as many axes as a, and are broadcast to its shape along the others. Negative ones count
// from the end. values is an *Array of a's type, broadcast to the shape of the indices, or a number. If several indices
// name an element, the last in row-major order counts. An index outside the axis is ErrShape, found as for Take.
//
//gpk:row To other places | the same | all | a copy with values at indices along an axis, each at its own place along the others; the last of equal indices counts
func PutAlongAxis[A Operand](o Operation[A], a, indices A, values any, axis int) A {
	d, n, err := along(o, a, axis)
	if err == nil {
		err = indexType(indices)
	}
	if err == nil && a.NDim() != indices.NDim() {
		err = layout.Errorf("indices with %d axes for an array with %d", indices.NDim(), a.NDim())
	}
	if err != nil {
		return o.Failed(err)
	}
	shape := a.Shape()
	shape[d] = indices.Shape()[d]
	v, err := valuesOf(o, a, values)
	if err != nil {
		return o.Failed(err)
	}
	_, err = layoutOf(indices).BroadcastTo(shape)
	if _, bad := layoutOf(v).BroadcastTo(shape); err == nil {
		err = bad
	}
	if err != nil {
		return o.Failed(err)
	}
	broadcast := func(x A) A {
		return o.View(x, func(l layout.Layout) (layout.Layout, error) { return l.BroadcastTo(shape) })
	}
	indices, v = broadcast(indices), broadcast(v)
	count := layout.Layout{Shape: shape}.Size()
	switch {
	case count == 0 || a.Size() == 0 && n > 0:
		return o.Elementwise(expr.Where, filled(o, dtype.Bool, true, nil), o.Cast(a, a.DType()), a)
	case n == 0:
		return o.Failed(outsideOf(axis, n))
	}
	if onGPU(a) {
		a, indices = dense(o, a), dense(o, indices)
		if slices.ContainsFunc(v.Strides(), func(step int) bool { return step != 0 }) {
			v = dense(o, v)
		}
	}
	fail := o.Failure()
	return o.Checked(a.DType(), a.Shape(), "a copy with values at indices", []A{a, indices, v}, func(s *device.Stream, dst device.View, reads []device.View) error {
		return written(s, dst, func(dst device.View) error {
			return ops.PutAlong(s, dst, reads[0], reads[1], reads[2], d, outsideOf(axis, n), fail)
		})
	})
}

// valuesOf returns values as an array. It must be an array of a's type on a's device, or a number that the type
// can hold.
func valuesOf[A Operand](o Operation[A], a A, values any) (A, error) {
	dt := a.DType()
	v, ok := values.(A)
	if !ok {
		v = filled(o, dt, values, nil)
		return v, v.Err()
	}
	err := v.Err()
	if err == nil && v.DType() != dt {
		err = fmt.Errorf("%w: values of %v in an array of %v; Cast one", dtype.ErrDType, v.DType(), dt)
	}
	if err == nil && v.Device() != a.Device() {
		err = fmt.Errorf("%w: values on %v in an array on %v; move one with To", device.ErrDevice, v.Device(), a.Device())
	}
	return v, err
}

// indexType returns an error for a type that indices cannot have.
func indexType[A Operand](indices A) error {
	if dt := indices.DType(); dt != dtype.Int32 && dt != dtype.Int64 {
		return fmt.Errorf("%w: the indices are %v, not int32 or int64; Cast(gpk.Int64) them", dtype.ErrDType, dt)
	}
	return nil
}

func outsideOf(axis, n int) error {
	return layout.Errorf("an index lies outside axis %d, which has length %d", axis, n)
}

// normal converts indices into n elements to Int64 counted from 0. Negative indices count from the end. bad is true for
// the indices that are outside the axis.
func normal[A Operand](o Operation[A], indices A, n int) (at, bad A) {
	at = narrow(o, indices, dtype.Int64)
	bad = o.Elementwise(expr.Or, o.Elementwise(expr.Lt, at, -n), o.Elementwise(expr.Ge, at, n))
	at = o.Elementwise(expr.Where, o.Elementwise(expr.Lt, at, 0), o.Elementwise(expr.Add, at, n), at)
	return at, bad
}
