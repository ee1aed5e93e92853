package array

import (
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/matmul"
)

// Every method that returns an Array is also a function with the receiver
// first: of type any where the method takes b any, so that 1 - a can be
// written.

// Add returns a + b. At least one is an *Array, the other may be a number.
func Add(a, b any) *Array { return binary(expr.Add, here(), a, b) }

// Sub returns a - b. At least one is an *Array, the other may be a number.
func Sub(a, b any) *Array { return binary(expr.Sub, here(), a, b) }

// Mul returns the element-wise product. At least one is an *Array, the other
// may be a number.
func Mul(a, b any) *Array { return binary(expr.Mul, here(), a, b) }

// Div returns a / b. At least one is an *Array, the other may be a number.
func Div(a, b any) *Array { return binary(expr.Div, here(), a, b) }

// MatMul is the method of that name.
func MatMul(a, b *Array, opts ...matmul.Option) *Array { return a.MatMul(b, opts...) }

// Neg is the method of that name.
func Neg(a *Array) *Array { return a.Neg() }

// Conj is the method of that name.
func Conj(a *Array) *Array { return a.Conj() }

// ReLU is the method of that name.
func ReLU(a *Array) *Array { return a.ReLU() }

// GELU is the method of that name.
func GELU(a *Array) *Array { return a.GELU() }

// GELUTanh is the method of that name.
func GELUTanh(a *Array) *Array { return a.GELUTanh() }

// SiLU is the method of that name.
func SiLU(a *Array) *Array { return a.SiLU() }

// Sum is the method of that name.
func Sum(a *Array, axes ...int) *Array { return a.Sum(axes...) }

// Cast is the method of that name.
func Cast(a *Array, dt dtype.DType) *Array { return a.Cast(dt) }

// Reshape is the method of that name.
func Reshape(a *Array, shape ...int) *Array { return a.Reshape(shape...) }

// Transpose is the method of that name.
func Transpose(a *Array, axes ...int) *Array { return a.Transpose(axes...) }

// T is the method of that name.
func T(a *Array) *Array { return a.T() }

// Slice is the method of that name.
func Slice(a *Array, axis, start, stop int, step ...int) *Array {
	return a.Slice(axis, start, stop, step...)
}

// Squeeze is the method of that name.
func Squeeze(a *Array, axes ...int) *Array { return a.Squeeze(axes...) }

// Unsqueeze is the method of that name.
func Unsqueeze(a *Array, axis int) *Array { return a.Unsqueeze(axis) }

// BroadcastTo is the method of that name.
func BroadcastTo(a *Array, shape ...int) *Array { return a.BroadcastTo(shape...) }

// Contiguous is the method of that name.
func Contiguous(a *Array) *Array { return a.Contiguous() }

// Clone is the method of that name.
func Clone(a *Array) *Array { return a.Clone() }

// AddInPlace is the method of that name.
func AddInPlace(a *Array, b any) *Array { return inPlace(expr.Add, "AddInPlace", here(), a, b) }

// MulInPlace is the method of that name.
func MulInPlace(a *Array, b any) *Array { return inPlace(expr.Mul, "MulInPlace", here(), a, b) }
