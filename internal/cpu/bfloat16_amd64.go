//go:build !noasm

package cpu

import "unsafe"

// bfloat16Vector is the vector length of the functions here; n must be a multiple of it.
const bfloat16Vector = 16

// for i := range n { dst[i] = bfloat16ToFloat(src[i]) }
//
//go:noescape
func widenBFloat16s(dst, src unsafe.Pointer, n int)

// for i := range n { dst[i] = floatToBFloat16(src[i]) }
//
//go:noescape
func roundBFloat16s(dst, src unsafe.Pointer, n int)
