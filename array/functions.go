package array

import "github.com/gpk-go/gpk/expr"

// The methods that take b any are also functions of two operands of type any,
// so that 1 - a can be written.

// Add returns a + b. At least one is an *Array, the other may be a number.
func Add(a, b any) *Array {
	r := new(Array)
	r.binary(expr.Add, a, b)
	return r
}

// Sub returns a - b. At least one is an *Array, the other may be a number.
func Sub(a, b any) *Array {
	r := new(Array)
	r.binary(expr.Sub, a, b)
	return r
}

// Mul returns the element-wise product. At least one is an *Array, the other
// may be a number.
func Mul(a, b any) *Array {
	r := new(Array)
	r.binary(expr.Mul, a, b)
	return r
}

// Div returns a / b. At least one is an *Array, the other may be a number.
func Div(a, b any) *Array {
	r := new(Array)
	r.binary(expr.Div, a, b)
	return r
}

// Pow returns a to the power of b; integers wrap, and a negative power of one is the
// integer part of the fraction. At
// least one is an *Array, the other may be a number.
func Pow(a, b any) *Array {
	r := new(Array)
	r.binary(expr.Pow, a, b)
	return r
}

// Maximum returns the larger of a and b, NaN where one is. At
// least one is an *Array, the other may be a number.
func Maximum(a, b any) *Array {
	r := new(Array)
	r.binary(expr.Maximum, a, b)
	return r
}

// Minimum returns the smaller of a and b, NaN where one is. At
// least one is an *Array, the other may be a number.
func Minimum(a, b any) *Array {
	r := new(Array)
	r.binary(expr.Minimum, a, b)
	return r
}

// Eq returns whether a = b, as Bool. At
// least one is an *Array, the other may be a number.
func Eq(a, b any) *Array {
	r := new(Array)
	r.binary(expr.Eq, a, b)
	return r
}

// Ne returns whether a and b differ, as Bool. At
// least one is an *Array, the other may be a number.
func Ne(a, b any) *Array {
	r := new(Array)
	r.binary(expr.Ne, a, b)
	return r
}

// Lt returns whether a < b, as Bool. At
// least one is an *Array, the other may be a number.
func Lt(a, b any) *Array {
	r := new(Array)
	r.binary(expr.Lt, a, b)
	return r
}

// Le returns whether a <= b, as Bool. At
// least one is an *Array, the other may be a number.
func Le(a, b any) *Array {
	r := new(Array)
	r.binary(expr.Le, a, b)
	return r
}

// Gt returns whether a > b, as Bool. At
// least one is an *Array, the other may be a number.
func Gt(a, b any) *Array {
	r := new(Array)
	r.binary(expr.Gt, a, b)
	return r
}

// Ge returns whether a >= b, as Bool. At
// least one is an *Array, the other may be a number.
func Ge(a, b any) *Array {
	r := new(Array)
	r.binary(expr.Ge, a, b)
	return r
}

// And returns a and b, of the bits of integers or of Bool. At
// least one is an *Array, the other may be a number.
func And(a, b any) *Array {
	r := new(Array)
	r.binary(expr.And, a, b)
	return r
}

// Or returns a or b, of the bits of integers or of Bool. At
// least one is an *Array, the other may be a number.
func Or(a, b any) *Array {
	r := new(Array)
	r.binary(expr.Or, a, b)
	return r
}

// Xor returns either a or b, of the bits of integers or of Bool. At
// least one is an *Array, the other may be a number.
func Xor(a, b any) *Array {
	r := new(Array)
	r.binary(expr.Xor, a, b)
	return r
}

// Shl returns a shifted to the left by b bits, for integers; 0 from the type's width on. At
// least one is an *Array, the other may be a number.
func Shl(a, b any) *Array {
	r := new(Array)
	r.binary(expr.Shl, a, b)
	return r
}

// Shr returns a shifted to the right by b bits, with its sign, for integers. At
// least one is an *Array, the other may be a number.
func Shr(a, b any) *Array {
	r := new(Array)
	r.binary(expr.Shr, a, b)
	return r
}
