package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// halves writes the conversions between float16 and larger types.
func halves(c *build.Context) {
	const nearest = 0 // ties to even
	asm.Function(c, "roundHalvesF16C")
	p := asm.Load(c, "dst", "src", "n")
	asm.Up(c, "next", p[2], 16, func(i reg.Register) {
		for j := range 2 {
			v := c.YMM()
			c.VMOVUPS(asm.At(p[1], 32*j).Idx(i, 4), v)
			c.VCVTPS2PH(operand.Imm(nearest), v, asm.At(p[0], 16*j).Idx(i, 2))
		}
	})
	asm.Return(c)
	widenHalves(c)

	one := asm.Constant(c, "halfOne", 1, operand.U32(1))
	asm.Function(c, "roundHalves64AVX512")
	p = asm.Load(c, "dst", "src", "n")
	ones, inexact := c.YMM(), c.K()
	c.VPBROADCASTD(one, ones)
	asm.Up(c, "next", p[2], 8, func(i reg.Register) {
		v, back, r := c.ZMM(), c.ZMM(), c.YMM()
		c.VMOVUPD(asm.At(p[1], 0).Idx(i, 8), v)
		c.VCVTPD2PS_RZ_SAE(v, r)
		c.VCVTPS2PD(r, back)
		c.VCMPPD(operand.Imm(notEqual), v, back, inexact)
		c.VPORD(ones, r, inexact, r) // round to odd, see roundToOdd
		c.VCVTPS2PH(operand.Imm(nearest), r, asm.At(p[0], 0).Idx(i, 2))
	})
	asm.Return(c)
}

// widenHalves performs the operations of halfToFloat, which keeps a signaling NaN as it is. VCVTPH2PS would make it quiet.
func widenHalves(c *build.Context) {
	asm.Function(c, "widenHalvesAVX2")
	p := asm.Load(c, "dst", "src", "n")
	all := func(name string, k operand.Constant) reg.VecVirtual {
		v := c.YMM()
		c.VPBROADCASTD(asm.Constant(c, name, 1, k), v)
		return v
	}
	magnitude, largest := all("halfMagnitude", operand.U32(0x7fff<<13)), all("halfLargest", operand.U32(0x7c00<<13-1))
	exponent, sign := all("floatExponent", operand.U32(0x7f800000)), all("floatSign", operand.U32(1<<31))
	factor := all("halfFactor", asm.Bits32(0x1p112))
	asm.Up(c, "next", p[2], 16, func(i reg.Register) {
		for j := range 2 {
			h, u, s, above := c.YMM(), c.YMM(), c.YMM(), c.YMM()
			c.VPMOVZXWD(asm.At(p[1], 16*j).Idx(i, 2), h)
			c.VPSLLD(operand.Imm(13), h, u)
			c.VPAND(magnitude, u, u)
			c.VPSLLD(operand.Imm(16), h, s)
			c.VPAND(sign, s, s)
			c.VPCMPGTD(largest, u, above)
			c.VPAND(exponent, above, above)
			c.VPOR(above, s, s)
			c.VMULPS(factor, u, u)
			c.VPOR(s, u, u)
			c.VMOVUPS(u, asm.At(p[0], 32*j).Idx(i, 4))
		}
	})
	asm.Return(c)
}
