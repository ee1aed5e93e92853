//go:build !noasm

package cpu

import "unsafe"

// Loops over truth values with AVX2; n is a multiple of 32.

// countFalse returns the number of bytes that are 0.
//
//go:noescape
func countFalse(x unsafe.Pointer, n int) int

// for i := range n { if x[i] == 0 { dst[i] = 0 } }, with bytes
//
//go:noescape
func andTruths(dst, x unsafe.Pointer, n int)
