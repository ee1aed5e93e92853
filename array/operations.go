package array

import "github.com/gpk-go/gpk/expr"

// The element-wise operations of the table that are no more than their name; what
// they mean for which type stands in package ops.

// Not returns the bits of an integer the other way, and of Bool what is not true.
func (a *Array) Not() *Array {
	r := new(Array)
	r.unary(expr.Not, a)
	return r
}

// Abs returns the absolute value, of complex numbers the modulus, which is real.
func (a *Array) Abs() *Array {
	r := new(Array)
	r.unary(expr.Abs, a)
	return r
}

// Sign returns -1, 0 or 1; NaN stays NaN.
func (a *Array) Sign() *Array {
	r := new(Array)
	r.unary(expr.Sign, a)
	return r
}

// Square returns a a; integers wrap.
func (a *Array) Square() *Array {
	r := new(Array)
	r.unary(expr.Square, a)
	return r
}

// Sqrt returns the square root, for floating-point and complex types; NaN below 0.
func (a *Array) Sqrt() *Array {
	r := new(Array)
	r.unary(expr.Sqrt, a)
	return r
}

// Rsqrt returns 1 / sqrt(a), for real floating-point types.
func (a *Array) Rsqrt() *Array {
	r := new(Array)
	r.unary(expr.Rsqrt, a)
	return r
}

// Exp returns e^a, for floating-point and complex types.
func (a *Array) Exp() *Array {
	r := new(Array)
	r.unary(expr.Exp, a)
	return r
}

// Expm1 returns e^a - 1, for real floating-point types, also where a is small.
func (a *Array) Expm1() *Array {
	r := new(Array)
	r.unary(expr.Expm1, a)
	return r
}

// Log returns the natural logarithm, for real floating-point types.
func (a *Array) Log() *Array {
	r := new(Array)
	r.unary(expr.Log, a)
	return r
}

// Log1p returns log(1 + a), for real floating-point types, also where a is small.
func (a *Array) Log1p() *Array {
	r := new(Array)
	r.unary(expr.Log1p, a)
	return r
}

// Sin returns the sine of a, in radians, for real floating-point types.
func (a *Array) Sin() *Array {
	r := new(Array)
	r.unary(expr.Sin, a)
	return r
}

// Cos returns the cosine of a, in radians, for real floating-point types.
func (a *Array) Cos() *Array {
	r := new(Array)
	r.unary(expr.Cos, a)
	return r
}

// Tanh returns the hyperbolic tangent, for real floating-point types.
func (a *Array) Tanh() *Array {
	r := new(Array)
	r.unary(expr.Tanh, a)
	return r
}

// Erf returns the error function, for real floating-point types.
func (a *Array) Erf() *Array {
	r := new(Array)
	r.unary(expr.Erf, a)
	return r
}

// Sigmoid returns 1 / (1 + exp(-a)), for real floating-point types.
func (a *Array) Sigmoid() *Array {
	r := new(Array)
	r.unary(expr.Sigmoid, a)
	return r
}

// Floor returns the greatest integer not above a; integers are unchanged.
func (a *Array) Floor() *Array {
	r := new(Array)
	r.unary(expr.Floor, a)
	return r
}

// Ceil returns the least integer not below a; integers are unchanged.
func (a *Array) Ceil() *Array {
	r := new(Array)
	r.unary(expr.Ceil, a)
	return r
}

// Round returns the nearest integer, halves to even; integers are unchanged.
func (a *Array) Round() *Array {
	r := new(Array)
	r.unary(expr.Round, a)
	return r
}

// Real returns the real part; real types are unchanged.
func (a *Array) Real() *Array {
	r := new(Array)
	r.unary(expr.Real, a)
	return r
}

// Imag returns the imaginary part; of real types 0.
func (a *Array) Imag() *Array {
	r := new(Array)
	r.unary(expr.Imag, a)
	return r
}

// AbsSquare returns |a|^2, which is real; integers wrap.
func (a *Array) AbsSquare() *Array {
	r := new(Array)
	r.unary(expr.AbsSquare, a)
	return r
}

// Pow returns a to the power of b; integers wrap, and a negative power of one is the
// integer part of the fraction. b is
// an *Array of a's type or a number.
func (a *Array) Pow(b any) *Array {
	r := new(Array)
	r.binary(expr.Pow, a, b)
	return r
}

// Maximum returns the larger of a and b, NaN where one is. b is
// an *Array of a's type or a number.
func (a *Array) Maximum(b any) *Array {
	r := new(Array)
	r.binary(expr.Maximum, a, b)
	return r
}

// Minimum returns the smaller of a and b, NaN where one is. b is
// an *Array of a's type or a number.
func (a *Array) Minimum(b any) *Array {
	r := new(Array)
	r.binary(expr.Minimum, a, b)
	return r
}

// Eq returns whether a = b, as Bool. b is
// an *Array of a's type or a number.
func (a *Array) Eq(b any) *Array {
	r := new(Array)
	r.binary(expr.Eq, a, b)
	return r
}

// Ne returns whether a and b differ, as Bool. b is
// an *Array of a's type or a number.
func (a *Array) Ne(b any) *Array {
	r := new(Array)
	r.binary(expr.Ne, a, b)
	return r
}

// Lt returns whether a < b, as Bool. b is
// an *Array of a's type or a number.
func (a *Array) Lt(b any) *Array {
	r := new(Array)
	r.binary(expr.Lt, a, b)
	return r
}

// Le returns whether a <= b, as Bool. b is
// an *Array of a's type or a number.
func (a *Array) Le(b any) *Array {
	r := new(Array)
	r.binary(expr.Le, a, b)
	return r
}

// Gt returns whether a > b, as Bool. b is
// an *Array of a's type or a number.
func (a *Array) Gt(b any) *Array {
	r := new(Array)
	r.binary(expr.Gt, a, b)
	return r
}

// Ge returns whether a >= b, as Bool. b is
// an *Array of a's type or a number.
func (a *Array) Ge(b any) *Array {
	r := new(Array)
	r.binary(expr.Ge, a, b)
	return r
}

// And returns a and b, of the bits of integers or of Bool. b is
// an *Array of a's type or a number.
func (a *Array) And(b any) *Array {
	r := new(Array)
	r.binary(expr.And, a, b)
	return r
}

// Or returns a or b, of the bits of integers or of Bool. b is
// an *Array of a's type or a number.
func (a *Array) Or(b any) *Array {
	r := new(Array)
	r.binary(expr.Or, a, b)
	return r
}

// Xor returns either a or b, of the bits of integers or of Bool. b is
// an *Array of a's type or a number.
func (a *Array) Xor(b any) *Array {
	r := new(Array)
	r.binary(expr.Xor, a, b)
	return r
}

// Shl returns a shifted to the left by b bits, for integers; 0 from the type's width on. b is
// an *Array of a's type or a number.
func (a *Array) Shl(b any) *Array {
	r := new(Array)
	r.binary(expr.Shl, a, b)
	return r
}

// Shr returns a shifted to the right by b bits, with its sign, for integers. b is
// an *Array of a's type or a number.
func (a *Array) Shr(b any) *Array {
	r := new(Array)
	r.binary(expr.Shr, a, b)
	return r
}
