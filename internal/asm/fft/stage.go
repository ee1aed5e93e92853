package fft

import (
	"fmt"

	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// stage writes the stages of the radices that are not 4.
func stage(c *build.Context) {
	for _, f := range complexes(c) {
		for _, p := range []int{2, 3, 5, 7} {
			rows(c, f, p)
			first(c, f, p)
		}
		for _, p := range []int{11, 13} {
			longRows(c, f, p)
		}
	}
}

// multiples are rows 0 to 6 at a distance of one pitch.
type multiples struct{ pitch, triple, quintuple reg.Register }

func newMultiples(c *build.Context, pitch reg.Register, p int) multiples {
	m := multiples{pitch: pitch}
	if p > 3 {
		m.triple = c.GP64()
		c.LEAQ(operand.Mem{Base: pitch, Index: pitch, Scale: 2}, m.triple)
	}
	if p > 5 {
		m.quintuple = c.GP64()
		c.LEAQ(operand.Mem{Base: pitch, Index: pitch, Scale: 4}, m.quintuple)
	}
	return m
}

// at returns the beginning of row j.
func (m multiples) at(base reg.Register, j int) operand.Mem {
	at := operand.Mem{Base: base}
	switch j {
	case 1, 2, 4:
		at.Index, at.Scale = m.pitch, uint8(j)
	case 3, 6:
		at.Index, at.Scale = m.triple, uint8(j/3)
	case 5:
		at.Index, at.Scale = m.quintuple, 1
	}
	return at
}

// steps runs body for the offsets 0, 32, 64, … and finally for `last`, from which a register reaches the end.
func steps(c *build.Context, last reg.Register, body func(offset reg.Register)) {
	offset := c.GP64()
	c.XORQ(offset, offset)
	c.Label("step")
	body(offset)
	c.CMPQ(offset, last)
	c.JEQ(operand.LabelRef("end"))
	c.ADDQ(operand.Imm(32), offset)
	c.CMPQ(offset, last)
	c.CMOVQGT(last, offset)
	c.JMP(operand.LabelRef("step"))
	c.Label("end")
}

// rows writes the rows of butterflies that have the same twiddle factors.
func rows(c *build.Context, f complexFloat, p int) {
	asm.Function(c, fmt.Sprintf("rows%dx%s", p, f.Name))
	r := asm.Load(c, "y", "x", "w", "table", "ys", "xs", "n", "count")
	y, x, w, table, ys, xs, last, count := r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7]
	asm.Bytes(c, f.Log+1, ys, xs, last)
	c.SUBQ(operand.Imm(32), last)
	from, to := newMultiples(c, xs, p+1), newMultiples(c, ys, p+1) // with row p, which begins the next row of butterflies
	broadcast := func(t int) factor {
		e := factor{c.YMM(), c.YMM()}
		f.Broadcast(c, asm.At(w, 2*(t-1)*f.Size), e.re)
		f.Broadcast(c, asm.At(w, (2*t-1)*f.Size), e.im)
		return e
	}
	asm.Loop(c, "row", count, func() {
		var kept []factor
		if p <= 3 { // only then are there enough registers
			for t := 1; t < p; t++ {
				kept = append(kept, broadcast(t))
			}
		}
		steps(c, last, func(offset reg.Register) {
			in, out := c.GP64(), c.GP64()
			c.LEAQ(asm.At(x, 0).Idx(offset, 1), in)
			first := true
			butterfly{
				f, p, table,
				func(j int) operand.Mem { return from.at(in, j) },
				func(t int) factor {
					if kept != nil {
						return kept[t-1]
					}
					return broadcast(t)
				},
				func(t int, v reg.VecVirtual) {
					if first {
						c.LEAQ(asm.At(y, 0).Idx(offset, 1), out)
						first = false
					}
					c.VMOVUPS(v, to.at(out, t))
				},
			}.write(c)
		})
		c.ADDQ(ys, x)
		c.ADDQ(operand.Imm(uint64(2*(p-1)*f.Size)), w)
		if p == 7 {
			c.LEAQ(to.at(y, 6), y)
			c.ADDQ(ys, y)
		} else {
			c.LEAQ(to.at(y, p), y)
		}
	})
	asm.Return(c)
}

