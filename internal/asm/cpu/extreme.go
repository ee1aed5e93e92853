package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// extreme writes d = the larger or the smaller of the elements of a and b; d may be a or b.
type extreme func(c *build.Context, a, b, d reg.Register)

// larger and smaller are the extremes of float32.
var larger, smaller = largerOf(asm.Float32), smallerOf(asm.Float32)

// largerOf returns an extreme that is NaN if one of a and b is NaN, and 0 if they are 0 and -0. VMAXPS and VMAXPD return
// their second operand if one operand is NaN or both are zeros, so the results of both orders together show these cases.
func largerOf(f asm.Float) extreme {
	return func(c *build.Context, a, b, d reg.Register) {
		nan, swapped := c.YMM(), c.YMM()
		f.Compare(c, operand.Imm(unordered), a, b, nan)
		f.Max(c, a, b, swapped)
		f.Max(c, b, a, d)
		c.VANDPS(swapped, d, d)
		c.VORPS(nan, d, d)
	}
}

// smallerOf returns an extreme that is NaN if one of a and b is NaN, and -0 if they are 0 and -0.
func smallerOf(f asm.Float) extreme {
	return func(c *build.Context, a, b, d reg.Register) {
		nan, swapped := c.YMM(), c.YMM()
		f.Compare(c, operand.Imm(unordered), a, b, nan)
		f.Min(c, a, b, swapped)
		f.Min(c, b, a, d)
		c.VORPS(swapped, d, d)
		c.VORPS(nan, d, d)
	}
}
