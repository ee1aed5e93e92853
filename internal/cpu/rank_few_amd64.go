//go:build !noasm

package cpu

import "unsafe"

// for p := range k { for i := range 4 { for j := range cols { a[i*pitch+j] -= l[i*lpitch+p*lstep] * x[p*xpitch+j] } } }.
// pitch, lpitch, lstep and xpitch are in bytes, and lstep and xpitch may be negative. cols is a multiple of the number of
// elements in 64 bytes, and k is at least 1. Products are rounded before they are subtracted.

//go:noescape
func subtractFour32AVX2(a unsafe.Pointer, pitch, cols int, l unsafe.Pointer, lpitch, lstep int, x unsafe.Pointer, xpitch, k int)

//go:noescape
func subtractFour32AVX512(a unsafe.Pointer, pitch, cols int, l unsafe.Pointer, lpitch, lstep int, x unsafe.Pointer, xpitch, k int)

//go:noescape
func subtractFour64AVX2(a unsafe.Pointer, pitch, cols int, l unsafe.Pointer, lpitch, lstep int, x unsafe.Pointer, xpitch, k int)

//go:noescape
func subtractFour64AVX512(a unsafe.Pointer, pitch, cols int, l unsafe.Pointer, lpitch, lstep int, x unsafe.Pointer, xpitch, k int)
