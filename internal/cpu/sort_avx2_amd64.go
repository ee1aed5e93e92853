//go:build !noasm

package cpu

import "unsafe"

// Partitions and sorting networks with AVX2, of unsigned keys of 32 or 64 bits.

// partition32AVX2 is partition32AVX512 for at least 16 keys.
//
//go:noescape
func partition32AVX2(src, high unsafe.Pointer, n int, pivot uint64) int

// partition64AVX2 is partition64AVX512 for at least 8 keys.
//
//go:noescape
func partition64AVX2(src, high unsafe.Pointer, n int, pivot uint64) int

// sort32x32AVX2 is sort32x32AVX512.
//
//go:noescape
func sort32x32AVX2(dst, src unsafe.Pointer, n int)

// sort32x64AVX2 is sort32x64AVX512. There are at least 32 keys.
//
//go:noescape
func sort32x64AVX2(dst, src unsafe.Pointer, n int)

// sort32x128AVX2 is sort32x128AVX512. There are at least 64 keys.
//
//go:noescape
func sort32x128AVX2(dst, src unsafe.Pointer, n int)

// sort64x16AVX2 sorts n <= 16 keys of 64 bits from src to dst by a sorting network, as sort32x32AVX512 does 32 of 32 bits.
//
//go:noescape
func sort64x16AVX2(dst, src unsafe.Pointer, n int)

// sort64x32AVX2 is sort64x32AVX512. There are at least 16 keys.
//
//go:noescape
func sort64x32AVX2(dst, src unsafe.Pointer, n int)

// sort64x64AVX2 is sort64x64AVX512. There are at least 32 keys.
//
//go:noescape
func sort64x64AVX2(dst, src unsafe.Pointer, n int)

// keysOf32AVX2 is keysOf32AVX512 for a multiple of 8 numbers.
//
//go:noescape
func keysOf32AVX2(dst, src unsafe.Pointer, n int)

// elementsOf32AVX2 is elementsOf32AVX512 for a multiple of 8 numbers.
//
//go:noescape
func elementsOf32AVX2(dst, src unsafe.Pointer, n int)

// keysOf64AVX2 is keysOf64AVX512 for a multiple of 4 numbers.
//
//go:noescape
func keysOf64AVX2(dst, src unsafe.Pointer, n int)

// elementsOf64AVX2 is elementsOf64AVX512 for a multiple of 4 numbers.
//
//go:noescape
func elementsOf64AVX2(dst, src unsafe.Pointer, n int)