// longRows is rows for so large a radix that the addresses of its rows do not fit the registers. Inputs and outputs are read and
// written from both ends.
func longRows(c *build.Context, f complexFloat, p int) {
	asm.FrameFunction(c, fmt.Sprintf("rows%dx%s", p, f.Name))
	r := asm.Load(c, "y", "x", "w", "table", "ys", "xs", "n", "count")
	y, x, w, table, ys, xs, last, count := r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7]
	asm.Bytes(c, f.Log+1, ys, xs, last)
	c.SUBQ(operand.Imm(32), last)
	allX, allY := c.GP64(), c.GP64() // p rows
	c.IMUL3Q(operand.Imm(uint64(p)), xs, allX)
	c.IMUL3Q(operand.Imm(uint64(p)), ys, allY)
	asm.Loop(c, "row", count, func() {
		steps(c, last, func(offset reg.Register) {
			low, high := c.GP64(), c.GP64()
			// ends moves to row j, which is row 0, and then rows 1, p-1, 2, p-2 and so on.
			ends := func(base, all, pitch reg.Register, j int) operand.Mem {
				switch {
				case j == 0:
					c.LEAQ(asm.At(base, 0).Idx(offset, 1), low)
					c.LEAQ(asm.At(low, 0).Idx(all, 1), high)
				case j <= p/2:
					c.ADDQ(pitch, low)
				default:
					c.SUBQ(pitch, high)
					return asm.At(high, 0)
				}
				return asm.At(low, 0)
			}
			butterfly{
				f, p, table,
				func(j int) operand.Mem { return ends(x, allX, xs, j) },
				func(t int) factor {
					e := factor{c.YMM(), c.YMM()}
					f.Broadcast(c, asm.At(w, 2*(t-1)*f.Size), e.re)
					f.Broadcast(c, asm.At(w, (2*t-1)*f.Size), e.im)
					return e
				},
				func(t int, v reg.VecVirtual) { c.VMOVUPS(v, ends(y, allY, ys, t)) },
			}.write(c)
		})
		c.ADDQ(ys, x)
		c.ADDQ(allY, y)
		c.ADDQ(asm.Number(2*(p-1)*f.Size), w)
	})
	asm.Return(c)
}

// first writes the butterflies of a first stage, whose twiddle factors differ and whose results are interleaved.
func first(c *build.Context, f complexFloat, p int) {
	asm.Function(c, fmt.Sprintf("first%dx%s", p, f.Name))
	r := asm.Load(c, "y", "x", "w", "table", "m", "n")
	y, x, w, table, m, last := r[0], r[1], r[2], r[3], r[4], r[5]
	asm.Bytes(c, f.Log+1, m, last)
	c.SUBQ(operand.Imm(32), last)
	from := newMultiples(c, m, p)
	steps(c, last, func(offset reg.Register) {
		in, factors, out := c.GP64(), c.GP64(), c.GP64()
		c.LEAQ(asm.At(x, 0).Idx(offset, 1), in)
		c.LEAQ(asm.At(w, 0).Idx(offset, 1), factors)
		c.IMUL3Q(operand.Imm(uint64(p)), offset, out)
		c.ADDQ(y, out)
		butterfly{
			f, p, table,
			func(j int) operand.Mem { return from.at(in, j) },
			func(t int) factor {
				e := factor{c.YMM(), c.YMM()}
				c.VMOVUPS(from.at(factors, t-1), e.im)
				f.permute(c, f.re, e.im, e.re)
				f.permute(c, f.im, e.im, e.im)
				return e
			},
			func(t int, v reg.VecVirtual) { f.scatter(c, v, out, t, p) },
		}.write(c)
	})
	asm.Return(c)
}

// scatter stores the numbers of v as number t of p each.
func (f complexFloat) scatter(c *build.Context, v reg.VecVirtual, out reg.Register, t, p int) {
	upper := c.XMM()
	c.VEXTRACTF128(operand.Imm(1), v, upper)
	if f.Double {
		c.VMOVUPS(v.AsX(), asm.At(out, 16*t))
		c.VMOVUPS(upper, asm.At(out, 16*(p+t)))
		return
	}
	for i, half := range []reg.Register{v.AsX(), upper} {
		c.VMOVLPS(half, asm.At(out, 8*(2*i*p+t)))
		c.VMOVHPS(half, asm.At(out, 8*((2*i+1)*p+t)))
	}
}
