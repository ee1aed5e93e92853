package compose

import (
	"fmt"
	"slices"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
)

// At returns a view of the elements at one index for each of the leading axes. The view does not have these axes. For a
// matrix, x.At(2) is the third row, and x.At(2, -1) is the last element of that row, which is 0-d. Negative indices
// count from the end. An index outside its axis and more indices than axes are ErrShape.
//
//gpk:row To other places | the same | all | a view of what leading axes hold at an index, negative ones from the end
func At[A Operand](o Operation[A], a A, index ...int) A {
	if err := checkIndices(o, a, len(index)); err != nil {
		return o.Failed(err)
	}
	return o.View(a, func(l layout.Layout) (layout.Layout, error) {
		out := layout.Layout{Shape: append([]int{}, l.Shape[len(index):]...), Strides: append([]int{}, l.Strides[len(index):]...), Offset: l.Offset}
		for d, i := range index {
			n := l.Shape[d]
			if i < -n || i >= n {
				return l, layout.Errorf("index %d lies outside axis %d, which has length %d", i, d, n)
			}
			if i < 0 {
				i += n
			}
			if l.Size() > 0 { // an empty view keeps its offset
				out.Offset += i * l.Strides[d]
			}
		}
		return out, nil
	})
}

// checkIndices checks the operands, and that there are at most as many indices as axes.
func checkIndices[A Operand](o Operation[A], a A, n int) error {
	err := o.Check()
	if err == nil && n > a.NDim() {
		err = layout.Errorf("%d indices for an array with %d axes", n, a.NDim())
	}
	return err
}

// TakeAlongAxis returns the elements of a whose index along an axis comes from indices, and whose other indices are
// those of the element of indices, as NumPy's take_along_axis. It accepts the results of ArgSort, and of the function
// gpk.ArgMax(a, axis, gpk.KeepDims); the method ArgMax takes no KeepDims. Indices, Int32 or Int64, have as many axes as
// a. Both are broadcast along the other axes. Negative indices count from the end. One outside the axis is ErrShape,
// found as for Take.
//
//gpk:row To other places | the same | all | the elements at indices along an axis, each at its own place along the others
func TakeAlongAxis[A Operand](o Operation[A], a, indices A, axis int) A {
	err := o.Check()
	if err == nil {
		err = indexType(indices)
	}
	if err == nil && a.NDim() != indices.NDim() {
		err = layout.Errorf("indices with %d axes for an array with %d", indices.NDim(), a.NDim())
	}
	if err == nil {
		axis, err = layout.Axis(axis, a.NDim())
	}
	if err != nil {
		return o.Failed(err)
	}
	return takenAlong(o, a, indices, axis)
}

// takenAlong is TakeAlongAxis for an axis counted from 0.
func takenAlong[A Operand](o Operation[A], a, indices A, axis int) A {
	from, of := a.Shape(), indices.Shape()
	n, count := from[axis], of[axis]
	from[axis], of[axis] = 1, 1
	shape, err := layout.Broadcast(from, of)
	if err == nil {
		shape[axis] = count
		_, err = layout.Size(shape)
	}
	switch {
	case err != nil:
		return o.Failed(err)
	case indices.Size() == 0 || a.Size() == 0 && n > 0:
		return filled(o, a.DType(), 0, shape)
	case n == 0:
		return o.Failed(outsideOf(axis, n))
	}
	source := slices.Clone(shape)
	source[axis] = n
	broadcast := func(x A, shape []int) A {
		return o.View(x, func(l layout.Layout) (layout.Layout, error) { return l.BroadcastTo(shape) })
	}
	return takeAlong(o, broadcast(a, source), broadcast(indices, shape), axis, outsideOf(axis, n))
}

// Where returns the elements of x where cond, of type Bool, is true, and those of y elsewhere, broadcast. x and y are
// *Arrays or numbers. A number takes the type of the array. Two numbers have their Go types: Float64 for 1.5, Float32
// for float32(1), Uint64 for uint(1), Int64 for 1. An Int64 number takes the type of the other number. Two other
// different types are ErrDType.
func Where[A Operand](o Operation[A], cond A, x, y any) A {
	_, left := x.(A)
	_, right := y.(A)
	if left || right {
		return o.Elementwise(expr.Where, cond, x, y)
	}
	err := o.Check()
	var dt dtype.DType
	if err == nil {
		dt, err = numbersType(x, y)
	}
	if err != nil {
		return o.Failed(err)
	}
	return o.Elementwise(expr.Where, cond, filled(o, dt, x, nil), filled(o, dt, y, nil))
}

// numbersType returns the element type of two Go numbers.
func numbersType(x, y any) (dtype.DType, error) {
	left, err := numberType(x)
	if err != nil {
		return left, err
	}
	right, err := numberType(y)
	switch {
	case err != nil || left == right:
		return right, err
	case isInt(x):
		return right, nil
	case isInt(y):
		return left, nil
	}
	return left, fmt.Errorf("%w: %T and %T do not mix; convert one", dtype.ErrDType, x, y)
}

// numberType returns the element type of a Go number.
func numberType(v any) (dtype.DType, error) {
	if dt, ok := dtype.OfValue(v); ok {
		return dt, nil
	}
	switch v.(type) {
	case int:
		return dtype.Int64, nil
	case uint:
		return dtype.Uint64, nil
	}
	return dtype.Invalid, fmt.Errorf("%w: %T is neither an *Array nor a number", dtype.ErrDType, v)
}

func isInt(v any) bool {
	_, ok := v.(int)
	return ok
}
