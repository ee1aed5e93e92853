//go:build !noasm

package cpu

import "unsafe"

// for i := range rows { for j := range cols { a[i*pitch+j] -= l[i*step] * x[j] } }, with AVX2. pitch and step are in bytes;
// rows is at least 1. Products are rounded before they are subtracted.

//go:noescape
func subtractOuter32(a unsafe.Pointer, pitch, rows, cols int, l unsafe.Pointer, step int, x unsafe.Pointer)

//go:noescape
func subtractOuter64(a unsafe.Pointer, pitch, rows, cols int, l unsafe.Pointer, step int, x unsafe.Pointer)
