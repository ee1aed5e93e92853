package compose

import (
	"math"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// narrowLeast is the number of elements from which a GPU sorts a line by radix (by_radix in cutlass/src/sort.cuh). On
// a CPU Unique takes 0.5 to 0.9 of the time from there on, and UniqueAll, which sorts indices too, gains nothing.
const narrowLeast = 1 << 17

// narrowed are integers of 64 bits as their distances from the smallest one. Distances below 2^16 or 2^32 are
// Uint16 or Uint32, which a radix sort puts in order in a quarter or half of the passes.
type narrowed[A Operand] struct {
	distances A
	least     A // 0-d, of the type of the integers
}

// narrowOf returns the distances of x's elements, and false if there are few elements or no narrower type holds
// the distances. It waits for the largest distance. Differences of Int64 wrap: above the range of Int64, they are
// negative.
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

// integers returns the integers that distances stand for.
func (n narrowed[A]) integers(o Operation[A], distances A) A {
	return o.Elementwise(expr.Add, o.Cast(distances, n.least.DType()), n.least)
}
