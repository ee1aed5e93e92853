package compose

import (
	"fmt"
	"math"

	"github.com/gpk-go/gpk/expr"
)

// Median returns the middle element in rising order over the given axes, or the mean of the
// two in the middle. The result lacks the axes unless KeepDims is among them; no axes means
// all. NaN among the elements gives NaN, and so do no elements.
//
//gpk:row Over axes | the same | floating point | the middle element in rising order, or the mean of the two in the middle; NaN for no elements or where one is NaN
func Median[A Operand](o Operation[A], a A, axes ...int) A {
	return between(o, a, 0.5, axes, func(low, high A, _ float64) A {
		return o.Elementwise(expr.Mul, o.Elementwise(expr.Add, low, high), 0.5)
	})
}

// Quantile returns the element at place q (n - 1) of the n elements in rising order, over the
// given axes, as for Median. Between two places it interpolates linearly, as NumPy's default
// does. A q outside 0 to 1 is ErrUnsupported. Half types are interpolated in Float32 and
// rounded once.
//
//gpk:row Over axes | the same | floating point | the element at place q (n-1) in rising order, between two places linear; NaN for no elements or where one is NaN
func Quantile[A Operand](o Operation[A], a A, q float64, axes ...int) A {
	if !(q >= 0 && q <= 1) {
		return o.Failed(fmt.Errorf("%w: a quantile of %v, which is not between 0 and 1", expr.ErrUnsupported, q))
	}
	return between(o, a, q, axes, func(low, high A, fraction float64) A {
		away := o.Elementwise(expr.Sub, high, low)
		var x A
		if fraction < 0.5 {
			x = o.Elementwise(expr.Add, low, o.Elementwise(expr.Mul, away, fraction))
		} else {
			x = o.Elementwise(expr.Sub, high, o.Elementwise(expr.Mul, away, 1-fraction))
		}
		// Of two equal infinities the difference is NaN.
		return o.Elementwise(expr.Where, o.Elementwise(expr.Eq, low, high), low, x)
	})
}

// between sorts the elements of each fold, and returns the one at place q (n - 1), or what
// mix makes of the two about it and the fraction between them.
func between[A Operand](o Operation[A], a A, q float64, axes []int, mix func(low, high A, fraction float64) A) A {
	f, err := foldOf(o, a, axes, false)
	if err == nil {
		err = floating(a.DType(), false)
	}
	if err != nil {
		return o.Failed(err)
	}
	if f.terms == 0 {
		return o.Reduce(expr.Mean, a, axes) // NaN
	}
	// The folded axes become the last one.
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
	x := reshape(o, permute(o, a, order), append(lines, f.terms)...)
	line := sorted(o, x, len(lines), false)
	place := func(i int) A {
		return reshape(o, slice(o, line, len(lines), i, i+1), f.shape...)
	}
	at, fraction := math.Modf(q * float64(f.terms-1))
	low := place(int(at))
	last := place(f.terms - 1)
	x = low
	if fraction > 0 {
		x = narrow(o, mix(wide(o, low), wide(o, place(int(at)+1)), fraction), a.DType())
	}
	return o.Elementwise(expr.Where, o.Elementwise(expr.Ne, last, last), last, x) // NaN is sorted last
}
