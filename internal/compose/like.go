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

// ZerosLike returns zeros in the shape and type of like, on its device. A type may be given instead.
//
//gpk:row To other places | the same, or as given | all | zeros of an array's shape and type, on its device
func ZerosLike[A Operand](o Operation[A], like A, dt ...dtype.DType) A {
	return fillLike(o, like, 0, dt)
}

// OnesLike returns ones in the shape and type of like, on its device. A type may be given instead.
//
//gpk:row To other places | the same, or as given | all | ones of an array's shape and type, on its device
func OnesLike[A Operand](o Operation[A], like A, dt ...dtype.DType) A {
	return fillLike(o, like, 1, dt)
}

// FullLike returns an array whose every element is value, as for Full, in the shape and type
// of like, on its device. A type may be given instead.
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

// ArangeStep returns start, start + step, start + 2 step, … before stop: ceil((stop - start)/step) numbers, or none if
// that is negative. Each is computed in float64 and rounded to dt once. For integer types, start and step must be
// whole, and the type must hold all numbers; otherwise the error is ErrDType. A step of 0 and bounds that are not
// finite are ErrShape.
//
//gpk:row To other places | as given | all but bool | numbers from start to stop, step apart
func ArangeStep[A Operand](o Operation[A], dt dtype.DType, start, stop, step float64) A {
	n := math.Ceil((stop - start) / step)
	err := o.Check()
	if err == nil {
		err = checkRange(dt, start, stop, step, n)
	}
	count := 0
	if err == nil && n > 0 {
		count = int(n)
		_, err = layout.Size([]int{count})
	}
	if err == nil && dt.IsInteger() {
		err = wholeRange(dt, start, step, count)
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

// checkRange checks the operands of ArangeStep for n numbers.
func checkRange(dt dtype.DType, start, stop, step, n float64) error {
	switch {
	case !dt.Valid() || dt == dtype.Bool:
		return fmt.Errorf("%w: ArangeStep of %v", dtype.ErrDType, dt)
	case step == 0 || math.IsNaN(n) || math.IsInf(stop, 0) || math.IsInf(start, 0) || math.IsInf(step, 0):
		return layout.Errorf("numbers from %v to %v in steps of %v", start, stop, step)
	case n > 1<<59:
		return layout.Errorf("%v numbers from %v to %v", n, start, stop)
	}
	return nil
}

// wholeRange checks that an integer type can hold count numbers from start on at a distance
// of step, and that the step is whole.
func wholeRange(dt dtype.DType, start, step float64, count int) error {
	last := start + step*math.Max(float64(count-1), 0)
	if start != math.Trunc(start) || step != math.Trunc(step) {
		return fmt.Errorf("%w: %v does not hold the numbers from %v in steps of %v", dtype.ErrDType, dt, start, step)
	}
	for _, x := range [...]float64{start, step, last} {
		if _, err := ops.ScalarOf(dtype.Int64, x, "name a type that does"); err != nil {
			return err
		}
	}
	ends := [...]float64{start, last}
	for _, x := range ends[:min(count, len(ends))] {
		if _, err := ops.ScalarOf(dt, x, "name a type that does"); err != nil {
			return err
		}
	}
	return nil
}

// OneHot returns, for each index, of an integer type, n elements of type dt along a new last
// axis: 1 at the index, and 0 elsewhere. If an index is not from 0 to n-1, all are 0.
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
	if shape := append(indices.Shape(), n); hasKernels(indices) {
		one, err := constant(dt, 1)
		if err != nil {
			return o.Failed(err)
		}
		return o.Result(dt, shape, "one pass", []A{dense(o, wide)}, func(s *device.Stream, dst device.View, reads []device.View) error {
			return written(s, dst, func(dst device.View) error { return ops.OneHot(s, dst, reads[0], one) })
		})
	}
	hit := o.Elementwise(expr.Eq, unsqueeze(o, wide, -1), counted(o, n))
	if dt == dtype.Bool {
		return hit
	}
	return o.Cast(hit, dt)
}
