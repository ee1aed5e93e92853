//go:build !noasm

package cpu

import "unsafe"

// Searches and selections with AVX2. In all of them n is a multiple of 8.

// largest32 returns the largest of n elements, at least 8: NaN if there is one, 0 over -0.
//
//go:noescape
func largest32(x unsafe.Pointer, n int) float32

// largest64 is largest32 for float64.
//
//go:noescape
func largest64(x unsafe.Pointer, n int) float64

// smallest32 returns the smallest of n elements, at least 8: NaN if there is one, -0 over 0.
//
//go:noescape
func smallest32(x unsafe.Pointer, n int) float32

// smallest64 is smallest32 for float64.
//
//go:noescape
func smallest64(x unsafe.Pointer, n int) float64

// The same with AVX-512; they need castAVX512. n is a multiple of 16 and positive.

//go:noescape
func largest32AVX512(x unsafe.Pointer, n int) float32

//go:noescape
func largest64AVX512(x unsafe.Pointer, n int) float64

//go:noescape
func smallest32AVX512(x unsafe.Pointer, n int) float32

//go:noescape
func smallest64AVX512(x unsafe.Pointer, n int) float64

// index64 is index32 for float64.
//
//go:noescape
func index64(x unsafe.Pointer, v float64, n int) int

// index32 is the first i with x[i] == v, or n.
//
//go:noescape
func index32(x unsafe.Pointer, v float32, n int) int

// for i := range n { if x[i] != 0 { dst[i] = y[i] } else { dst[i] = z[i] } }; x has
// elements of 1 byte, the others of 4
//
//go:noescape
func choose32(dst, x, y, z unsafe.Pointer, n int)

// choose64 is choose32 for elements of 8 bytes.
//
//go:noescape
func choose64(dst, x, y, z unsafe.Pointer, n int)

// for i := range n { dst[i] = float32(src[i]) }, with src of uint8
//
//go:noescape
func floats8(dst, src unsafe.Pointer, n int)
