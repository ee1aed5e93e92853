package compose

import (
	"fmt"
	"math"
	"slices"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/ops"
)

// Median returns the middle element in ascending order over the given axes, or the mean of the two middle ones. The
// result lacks the axes unless KeepDims is among them; no axes means all. If an element is NaN, or if there are no
// elements, the result is NaN.
//
//gpk:row Over axes | the same | floating point | the middle element in rising order, or the mean of the two in the middle; NaN for no elements or where one is NaN
func Median[A Operand](o Operation[A], a A, axes ...int) A {
	r, err := rankedOf(o, a, axes, 0.5)
	if err != nil {
		return o.Failed(err)
	}
	return r.between(0.5, func(low, high A, _ float64) A {
		return o.Elementwise(expr.Mul, o.Elementwise(expr.Add, low, high), 0.5)
	})
}

// Quantile returns the element at position q (n - 1) of the n elements in ascending order, over the given axes, as for
// Median. Between two positions it interpolates linearly, as NumPy does by default. A q outside 0 to 1 is
// ErrUnsupported. Half types are interpolated in Float32 and rounded once.
//
//gpk:row Over axes | the same | floating point | the element at place q (n-1) in rising order, between two places linear; NaN for no elements or where one is NaN
func Quantile[A Operand](o Operation[A], a A, q float64, axes ...int) A {
	if err := checkQuantile(q); err != nil {
		return o.Failed(err)
	}
	r, err := rankedOf(o, a, axes, q)
	if err != nil {
		return o.Failed(err)
	}
	return r.between(q, r.linear)
}

// Quantiles returns the results of Quantile for several q, along a new first axis: [len(q), …]. The elements are sorted
// only once, or, on a CPU, selected once.
//
//gpk:row Over axes | the same | floating point | Quantile for several q, along a new first axis
func Quantiles[A Operand](o Operation[A], a A, q []float64, axes ...int) A {
	for _, at := range q {
		if err := checkQuantile(at); err != nil {
			return o.Failed(err)
		}
	}
	r, err := rankedOf(o, a, axes, q...)
	if err != nil {
		return o.Failed(err)
	}
	parts := make([]A, len(q))
	for i, at := range q {
		parts[i] = unsqueeze(o, r.between(at, r.linear), 0)
	}
	shape := append([]int{len(q)}, r.shape...)
	return o.Result(a.DType(), shape, "one join", parts, func(s *device.Stream, dst device.View, parts []device.View) error {
		return ops.Concat(s, dst, 0, parts)
	})
}

func checkQuantile(q float64) error {
	if !(q >= 0 && q <= 1) {
		return fmt.Errorf("%w: the quantile %v is not between 0 and 1", expr.ErrUnsupported, q)
	}
	return nil
}

// rankedFold is a reduction whose result depends on order statistics: the elements at given positions in ascending
// order.
type rankedFold[A Operand] struct {
	folded
	o    Operation[A]
	a    A // the operand
	axes []int
	line A     // the elements in ascending order along the last axis; unset if terms is 0
	axis int   // the axis of line, its last one
	held []int // the positions of the elements of line; nil: all positions
}

// A CPU selects the elements of a reduction, instead of sorting them, if there are at least elementsPerPlace elements
// for each one that is read.
const elementsPerPlace = 64

// rankedOf sorts the elements of each reduction of a over axes, or selects those that between reads for the given q.
func rankedOf[A Operand](o Operation[A], a A, axes []int, q ...float64) (r rankedFold[A], err error) {
	f, err := foldOf(o, a, axes, false)
	if err == nil {
		err = floating(a.DType(), false)
	}
	if err != nil {
		return r, err
	}
	r = rankedFold[A]{folded: f, o: o, a: a, axes: axes}
	if f.terms == 0 {
		return r, nil
	}
	x, axis := linesOf(o, f, a)
	r.axis = axis
	lines := x.Shape()[:axis]
	if places := r.places(q); hasKernels(a) && len(places)*elementsPerPlace <= f.terms {
		r.held = places
		r.line = o.Result(a.DType(), append(slices.Clone(lines), len(places)), "a selection along an axis", []A{x}, func(s *device.Stream, dst device.View, reads []device.View) error {
			return written(s, dst, func(dst device.View) error { return ops.Ranks(s, dst, reads[0], places) })
		})
		return r, nil
	}
	r.line = sorted(o, x, r.axis, false)
	return r, nil
}

// linesOf returns a view of a, or a copy, in which the axes of a reduction are merged into the last one, axis.
func linesOf[A Operand](o Operation[A], f folded, a A) (x A, axis int) {
	var order, lines []int
	for _, fold := range []bool{false, true} {
		for d, n := range a.Shape() {
			if f.set[d] == fold {
				if order = append(order, d); !fold {
					lines = append(lines, n)
				}
			}
		}
	}
	return reshape(o, permute(o, a, order), append(lines, f.terms)...), len(lines)
}

// at returns the integer part and the fraction of the position q (n - 1).
func (r rankedFold[A]) at(q float64) (place int, fraction float64) {
	at, fraction := math.Modf(q * float64(r.terms-1))
	return int(at), fraction
}

// places returns the positions that between reads for the given q, in ascending order.
func (r rankedFold[A]) places(q []float64) []int {
	places := []int{r.terms - 1}
	for _, q := range q {
		at, fraction := r.at(q)
		if places = append(places, at); fraction > 0 {
			places = append(places, at+1)
		}
	}
	slices.Sort(places)
	return slices.Compact(places)
}

// between returns the element at position q (n - 1) of each reduction. For a position between two elements it returns
// mix of these elements and the fraction.
func (r rankedFold[A]) between(q float64, mix func(low, high A, fraction float64) A) A {
	o := r.o
	if r.terms == 0 {
		return o.Reduce(expr.Mean, r.a, r.axes) // NaN
	}
	place := func(i int) A {
		if r.held != nil {
			i, _ = slices.BinarySearch(r.held, i)
		}
		return reshape(o, slice(o, r.line, r.axis, i, i+1), r.shape...)
	}
	at, fraction := r.at(q)
	low := place(at)
	last := place(r.terms - 1)
	x := low
	if fraction > 0 {
		x = narrow(o, mix(wide(o, low), wide(o, place(at+1)), fraction), r.a.DType())
	}
	return o.Elementwise(expr.Where, o.Elementwise(expr.Ne, last, last), last, x) // NaN is sorted last
}

// linear returns the number at a fraction of the way from low to high.
func (r rankedFold[A]) linear(low, high A, fraction float64) A {
	o := r.o
	away := o.Elementwise(expr.Sub, high, low)
	var x A
	if fraction < 0.5 {
		x = o.Elementwise(expr.Add, low, o.Elementwise(expr.Mul, away, fraction))
	} else {
		x = o.Elementwise(expr.Sub, high, o.Elementwise(expr.Mul, away, 1-fraction))
	}
	// The difference of two equal infinities is NaN.
	return o.Elementwise(expr.Where, o.Elementwise(expr.Eq, low, high), low, x)
}
