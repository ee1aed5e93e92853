//go:build !noasm

package cpu

import "unsafe"

// dst[i] = D(src[i]) for n elements, a multiple of 8, or of 16 where both types have 4 bytes. The first four functions need
// AVX2, the others castAVX512.

//go:noescape
func float32sOfFloat64s(dst, src unsafe.Pointer, n int)

//go:noescape
func float64sOfFloat32s(dst, src unsafe.Pointer, n int)

//go:noescape
func float32sOfInt32s(dst, src unsafe.Pointer, n int)

//go:noescape
func float64sOfInt32s(dst, src unsafe.Pointer, n int)

//go:noescape
func float32sOfInt64sAVX512(dst, src unsafe.Pointer, n int)

//go:noescape
func float64sOfInt64sAVX512(dst, src unsafe.Pointer, n int)
