package asm

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Sum64 returns the sum (a + b) + (c + d) of the four float64 of a Y register, which it overwrites.
func Sum64(c *build.Context, x reg.VecVirtual) reg.Register {
	upper := c.XMM()
	c.VHADDPD(x, x, x)
	c.VEXTRACTF128(operand.Imm(1), x, upper)
	c.VADDSD(upper, x.AsX(), x.AsX())
	return x.AsX()
}
