package cpu

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// wide writes operations on integers of 8 bytes for which AVX2 has no instruction.
func (w integerLoops) wide() {
	w.forms("mul", false, 0, w.products)
	w.write("abs", 0, none, []string{"x"}, func(d reg.Register, v ...reg.Register) {
		w.VPXOR(d, d, d)
		w.VPCMPGTQ(v[0], d, d) // all bits of negative numbers
		w.VPXOR(v[0], d, v[0])
		w.VPSUBQ(d, v[0], d)
	})
	w.reduction("largest", func(operands ...operand.Op) {
		w.choose(operands[0], operands[1], operands[1], operands[0], operands[2])
	})
	w.reduction("smallest", func(operands ...operand.Op) {
		w.choose(operands[0], operands[1], operands[0], operands[1], operands[2])
	})
	for _, unsigned := range []bool{false, true} {
		larger := func(x, y, d reg.Register) { w.chooseOrdered(x, y, y, x, d, unsigned) }
		smaller := func(x, y, d reg.Register) { w.chooseOrdered(x, y, x, y, d, unsigned) }
		if unsigned {
			w.name = "Uint64"
		}
		w.forms("maximum", false, 0, func(d reg.Register, v ...reg.Register) { larger(v[0], v[1], d) })
		w.forms("minimum", false, 0, func(d reg.Register, v ...reg.Register) { smaller(v[0], v[1], d) })
		w.write("clamp", 0, none, []string{"x", "y", "z"}, func(d reg.Register, v ...reg.Register) {
			larger(v[0], v[1], d)
			smaller(d, v[2], d)
		})
	}
}

// chooseOrdered sets d to a where y > x, elsewhere to b. Unsigned integers are compared as signed ones whose highest bits are inverted.
func (w integerLoops) chooseOrdered(x, y, a, b, d reg.Register, unsigned bool) {
	mask := w.like(d)
	if !unsigned {
		w.VPCMPGTQ(x, y, mask)
		w.VBLENDVPD(mask, a, b, d)
		return
	}
	highest, other := w.like(d), w.like(d)
	w.VPCMPEQD(highest, highest, highest)
	w.VPSLLQ(operand.Imm(63), highest, highest)
	w.VPXOR(x, highest, other)
	w.VPXOR(y, highest, mask)
	w.VPCMPGTQ(other, mask, mask)
	w.VBLENDVPD(mask, a, b, d)
}

// products multiplies integers of 8 bytes by their halves of 4 bytes:
//
//	(a 2^32 + b) (c 2^32 + d) = (a d + b c) 2^32 + b d, modulo 2^64
func (w integerLoops) products(d reg.Register, v ...reg.Register) {
	cross, sum := w.like(d), w.like(d)
	w.VPSHUFD(operand.Imm(0xb1), v[1], cross)
	w.VPMULLD(v[0], cross, cross)
	w.VPSRLQ(operand.Imm(32), cross, sum)
	w.VPADDD(cross, sum, sum)
	w.VPSLLQ(operand.Imm(32), sum, sum)
	w.VPMULUDQ(v[0], v[1], d)
	w.VPADDQ(sum, d, d)
}
