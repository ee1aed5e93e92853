package ops

import (
	"math"
	"math/big"
	"math/cmplx"

	"github.com/gpk-go/gpk/expr"
)

// functions are the rows whose kernels internal/gen makes; see expr.Op.IsFunction. Their
// bounds are at least those that NVIDIA states for CUDA's math library (CUDA C++
// Programming Guide, Mathematical Functions, tables of float and double). NVIDIA's errors
// are relative to the correctly rounded result, which is up to half an ulp away from the
// exact one. The functions of internal/cpu with larger errors have larger bounds.
var functions = []Row{
	{expr.Tan, Unary, floats, sameType, refReal(math.Tan), "the tangent of a, in radians", Bound{Float32: 4, Float64: 2.5}},
	{expr.Asin, Unary, floats, sameType, refReal(func(x float64) float64 { return math.Atan2(x, math.Sqrt((1-x)*(1+x))) }), "the angle in [-pi/2, pi/2] whose sine is a, NaN outside [-1, 1]", Bound{Float32: 2, Float64: 2.5}},
	{expr.Acos, Unary, floats, sameType, refReal(func(x float64) float64 { return math.Atan2(math.Sqrt((1-x)*(1+x)), x) }), "the angle in [0, pi] whose cosine is a, NaN outside [-1, 1]", Bound{Float32: 2, Float64: 2.5}},
	{expr.Atan, Unary, floats, sameType, refReal(math.Atan), "the angle in [-pi/2, pi/2] whose tangent is a", Bound{Float32: 2, Float64: 2}},
	{expr.Sinh, Unary, floats, sameType, refReal(math.Sinh), "the hyperbolic sine of a", Bound{Float32: 3, Float64: 2.5}},
	{expr.Cosh, Unary, floats, sameType, refReal(math.Cosh), "the hyperbolic cosine of a", Bound{Float32: 2, Float64: 2}},
	{expr.Asinh, Unary, floats, sameType, refReal(math.Asinh), "the inverse hyperbolic sine of a", Bound{Float32: 3, Float64: 3}},
	{expr.Acosh, Unary, floats, sameType, refReal(math.Acosh), "the inverse hyperbolic cosine of a, NaN below 1", Bound{Float32: 4, Float64: 3}},
	{expr.Atanh, Unary, floats, sameType, refReal(math.Atanh), "the inverse hyperbolic tangent of a, NaN outside [-1, 1]", Bound{Float32: 3, Float64: 2.5}},
	{expr.Log2, Unary, floats, sameType, refReal(refLog2), "the logarithm of a to base 2", Bound{Float32: 1.5, Float64: 1.5}},
	{expr.Log10, Unary, floats, sameType, refReal(func(x float64) float64 { return refLog(x) / math.Ln10 }), "the logarithm of a to base 10", Bound{Float32: 2.5, Float64: 1.5}},
	{expr.Exp2, Unary, floats, sameType, refReal(math.Exp2), "2^a", Bound{Float32: 2.5, Float64: 1.5}},
	{expr.Cbrt, Unary, floats, sameType, refReal(math.Cbrt), "the real cube root of a", Bound{Float32: 1.5, Float64: 1.5}},
	{expr.Trunc, Unary, reals, sameType, refReal(math.Trunc), "the integer part of a, a rounded towards 0", Bound{Float32: 0.5, Float64: 0.5}},
	{expr.Reciprocal, Unary, fields, sameType, func(x, _ complex128) complex128 { return 1 / x }, "1 / a", Bound{Float32: 0.5, Float64: 0.5}},
	{expr.SignBit, Unary, reals, boolType, refTest(func(x float64) bool { return math.Signbit(x) }), "whether a is below 0, or -0, or a NaN with the sign bit; a GPU does not see the sign of a float16 NaN", Bound{}},
	{expr.IsNaN, Unary, numbers, boolType, refTest(func(x float64) bool { return x != x }), "whether a, or a part of it, is NaN; no integer is", Bound{}},
	{expr.IsInf, Unary, numbers, boolType, refTest(func(x float64) bool { return math.IsInf(x, 0) }), "whether a, or a part of it, is infinite; no integer is", Bound{}},
	{expr.IsFinite, Unary, numbers, boolType, refFinite, "whether a, and each part of it, is neither infinite nor NaN; every integer is", Bound{}},
	{expr.Angle, Unary, fields, realType, func(x, _ complex128) complex128 { return complex(refAtan2(imag(x), real(x)), 0) }, "the angle of a in the complex plane, in (-pi, pi]; of a real number 0, or pi below 0", Bound{Float32: 3, Float64: 2.5}},
	{expr.Erfc, Unary, floats, sameType, refReal(math.Erfc), "1 - erf(a), accurate where erf(a) is near 1", Bound{Float32: 4, Float64: 5}},
	{expr.Lgamma, Unary, floats, sameType, refReal(refLgamma), "log |gamma(a)|, infinite at 0, the negative integers and -Inf", Bound{Float32: 6, Float64: 4, FromOne: true}},
	{expr.Digamma, Unary, floats, sameType, refReal(refDigamma), "the derivative of log gamma(a), NaN at the negative integers (Abramowitz and Stegun 6.3.18, with the recurrence 6.3.5 and the reflection 6.3.7)", Bound{Float32: 1, Float64: 8, FromOne: true}},
	{expr.Erfinv, Unary, floats, sameType, refReal(math.Erfinv), "the number whose error function is a, infinite at -1 and 1, NaN beyond (Wichura, Algorithm AS 241, 1988, and a Newton step)", Bound{Float32: 2, Float64: 5}},

	{expr.Atan2, Binary, floats, sameType, refReal2(refAtan2), "the angle in [-pi, pi] of the point (b, a), whose tangent is a / b", Bound{Float32: 3, Float64: 2.5}},
	{expr.Hypot, Binary, floats, sameType, refReal2(math.Hypot), "sqrt(a^2 + b^2) without overflow, infinite where either is", Bound{Float32: 3, Float64: 2}},
	{expr.CopySign, Binary, floats, sameType, refReal2(math.Copysign), "|a| with the sign of b", Bound{Float32: 0.5, Float64: 0.5}},
	{expr.LogAddExp, Binary, floats, sameType, refReal2(refLogAddExp), "log(e^a + e^b) without overflow", Bound{Float32: 3, Float64: 2, FromOne: true}},
	{expr.FloorDivide, Binary, reals, sameType, refReal2(refFloorDivide), "the greatest integer not above a / b; an integer divided by 0 is 0, and the least by -1 wraps", Bound{Float32: 0.51, Float64: 2}},
	{expr.Remainder, Binary, reals, sameType, refReal2(refRemainder), "a - b FloorDivide(a, b), which has the sign of b; of integers divided by 0 it is 0", Bound{Float32: 0.51, Float64: 0.51}},
}

