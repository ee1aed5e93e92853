package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// rankOne writes the subtraction of an outer product, row by row. Products and differences are rounded separately, as in
// the loops of Go. The last columns, fewer than a vector, are read and written under a mask.
func rankOne(c *build.Context) {
	lanes := asm.FirstLanes(c)
	for _, f := range asm.Floats {
		asm.Function(c, "subtractOuter"+f.Name)
		p := asm.Load(c, "a", "pitch", "rows", "cols", "l", "step", "x")
		a, pitch, rows, cols, l, step, x := p[0], p[1], p[2], p[3], p[4], p[5], p[6]
		perVector := 32 / f.Size
		whole, last := c.GP64(), c.GP64()
		c.MOVQ(cols, whole)
		c.ANDQ(operand.I32(-perVector), whole)
		c.MOVQ(cols, last)
		c.SUBQ(whole, last)
		c.SHLQ(operand.Imm(uint64(f.Log)), last)
		mask := c.YMM()
		asm.FirstBytes(c, lanes, last, mask)
		c.Label("row")
		factor, i := c.YMM(), c.GP64()
		f.Broadcast(c, asm.At(l, 0), factor)
		c.XORQ(i, i)
		c.JMP(operand.LabelRef("check"))
		c.Label("next")
		to := asm.At(a, 0).Idx(i, uint8(f.Size))
		from := asm.At(x, 0).Idx(i, uint8(f.Size))
		rest, product := c.YMM(), c.YMM()
		c.VMOVUPS(to, rest)
		f.Mul(c, from, factor, product)
		f.Sub(c, product, rest, rest)
		c.VMOVUPS(rest, to)
		c.ADDQ(asm.Number(perVector), i)
		c.Label("check")
		c.CMPQ(i, whole)
		c.JLT(operand.LabelRef("next"))
		c.TESTQ(last, last)
		c.JZ(operand.LabelRef("done"))
		f.MaskMove(c, from, mask, product)
		f.MaskMove(c, to, mask, rest)
		f.Mul(c, factor, product, product)
		f.Sub(c, product, rest, rest)
		f.MaskMove(c, rest, mask, to)
		c.Label("done")
		c.ADDQ(pitch, a)
		c.ADDQ(step, l)
		c.DECQ(rows)
		c.JNZ(operand.LabelRef("row"))
		asm.Return(c)
	}
}
