//go:build !noasm

package cpu

import "unsafe"

// deviation32 is deviationOf for n elements, a multiple of 4 and at most shortLine. n > 0.
//
//go:noescape
func deviation32(x unsafe.Pointer, mean float64, n int) float64

// squares32 is squaresOf for n elements, a multiple of 4 and at most shortLine. n > 0.
//
//go:noescape
func squares32(x unsafe.Pointer, mean float64, n int) float64

// normalize32 is the last loop of a LayerNorm for n elements, a multiple of 4. n > 0.
//
//go:noescape
func normalize32(dst, x, gamma, beta unsafe.Pointer, mean, scale float64, n int)

// gain32 is the last loop of an RMSNorm for n elements, a multiple of 4. n > 0.
//
//go:noescape
func gain32(dst, x, gamma unsafe.Pointer, scale float64, n int)
