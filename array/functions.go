package array

import "github.com/gpk-go/gpk/expr"

// The methods that take b any are also functions of two operands of type any, so that
// 1 - a can be written: at least one is an *Array, and the other may be a number.

// Add returns a + b. At least one is an *Array.
func Add(a, b any) *Array { return binaryOp(expr.Add, a, b) }

// Sub returns a - b. At least one is an *Array.
func Sub(a, b any) *Array { return binaryOp(expr.Sub, a, b) }

// Mul returns the element-wise product. At least one is an *Array.
func Mul(a, b any) *Array { return binaryOp(expr.Mul, a, b) }

// Div returns a / b. At least one is an *Array.
func Div(a, b any) *Array { return binaryOp(expr.Div, a, b) }

// Pow returns a to the power of b; integers wrap, and their negative powers are truncated.
// At least one is an *Array.
func Pow(a, b any) *Array { return binaryOp(expr.Pow, a, b) }

// Maximum returns the larger of a and b, NaN where one is. At least one is an *Array.
func Maximum(a, b any) *Array { return binaryOp(expr.Maximum, a, b) }

// Minimum returns the smaller of a and b, NaN where one is. At least one is an *Array.
func Minimum(a, b any) *Array { return binaryOp(expr.Minimum, a, b) }

// Eq returns whether a = b, as Bool. At least one is an *Array.
func Eq(a, b any) *Array { return binaryOp(expr.Eq, a, b) }

// Ne returns whether a and b differ, as Bool. At least one is an *Array.
func Ne(a, b any) *Array { return binaryOp(expr.Ne, a, b) }

// Lt returns whether a < b, as Bool. At least one is an *Array.
func Lt(a, b any) *Array { return binaryOp(expr.Lt, a, b) }

// Le returns whether a <= b, as Bool. At least one is an *Array.
func Le(a, b any) *Array { return binaryOp(expr.Le, a, b) }

// Gt returns whether a > b, as Bool. At least one is an *Array.
func Gt(a, b any) *Array { return binaryOp(expr.Gt, a, b) }

// Ge returns whether a >= b, as Bool. At least one is an *Array.
func Ge(a, b any) *Array { return binaryOp(expr.Ge, a, b) }

// And returns a and b, of the bits of integers or of Bool. At least one is an *Array.
func And(a, b any) *Array { return binaryOp(expr.And, a, b) }

// Or returns a or b, of the bits of integers or of Bool. At least one is an *Array.
func Or(a, b any) *Array { return binaryOp(expr.Or, a, b) }

// Xor returns either a or b, of the bits of integers or of Bool. At least one is an *Array.
func Xor(a, b any) *Array { return binaryOp(expr.Xor, a, b) }

// Shl returns a shifted to the left by b bits, for integers; 0 from the type's width on. At
// least one is an *Array.
func Shl(a, b any) *Array { return binaryOp(expr.Shl, a, b) }

// Shr returns a shifted to the right by b bits, with its sign, for integers. At least one is an *Array.
func Shr(a, b any) *Array { return binaryOp(expr.Shr, a, b) }
