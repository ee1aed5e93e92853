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
	if t == dtype.Float32 {
		switch op {
		case expr.Neg:
			return neg32AVX2
		case expr.Abs:
			return abs32AVX2
		case expr.ReLU:
			return relu32AVX2
		case expr.Square, expr.AbsSquare:
			return square32AVX2
		case expr.Sqrt:
			return sqrt32AVX2
		case expr.Floor:
			return floor32AVX2
		case expr.Ceil:
			return ceil32AVX2
		case expr.Round:
			return round32AVX2
		case expr.Trunc:
			return trunc32AVX2
		}
		return nil
	}
	switch op {
	case expr.Neg:
		return neg64AVX2
	case expr.Abs:
		return abs64AVX2
	case expr.ReLU:
		return relu64AVX2
	case expr.Square, expr.AbsSquare:
		return square64AVX2
	case expr.Sqrt:
		return sqrt64AVX2
	case expr.Floor:
		return floor64AVX2
	case expr.Ceil:
		return ceil64AVX2
	case expr.Round:
		return round64AVX2
	case expr.Trunc:
		return trunc64AVX2
	}
	return nil
}
