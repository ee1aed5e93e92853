package compose

import (
	"math"
	"math/bits"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// Unique returns the distinct elements of a, of a real type or Bool, in ascending order along one axis. All NaNs count
// as one element, as in NumPy, and so do -0 and 0; the first one of a is returned. Unique waits for their number, as
// Nonzero does.
//
//gpk:row In order along an axis | the same | real types, bool | the different elements of an array in ascending order; NaN is one of them; waits for their number
func Unique[A Operand](o Operation[A], a A) A {
	if err := o.Check(); err == nil && a.Size() > 0 && hasKernels(a) && supports(o, expr.Sort, a.DType()) == nil {
		return uniqueHere(o, a)
	}
	u, err := uniqueOf(o, a, false)
	if err != nil {
		return o.Failed(err)
	}
	return u.values(o)
}

// uniqueHere is Unique on the CPU. The array must not be empty.
func uniqueHere[A Operand](o Operation[A], a A) A {
	n := a.Size()
	x := reshape(o, a, n)
	narrow, isNarrow, err := narrowOf(o, x)
	if err != nil {
		return o.Failed(err)
	}
	if isNarrow {
		x = narrow.distances
	}
	parts := []Part{{x.DType(), []int{n}}, {dtype.Int64, []int{1}}}
	out, err := o.Several(parts, "a sort and one pass", []A{x}, func(s *device.Stream, dst, reads []device.View) error {
		return ops.Unique(s, dst[0], dst[1], reads[0])
	})
	if err != nil {
		return o.Failed(err)
	}
	count, err := o.Wait(out[1])
	if err != nil {
		return o.Failed(err)
	}
	values := slice(o, out[0], 0, 0, int(count[0]))
	if isNarrow {
		return narrow.integers(o, values)
	}
	return o.Cast(values, a.DType()) // a copy, so that the memory of all elements can be freed
}

// UniqueAll returns the elements of Unique as values. For each value, indices has the index of its first occurrence in a
// in row-major order, and counts the number of its occurrences. inverse, in the shape of a, is the index in values of
// every element of a. All but values are Int64.
//
//gpk:row In order along an axis | the same, and int64 | real types, bool | the different elements of an array, the first index of each, the index of every element among them, and their numbers
func UniqueAll[A Operand](o Operation[A], a A) (values, indices, inverse, counts A) {
	u, err := uniqueOf(o, a, true)
	if err != nil {
		return o.Failed(err), o.Failed(err), o.Failed(err), o.Failed(err)
	}
	if u.size == 0 {
		none := func() A { return filled(o, dtype.Int64, 0, []int{0}) }
		return u.values(o), none(), filled(o, dtype.Int64, 0, a.Shape()), none()
	}
	n := u.starts.Size()
	// From each start to the next, and from the last one to the end.
	next := take(o, u.starts, o.Elementwise(expr.Minimum, o.Elementwise(expr.Add, counted(o, n), 1), n-1), 0, nil)
	next = o.Elementwise(expr.Where, o.Elementwise(expr.Eq, counted(o, n), n-1), u.size, next)
	indices = o.Elementwise(expr.Sub, u.size-1, take(o, u.from, o.Elementwise(expr.Sub, u.size-1, u.starts), 0, nil))
	return u.values(o), indices, reshape(o, u.inverse(o), a.Shape()...), o.Elementwise(expr.Sub, next, u.starts)
}

// inverse returns the index in values of every element. from holds the positions of the elements in descending order,
// so the index is the last index minus the number of changes so far. Each index belongs to a different element, so
// adding them to zeros stores them.
func (u distinct[A]) inverse(o Operation[A]) A {
	dt := dtype.Int64
	if u.size <= math.MaxInt32 { // halves the memory that is written out of order
		dt = dtype.Int32
	}
	ranks := o.Elementwise(expr.Sub, u.starts.Size()-1, flagsBefore(o, flipped(o, u.differs)))
	out := ScatterAdd(o, filled(o, dt, 0, []int{u.size}), u.from, o.Cast(ranks, dt), 0)
	return o.Cast(flipped(o, out), dtype.Int64)
}

// flagsBefore returns, for a Bool array of one axis, the number of true elements before each index, and last the number
// of all true elements. A GPU sums a line in one block. So the array is cut into about as many rows as a row has
// elements: first the rows are summed, and then their totals.
func flagsBefore[A Operand](o Operation[A], flags A) A {
	n := flags.Size() + 1
	width := 1 << max(10, (bits.Len(uint(n))+1)/2)
	rows := (n + width - 1) / width
	none := func(n int) A { return filled(o, dtype.Bool, false, []int{n}) }
	padded := joined(o, dtype.Bool, rows*width, "flags of whole rows", none(1), flags, none(rows*width-n))
	sums := cumulated(o, reshape(o, padded, rows, width))
	totals := reshape(o, slice(o, sums, 1, width-1, width), rows)
	offsets := o.Elementwise(expr.Sub, cumulated(o, totals), totals)
	sums = o.Elementwise(expr.Add, sums, reshape(o, offsets, rows, 1))
	return slice(o, reshape(o, sums, rows*width), 0, 0, n)
}

// joined returns the elements of parts with one axis, concatenated. n is their number.
func joined[A Operand](o Operation[A], dt dtype.DType, n int, how string, parts ...A) A {
	return o.Result(dt, []int{n}, how, parts, func(s *device.Stream, dst device.View, reads []device.View) error {
		return ops.Concat(s, dst, 0, reads)
	})
}

// flipped returns the elements of an array with one axis in reverse order.
func flipped[A Operand](o Operation[A], a A) A {
	return o.View(a, func(l layout.Layout) (layout.Layout, error) { return l.Flip([]int{0}) })
}

// distinct holds the elements of an array in ascending order, with the position of the first of each kind.
type distinct[A Operand] struct {
	size                    int
	sorted, differs, starts A            // differs: whether an element and the next one differ
	from                    A            // with the order: for each sorted element, beginning with the last, its index from the end of the array
	unsorted                *A           // without the order: the elements
	narrow                  *narrowed[A] // if not nil, sorted holds its distances
	kinds                   *trues[A]    // the mask of first elements, on a GPU if the order is not needed; starts is not set then
}

// uniqueOf sorts the elements. With withOrder it also computes the original position of each element: the order of the
// largest elements of the flipped array, flipped, is ascending, and of equal elements the first is first.
func uniqueOf[A Operand](o Operation[A], a A, withOrder bool) (u distinct[A], err error) {
	if err = o.Check(); err == nil {
		err = supports(o, expr.Sort, a.DType())
	}
	if err != nil {
		return u, err
	}
	u.size = a.Size()
	x := reshape(o, a, u.size)
	if u.size == 0 {
		u.sorted, u.starts = x, filled(o, dtype.Int64, 0, []int{0})
		return u, nil
	}
	narrow, ok, err := narrowOf(o, x)
	if err != nil {
		return u, err
	}
	if ok {
		u.narrow, x = &narrow, narrow.distances
	}
	if withOrder {
		var descending A
		descending, u.from = Pair(o, [2]dtype.DType{x.DType(), dtype.Int64}, []int{u.size}, "a sort of elements with their indices", []A{flipped(o, x)},
			func(s *device.Stream, dst [2]device.View, reads []device.View) error {
				return ops.TopK(s, dst[0], dst[1], reads[0], u.size, 0)
			})
		u.sorted = flipped(o, descending)
	} else {
		u.sorted, u.unsorted = sorted(o, x, 0, false), &x
	}
	if err = u.sorted.Err(); err != nil {
		return u, err
	}
	before := slice(o, u.sorted, 0, 0, u.size-1)
	u.differs = o.Elementwise(expr.Ne, slice(o, u.sorted, 0, 1, u.size), before)
	if a.DType().IsFloat() { // only NaNs follow a NaN
		u.differs = o.Elementwise(expr.And, u.differs, o.Elementwise(expr.Eq, before, before))
	}
	if onGPU(a) && u.size > 1 { // one true element more, for the first kind
		t, err := truesOf(o, u.differs, true)
		if withOrder && err == nil {
			u.starts = t.places(o)
			return u, u.starts.Err()
		}
		u.kinds = &t
		return u, err
	}
	later, err := placesOf(o, u.differs)
	if err != nil {
		return u, err
	}
	u.starts = joined(o, dtype.Int64, 1+later.Size(), "the places of one kind each", filled(o, dtype.Int64, 0, []int{1}), o.Elementwise(expr.Add, later, 1))
	return u, u.starts.Err()
}

func (u distinct[A]) values(o Operation[A]) A {
	var values A
	if u.kinds != nil {
		values = u.selected(o)
	} else {
		values = take(o, u.sorted, u.starts, 0, nil)
	}
	switch {
	case u.kinds != nil && u.narrow == nil:
		return values
	case u.narrow != nil:
		return u.narrow.integers(o, values)
	case u.unsorted != nil && values.DType().IsFloat():
		return withFirstZeroAndNaN(o, *u.unsorted, values)
	}
	return values
}

// selected returns the first of each kind, with the first zero and the first NaN of the unsorted elements.
func (u distinct[A]) selected(o Operation[A]) A {
	dt, more := u.sorted.DType(), []A{u.sorted}
	if dt.IsFloat() {
		more = append(more, dense(o, *u.unsorted))
	}
	return u.kinds.write(o, dt, more, func(s *device.Stream, dst device.View, m ops.Mask, reads []device.View) error {
		if len(reads) == 1 {
			return ops.Select(s, dst, m, reads[0])
		}
		return ops.Distinct(s, dst, m, reads[0], reads[1])
	})
}

// withFirstZeroAndNaN returns values, the distinct elements of x, but with the first zero and the first NaN of x. A
// sort without indices would leave -0 before 0, and an arbitrary NaN.
func withFirstZeroAndNaN[A Operand](o Operation[A], x, values A) A {
	zero := filled(o, values.DType(), 0, []int{1})
	nanAtZeros := o.Elementwise(expr.Where, o.Elementwise(expr.Eq, x, 0), math.NaN(), zero) // ArgMax finds the first NaN
	for _, kind := range []struct {
		elements A
		replaced A
	}{{nanAtZeros, o.Elementwise(expr.Eq, values, 0)}, {x, o.Elementwise(expr.Ne, values, values)}} {
		at := reshape(o, o.Reduce(expr.ArgMax, kind.elements, []int{0}), 1)
		values = o.Elementwise(expr.Where, kind.replaced, take(o, x, at, 0, nil), values)
	}
	return values
}
