package compose

import (
	"fmt"
	"slices"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// Repeat returns every element n times, one after the other, along an axis.
func Repeat[A Operand](o Operation[A], a A, n, axis int) A {
	err := o.Check()
	var shape []int
	if err == nil {
		shape, axis, err = layout.Repeat(a.Shape(), n, axis)
	}
	if err != nil {
		return o.Failed(err)
	}
	return o.Result(a.DType(), shape, "one strided copy", []A{a}, func(s *device.Stream, dst device.View, reads []device.View) error {
		return ops.Repeat(s, dst, reads[0], n, axis)
	})
}

// Pad returns a copy of a with a border. Along axis d it adds widths[d][0] elements before and widths[d][1]
// after. They all have the given value, converted as by Full, or are chosen by a mode in its place, as NumPy's pad does:
// PadEdge, PadReflect, PadSymmetric or PadWrap. A mode is ErrShape for an empty axis that becomes longer.
func Pad[A Operand](o Operation[A], a A, widths [][2]int, value any) A {
	if mode, ok := value.(layout.PadMode); ok {
		return padBy(o, a, widths, mode)
	}
	err := o.Check()
	var number ops.Scalar
	var shape []int
	if err == nil {
		number, err = ops.ScalarOf(a.DType(), value, "Cast the array")
	}
	if err == nil {
		shape, err = layout.Pad(a.Shape(), widths)
	}
	if err != nil {
		return o.Failed(err)
	}
	widths = slices.Clone(widths)
	return o.Result(a.DType(), shape, "a copy, and its borders filled", []A{a}, func(s *device.Stream, dst device.View, reads []device.View) error {
		return ops.Pad(s, dst, reads[0], widths, number)
	})
}

// padBy is Pad by a mode.
func padBy[A Operand](o Operation[A], a A, widths [][2]int, mode layout.PadMode) A {
	err := o.Check()
	var shape []int
	if err == nil {
		shape, err = layout.Pad(a.Shape(), widths)
	}
	if err == nil && (mode < layout.PadEdge || mode > layout.PadWrap) {
		err = fmt.Errorf("%w: %v; want PadEdge, PadReflect, PadSymmetric or PadWrap", expr.ErrUnsupported, mode)
	}
	for d := range shape {
		if err == nil && a.Shape()[d] == 0 && shape[d] > 0 {
			err = layout.Errorf("axis %d is empty, so %v has no elements to add; pad it by a number", d, mode)
		}
	}
	if err != nil {
		return o.Failed(err)
	}
	widths = slices.Clone(widths)
	return o.Result(a.DType(), shape, "a copy, and its borders copied from it", []A{a}, func(s *device.Stream, dst device.View, reads []device.View) error {
		return ops.PadBy(s, dst, reads[0], widths, mode)
	})
}

// Sort returns the elements along an axis in ascending order, or with descending in descending order, for real types
// and Bool. NaN is the largest: it is last in ascending order, and first in descending order. -0 is below 0.
func Sort[A Operand](o Operation[A], a A, axis int, descending bool) A {
	err := o.Check()
	if err == nil {
		err = supports(o, expr.Sort, a.DType())
	}
	if err == nil {
		axis, err = layout.Axis(axis, a.NDim())
	}
	if err != nil {
		return o.Failed(err)
	}
	return sorted(o, a, axis, descending)
}

// sorted is Sort without its checks.
func sorted[A Operand](o Operation[A], a A, axis int, descending bool) A {
	return o.Result(a.DType(), a.Shape(), "a sort along an axis", []A{a}, func(s *device.Stream, dst device.View, reads []device.View) error {
		return ops.Sort(s, dst, reads[0], axis, descending)
	})
}
