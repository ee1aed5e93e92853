package cpu

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// extreme writes d = the larger or the smaller of the float32 of a and b; d may be a or b.
type extreme func(c *build.Context, a, b, d vector)

// larger is NaN if one of a and b is NaN, and 0 if they are 0 and -0. VMAXPS returns its second operand if one operand is
// NaN or both are zeros, so the results of both orders together show these cases.
func larger(c *build.Context, a, b, d vector) {
	nan, swapped := c.YMM(), c.YMM()
	c.VCMPPS(operand.Imm(unordered), a, b, nan)
	c.VMAXPS(a, b, swapped)
	c.VMAXPS(b, a, d)
	c.VANDPS(swapped, d, d)
	c.VORPS(nan, d, d)
}

// smaller is NaN if one of a and b is NaN, and -0 if they are 0 and -0.
func smaller(c *build.Context, a, b, d vector) {
	nan, swapped := c.YMM(), c.YMM()
	c.VCMPPS(operand.Imm(unordered), a, b, nan)
	c.VMINPS(a, b, swapped)
	c.VMINPS(b, a, d)
	c.VORPS(swapped, d, d)
	c.VORPS(nan, d, d)
}
