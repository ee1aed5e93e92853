//go:build !noasm

package cpu

import "unsafe"

// Extremes of n elements, at least 32 bytes.

//go:noescape
func largestInt8(x unsafe.Pointer, n int) int8

//go:noescape
func smallestInt8(x unsafe.Pointer, n int) int8

//go:noescape
func largestUint8(x unsafe.Pointer, n int) uint8

//go:noescape
func smallestUint8(x unsafe.Pointer, n int) uint8

//go:noescape
func largestInt16(x unsafe.Pointer, n int) int16

//go:noescape
func smallestInt16(x unsafe.Pointer, n int) int16

//go:noescape
func largestUint16(x unsafe.Pointer, n int) uint16

//go:noescape
func smallestUint16(x unsafe.Pointer, n int) uint16

//go:noescape
func largestInt32(x unsafe.Pointer, n int) int32

//go:noescape
func smallestInt32(x unsafe.Pointer, n int) int32

//go:noescape
func largestUint32(x unsafe.Pointer, n int) uint32

//go:noescape
func smallestUint32(x unsafe.Pointer, n int) uint32

//go:noescape
func largestInt64(x unsafe.Pointer, n int) int64

//go:noescape
func smallestInt64(x unsafe.Pointer, n int) int64

// integerExtremes are largest and smallest with vector code.
var integerExtremes = [...][2]any{
	{vectorExtreme(largestInt8, largest), vectorExtreme(smallestInt8, smallest)},
	{vectorExtreme(largestUint8, largest), vectorExtreme(smallestUint8, smallest)},
	{vectorExtreme(largestInt16, largest), vectorExtreme(smallestInt16, smallest)},
	{vectorExtreme(largestUint16, largest), vectorExtreme(smallestUint16, smallest)},
	{vectorExtreme(largestInt32, largest), vectorExtreme(smallestInt32, smallest)},
	{vectorExtreme(largestUint32, largest), vectorExtreme(smallestUint32, smallest)},
	{vectorExtreme(largestInt64, largest), vectorExtreme(smallestInt64, smallest)},
}

// vectorExtreme returns a function that calls fast for at least 32 bytes of elements, and slow for fewer.
func vectorExtreme[T integer](fast func(x unsafe.Pointer, n int) T, slow func(x []T) T) func(x []T) T {
	return func(x []T) T {
		if len(x)*int(unsafe.Sizeof(T(0))) < 32 {
			return slow(x)
		}
		return fast(at0(x), len(x))
	}
}

// vectorExtremes returns largest and smallest with vector code. They are nil where the processor has no AVX2, and for types without
// vector code.
func vectorExtremes[T number]() (largest, smallest func(x []T) T) {
	if !vectorAVX {
		return nil, nil
	}
	for _, fast := range integerExtremes {
		if largest, ok := fast[0].(func(x []T) T); ok {
			return largest, fast[1].(func(x []T) T)
		}
	}
	return nil, nil
}
