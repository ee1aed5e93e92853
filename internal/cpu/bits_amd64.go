//go:build !noasm

package cpu

import (
	"math/bits"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// dst[i] = x[i] & y[i] and so on for words of 8 bytes, for any n. In the functions with VS, y is one word.

//go:noescape
func andVVWords(dst, x, y unsafe.Pointer, n int)

//go:noescape
func orVVWords(dst, x, y unsafe.Pointer, n int)

//go:noescape
func xorVVWords(dst, x, y unsafe.Pointer, n int)

//go:noescape
func andVSWords(dst, x, y unsafe.Pointer, n int)

//go:noescape
func orVSWords(dst, x, y unsafe.Pointer, n int)

//go:noescape
func xorVSWords(dst, x, y unsafe.Pointer, n int)

// dst[i] = x[i] << count & keep and dst[i] = x[i] >> count & keep, for a multiple of 4 words.

//go:noescape
func shiftLeftWords(dst, x unsafe.Pointer, count, keep uint64, n int)

//go:noescape
func shiftRightWords(dst, x unsafe.Pointer, count, keep uint64, n int)

// dst[i] = (x[i] >> count & keep ^ sign) - sign, for a multiple of 4 words. The subtraction is that of elements of 8, 16, 32 or 64 bits.

//go:noescape
func shiftSigned8(dst, x unsafe.Pointer, count, keep, sign uint64, n int)

//go:noescape
func shiftSigned16(dst, x unsafe.Pointer, count, keep, sign uint64, n int)

//go:noescape
func shiftSigned32(dst, x unsafe.Pointer, count, keep, sign uint64, n int)

//go:noescape
func shiftSigned64(dst, x unsafe.Pointer, count, keep, sign uint64, n int)

// dst[i] = x[i] << y[i] and dst[i] = x[i] >> y[i], for a multiple of 16 elements. The counts are unsigned.

//go:noescape
func shiftLeftVV8(dst, x, y unsafe.Pointer, n int)

//go:noescape
func shiftLeftVV16(dst, x, y unsafe.Pointer, n int)

//go:noescape
func shiftLeftVV32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func shiftLeftVV64(dst, x, y unsafe.Pointer, n int)

//go:noescape
func shiftRightVV8(dst, x, y unsafe.Pointer, n int)

//go:noescape
func shiftRightVV16(dst, x, y unsafe.Pointer, n int)

//go:noescape
func shiftRightVV32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func shiftRightVV64(dst, x, y unsafe.Pointer, n int)

//go:noescape
func shiftRightVVInt8(dst, x, y unsafe.Pointer, n int)

//go:noescape
func shiftRightVVInt16(dst, x, y unsafe.Pointer, n int)

//go:noescape
func shiftRightVVInt32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func shiftRightVVInt64(dst, x, y unsafe.Pointer, n int)

// vectorBits computes And, Or or Xor of n words, and reports whether it could. It calls the assembly by name, because operands of an
// indirect call would escape to the heap.
func vectorBits(op expr.Op, dst, x, y unsafe.Pointer, n int) bool {
	switch {
	case !vectorAVX:
		return false
	case op == expr.And:
		andVVWords(dst, x, y, n)
	case op == expr.Or:
		orVVWords(dst, x, y, n)
	default:
		xorVVWords(dst, x, y, n)
	}
	return true
}

// vectorBitsOfNumber is vectorBits with one word y.
func vectorBitsOfNumber(op expr.Op, dst, x unsafe.Pointer, y uint64, n int) bool {
	switch {
	case !vectorAVX:
		return false
	case op == expr.And:
		andVSWords(dst, x, unsafe.Pointer(&y), n)
	case op == expr.Or:
		orVSWords(dst, x, unsafe.Pointer(&y), n)
	default:
		xorVSWords(dst, x, unsafe.Pointer(&y), n)
	}
	return true
}

// vectorShiftSigned calls the assembly of shiftSigned for elements of width bits.
func vectorShiftSigned(width uint64, dst, x unsafe.Pointer, count, keep, sign uint64, n int) {
	switch width {
	case 8:
		shiftSigned8(dst, x, count, keep, sign, n)
	case 16:
		shiftSigned16(dst, x, count, keep, sign, n)
	case 32:
		shiftSigned32(dst, x, count, keep, sign, n)
	default:
		shiftSigned64(dst, x, count, keep, sign, n)
	}
}

// vectorShift returns the vector kernel of Shl or Shr with a count for each element, or nil where the processor has no AVX2.
func vectorShift(op expr.Op, t dtype.DType) func(dst, x, y unsafe.Pointer, n int) {
	if !vectorAVX {
		return nil
	}
	size := bits.TrailingZeros(uint(t.Size()))
	switch {
	case op == expr.Shl:
		return [...]func(dst, x, y unsafe.Pointer, n int){shiftLeftVV8, shiftLeftVV16, shiftLeftVV32, shiftLeftVV64}[size]
	case t.IsUnsigned():
		return [...]func(dst, x, y unsafe.Pointer, n int){shiftRightVV8, shiftRightVV16, shiftRightVV32, shiftRightVV64}[size]
	}
	return [...]func(dst, x, y unsafe.Pointer, n int){shiftRightVVInt8, shiftRightVVInt16, shiftRightVVInt32, shiftRightVVInt64}[size]
}
