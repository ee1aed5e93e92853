package compose

import (
	"math"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
)

// NaNSum returns the sum of the elements that are not NaN, over the given axes, which the result lacks unless KeepDims
// is among them; no axes means all. Without such elements it is 0. It is NumPy's nansum.
//
//gpk:row Over axes | the same | floating point, complex | the sum of the elements that are not NaN; 0 for none
func NaNSum[A Operand](o Operation[A], a A, axes ...int) A {
	p, err := presentOf(o, a, axes, false, true)
	if err != nil {
		return o.Failed(err)
	}
	return o.Reduce(expr.Sum, p.or(a, 0), axes)
}

// NaNMean returns the mean of the elements that are not NaN, over the axes of NaNSum. Without such elements it is NaN.
// Half types are computed in Float32 and rounded once. It is NumPy's nanmean.
//
//gpk:row Over axes | the same | floating point, complex | the mean of the elements that are not NaN; NaN for none
func NaNMean[A Operand](o Operation[A], a A, axes ...int) A {
	p, err := presentOf(o, a, axes, false, true)
	if err != nil {
		return o.Failed(err)
	}
	return narrow(o, p.mean(wide(o, a), axes), a.DType())
}

// NaNVar returns the variance of the elements that are not NaN: the mean of |a - mean|^2. It works over the axes of
// NaNSum. With DDof(n) among them the sum of squares is divided by the number of these elements minus n. The result is
// NaN if that is not positive. Complex types give their real type. Half types are computed in Float32 and rounded once.
// It is NumPy's nanvar.
//
//gpk:row Over axes | the same; the real type for complex types | floating point, complex | the variance of the elements that are not NaN; NaN for none
func NaNVar[A Operand](o Operation[A], a A, axes ...int) A {
	p, err := presentOf(o, a, axes, true, true)
	if err != nil {
		return o.Failed(err)
	}
	return narrow(o, p.variance(wide(o, a)), a.DType().Real())
}

// NaNStd returns the standard deviation of the elements that are not NaN. It is the square root of NaNVar, and takes its
// axes and options. It is NumPy's nanstd.
//
//gpk:row Over axes | the same; the real type for complex types | floating point, complex | the standard deviation of the elements that are not NaN; NaN for none
func NaNStd[A Operand](o Operation[A], a A, axes ...int) A {
	p, err := presentOf(o, a, axes, true, true)
	if err != nil {
		return o.Failed(err)
	}
	return narrow(o, o.Elementwise(expr.Sqrt, p.variance(wide(o, a))), a.DType().Real())
}

// NaNMax returns the largest element that is not NaN, over the axes of NaNSum. If all are NaN, it is NaN. No elements
// are ErrShape. It is NumPy's nanmax.
//
//gpk:row Over axes | the same | floating point | the largest element that is not NaN; NaN where all are; no elements are ErrShape
func NaNMax[A Operand](o Operation[A], a A, axes ...int) A {
	return extremePresent(o, expr.Max, math.Inf(-1), a, axes)
}

// NaNMin returns the smallest element that is not NaN, as NaNMax does the largest. It is NumPy's nanmin.
//
//gpk:row Over axes | the same | floating point | the smallest element that is not NaN; NaN where all are; no elements are ErrShape
func NaNMin[A Operand](o Operation[A], a A, axes ...int) A {
	return extremePresent(o, expr.Min, math.Inf(1), a, axes)
}

// NaNMedian returns the median of the elements that are not NaN, over the axes of NaNSum: the middle one in ascending
// order, or the mean of the two middle ones. Without such elements it is NaN. It is NumPy's nanmedian.
//
//gpk:row Over axes | the same | floating point | the median of the elements that are not NaN; NaN for none
func NaNMedian[A Operand](o Operation[A], a A, axes ...int) A {
	return quantilePresent(o, a, axes, 0.5, func(low, high, _ A) A {
		return o.Elementwise(expr.Mul, o.Elementwise(expr.Add, low, high), 0.5)
	})
}

// NaNQuantile returns the element at position q (n - 1) of the n elements that are not NaN, in ascending order, over the
// axes of NaNSum. Between two positions it interpolates linearly, as Quantile does. Without such elements it is NaN. A q
// outside 0 to 1 is ErrUnsupported. It is NumPy's nanquantile.
//
//gpk:row Over axes | the same | floating point | the element at place q (n-1) of the n that are not NaN, in rising order, between two places linear; NaN for none
func NaNQuantile[A Operand](o Operation[A], a A, q float64, axes ...int) A {
	if err := checkQuantile(q); err != nil {
		return o.Failed(err)
	}
	return quantilePresent(o, a, axes, q, func(low, high, fraction A) A {
		away := o.Elementwise(expr.Sub, high, low)
		x := o.Elementwise(expr.Where, o.Elementwise(expr.Lt, fraction, 0.5),
			o.Elementwise(expr.Add, low, o.Elementwise(expr.Mul, away, fraction)),
			o.Elementwise(expr.Sub, high, o.Elementwise(expr.Mul, away, o.Elementwise(expr.Sub, 1, fraction))))
		// The difference of two equal infinities is NaN.
		return o.Elementwise(expr.Where, o.Elementwise(expr.Eq, low, high), low, x)
	})
}

