package asm

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/reg"
)

// TransposeQuads transposes the 4 x 4 elements of 4 bytes in each 16 bytes of v[:4]. It overwrites v[4:8].
func TransposeQuads(c *build.Context, v []reg.VecPhysical) {
	c.VUNPCKLPS(v[1], v[0], v[4])
	c.VUNPCKHPS(v[1], v[0], v[5])
	c.VUNPCKLPS(v[3], v[2], v[6])
	c.VUNPCKHPS(v[3], v[2], v[7])
	c.VUNPCKLPD(v[6], v[4], v[0])
	c.VUNPCKHPD(v[6], v[4], v[1])
	c.VUNPCKLPD(v[7], v[5], v[2])
	c.VUNPCKHPD(v[7], v[5], v[3])
}

// Transpose4x4 transposes the 4 x 4 elements of 8 bytes of v[:4], Y registers. It overwrites v[4:8].
func Transpose4x4(c *build.Context, v []reg.VecPhysical) {
	c.VUNPCKLPD(v[1], v[0], v[4])
	c.VUNPCKHPD(v[1], v[0], v[5])
	c.VUNPCKLPD(v[3], v[2], v[6])
	c.VUNPCKHPD(v[3], v[2], v[7])
	c.VPERM2F128(Number(0x20), v[6], v[4], v[0])
	c.VPERM2F128(Number(0x20), v[7], v[5], v[1])
	c.VPERM2F128(Number(0x31), v[6], v[4], v[2])
	c.VPERM2F128(Number(0x31), v[7], v[5], v[3])
}
