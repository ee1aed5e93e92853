package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// quotients writes floors of int64 divided by a number: the upper 64 bits of products with its reciprocal.
// With halves of 32 bits,
//
//	(a 2^32 + b) (c 2^32 + d) = a c 2^64 + (a d + b c) 2^32 + b d
func quotients(c *build.Context) {
	asm.Function(c, "floors64AVX512")
	p := asm.Load(c, "dst", "x", "n", "factor", "shift")
	cs, ds, lowMask, count := c.ZMM(), c.ZMM(), c.ZMM(), c.XMM()
	c.VPBROADCASTQ(p[3], ds) // VPMULUDQ ignores the upper halves
	c.VPSRLQ(operand.Imm(32), ds, cs)
	c.VPTERNLOGD(operand.U8(0xff), lowMask, lowMask, lowMask)
	c.VPSRLQ(operand.Imm(32), lowMask, lowMask)
	c.VMOVQ(p[4], count)
	asm.For(c, p[2], 8, func(i reg.Register) {
		v, sign, a, ac, ad, bc := c.ZMM(), c.ZMM(), c.ZMM(), c.ZMM(), c.ZMM(), c.ZMM()
		c.VMOVDQU64(asm.At(p[1], 0).Idx(i, 8), v)
		c.VPSRAQ(operand.Imm(63), v, sign)
		c.VPXORQ(sign, v, v)
		c.VPSRLQ(operand.Imm(32), v, a)
		c.VPMULUDQ(a, cs, ac)
		c.VPMULUDQ(a, ds, ad)
		c.VPMULUDQ(v, cs, bc)
		c.VPMULUDQ(v, ds, v)
		c.VPSRLQ(operand.Imm(32), v, v)
		c.VPADDQ(v, ad, ad)
		c.VPANDQ(lowMask, ad, v)
		c.VPADDQ(v, bc, bc)
		c.VPSRLQ(operand.Imm(32), ad, ad)
		c.VPSRLQ(operand.Imm(32), bc, bc)
		c.VPADDQ(ad, ac, ac)
		c.VPADDQ(bc, ac, ac)
		c.VPSRLQ(count, ac, ac)
		c.VPXORQ(sign, ac, ac)
		c.VMOVDQU64(ac, asm.At(p[0], 0).Idx(i, 8))
	})
	asm.Return(c)
}
