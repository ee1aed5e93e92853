package compose

import (
	"fmt"
	"math"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// Norm returns the Euclidean norm, the square root of the sum of |a|^2, over the given axes,
// which the result lacks unless KeepDims is among them; no axes means all. Complex types
// give their real type. Half types are computed in Float32 and rounded once.
//
//gpk:row Over axes | the same; the real type for complex types | floating point, complex | the Euclidean norm, the square root of the sum of |a|^2; 0 for no elements
func Norm[A Operand](o Operation[A], a A, axes ...int) A { return norm(o, a, 2, axes) }

// VectorNorm returns the norm of order p over the given axes, as for Norm: (sum |a|^p)^(1/p). For p = +Inf it is the
// largest |a|, for p = -Inf the smallest; both are ErrShape if there are no elements. For p = 0 it is the number of
// elements that differ from 0. A p that is NaN is ErrUnsupported.
//
//gpk:row Over axes | the same; the real type for complex types | floating point, complex | the norm of order p of the elements, (sum \|a\|^p)^(1/p)
func VectorNorm[A Operand](o Operation[A], a A, p float64, axes ...int) A { return norm(o, a, p, axes) }

func norm[A Operand](o Operation[A], a A, p float64, axes []int) A {
	_, err := foldOf(o, a, axes, false)
	if err == nil {
		err = floating(a.DType(), true)
	}
	if err == nil && math.IsNaN(p) {
		err = fmt.Errorf("%w: a norm of order NaN", expr.ErrUnsupported)
	}
	if err != nil {
		return o.Failed(err)
	}
	dt := a.DType().Real()
	if p == 0 {
		return o.Cast(o.Reduce(expr.Sum, o.Elementwise(expr.Ne, a, 0), axes), dt)
	}
	x := wide(o, a)
	switch {
	case p == 2:
		x = o.Elementwise(expr.Sqrt, o.Reduce(expr.Sum, o.Elementwise(expr.AbsSquare, x), axes))
	case p == 1:
		x = o.Reduce(expr.Sum, o.Elementwise(expr.Abs, x), axes)
	case math.IsInf(p, 1):
		x = o.Reduce(expr.Max, o.Elementwise(expr.Abs, x), axes)
	case math.IsInf(p, -1):
		x = o.Reduce(expr.Min, o.Elementwise(expr.Abs, x), axes)
	default:
		sum := o.Reduce(expr.Sum, o.Elementwise(expr.Pow, o.Elementwise(expr.Abs, x), p), axes)
		x = o.Elementwise(expr.Pow, sum, 1/p)
	}
	return narrow(o, x, dt)
}

// LogSumExp returns log(sum e^a) over the given axes, which the result lacks unless KeepDims is among them; no axes
// means all. The largest element is subtracted first and added to the logarithm, so that nothing overflows. No elements
// give -Inf. Half types are computed in Float32 and rounded once.
//
//gpk:row Over axes | the same | floating point | m + log(sum e^(a-m)), where m is the largest element; -Inf for no elements
func LogSumExp[A Operand](o Operation[A], a A, axes ...int) A {
	f, err := foldOf(o, a, axes, false)
	if err == nil {
		err = floating(a.DType(), false)
	}
	if err != nil {
		return o.Failed(err)
	}
	if f.none() {
		return o.Cast(a, a.DType())
	}
	x := wide(o, a)
	if f.terms == 0 {
		return narrow(o, o.Elementwise(expr.Log, o.Reduce(expr.Sum, x, axes)), a.DType())
	}
	largest := o.Reduce(expr.Max, x, f.kept())
	// An infinite maximum is the result itself. Subtracting it would give NaN.
	infinite := o.Elementwise(expr.Eq, o.Elementwise(expr.Abs, largest), math.Inf(1))
	shift := o.Elementwise(expr.Where, infinite, 0, largest)
	sum := o.Reduce(expr.Sum, o.Elementwise(expr.Exp, o.Elementwise(expr.Sub, x, shift)), axes)
	return narrow(o, o.Elementwise(expr.Add, o.Elementwise(expr.Log, sum), reshape(o, shift, f.shape...)), a.DType())
}

// CountNonzero returns the number of elements that differ from 0, over the given axes, which
// the result lacks unless KeepDims is among them; no axes means all. NaN differs from 0.
//
//gpk:row Over axes | int64 | all | the number of elements that differ from 0
func CountNonzero[A Operand](o Operation[A], a A, axes ...int) A {
	if _, err := foldOf(o, a, axes, false); err != nil {
		return o.Failed(err)
	}
	hit := a
	if a.DType() != dtype.Bool {
		hit = o.Elementwise(expr.Ne, a, 0)
	}
	return o.Reduce(expr.Sum, hit, axes)
}
