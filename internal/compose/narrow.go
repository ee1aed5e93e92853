package compose

import (
	"math"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// narrowLeast is the number of elements from which a GPU sorts a line by radix (by_radix in cutlass/src/sort_radix.cuh).
// From there on Unique takes 0.5 to 0.9 of the time on a CPU. UniqueAll, which also sorts indices, gains nothing.
const narrowLeast = 1 << 17

// narrowed holds 64-bit integers as their distances from the smallest one. Distances below 2^16 or 2^32 are Uint16
// or Uint32, which a radix sort sorts in a quarter or half of the passes.
type narrowed[A Operand] struct {
	distances A
	least     A // 0-d, in the type of the integers
}

// narrowOf returns the distances of x's elements. It reports false if there are few elements, or if no narrower
// type can hold the distances. It waits for the largest distance. Differences of Int64 wrap: beyond the range of
// Int64 they are negative.
func narrowOf[A Operand](o Operation[A], x A) (n narrowed[A], ok bool, err error) {
	dt := x.DType()
	if dt != dtype.Int64 && dt != dtype.Uint64 || x.Size() < narrowLeast {
		return n, false, nil
	}
	n.least = o.Reduce(expr.Min, x, nil)
	most, err := o.Wait(o.Cast(o.Elementwise(expr.Sub, o.Reduce(expr.Max, x, nil), n.least), dtype.Int64))
	if err != nil || most[0] < 0 || most[0] > math.MaxUint32 {
		return n, false, err
	}
	to := dtype.Uint32
	if most[0] <= math.MaxUint16 {
		to = dtype.Uint16
	}
	n.distances = o.Cast(o.Elementwise(expr.Sub, x, n.least), to)
	return n, true, nil
}

// integers returns the integers for some distances.
func (n narrowed[A]) integers(o Operation[A], distances A) A {
	return o.Elementwise(expr.Add, o.Cast(distances, n.least.DType()), n.least)
}
