package fft

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// fold writes foldParts for pairs of complex128 from the beginning of a line, and pairs from its end.
func fold(c *build.Context) {
	f := complexes(c)[1]
	half := asm.Constant(c, "half", 4, operand.U64(0x3fe0000000000000))
	asm.Function(c, "fold64")
	p := asm.Load(c, "front", "back", "low", "high", "count")
	front, back, low, high, count := p[0], p[1], p[2], p[3], p[4]
	odd, halves := c.YMM(), c.YMM()
	c.VMOVUPD(f.odd, odd)
	c.VMOVUPD(half, halves)
	reverse := func(v reg.VecVirtual) { c.VPERM2F128(operand.Imm(1), v, v, v) } // exchanges the two numbers
	asm.Loop(c, "loop", count, func() {
		a, b, sum, d := c.YMM(), c.YMM(), c.YMM(), c.YMM()
		c.VMOVUPD(asm.At(front, 0), a)
		c.VMOVUPD(asm.At(back, 0), b)
		reverse(b)
		c.VXORPD(odd, b, sum)
		c.VADDPD(sum, a, sum)
		c.VMULPD(halves, sum, sum) // (a + conj b) / 2
		f.permute(c, f.swap, a, a)
		f.permute(c, f.swap, b, b)
		c.VXORPD(odd, a, d)
		c.VADDPD(d, b, d)
		c.VMULPD(halves, d, d) // -i (a - conj b) / 2
		conjugate := c.YMM()
		c.VXORPD(odd, d, conjugate)
		turn := func(v reg.VecVirtual, factors reg.Register, reversed bool) {
			e := factor{c.YMM(), c.YMM()}
			c.VMOVUPD(asm.At(factors, 0), e.im)
			if reversed {
				reverse(e.im)
			}
			f.permute(c, f.re, e.im, e.re)
			f.permute(c, f.im, e.im, e.im)
			f.times(c, v, e)
		}
		turn(d, low, false)
		turn(conjugate, high, true)
		c.VADDPD(d, sum, d)
		c.VMOVUPD(d, asm.At(front, 0))
		c.VXORPD(odd, sum, sum)
		c.VADDPD(sum, conjugate, sum)
		reverse(sum)
		c.VMOVUPD(sum, asm.At(back, 0))
		c.ADDQ(operand.Imm(32), front)
		c.ADDQ(operand.Imm(32), low)
		c.SUBQ(operand.Imm(32), back)
		c.SUBQ(operand.Imm(32), high)
	})
	asm.Return(c)
}
