//go:build !noasm

package cpu

import "unsafe"

// Partitions and sorting networks with AVX-512, of unsigned keys of 32 or 64 bits.

// partition32AVX512 moves the keys of src below the pivot to its front, and the others to the end of high, which is other memory
// of n keys. It returns the number of keys below the pivot. The rest of both is undefined then.
//
//go:noescape
func partition32AVX512(src, high unsafe.Pointer, n int, pivot uint64) int

// partition64AVX512 is partition32AVX512 for keys of 64 bits.
//
//go:noescape
func partition64AVX512(src, high unsafe.Pointer, n int, pivot uint64) int

// sort32x32AVX512 writes the n keys of src, at most 32, to dst in ascending order. dst may be src.
//
//go:noescape
func sort32x32AVX512(dst, src unsafe.Pointer, n int)

// sort32x64AVX512 is sort32x32AVX512 for at most 64 keys.
//
//go:noescape
func sort32x64AVX512(dst, src unsafe.Pointer, n int)

// sort32x128AVX512 is sort32x32AVX512 for at most 128 keys.
//
//go:noescape
func sort32x128AVX512(dst, src unsafe.Pointer, n int)

// sort64x32AVX512 is sort32x32AVX512 for at most 32 keys of 64 bits.
//
//go:noescape
func sort64x32AVX512(dst, src unsafe.Pointer, n int)

// sort64x64AVX512 is sort64x32AVX512 for at most 64 keys.
//
//go:noescape
func sort64x64AVX512(dst, src unsafe.Pointer, n int)

// sort64x128AVX512 is sort64x32AVX512 for at most 128 keys.
//
//go:noescape
func sort64x128AVX512(dst, src unsafe.Pointer, n int)

// keysOf32AVX512 writes the keys of n numbers, a multiple of 16, as keysOf without oneZero. dst may be src.
//
//go:noescape
func keysOf32AVX512(dst, src unsafe.Pointer, n int)

// keysOf64AVX512 is keysOf32AVX512 for numbers of 64 bits; n is a multiple of 8.
//
//go:noescape
func keysOf64AVX512(dst, src unsafe.Pointer, n int)

// elementsOf32AVX512 is the inverse of keysOf32AVX512.
//
//go:noescape
func elementsOf32AVX512(dst, src unsafe.Pointer, n int)

// elementsOf64AVX512 is the inverse of keysOf64AVX512.
//
//go:noescape
func elementsOf64AVX512(dst, src unsafe.Pointer, n int)
