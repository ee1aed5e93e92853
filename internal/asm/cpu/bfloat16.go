package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
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
	asm.Function(c, "widenBFloat16s")
	p := asm.Load(c, "dst", "src", "n")
	dst, src, n := p[0], p[1], p[2]
	c.Label("loop")
	for i := range 2 {
		y := c.YMM()
		widenBFloat16(c, operand.Mem{Base: src, Disp: 16 * i}, y)
		c.VMOVDQU(y, operand.Mem{Base: dst, Disp: 32 * i})
	}
	c.ADDQ(operand.Imm(32), src)
	c.ADDQ(operand.Imm(64), dst)
	c.SUBQ(operand.Imm(16), n)
	c.JGT(operand.LabelRef("loop"))
	asm.Return(c)
}

// widenBFloat16 loads 8 bfloat16 as float32.
func widenBFloat16(c *build.Context, from operand.Op, to reg.Register) {
	c.VPMOVZXWD(from, to)
	c.VPSLLD(operand.Imm(16), to, to)
}

func roundBFloat16s(c *build.Context) {
	asm.Function(c, "roundBFloat16s")
	p := asm.Load(c, "dst", "src", "n")
	dst, src, n := p[0], p[1], p[2]
	r := newBFloat16Rounder(c)
	c.Label("loop")
	low, high := r.round(operand.Mem{Base: src}), r.round(operand.Mem{Base: src, Disp: 32})
	c.VPACKUSDW(high, low, low)
	c.VPERMQ(operand.Imm(0xd8), low, low)
	c.VMOVDQU(low, operand.Mem{Base: dst})
	c.ADDQ(operand.Imm(64), src)
	c.ADDQ(operand.Imm(32), dst)
	c.SUBQ(operand.Imm(16), n)
	c.JGT(operand.LabelRef("loop"))
	asm.Return(c)
}

// bfloat16Rounder rounds float32 to the nearest bfloat16, and to the even one of two. A NaN stays one and becomes quiet.
type bfloat16Rounder struct {
	*build.Context
	one, below, quiet reg.VecVirtual // in each of 8 lanes 1, 0x7fff and 0x40, a NaN's quiet bit
}

func newBFloat16Rounder(c *build.Context) bfloat16Rounder {
	r := bfloat16Rounder{c, c.YMM(), c.YMM(), c.YMM()}
	c.VPCMPEQD(r.one, r.one, r.one)
	c.VPSRLD(operand.Imm(17), r.one, r.below)
	c.VPSRLD(operand.Imm(31), r.one, r.one)
	c.VPSLLD(operand.Imm(6), r.one, r.quiet)
	return r
}

// round returns 8 float32 of the memory as bfloat16 in the lower half of each lane: it adds half a unit of the last
// kept bit, less 1 where that bit is 0.
func (r bfloat16Rounder) round(x operand.Op) reg.VecVirtual {
	v, upper, sum, nan := r.YMM(), r.YMM(), r.YMM(), r.YMM()
	r.VMOVDQU(x, v)
	r.VPSRLD(operand.Imm(16), v, upper)
	r.VPAND(r.one, upper, sum)
	r.VPADDD(r.below, sum, sum)
	r.VPADDD(v, sum, sum)
	r.VPSRLD(operand.Imm(16), sum, sum)
	r.VCMPPS(operand.Imm(3), v, v, nan)
	r.VPOR(r.quiet, upper, upper)
	r.VPBLENDVB(nan, upper, sum, sum)
	return sum
}
