//go:build !noasm

package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// Operations on n elements, a multiple of 64 bytes, with AVX2. dst may be x.

//go:noescape
func neg32AVX2(dst, x unsafe.Pointer, n int)

//go:noescape
func abs32AVX2(dst, x unsafe.Pointer, n int)

//go:noescape
func relu32AVX2(dst, x unsafe.Pointer, n int)

//go:noescape
func square32AVX2(dst, x unsafe.Pointer, n int)

//go:noescape
func sqrt32AVX2(dst, x unsafe.Pointer, n int)

//go:noescape
func floor32AVX2(dst, x unsafe.Pointer, n int)

//go:noescape
func ceil32AVX2(dst, x unsafe.Pointer, n int)

//go:noescape
func round32AVX2(dst, x unsafe.Pointer, n int)

//go:noescape
func trunc32AVX2(dst, x unsafe.Pointer, n int)

//go:noescape
func neg64AVX2(dst, x unsafe.Pointer, n int)

//go:noescape
func abs64AVX2(dst, x unsafe.Pointer, n int)

//go:noescape
func relu64AVX2(dst, x unsafe.Pointer, n int)

//go:noescape
func square64AVX2(dst, x unsafe.Pointer, n int)

//go:noescape
func sqrt64AVX2(dst, x unsafe.Pointer, n int)

//go:noescape
func floor64AVX2(dst, x unsafe.Pointer, n int)

//go:noescape
func ceil64AVX2(dst, x unsafe.Pointer, n int)

//go:noescape
func round64AVX2(dst, x unsafe.Pointer, n int)

//go:noescape
func trunc64AVX2(dst, x unsafe.Pointer, n int)

// vectorUnary returns the loop of an operation on Float32 or Float64, or nil.
func vectorUnary(op expr.Op, t dtype.DType) func(dst, x unsafe.Pointer, n int) {
	var f32, f64 func(dst, x unsafe.Pointer, n int)
	switch op {
	case expr.Neg:
		f32, f64 = neg32AVX2, neg64AVX2
	case expr.Abs:
		f32, f64 = abs32AVX2, abs64AVX2
	case expr.ReLU:
		f32, f64 = relu32AVX2, relu64AVX2
	case expr.Square, expr.AbsSquare:
		f32, f64 = square32AVX2, square64AVX2
	case expr.Sqrt:
		f32, f64 = sqrt32AVX2, sqrt64AVX2
	case expr.Floor:
		f32, f64 = floor32AVX2, floor64AVX2
	case expr.Ceil:
		f32, f64 = ceil32AVX2, ceil64AVX2
	case expr.Round:
		f32, f64 = round32AVX2, round64AVX2
	case expr.Trunc:
		f32, f64 = trunc32AVX2, trunc64AVX2
	}
	if t == dtype.Float32 {
		return f32
	}
	return f64
}
