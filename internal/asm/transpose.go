package asm

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/reg"
)

// interleave interleaves each vector with the vector at a distance after it: low writes the first and high the second
// of two results.
func interleave(c *build.Context, low, high Instruction, distance int, from, to []reg.VecPhysical) {
	for i := range from {
		if i&distance == 0 {
			low(c, from[i+distance], from[i], to[0])
			high(c, from[i+distance], from[i], to[1])
			to = to[2:]
		}
	}
}

// TransposeQuads transposes the 4 x 4 elements of 4 bytes in each 16 bytes of v[:4]. It overwrites v[4:8].
func TransposeQuads(c *build.Context, v []reg.VecPhysical) {
	interleave(c, (*build.Context).VUNPCKLPS, (*build.Context).VUNPCKHPS, 1, v[:4], v[4:8])
	interleave(c, (*build.Context).VUNPCKLPD, (*build.Context).VUNPCKHPD, 2, v[4:8], v[:4])
}

// TransposeOctets transposes matrices of 8 x 8 elements of 2 bytes. Row i of a matrix is 16 bytes of v[i], so that 32-byte
// vectors hold two matrices. The rows of the results are in v[8:], and v[:8] is overwritten.
func TransposeOctets(c *build.Context, v []reg.VecPhysical) {
	interleave(c, (*build.Context).VPUNPCKLWD, (*build.Context).VPUNPCKHWD, 1, v[:8], v[8:16])
	interleave(c, (*build.Context).VPUNPCKLDQ, (*build.Context).VPUNPCKHDQ, 2, v[8:16], v[:8])
	interleave(c, (*build.Context).VPUNPCKLQDQ, (*build.Context).VPUNPCKHQDQ, 4, v[:8], v[8:16])
}

// Transpose4x4 transposes the 4 x 4 elements of 8 bytes of v[:4], Y registers. It overwrites v[4:8].
func Transpose4x4(c *build.Context, v []reg.VecPhysical) {
	interleave(c, (*build.Context).VUNPCKLPD, (*build.Context).VUNPCKHPD, 1, v[:4], v[4:8])
	c.VPERM2F128(Number(0x20), v[6], v[4], v[0])
	c.VPERM2F128(Number(0x20), v[7], v[5], v[1])
	c.VPERM2F128(Number(0x31), v[6], v[4], v[2])
	c.VPERM2F128(Number(0x31), v[7], v[5], v[3])
}
