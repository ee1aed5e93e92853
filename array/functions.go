package array

import "github.com/gpk-go/gpk/expr"

// The methods that take b any are also functions of two operands of type any,
// so that 1 - a can be written.

// Add returns a + b. At least one is an *Array, the other may be a number.
func Add(a, b any) *Array { return binary(expr.Add, here(), a, b) }

// Sub returns a - b. At least one is an *Array, the other may be a number.
func Sub(a, b any) *Array { return binary(expr.Sub, here(), a, b) }

// Mul returns the element-wise product. At least one is an *Array, the other
// may be a number.
func Mul(a, b any) *Array { return binary(expr.Mul, here(), a, b) }

// Div returns a / b. At least one is an *Array, the other may be a number.
func Div(a, b any) *Array { return binary(expr.Div, here(), a, b) }
