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

// Histogram divides lo to hi into bins intervals of equal width. It returns the number of elements of a, of a real
// type, in each, as Int64, and the bins + 1 edges, as Float64. An interval includes its lower edge, and the last one
// also hi. NaN and elements outside are not counted. With lo = hi the range is lo - 1/2 to hi + 1/2. Elements are compared as Float64.
// Fewer than one interval is ErrShape; bounds that are not finite, and lo above hi, are ErrUnsupported.
//
//gpk:row In order along an axis | int64, float64 | real types | the number of elements in intervals of one width between two bounds, and the edges
func Histogram[A Operand](o Operation[A], a A, bins int, lo, hi float64) (counts, edges A) {
	edges, err := edgesOf(o, bins, lo, hi)
	if err == nil {
		counts, err = histogram(o, a, edges)
	}
	if err != nil {
		return o.Failed(err), o.Failed(err)
	}
	return counts, edges
}

// HistogramDensity is Histogram with each number divided by the width of its interval and by the sum of all numbers. It
// is the density of the elements in the range, Float64, whose integral is 1. It is NaN if no element is in the range.
//
//gpk:row In order along an axis | float64, twice | real types | the density of elements in intervals of one width between two bounds, and the edges
func HistogramDensity[A Operand](o Operation[A], a A, bins int, lo, hi float64) (density, edges A) {
	counts, edges := Histogram(o, a, bins, lo, hi)
	n := edges.Size()
	if n < 2 { // a carries an error
		return counts, edges
	}
	width := o.Elementwise(expr.Sub, slice(o, edges, 0, 1, n), slice(o, edges, 0, 0, n-1))
	total := o.Cast(o.Reduce(expr.Sum, counts, nil), dtype.Float64)
	return o.Elementwise(expr.Div, o.Elementwise(expr.Div, o.Cast(counts, dtype.Float64), width), total), edges
}

// HistogramEdges returns the number of elements of a in the intervals between edges, Int64: one number fewer than
// edges, which has one axis and ascending elements of a real type. Each interval includes its lower edge, and the last
// one also its upper edge. Fewer than two edges, and edges that do not ascend or are NaN, are ErrShape; the latter is
// found on the device, like an index of Take outside its axis.
//
//gpk:row In order along an axis | int64 | real types | the number of elements in the intervals between edges
func HistogramEdges[A Operand](o Operation[A], a, edges A) A {
	err := o.Check()
	if err == nil && (edges.NDim() != 1 || edges.Size() < 2) {
		err = layout.Errorf("edges of shape %v; want one axis of two or more edges", edges.Shape())
	}
	if err == nil && (edges.DType().IsComplex() || edges.DType() == dtype.Bool) {
		err = fmt.Errorf("%w: the edges are %v, not real numbers", dtype.ErrDType, edges.DType())
	}
	if err != nil {
		return o.Failed(err)
	}
	edges = narrow(o, edges, dtype.Float64)
	n := edges.Size()
	rises := o.Elementwise(expr.Le, slice(o, edges, 0, 0, n-1), slice(o, edges, 0, 1, n))
	counts, err := histogram(o, a, edges)
	if err != nil {
		return o.Failed(err)
	}
	return guarded(o, counts, o.Reduce(expr.All, rises, nil), layout.Errorf("the edges do not ascend"))
}

// BinCount returns the number of elements of a that equal 0, 1, …, as Int64. With weights it returns the sum of their
// weights, as Float64. a has an integer type and one axis. The result has one axis, whose length is the largest
// element plus 1, for which BinCount waits, or minLength if that is larger. weights is at most one array, of a real
// type and a's shape, added as by ScatterAdd. Negative elements, weights of another shape and minLength < 0 are ErrShape.
//
//gpk:row In order along an axis | int64; float64 with weights | integers | the number of elements equal to 0, 1, …, or the sum of their weights; waits for the largest element
func BinCount[A Operand](o Operation[A], a A, minLength int, weights ...A) A {
	err := o.Check()
	if err == nil {
		err = checkBinCount(a, minLength, weights)
	}
	n := minLength
	var x A
	if err == nil && a.Size() > 0 {
		x = narrow(o, a, dtype.Int64)
		n, err = binsFor(o, x, minLength)
	}
	if err == nil {
		_, err = layout.Size([]int{n, dtype.Int64.Size()})
	}
	switch {
	case err != nil:
		return o.Failed(err)
	case len(weights) == 1 && a.Size() > 0:
		return ScatterAdd(o, filled(o, dtype.Float64, 0, []int{n}), x, narrow(o, weights[0], dtype.Float64), 0)
	case len(weights) == 1:
		return filled(o, dtype.Float64, 0, []int{n})
	case a.Size() == 0:
		return filled(o, dtype.Int64, 0, []int{n})
	}
	return binCount(o, x, n)
}

