//go:build !noasm

package cpu

import "unsafe"

// Sums of n integers with AVX2, a multiple of 16 and positive.

//go:noescape
func sumInt8(x unsafe.Pointer, n int) int64

//go:noescape
func sumInt16(x unsafe.Pointer, n int) int64

//go:noescape
func sumInt32(x unsafe.Pointer, n int) int64

//go:noescape
func sumInt64(x unsafe.Pointer, n int) int64

//go:noescape
func sumUint8(x unsafe.Pointer, n int) int64

//go:noescape
func sumUint16(x unsafe.Pointer, n int) int64

//go:noescape
func sumUint32(x unsafe.Pointer, n int) int64

// vectorSum returns the sum of the elements of x up to the last multiple of 16, and how many these are: none where the processor has no
// AVX2.
func vectorSum[T integer](x []T) (sum int64, n int) {
	if n = len(x) &^ 15; n == 0 || !vectorAVX {
		return 0, 0
	}
	switch p := at0(x); any(T(0)).(type) {
	case int8:
		return sumInt8(p, n), n
	case int16:
		return sumInt16(p, n), n
	case int32:
		return sumInt32(p, n), n
	case int64, uint64: // the same bits
		return sumInt64(p, n), n
	case uint8:
		return sumUint8(p, n), n
	case uint16:
		return sumUint16(p, n), n
	case uint32:
		return sumUint32(p, n), n
	}
	return 0, 0
}
