//go:build !amd64 || noasm

package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// There are no vector operations on bits in this build.

func vectorBits(expr.Op, unsafe.Pointer, unsafe.Pointer, unsafe.Pointer, int) bool { return false }

func vectorBitsOfNumber(expr.Op, unsafe.Pointer, unsafe.Pointer, uint64, int) bool { return false }

func vectorShift(expr.Op, dtype.DType) func(dst, x, y unsafe.Pointer, n int) { return nil }

// Without AVX2 these functions are never called.

func shiftLeftWords(_, _ unsafe.Pointer, _, _ uint64, _ int)  { panic("cpu: no assembly") }
func shiftRightWords(_, _ unsafe.Pointer, _, _ uint64, _ int) { panic("cpu: no assembly") }

func vectorShiftSigned(uint64, unsafe.Pointer, unsafe.Pointer, uint64, uint64, uint64, int) {
	panic("cpu: no assembly")
}
