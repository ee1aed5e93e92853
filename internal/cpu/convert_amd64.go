//go:build !noasm

package cpu

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// castAVX512 reports whether this processor has AVX-512F, DQ and VL, which conversions to and from integers, VRANGEPS, and masks
// of vectors of 32 bytes need.
var castAVX512 = cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL

// Conversions. Those to integers with AVX-512 need castAVX512.

// int32sOf32AVX512 writes n elements of float32, a multiple of 16, as int32, as floatToInt.
//
//go:noescape
func int32sOf32AVX512(dst, src unsafe.Pointer, n int)

// int32sOf64AVX512 is int32sOf32AVX512 for float64; n is a multiple of 8.
//
//go:noescape
func int32sOf64AVX512(dst, src unsafe.Pointer, n int)

// int64sOf32AVX512 is int32sOf64AVX512 from float32 to int64.
//
//go:noescape
func int64sOf32AVX512(dst, src unsafe.Pointer, n int)

// int64sOf64AVX512 is int32sOf64AVX512 from float64 to int64.
//
//go:noescape
func int64sOf64AVX512(dst, src unsafe.Pointer, n int)

// int32sOf32AVX2 and int32sOf64AVX2 are the same with AVX2, for multiples of 8 and 4.
//
//go:noescape
func int32sOf32AVX2(dst, src unsafe.Pointer, n int)

//go:noescape
func int32sOf64AVX2(dst, src unsafe.Pointer, n int)

// signs32AVX512 writes the signs of n elements of float32, a multiple of 16, as floatSigns.
//
//go:noescape
func signs32AVX512(dst, src unsafe.Pointer, n int)

// signs64AVX512 is signs32AVX512 for float64; n is a multiple of 8.
//
//go:noescape
func signs64AVX512(dst, src unsafe.Pointer, n int)

// signs32AVX2 and signs64AVX2 are the same with AVX2, for multiples of 8 and 4.
//
//go:noescape
func signs32AVX2(dst, src unsafe.Pointer, n int)

//go:noescape
func signs64AVX2(dst, src unsafe.Pointer, n int)