// refReal2 makes a reference from a function of two real numbers.
func refReal2(f func(x, y float64) float64) func(x, y complex128) complex128 {
	return func(x, y complex128) complex128 { return complex(f(real(x), real(y)), 0) }
}

// refTest makes a reference from a test of real numbers. A complex number passes if one of
// its parts does.
func refTest(f func(float64) bool) func(x, _ complex128) complex128 {
	return refTruth(func(x, _ complex128) bool { return f(real(x)) || imag(x) != 0 && f(imag(x)) })
}

func refFinite(x, _ complex128) complex128 {
	if cmplx.IsNaN(x) || cmplx.IsInf(x) {
		return 0
	}
	return 1
}

// refLog2 uses log(x)/log(2) near 1, where math.Log2 loses accuracy: it adds two terms that
// cancel.
func refLog2(x float64) float64 {
	if math.Abs(x-1) < 0.5 {
		return math.Log1p(x-1) / math.Ln2
	}
	return math.Log2(x)
}

// refLgamma uses the logarithm of math.Gamma where its argument is neither very small nor
// near its limits.
func refLgamma(x float64) float64 {
	switch a := math.Abs(x); {
	case x <= 0 && x == math.Trunc(x):
		return math.Inf(1)
	case a < 20 && a > 0x1p-100:
		return math.Log(math.Abs(math.Gamma(x)))
	}
	v, _ := math.Lgamma(x)
	return v
}

// refDigamma shifts x beyond 30 by the recurrence. There five terms of the asymptotic
// series have an error below 2^-60; the kernels shift less and use more terms. For negative
// x it uses the reflection.
func refDigamma(x float64) float64 {
	switch {
	case x == 0:
		return math.Copysign(math.Inf(1), -x)
	case x < 0 && x == math.Trunc(x), math.IsInf(x, -1):
		return math.NaN()
	case x < 0:
		near := math.Round(x)
		return refDigamma(1-x) - math.Pi/math.Tan(math.Pi*(x-near))
	}
	var sum, rest float64
	for ; x < 30; x++ {
		y := -1/x - rest
		t := sum + y
		rest, sum = (t-sum)-y, t
	}
	z := 1 / (x * x)
	return sum + math.Log(x) - 0.5/x - z*(1./12-z*(1./120-z*(1./252-z*(1./240-z/132))))
}

// refLogAddExp factors the larger operand out.
func refLogAddExp(x, y float64) float64 {
	if x == y {
		return x + math.Ln2
	}
	return max(x, y) + math.Log1p(math.Exp(-math.Abs(x-y)))
}

// refFloorDivide and refRemainder are exact up to one rounding if the quotient is finite.
// Otherwise they return what NumPy defines.
func refFloorDivide(x, y float64) float64 {
	q, _ := floorDivide(x, y)
	return q
}

func refRemainder(x, y float64) float64 {
	_, r := floorDivide(x, y)
	return r
}

func floorDivide(x, y float64) (q, r float64) {
	switch {
	case y == 0:
		return x / y, math.NaN()
	case math.IsInf(x, 0) || x != x || y != y:
		return math.NaN(), math.NaN()
	case math.IsInf(y, 0) && x != 0 && math.Signbit(x) != math.Signbit(y):
		return -1, y
	case math.IsInf(y, 0) || x == 0:
		return math.Copysign(0, x/y), math.Copysign(x, y)
	}
	if math.Abs(x/y) < 0x1p50 { // (x - r) / y is an integer, except for rounding
		r = math.Mod(x, y)
		q = math.Round((x - r) / y)
		if r != 0 && math.Signbit(r) != math.Signbit(y) {
			q, r = q-1, r+y
		}
		return q, r
	}
	a, b := new(big.Rat).SetFloat64(x), new(big.Rat).SetFloat64(y)
	quotient := new(big.Rat).Quo(a, b)
	n := new(big.Int).Div(quotient.Num(), quotient.Denom()) // rounds down, because the denominator is positive
	floor := new(big.Rat).SetInt(n)
	q, _ = floor.Float64()
	r, _ = a.Sub(a, floor.Mul(floor, b)).Float64()
	if n.Sign() == 0 {
		q = math.Copysign(0, x/y)
	}
	if r == 0 {
		r = math.Copysign(0, y)
	}
	return q, r
}
