//go:build !noasm

package cpu

import "unsafe"

// floors64 writes the quotients of n elements of int64, a multiple of 8, as floors. It needs AVX-512.
func floors64(dst, x unsafe.Pointer, n int, d divisor) { floors64AVX512(dst, x, n, d.factor, d.shift) }

//go:noescape
func floors64AVX512(dst, x unsafe.Pointer, n int, factor uint64, shift uint)
