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

// IndexSelect returns the parts of a at indices along an axis, or those where a mask is true. indices has one axis.
// For Int32 or Int64 it is Take, and negative indices count from the end. Bool is a mask of the length of the axis.
// The length of the result is then the number of true elements, for which IndexSelect waits as Nonzero does. A mask
// of another length is ErrShape, and any other type ErrDType.
//
//gpk:row To other places | the same | all | the parts of an axis at indices, or where a mask of its length is true
func IndexSelect[A Operand](o Operation[A], a, indices A, axis int) A {
	d, n, err := along(o, a, axis)
	if err == nil && indices.NDim() != 1 {
		err = layout.Errorf("indices of shape %v; want one axis", indices.Shape())
	}
	if err == nil && indices.DType() == dtype.Bool && indices.Size() != n {
		err = layout.Errorf("a mask of %d elements for axis %d, which has length %d", indices.Size(), axis, n)
	}
	if err == nil && indices.DType() == dtype.Bool {
		indices, err = placesOf(o, indices)
	}
	if err != nil {
		return o.Failed(err)
	}
	return take(o, a, indices, d, nil)
}

// MaskedSelect returns the elements of a where mask, of type Bool, is true, in row-major order along one axis:
// NumPy's a[mask]. The shape of the mask must be that of the leading axes of a, else the result is ErrShape. One axis
// of the result replaces these; the other axes of a follow. Its length is the number of true elements of the mask,
// for which MaskedSelect waits as Nonzero does.
//
//gpk:row To other places | the same | all | the elements where a mask is true, along one axis
func MaskedSelect[A Operand](o Operation[A], a, mask A) A {
	err := o.Check()
	if err == nil {
		err = maskFor(a, mask)
	}
	var rest []int
	if err == nil {
		rest = a.Shape()[mask.NDim():]
	}
	var at A
	if err == nil {
		flat := reshape(o, mask, mask.Size())
		if mask.Size() > 0 && len(rest) == 0 && !composedHere(mask) {
			return selected(o, reshape(o, a, a.Size()), flat)
		}
		at, err = placesOf(o, flat)
	}
	if err != nil {
		return o.Failed(err)
	}
	return take(o, reshape(o, a, append([]int{mask.Size()}, rest...)...), at, 0, nil)
}

// maskFor checks a mask of the leading axes of a.
func maskFor[A Operand](a, mask A) error {
	if mask.DType() != dtype.Bool {
		return fmt.Errorf("%w: the mask is %v, not bool; compare it with a number", dtype.ErrDType, mask.DType())
	}
	if shape, k := a.Shape(), mask.NDim(); k > len(shape) || !slices.Equal(mask.Shape(), shape[:k]) {
		return layout.Errorf("a mask of shape %v for an array of shape %v; it must have the shape of the leading axes", mask.Shape(), shape)
	}
	return nil
}

// selected is MaskedSelect for elements and a mask with one axis each.
func selected[A Operand](o Operation[A], a, mask A) A {
	t, err := truesOf(o, mask, false)
	if err != nil {
		return o.Failed(err)
	}
	return t.write(o, a.DType(), []A{dense(o, a)}, func(s *device.Stream, dst device.View, m ops.Mask, reads []device.View) error {
		return ops.Select(s, dst, m, reads[0])
	})
}

// Nonzero returns the indices of the elements of a that differ from 0, in row-major order: one array, Int64, for each
// axis. NaN differs from 0. Their length depends on the elements, so Nonzero waits for the device. Only IndexSelect
// and MaskedSelect with a mask, Unique, UniqueAll, BinCount, RepeatEach and MaskedSet do so too. A 0-d array is
// ErrShape. The axes of an array that carries an error are unknown, so the result is one array with this error.
//
//gpk:row To other places | int64, for each axis | all | the indices of the elements that differ from 0; waits for their number
func Nonzero[A Operand](o Operation[A], a A) []A {
	err := o.Check()
	if err == nil && a.NDim() == 0 {
		err = layout.Errorf("a 0-d array has no indices")
	}
	var at A
	if err == nil {
		if a.Size() > 0 && !composedHere(a) && (a.NDim() <= coordinateAxes || !onGPU(a)) {
			return coordinates(o, dense(o, nonzero(o, a)), a.Shape())
		}
		at, err = placesOf(o, reshape(o, nonzero(o, a), a.Size()))
	}
	if err != nil {
		return failures(o, err, max(1, a.NDim()))
	}
	shape := a.Shape()
	out := make([]A, len(shape))
	// The quotient of an index and a stride, both below 2^52. The exact quotient is at least 1/stride below the next
	// integer, so rounding it to 53 bits keeps the floor.
	index := o.Cast(at, dtype.Float64)
	var before A
	for d, stride := range layout.Dense(shape).Strides {
		rows := at
		if stride > 1 {
			rows = o.Cast(o.Elementwise(expr.Floor, o.Elementwise(expr.Div, index, stride)), dtype.Int64)
		}
		if out[d] = rows; d > 0 {
			out[d] = o.Elementwise(expr.Sub, rows, o.Elementwise(expr.Mul, before, shape[d]))
		}
		before = rows
	}
	return out
}

// coordinateAxes is the largest number of axes for ops.Coordinates on a GPU.
const coordinateAxes = 8

// coordinates is Nonzero for a dense mask.
func coordinates[A Operand](o Operation[A], mask A, shape []int) []A {
	t, err := truesOf(o, mask, false)
	if err != nil {
		return failures(o, err, len(shape))
	}
	parts := slices.Repeat([]Part{{dtype.Int64, []int{t.count}}}, len(shape))
	out, err := o.Several(parts, onePass, t.reads, func(s *device.Stream, dst, reads []device.View) error {
		if t.count == 0 {
			return nil
		}
		return ops.Coordinates(s, dst, t.mask(reads), shape)
	})
	if err != nil {
		return failures(o, err, len(shape))
	}
	return out
}

// nonzero returns whether each element differs from 0.
func nonzero[A Operand](o Operation[A], a A) A {
	if a.DType() == dtype.Bool {
		return a
	}
	return o.Elementwise(expr.Ne, a, 0)
}
