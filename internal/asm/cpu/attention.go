package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// attention writes softmax of columns and products of four queries, with AVX-512. A column is the scores of one query, and at
// most 16 columns are computed at a time.
func attention(c *build.Context) {
	weighColumns512(c)
	maxColumns512(c)
	rescale(c)
	dotsFour512(c)
	columnsFour512(c)
}

// columnMask sets an opmask to the columns, whose number is parameter cols.
func columnMask(c *build.Context) reg.Register {
	c.MOVQ(asm.Parameter(c, "cols"), reg.RCX)
	asm.FirstBits(c, reg.RCX, reg.K1)
	return reg.K1
}

// expTable are the constants of expF32 with AVX-512, in registers.
type expTable struct {
	*build.Context
	constants []reg.VecPhysical
}

// newExpTable loads the constants, and exp32Limit to limit, to all 16 lanes of registers.
func newExpTable(c *build.Context, limit reg.Register) expTable {
	e := expTable{c, asm.Vectors(64, 18, 28)}
	table := asm.Variable(c, "exp32Table")
	c.VBROADCASTSS(asm.At(table, 32), limit)
	for i, r := range e.constants {
		c.VBROADCASTSS(asm.At(table, 32*(i+2)), r)
	}
	return e
}

// exp returns e^x for |x| <= exp32Limit, and overwrites x. The formula is that of expF32, with fused multiply-adds. VSCALEFPS
// multiplies by the power of two, so that NaN stays NaN.
func (e expTable) exp(x reg.Register) reg.Register {
	k := e.constants
	log2e, shifter, log2, coefficients, one := k[0], k[1], k[2:4], k[4:9], k[9] // log(2) in two parts
	n, y, t := reg.Z1, reg.Z2, reg.Z3
	e.VMOVAPS(x, n)
	e.VFMADD213PS(shifter, log2e, n)
	e.VSUBPS(shifter, n, n)
	for _, part := range log2 {
		e.VFNMADD231PS(part, n, x)
	}
	e.VMULPS(x, x, t)
	e.VMOVAPS(coefficients[0], y)
	for _, coefficient := range coefficients[1:] {
		e.VFMADD213PS(coefficient, x, y)
	}
	e.VFMADD213PS(x, t, y)
	e.VADDPS(one, y, y)
	e.VSCALEFPS(n, y, y)
	return y
}

// weighColumns512 writes the function that computes the weights of columns and adds them in four chains of rows.
func weighColumns512(c *build.Context) {
	asm.Function(c, "weighColumns512")
	mask := columnMask(c)
	p := asm.Load(c, "x", "ld", "rows", "largest")
	row, ld, rows, largests := p[0], p[1], p[2], p[3]
	asm.Bytes(c, 2, ld)
	largest, least, leastWeight, x := reg.Z31, reg.Z28, reg.Z29, reg.Z0
	sums := asm.Vectors(64, 12, 16)
	c.VMOVUPS_Z(asm.At(largests, 0), mask, largest)
	e := newExpTable(c, x)
	asm.Zero(c, sums...)
	c.VSUBPS(x, sums[0], least)
	c.VMOVAPS(least, x)
	c.VMOVAPS(e.exp(x), leastWeight)

	// weigh computes a row: x = e^max(x - largest, -exp32Limit) - e^-exp32Limit, and sum += x.
	weigh := func(sum reg.Register) {
		c.VMOVUPS_Z(asm.At(row, 0), mask, x)
		c.VSUBPS(largest, x, x)
		c.VMAXPS(x, least, x)
		y := e.exp(x)
		c.VSUBPS(leastWeight, y, y)
		c.VMOVUPS(y, mask, asm.At(row, 0))
		c.VADDPS(y, sum, sum)
		c.ADDQ(ld, row)
	}
	c.Label("four")
	c.SUBQ(asm.Number(4), rows)
	c.JLT(operand.LabelRef("rest"))
	for _, sum := range sums {
		weigh(sum)
	}
	c.JMP(operand.LabelRef("four"))
	c.Label("rest")
	c.ADDQ(asm.Number(4), rows)
	c.JZ(operand.LabelRef("done"))
	for i, sum := range sums[:3] {
		if i > 0 {
			c.DECQ(rows)
			c.JZ(operand.LabelRef("done"))
		}
		weigh(sum)
	}
	c.Label("done")
	storePairwise(c, c.VADDPS, sums, mask, "sums")
}

// storePairwise combines four vectors in pairs, stores the masked elements of the result to a parameter's address and ends
// the function. It overwrites the vectors.
func storePairwise(c *build.Context, combine func(...operand.Op), v []reg.VecPhysical, mask reg.Register, parameter string) {
	combine(v[1], v[0], v[0])
	combine(v[3], v[2], v[2])
	combine(v[2], v[0], v[0])
	c.VMOVUPS(v[0], mask, asm.At(asm.Load(c, parameter)[0], 0))
	asm.Return(c)
}

// maxColumns512 writes the function that computes the maxima of columns in four chains of rows.
func maxColumns512(c *build.Context) {
	asm.Function(c, "maxColumns512")
	mask := columnMask(c)
	p := asm.Load(c, "x", "ld", "rows")
	row, ld, rows := p[0], p[1], p[2]
	asm.Bytes(c, 2, ld)
	largest := asm.Vectors(64, 0, 4)
	c.VMOVUPS_Z(asm.At(row, 0), mask, largest[0])
	for _, l := range largest[1:] {
		c.VMOVAPS(largest[0], l)
	}
	c.Label("four")
	c.SUBQ(asm.Number(4), rows)
	c.JLT(operand.LabelRef("rest"))
	four := asm.NewRowPairs(c, row, ld)
	for i, l := range largest {
		c.VMAXPS(four.At(i, 0), l, mask, l)
	}
	c.LEAQ(asm.At(four.Third, 0).Idx(ld, 2), row)
	c.JMP(operand.LabelRef("four"))
	c.Label("rest")
	c.ADDQ(asm.Number(4), rows)
	c.JZ(operand.LabelRef("done"))
	asm.Loop(c, "one", rows, func() {
		c.VMAXPS(asm.At(row, 0), largest[0], mask, largest[0])
		c.ADDQ(ld, row)
	})
	c.Label("done")
	storePairwise(c, c.VMAXPS, largest, mask, "largest")
}

// rescale writes the loop x = alpha x + y.
func rescale(c *build.Context) {
	asm.Function(c, "rescaleAVX")
	p := asm.Load(c, "x", "y", "n")
	x, y, n := p[0], p[1], p[2]
	alpha := c.YMM()
	c.VBROADCASTSS(asm.Parameter(c, "alpha"), alpha)
	asm.Up(c, "next", n, 8, func(i reg.Register) {
		v := c.YMM()
		c.VMULPS(asm.At(x, 0).Idx(i, 4), alpha, v)
		c.VADDPS(asm.At(y, 0).Idx(i, 4), v, v)
		c.VMOVUPS(v, asm.At(x, 0).Idx(i, 4))
	})
	asm.Return(c)
}
