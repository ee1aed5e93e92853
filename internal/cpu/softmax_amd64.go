//go:build !noasm

package cpu

import "unsafe"

// for i := range n { x[i] = float32(float64(x[i]) * scale) }, with n a multiple of 8
//
//go:noescape
func scale32(x unsafe.Pointer, scale float64, n int)

// sum32 is sumOf for n elements, a multiple of 4 and at most shortLine. n > 0.
//
//go:noescape
func sum32(x unsafe.Pointer, n int) float64
