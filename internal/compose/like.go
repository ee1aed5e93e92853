package compose

import (
	"fmt"
	"math"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// ZerosLike returns zeros of the shape of like, on its device; of its type, or of the one
// given.
//
//gpk:row To other places | the same, or as given | all | zeros of an array's shape and type, on its device
func ZerosLike[A Operand](o Operation[A], like A, dt ...dtype.DType) A {
	return fillLike(o, like, 0, dt)
}

// OnesLike returns ones of the shape of like, on its device; of its type, or of the one
// given.
//
//gpk:row To other places | the same, or as given | all | ones of an array's shape and type, on its device
func OnesLike[A Operand](o Operation[A], like A, dt ...dtype.DType) A {
	return fillLike(o, like, 1, dt)
}

// FullLike returns an array whose every element is value, as Full takes it, of the shape of
// like, on its device; of its type, or of the one given.
//
//gpk:row To other places | the same, or as given | all | a number in an array's shape and type, on its device
func FullLike[A Operand](o Operation[A], like A, value any, dt ...dtype.DType) A {
	return fillLike(o, like, value, dt)
}

func fillLike[A Operand](o Operation[A], like A, value any, dt []dtype.DType) A {
	err := o.Check()
	of := dtype.Invalid
	if err == nil {
		of, err = optional(dt, like.DType(), "the type")
	}
	if err == nil && !of.Valid() {
		err = fmt.Errorf("%w: %v", dtype.ErrDType, of)
	}
	if err != nil {
		return o.Failed(err)
	}
	return filled(o, of, value, like.Shape())
}

// ArangeStep returns start, start + step, start + 2 step, … before stop, each of them
// computed in float64 and rounded to dt once: ceil((stop - start)/step) numbers, none where
// that is negative. Integer types take whole numbers that they hold, others are ErrDType. A
// step of 0 and bounds that are not finite are ErrShape.
//
//gpk:row To other places | as given | all but bool | numbers from start to stop, step apart
func ArangeStep[A Operand](o Operation[A], dt dtype.DType, start, stop, step float64) A {
	err := o.Check()
	n := math.Ceil((stop - start) / step)
	switch {
	case err != nil:
	case !dt.Valid() || dt == dtype.Bool:
		err = fmt.Errorf("%w: ArangeStep of %v", dtype.ErrDType, dt)
	case step == 0 || math.IsNaN(n) || math.IsInf(stop, 0) || math.IsInf(start, 0) || math.IsInf(step, 0):
		err = layout.Errorf("numbers from %v to %v in steps of %v", start, stop, step)
	case n > 1<<59:
		err = layout.Errorf("%v numbers from %v to %v", n, start, stop)
	}
	count := 0
	if err == nil && n > 0 {
		count = int(n)
		_, err = layout.Size([]int{count})
	}
	if err == nil && dt.IsInteger() {
		for _, x := range []float64{start, step, start + step*math.Max(n-1, 0)} {
			if _, bad := ops.ScalarOf(dtype.Int64, x, "name a type that does"); bad != nil && err == nil {
				err = bad
			}
		}
		for i, x := range []float64{start, start + step*math.Max(n-1, 0)} {
			if _, bad := ops.ScalarOf(dt, x, "name a type that does"); bad != nil && err == nil && i < count {
				err = bad
			}
		}
	}
	if err != nil {
		return o.Failed(err)
	}
	wide := dt
	if dt.IsInteger() {
		wide = dtype.Int64
	}
	numbers := o.Result(wide, []int{count}, "one fill", nil, func(s *device.Stream, dst device.View, _ []device.View) error {
		return ops.Arange(s, dst, start, step)
	})
	return o.Cast(numbers, dt)
}

// OneHot returns, along a new last axis of n elements, 1 at the place that each index, of an
// integer type, names, and 0 elsewhere, of type dt. An index outside 0 to n-1 gives zeros.
//
//gpk:row To other places | as given | integers | 1 at each index along a new last axis, else 0
func OneHot[A Operand](o Operation[A], indices A, n int, dt dtype.DType) A {
	err := o.Check()
	if err == nil && !indices.DType().IsInteger() {
		err = fmt.Errorf("%w: indices of %v; Cast(gpk.Int64) them", dtype.ErrDType, indices.DType())
	}
	if err == nil && !dt.Valid() {
		err = fmt.Errorf("%w: OneHot of %v", dtype.ErrDType, dt)
	}
	if err == nil {
		_, err = layout.Size(append(indices.Shape(), n))
	}
	if err != nil {
		return o.Failed(err)
	}
	wide := indices
	if wide.DType() != dtype.Int64 {
		wide = o.Cast(wide, dtype.Int64)
	}
	hit := o.Elementwise(expr.Eq, unsqueeze(o, wide, -1), counted(o, n))
	if dt == dtype.Bool {
		return hit
	}
	return o.Cast(hit, dt)
}
