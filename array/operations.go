package array

import "github.com/gpk-go/gpk/expr"

// The element-wise operations of the table that are no more than their name; what
// they mean for which type stands in package ops. Two operands are broadcast.

// Not returns the bits of an integer the other way, and of Bool what is not true.
func (a *Array) Not() *Array { return unaryOp(expr.Not, a) }

// Abs returns the absolute value, of complex numbers the modulus, which is real.
func (a *Array) Abs() *Array { return unaryOp(expr.Abs, a) }

// Sign returns -1, 0 or 1; NaN stays NaN.
func (a *Array) Sign() *Array { return unaryOp(expr.Sign, a) }

// Square returns a a; integers wrap.
func (a *Array) Square() *Array { return unaryOp(expr.Square, a) }

// Sqrt returns the square root, for floating-point and complex types; NaN below 0.
func (a *Array) Sqrt() *Array { return unaryOp(expr.Sqrt, a) }

// Rsqrt returns 1 / sqrt(a), for real floating-point types.
func (a *Array) Rsqrt() *Array { return unaryOp(expr.Rsqrt, a) }

// Exp returns e^a, for floating-point and complex types.
func (a *Array) Exp() *Array { return unaryOp(expr.Exp, a) }

// Expm1 returns e^a - 1, for real floating-point types, also where a is small.
func (a *Array) Expm1() *Array { return unaryOp(expr.Expm1, a) }

// Log returns the natural logarithm, for real floating-point types.
func (a *Array) Log() *Array { return unaryOp(expr.Log, a) }

// Log1p returns log(1 + a), for real floating-point types, also where a is small.
func (a *Array) Log1p() *Array { return unaryOp(expr.Log1p, a) }

// Sin returns the sine of a, in radians, for real floating-point types.
func (a *Array) Sin() *Array { return unaryOp(expr.Sin, a) }

// Cos returns the cosine of a, in radians, for real floating-point types.
func (a *Array) Cos() *Array { return unaryOp(expr.Cos, a) }

// Tanh returns the hyperbolic tangent, for real floating-point types.
func (a *Array) Tanh() *Array { return unaryOp(expr.Tanh, a) }

// Erf returns the error function, for real floating-point types.
func (a *Array) Erf() *Array { return unaryOp(expr.Erf, a) }

// Sigmoid returns 1 / (1 + exp(-a)), for real floating-point types.
func (a *Array) Sigmoid() *Array { return unaryOp(expr.Sigmoid, a) }

// Floor returns the greatest integer not above a; integers are unchanged.
func (a *Array) Floor() *Array { return unaryOp(expr.Floor, a) }

// Ceil returns the least integer not below a; integers are unchanged.
func (a *Array) Ceil() *Array { return unaryOp(expr.Ceil, a) }

// Round returns the nearest integer, halves to even; integers are unchanged.
func (a *Array) Round() *Array { return unaryOp(expr.Round, a) }

// Clamp returns min(max(a, lo), hi), broadcast, NaN where one is. lo and hi are
// *Arrays of a's type or numbers.
func (a *Array) Clamp(lo, hi any) *Array {
	return mapped(call{expr.Clamp.String(), here()}, expr.Clamp, a, lo, hi)
}

// Where returns x where cond, of type Bool, is true, else y, broadcast. At least
// one of x and y is an *Array, the other may be a number.
func Where(cond *Array, x, y any) *Array {
	return mapped(call{expr.Where.String(), here()}, expr.Where, cond, x, y)
}

// Real returns the real part; real types are unchanged.
func (a *Array) Real() *Array { return unaryOp(expr.Real, a) }

// Imag returns the imaginary part; of real types 0.
func (a *Array) Imag() *Array { return unaryOp(expr.Imag, a) }

// AbsSquare returns |a|^2, which is real; integers wrap.
func (a *Array) AbsSquare() *Array { return unaryOp(expr.AbsSquare, a) }

// Pow returns a to the power of b; integers wrap, and their negative powers are truncated.
// b is an *Array of a's type or a number.
func (a *Array) Pow(b any) *Array { return Binary(expr.Pow, a, b) }

// Maximum returns the larger of a and b, NaN where one is. b is an *Array of a's type or a number.
func (a *Array) Maximum(b any) *Array { return Binary(expr.Maximum, a, b) }

// Minimum returns the smaller of a and b, NaN where one is. b is an *Array of a's type or a number.
func (a *Array) Minimum(b any) *Array { return Binary(expr.Minimum, a, b) }

// Eq returns whether a = b, as Bool. b is an *Array of a's type or a number.
func (a *Array) Eq(b any) *Array { return Binary(expr.Eq, a, b) }

// Ne returns whether a and b differ, as Bool. b is an *Array of a's type or a number.
func (a *Array) Ne(b any) *Array { return Binary(expr.Ne, a, b) }

// Lt returns whether a < b, as Bool. b is an *Array of a's type or a number.
func (a *Array) Lt(b any) *Array { return Binary(expr.Lt, a, b) }

// Le returns whether a <= b, as Bool. b is an *Array of a's type or a number.
func (a *Array) Le(b any) *Array { return Binary(expr.Le, a, b) }

// Gt returns whether a > b, as Bool. b is an *Array of a's type or a number.
func (a *Array) Gt(b any) *Array { return Binary(expr.Gt, a, b) }

// Ge returns whether a >= b, as Bool. b is an *Array of a's type or a number.
func (a *Array) Ge(b any) *Array { return Binary(expr.Ge, a, b) }

// And returns a and b, of the bits of integers or of Bool. b is an *Array of a's type or a number.
func (a *Array) And(b any) *Array { return Binary(expr.And, a, b) }

// Or returns a or b, of the bits of integers or of Bool. b is an *Array of a's type or a number.
func (a *Array) Or(b any) *Array { return Binary(expr.Or, a, b) }

// Xor returns either a or b, of the bits of integers or of Bool. b is an *Array of a's type
// or a number.
func (a *Array) Xor(b any) *Array { return Binary(expr.Xor, a, b) }

// Shl returns a shifted to the left by b bits, for integers; 0 from the type's width on. b
// is an *Array of a's type or a number.
func (a *Array) Shl(b any) *Array { return Binary(expr.Shl, a, b) }

// Shr returns a shifted to the right by b bits, with its sign, for integers. b is an *Array
// of a's type or a number.
func (a *Array) Shr(b any) *Array { return Binary(expr.Shr, a, b) }