// present is a reduction of the elements that are not NaN.
type present[A Operand] struct {
	folded
	o     Operation[A]
	where A // Bool, of the operand's shape
}

// presentOf checks the operand and the axes of a reduction. DDof is allowed if ddof is set, and a complex operand if
// complexes is.
func presentOf[A Operand](o Operation[A], a A, axes []int, ddof, complexes bool) (p present[A], err error) {
	f, err := foldOf(o, a, axes, ddof)
	if err == nil {
		err = floating(a.DType(), complexes)
	}
	if err != nil {
		return p, err
	}
	return present[A]{f, o, o.Elementwise(expr.Not, o.Elementwise(expr.IsNaN, a))}, nil
}

// or returns x with a number in place of NaN.
func (p present[A]) or(x A, number any) A { return p.o.Elementwise(expr.Where, p.where, x, number) }

// count returns the number of elements of each reduction, in type dt.
func (p present[A]) count(dt dtype.DType, axes []int) A {
	return p.o.Cast(p.o.Reduce(expr.Sum, p.where, axes), dt)
}

func (p present[A]) mean(x A, axes []int) A {
	return p.o.Elementwise(expr.Div, p.o.Reduce(expr.Sum, p.or(x, 0), axes), p.count(x.DType(), axes))
}

func (p present[A]) variance(x A) A {
	o, axes := p.o, p.Axes
	if p.Keep {
		axes = p.kept()
	}
	mean := x
	if !p.none() {
		mean = p.mean(x, p.kept())
	}
	squares := o.Elementwise(expr.AbsSquare, p.or(o.Elementwise(expr.Sub, x, mean), 0))
	n := o.Elementwise(expr.Sub, p.count(x.DType().Real(), axes), p.DDof)
	v := o.Elementwise(expr.Div, o.Reduce(expr.Sum, squares, axes), n)
	return o.Elementwise(expr.Where, o.Elementwise(expr.Gt, n, 0), v, math.NaN())
}

// extremePresent returns the largest or smallest element that is not NaN. least is the number that replaces NaN.
func extremePresent[A Operand](o Operation[A], code expr.Op, least float64, a A, axes []int) A {
	p, err := presentOf(o, a, axes, false, false)
	if err != nil {
		return o.Failed(err)
	}
	x := o.Reduce(code, p.or(a, least), axes)
	return o.Elementwise(expr.Where, o.Reduce(expr.Any, p.where, axes), x, math.NaN())
}

// quantilePresent returns the element at position q (n - 1) of the n elements that are not NaN. Between two positions it
// returns mix of the two elements and the fraction.
func quantilePresent[A Operand](o Operation[A], a A, axes []int, q float64, mix func(low, high, fraction A) A) A {
	p, err := presentOf(o, a, axes, false, false)
	if err != nil {
		return o.Failed(err)
	}
	if p.terms == 0 {
		return o.Reduce(expr.Mean, a, axes) // NaN
	}
	x, axis := linesOf(o, p.folded, a)
	line := sorted(o, x, axis, false) // with NaN last
	last := o.Elementwise(expr.Maximum, o.Elementwise(expr.Sub, o.Reduce(expr.Sum, o.Elementwise(expr.Eq, x, x), []int{axis, layout.KeepDims}), 1), 0)
	at := o.Elementwise(expr.Mul, o.Cast(last, dtype.Float64), q)
	floor := o.Elementwise(expr.Floor, at)
	place := o.Cast(floor, dtype.Int64)
	low := wide(o, takeAlong(o, line, place, axis, nil))
	high := wide(o, takeAlong(o, line, o.Elementwise(expr.Minimum, o.Elementwise(expr.Add, place, 1), last), axis, nil))
	fraction := o.Elementwise(expr.Sub, at, floor)
	between := o.Elementwise(expr.Gt, fraction, 0)
	result := o.Elementwise(expr.Where, between, mix(low, high, o.Cast(fraction, low.DType())), low)
	return reshape(o, narrow(o, result, a.DType()), p.shape...)
}
