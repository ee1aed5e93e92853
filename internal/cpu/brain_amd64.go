//go:build !noasm

package cpu

import "unsafe"

// brainVector is how many numbers the functions here convert at once; n is a
// multiple of it.
const brainVector = 16

// for i := range n { dst[i] = brainToFloat(src[i]) }
//
//go:noescape
func widenBrains(dst, src unsafe.Pointer, n int)

// for i := range n { dst[i] = floatToBrain(src[i]) }
//
//go:noescape
func roundBrains(dst, src unsafe.Pointer, n int)
