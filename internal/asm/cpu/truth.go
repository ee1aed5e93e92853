package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// truth writes the reductions of truth values. A truth value is a byte, and true if it is not 0.
func truth(c *build.Context) {
	countFalse(c)
	andTruths(c)
}

// countFalse adds the ones of 8 bytes each, so that no count of a byte overflows.
func countFalse(c *build.Context) {
	ones := asm.Constant(c, "countFalseOne", 1, operand.U8(1))
	asm.Function(c, "countFalse")
	p := asm.Load(c, "x", "n")
	zero, one, sum := c.YMM(), c.YMM(), c.YMM()
	c.VPXOR(zero, zero, zero)
	c.VPXOR(sum, sum, sum)
	c.VPBROADCASTB(ones, one)
	asm.For(c, p[1], 32, func(i reg.Register) {
		v := c.YMM()
		c.VPCMPEQB(asm.At(p[0], 0).Idx(i, 1), zero, v)
		c.VPAND(one, v, v)
		c.VPSADBW(zero, v, v)
		c.VPADDQ(v, sum, sum)
	})
	half := c.XMM()
	c.VEXTRACTI128(operand.Imm(1), sum, half)
	c.VPADDQ(half, sum.AsX(), half)
	high := c.XMM()
	c.VPSRLDQ(operand.Imm(8), half, high)
	c.VPADDQ(high, half, half)
	c.VMOVQ(half, asm.Result(c))
	asm.Return(c)
}

func andTruths(c *build.Context) {
	asm.Function(c, "andTruths")
	p := asm.Load(c, "dst", "x", "n")
	zero := c.YMM()
	c.VPXOR(zero, zero, zero)
	asm.For(c, p[2], 32, func(i reg.Register) {
		v, dst := c.YMM(), asm.At(p[0], 0).Idx(i, 1)
		c.VPCMPEQB(asm.At(p[1], 0).Idx(i, 1), zero, v)
		c.VPANDN(dst, v, v)
		c.VMOVDQU(v, dst)
	})
	asm.Return(c)
}
