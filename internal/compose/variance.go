package compose

import (
	"math"

	"github.com/gpk-go/gpk/expr"
)

// Var returns the variance of the elements, the mean of |a - mean|^2; NaN for no elements. It works over the given
// axes, which the result lacks unless KeepDims is among them; no axes means all. With DDof(n) among them the sum of
// squares is divided by the number of elements minus n, or by 0 if that is negative. Complex types give their real
// type. Types: floating point, complex.
func Var[A Operand](o Operation[A], a A, axes ...int) A {
	f, err := varianceOf(o, a, axes)
	if err != nil {
		return o.Failed(err)
	}
	if !f.Given || f.DDof <= 0 {
		return variance(o, f, a)
	}
	return narrow(o, variance(o, f, wide(o, a)), a.DType().Real())
}

// Std returns the standard deviation of the elements: the square root of their variance. It
// takes the axes and options of Var. Half types are computed in Float32 and rounded once.
//
//gpk:row Over axes | the same; the real type for complex types | floating point, complex | the standard deviation of the elements, the square root of Var; NaN for no elements
func Std[A Operand](o Operation[A], a A, axes ...int) A {
	f, err := varianceOf(o, a, axes)
	if err != nil {
		return o.Failed(err)
	}
	return narrow(o, o.Elementwise(expr.Sqrt, variance(o, f, wide(o, a))), a.DType().Real())
}

// varianceOf checks the operands of Var and Std.
func varianceOf[A Operand](o Operation[A], a A, axes []int) (folded, error) {
	f, err := foldOf(o, a, axes, true)
	if err == nil {
		err = supports(o, expr.Var, a.DType())
	}
	return f, err
}

// variance is Var of a with the delta degrees of freedom of f, without a conversion of
// types.
func variance[A Operand](o Operation[A], f folded, a A) A {
	axes := f.Axes
	if f.Keep {
		axes = f.kept()
	}
	v := o.Reduce(expr.Var, a, axes)
	if f.DDof <= 0 {
		return v
	}
	n := float64(f.terms)
	return o.Elementwise(expr.Mul, v, n/math.Max(n-float64(f.DDof), 0))
}
