package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// bfloat16 writes the conversions between bfloat16 and float32.
func bfloat16(c *build.Context) {
	widenBFloat16s(c)
	roundBFloat16s(c)
}

func widenBFloat16s(c *build.Context) {
	c.Implement("widenBFloat16s")
	c.Attributes(attr.NOSPLIT | attr.NOFRAME)
	p := asm.Load(c, "dst", "src", "n")
	dst, src, n := p[0], p[1], p[2]
	c.Label("loop")
	for i := range 2 {
		y := c.YMM()
		c.VPMOVZXWD(operand.Mem{Base: src, Disp: 16 * i}, y)
		c.VPSLLD(operand.Imm(16), y, y)
		c.VMOVDQU(y, operand.Mem{Base: dst, Disp: 32 * i})
	}
	c.ADDQ(operand.Imm(32), src)
	c.ADDQ(operand.Imm(64), dst)
	c.SUBQ(operand.Imm(16), n)
	c.JGT(operand.LabelRef("loop"))
	c.VZEROUPPER()
	c.RET()
}

func roundBFloat16s(c *build.Context) {
	c.Implement("roundBFloat16s")
	c.Attributes(attr.NOSPLIT | attr.NOFRAME)
	p := asm.Load(c, "dst", "src", "n")
	dst, src, n := p[0], p[1], p[2]
	one, below, quiet := c.YMM(), c.YMM(), c.YMM() // in each of 8 lanes 1, 0x7fff and 0x40, a NaN's quiet bit
	c.VPCMPEQD(one, one, one)
	c.VPSRLD(operand.Imm(17), one, below)
	c.VPSRLD(operand.Imm(31), one, one)
	c.VPSLLD(operand.Imm(6), one, quiet)

	// round returns 8 float32 of the memory as bfloat16 in the lower half of each lane: half a unit of the last
	// kept bit is added, less 1 where that bit is 0. A NaN stays one.
	round := func(x operand.Op) reg.VecVirtual {
		v, upper, sum, nan := c.YMM(), c.YMM(), c.YMM(), c.YMM()
		c.VMOVDQU(x, v)
		c.VPSRLD(operand.Imm(16), v, upper)
		c.VPAND(one, upper, sum)
		c.VPADDD(below, sum, sum)
		c.VPADDD(v, sum, sum)
		c.VPSRLD(operand.Imm(16), sum, sum)
		c.VCMPPS(operand.Imm(3), v, v, nan)
		c.VPOR(quiet, upper, upper)
		c.VPBLENDVB(nan, upper, sum, sum)
		return sum
	}
	c.Label("loop")
	low, high := round(operand.Mem{Base: src}), round(operand.Mem{Base: src, Disp: 32})
	c.VPACKUSDW(high, low, low)
	c.VPERMQ(operand.Imm(0xd8), low, low)
	c.VMOVDQU(low, operand.Mem{Base: dst})
	c.ADDQ(operand.Imm(64), src)
	c.ADDQ(operand.Imm(32), dst)
	c.SUBQ(operand.Imm(16), n)
	c.JGT(operand.LabelRef("loop"))
	c.VZEROUPPER()
	c.RET()
}