// binCount returns the number of elements of x, Int64, that equal each index below n.
func binCount[A Operand](o Operation[A], x A, n int) A {
	return o.Result(dtype.Int64, []int{n}, "one pass", []A{dense(o, x)}, func(s *device.Stream, dst device.View, reads []device.View) error {
		return written(s, dst, func(dst device.View) error { return ops.BinCount(s, dst, reads[0]) })
	})
}

// checkBinCount checks the operands of BinCount.
func checkBinCount[A Operand](a A, minLength int, weights []A) error {
	switch {
	case !a.DType().IsInteger():
		return fmt.Errorf("%w: BinCount counts integers, not %v; Cast(gpk.Int64) them", dtype.ErrDType, a.DType())
	case a.NDim() != 1:
		return layout.Errorf("BinCount of shape %v; want one axis", a.Shape())
	case minLength < 0:
		return layout.Errorf("BinCount with a negative minLength of %d", minLength)
	case len(weights) > 1:
		return layout.Errorf("BinCount with %d arrays of weights; want at most one", len(weights))
	case len(weights) == 1 && (weights[0].NDim() != 1 || weights[0].Size() != a.Size()):
		return layout.Errorf("BinCount with weights of shape %v for elements of shape %v", weights[0].Shape(), a.Shape())
	case len(weights) == 1 && weights[0].DType().IsComplex():
		return fmt.Errorf("%w: the weights are %v, not real numbers", dtype.ErrDType, weights[0].DType())
	}
	return nil
}

// binsFor returns the length of the result of BinCount. It waits for the elements.
func binsFor[A Operand](o Operation[A], x A, atLeast int) (int, error) {
	most, err := o.Wait(o.Reduce(expr.Max, x, nil))
	if err != nil {
		return 0, err
	}
	least, err := o.Wait(o.Reduce(expr.Min, x, nil))
	switch {
	case err != nil:
		return 0, err
	case least[0] < 0:
		return 0, layout.Errorf("BinCount of the negative element %d", least[0])
	case most[0] >= math.MaxInt/2:
		return 0, layout.Errorf("BinCount of the element %d, which is too large", most[0])
	}
	return max(atLeast, int(most[0])+1), nil
}

// edgesOf returns the edges of intervals of equal width, Float64.
func edgesOf[A Operand](o Operation[A], bins int, lo, hi float64) (edges A, err error) {
	err = o.Check()
	if err == nil && bins < 1 {
		err = layout.Errorf("%d intervals", bins)
	}
	if err == nil {
		_, err = layout.Size([]int{bins, 16})
	}
	if err == nil && (!ops.Finite(lo, hi) || lo > hi) {
		err = fmt.Errorf("%w: intervals from %v to %v", expr.ErrUnsupported, lo, hi)
	}
	if err != nil {
		return edges, err
	}
	if lo == hi {
		lo, hi = lo-0.5, hi+0.5
	}
	return o.Result(dtype.Float64, []int{bins + 1}, "one fill", nil, func(s *device.Stream, dst device.View, _ []device.View) error {
		return ops.Linspace(s, dst, lo, hi)
	}), nil
}

// histogram returns the number of elements between edges in ascending order, Float64.
func histogram[A Operand](o Operation[A], a, edges A) (counts A, err error) {
	if err = o.Check(); err == nil && (a.DType().IsComplex() || a.DType() == dtype.Bool) {
		err = fmt.Errorf("%w: the elements are %v, not real numbers", dtype.ErrDType, a.DType())
	}
	if err != nil {
		return counts, err
	}
	n := edges.Size()
	if hasKernels(a) {
		return o.Result(dtype.Int64, []int{n - 1}, "one pass", []A{dense(o, a), dense(o, edges)}, func(s *device.Stream, dst device.View, reads []device.View) error {
			return written(s, dst, func(dst device.View) error { return ops.Histogram(s, dst, reads[0], reads[1]) })
		}), nil
	}
	x := narrow(o, a, dtype.Float64)
	// The number of edges that are not above an element is one more than the number of its interval. The last interval
	// includes its upper edge. Elements in no interval, and NaN, get a number that is not counted.
	interval := o.Elementwise(expr.Sub, searched(o, edges, x, true), 1)
	interval = o.Elementwise(expr.Where, o.Elementwise(expr.Eq, x, slice(o, edges, 0, n-1, n)), n-2, interval)
	return binCount(o, interval, n-1), nil
}

// guarded returns x, of type Int64. If fine, a Bool of one element, is false, it fails with err, which is found on the
// device, like an index of Take outside its axis.
func guarded[A Operand](o Operation[A], x, fine A, err error) A {
	at := o.Cast(o.Elementwise(expr.Not, fine), dtype.Int64)
	return o.Elementwise(expr.Add, x, take(o, filled(o, dtype.Int64, 0, []int{1}), at, 0, err))
}
