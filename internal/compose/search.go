package compose

import (
	"fmt"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// SearchSorted returns for each element of values the index, Int64, at which its insertion keeps a in order: the number
// of elements of a that are smaller or, with right, not larger. a has one axis and ascends, with NaN last, as from Sort.
// The order is not checked. Both operands have one type, real or Bool; two types are ErrDType. A search among n elements
// takes log2 n steps.
//
//gpk:row In order along an axis | int64 | real types, bool | the index in a sorted array at which each value keeps the order, before or behind equal elements
func SearchSorted[A Operand](o Operation[A], a, values A, right bool) A {
	err := o.Check()
	if err == nil && a.NDim() != 1 {
		err = layout.Errorf("a search in an array of shape %v; want one axis", a.Shape())
	}
	if err == nil {
		err = supports(o, expr.Sort, a.DType())
	}
	if err == nil && a.DType() != values.DType() {
		err = fmt.Errorf("%w: values of %v in an array of %v; Cast one", dtype.ErrDType, values.DType(), a.DType())
	}
	if err != nil {
		return o.Failed(err)
	}
	return searched(o, a, values, right)
}

// searched is SearchSorted for valid operands.
func searched[A Operand](o Operation[A], a, values A, right bool) A {
	for _, x := range []A{a, values} {
		if err := x.Err(); err != nil { // an error of an earlier step
			return o.Failed(err)
		}
	}
	if a.Size() == 0 || values.Size() == 0 {
		return filled(o, dtype.Int64, 0, values.Shape())
	}
	if !onGPU(a) {
		a, values = wide(o, a), wide(o, values) // the CPU has no kernel for half types; Float32 keeps their order
	}
	return o.Result(dtype.Int64, values.Shape(), "one pass of binary searches", []A{dense(o, a), dense(o, values)}, func(s *device.Stream, dst device.View, reads []device.View) error {
		return written(s, dst, func(dst device.View) error { return ops.Search(s, dst, reads[0], reads[1], right) })
	})
}
