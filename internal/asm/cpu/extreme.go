package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// extreme writes d = the larger or the smaller of the elements of a and b; d may be a or b.
type extreme func(c *build.Context, a, b, d reg.Register)

// largerOf returns an extreme that is NaN if one of a and b is NaN, and 0 if they are 0 and -0.
func largerOf(f asm.Float) extreme { return extremeFrom(f, f.Max, (*build.Context).VANDPS) }

// smallerOf returns an extreme that is NaN if one of a and b is NaN, and -0 if they are 0 and -0.
func smallerOf(f asm.Float) extreme { return extremeFrom(f, f.Min, (*build.Context).VORPS) }

// extremeFrom returns an extreme that uses the instruction pick, such as VMAXPS. If one operand is NaN or both are
// zeros, pick returns its second operand. So the extreme picks in both orders, and join combines the results: two zeros
// of different signs become the right zero. If an operand is NaN, all bits are set, which is NaN.
func extremeFrom(f asm.Float, pick, join asm.Instruction) extreme {
	return func(c *build.Context, a, b, d reg.Register) {
		nan, swapped := c.YMM(), c.YMM()
		f.Compare(c, operand.Imm(unordered), a, b, nan)
		pick(c, a, b, swapped)
		pick(c, b, a, d)
		join(c, swapped, d, d)
		c.VORPS(nan, d, d)
	}
}
