//go:build !noasm

package cpu

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// halfVector is the vector length of the functions here; n must be a multiple of it.
const halfVector = 16

// halfF16C reports whether this processor has what roundHalvesF16C needs. widenHalvesAVX2 needs vectorAVX, and roundHalves64AVX512
// needs castAVX512.
var halfF16C = cpu.X86.HasAVX && hasF16C()

func hasF16C() bool {
	_, _, ecx, _ := cpuid(1, 0)
	return ecx>>29&1 != 0
}

// for i := range n { dst[i] = halfToFloat(src[i]) }
//
//go:noescape
func widenHalvesAVX2(dst, src unsafe.Pointer, n int)

// for i := range n { dst[i] = floatToHalf(src[i]) }. dst may be src.
//
//go:noescape
func roundHalvesF16C(dst, src unsafe.Pointer, n int)

// for i := range n { dst[i] = floatToHalf(roundToOdd(src[i])) }. dst may be src.
//
//go:noescape
func roundHalves64AVX512(dst, src unsafe.Pointer, n int)
