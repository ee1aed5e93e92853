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

// vectorExtremes returns largest and smallest with vector code. They are nil where the processor has no AVX2, and for types without
// vector code.
func vectorExtremes[T number]() (largest, smallest func(x []T) T) {
	if !vectorAVX {
		return nil, nil
	}
	for _, fast := range [...][2]any{
		{largestOfInt8, smallestOfInt8},
		{largestOfUint8, smallestOfUint8},
		{largestOfInt16, smallestOfInt16},
		{largestOfUint16, smallestOfUint16},
	} {
		if largest, ok := fast[0].(func(x []T) T); ok {
			return largest, fast[1].(func(x []T) T)
		}
	}
	return nil, nil
}

func largestOfInt8(x []int8) int8 {
	if len(x) < 32 {
		return largest(x)
	}
	return largestInt8(at0(x), len(x))
}

func smallestOfInt8(x []int8) int8 {
	if len(x) < 32 {
		return smallest(x)
	}
	return smallestInt8(at0(x), len(x))
}

func largestOfUint8(x []uint8) uint8 {
	if len(x) < 32 {
		return largest(x)
	}
	return largestUint8(at0(x), len(x))
}

func smallestOfUint8(x []uint8) uint8 {
	if len(x) < 32 {
		return smallest(x)
	}
	return smallestUint8(at0(x), len(x))
}

func largestOfInt16(x []int16) int16 {
	if len(x) < 16 {
		return largest(x)
	}
	return largestInt16(at0(x), len(x))
}

func smallestOfInt16(x []int16) int16 {
	if len(x) < 16 {
		return smallest(x)
	}
	return smallestInt16(at0(x), len(x))
}

func largestOfUint16(x []uint16) uint16 {
	if len(x) < 16 {
		return largest(x)
	}
	return largestUint16(at0(x), len(x))
}

func smallestOfUint16(x []uint16) uint16 {
	if len(x) < 16 {
		return smallest(x)
	}
	return smallestUint16(at0(x), len(x))
}
