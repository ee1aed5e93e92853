//go:build !noasm

package cpu

import "unsafe"

// Conversions with AVX2, for a multiple of 8 elements.

// int64sOf32AVX2 writes dst[i] = int64(src[i]) of float32 while the elements are below 2^51 in magnitude, and returns how many it
// has written, a multiple of 8.
//
//go:noescape
func int64sOf32AVX2(dst, src unsafe.Pointer, n int) int

// int64sOf64AVX2 is int64sOf32AVX2 for float64.
//
//go:noescape
func int64sOf64AVX2(dst, src unsafe.Pointer, n int) int

// dst[i] = D(src[i])

//go:noescape
func float32sOfInt64sAVX2(dst, src unsafe.Pointer, n int)

//go:noescape
func float64sOfInt64sAVX2(dst, src unsafe.Pointer, n int)

//go:noescape
func float64sOfUint32s(dst, src unsafe.Pointer, n int)

// oddFloat32sAVX2 writes dst[i] = roundToOdd(src[i]).
//
//go:noescape
func oddFloat32sAVX2(dst, src unsafe.Pointer, n int)
