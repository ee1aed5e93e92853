package compose

import (
	"fmt"
	"math/bits"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// SearchSorted returns, for each element of values, the index, Int64, at which it can be inserted into a without
// breaking its order: the number of elements of a below it or, with right, not above it. a has one axis, is in
// ascending order with NaN last, as from Sort, and has the type of values, a real one or Bool. Its order is not
// checked. Operands of two types are ErrDType. The search is binary; on a GPU and for half types it takes log2 of the
// length of a steps, each with one gather.
//
//gpk:row In order along an axis | int64 | real types, bool | the index in a sorted array at which each value keeps the order, before or behind equal elements
func SearchSorted[A Operand](o Operation[A], a, values A, right bool) A {
	err := o.Check()
	if err == nil && a.NDim() != 1 {
		err = layout.Errorf("a search in an array of shape %v; want one axis", a.Shape())
	}
	if err == nil {
		err = supports(expr.Sort, a.DType())
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
	n := a.Size()
	low := filled(o, dtype.Int64, 0, values.Shape())
	if n == 0 || values.Size() == 0 {
		return low
	}
	if hasKernels(a) && !a.DType().IsHalf() {
		return o.Result(dtype.Int64, values.Shape(), "one pass of binary searches", []A{dense(o, a), dense(o, values)}, func(s *device.Stream, dst device.View, reads []device.View) error {
			return written(s, dst, func(dst device.View) error { return ops.Search(s, dst, reads[0], reads[1], right) })
		})
	}
	first := 1 << (bits.Len(uint(n)) - 1)
	for step := first; step > 0; step /= 2 {
		// The first low elements precede the value. Of those after them at most 2 step - 1 do, or in the first step n, so that
		// no step looks beyond a (Shar's search: Bentley, Programming Pearls, 2nd edition, section 9.3).
		by := step
		if step == first {
			by = n - first + 1
		}
		goes := precedes(o, take(o, slice(o, a, 0, step-1, n), low, 0, nil), values, right)
		low = o.Elementwise(expr.Where, goes, o.Elementwise(expr.Add, low, by), low)
	}
	return low
}

// precedes returns, for each element of x, whether it is below that of v or, with right, not above it. NaN is the
// largest.
func precedes[A Operand](o Operation[A], x, v A, right bool) A {
	below := func(p, q A) A {
		less := o.Elementwise(expr.Lt, p, q)
		if !p.DType().IsFloat() {
			return less
		}
		nan := o.Elementwise(expr.And, o.Elementwise(expr.Eq, p, p), o.Elementwise(expr.Ne, q, q))
		return o.Elementwise(expr.Or, less, nan)
	}
	if right {
		return o.Elementwise(expr.Not, below(v, x))
	}
	return below(x, v)
}
