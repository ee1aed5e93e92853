package quantum

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// tile writes the loops over a tile.
func tile(c *build.Context) {
	k := constants{
		large: asm.Constant(c, "large", 8, asm.Bits32(1<<56)),
		small: asm.Constant(c, "small", 1, asm.Bits64(1.0/(1<<56))),
		one32: asm.Constant(c, "one32", 8, asm.Bits32(1)),
		one64: asm.Constant(c, "one64", 4, asm.Bits64(1)),
	}
	for _, f := range asm.Floats {
		combine3(c, f)
		moments(c, f, k)
		mirror(c, f, k)
	}
	for _, width := range []int{32, 64} {
		factors(c, factorFloat32(k.one32), width)
		factors(c, factorFloat64(k.one64), width)
	}
}

// constants holds the memory operands of the file's constants.
type constants struct {
	large        operand.Mem // 2^56 in 8 float32
	small        operand.Mem // 2^-56, a float64
	one32, one64 operand.Mem // 1 in 32 bytes
}

// combine3 writes |z|^2 of three products, or multiplies out by it, row by row.
func combine3(c *build.Context, f asm.Float) {
	asm.Function(c, "combine3AVX"+f.Name)
	p := asm.Load(c, "out", "ld", "p1", "p2", "p3", "lp", "rows", "n")
	out, ld, p1, p2, p3, lp, rows, n := p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]
	first := c.GP32()
	c.Load(c.Param("first"), first)
	asm.Bytes(c, f.Log, ld, lp, n)
	asm.Down(c, "row", rows, 1, func() {
		asm.Up(c, "loop", n, 32, func(i reg.Register) {
			at := func(row reg.Register) operand.Mem { return operand.Mem{Base: row, Index: i, Scale: 1} }
			x, y, re, im := c.YMM(), c.YMM(), c.YMM(), c.YMM()
			c.VMOVUPS(at(p1), x)
			c.VMOVUPS(at(p2), y)
			f.Add(c, y, x, re)
			f.Sub(c, x, y, im)
			f.Add(c, at(p3), im, im)
			f.Mul(c, re, re, re)
			f.Multiply(c, im, im, re)
			c.TESTQ(first.As64(), first.As64())
			c.JNZ(operand.LabelRef("write"))
			f.Mul(c, at(out), re, re)
			c.Label("write")
			c.VMOVUPS(re, at(out))
		})
		c.ADDQ(ld, out)
		c.ADDQ(lp, p1)
		c.ADDQ(lp, p2)
		c.ADDQ(lp, p3)
	})
	asm.Return(c)
}

// moments adds v - shift and its square, in float64, to the sums of four lanes. It takes 16 float32 at a time and at
// last 8, or 4 float64.
func moments(c *build.Context, f asm.Float, k constants) {
	asm.Function(c, "momentsAVX"+f.Name)
	p := asm.Load(c, "p", "ld", "rows", "n", "sums")
	row, ld, rows, n, total := p[0], p[1], p[2], p[3], p[4]
	shift, one := c.YMM(), c.YMM()
	c.VBROADCASTSD(asm.Parameter(c, "shift"), shift)
	c.VBROADCASTSD(k.one64, one)
	asm.Bytes(c, f.Log, ld)
	vectors := 4
	if f.Double {
		vectors = 1
	}
	sums, squares := zeros(c, vectors), zeros(c, vectors)
	from, left := c.GP64(), c.GP64()
	add := func(vectors int) {
		v := make([]reg.VecVirtual, vectors)
		for i := range v {
			v[i] = c.YMM()
			widen(c, f, asm.At(from, 4*f.Size*i), v[i])
		}
		for i := range v { // the multiplication units are idle, unlike those for conversions and sums
			c.VFMSUB132PD(one, shift, v[i])
		}
		for i := range v {
			c.VADDPD(v[i], sums[i], sums[i])
		}
		for i := range v {
			c.VFMADD231PD(v[i], v[i], squares[i])
		}
	}
	asm.Down(c, "row", rows, 1, func() {
		c.MOVQ(row, from)
		c.MOVQ(n, left)
		c.SUBQ(asm.Number(4*vectors), left)
		c.JLT(operand.LabelRef("rest"))
		c.Label("loop")
		add(vectors)
		c.ADDQ(asm.Number(4*f.Size*vectors), from)
		c.SUBQ(asm.Number(4*vectors), left)
		c.JGE(operand.LabelRef("loop"))
		c.Label("rest")
		if !f.Double {
			c.CMPQ(left, operand.I8(-8))
			c.JLT(operand.LabelRef("next"))
			add(2)
			c.Label("next")
		}
		c.ADDQ(ld, row)
	})
	for i, lanes := range [][]reg.VecVirtual{sums, squares} {
		addTo(c, asm.At(total, 32*i), lanes)
	}
	asm.Return(c)
}

// widen loads four numbers as float64.
func widen(c *build.Context, f asm.Float, from operand.Mem, to reg.Register) {
	if f.Double {
		c.VMOVUPD(from, to)
		return
	}
	c.VCVTPS2PD(from, to)
}

// zeros returns n registers of zeros.
func zeros(c *build.Context, n int) []reg.VecVirtual {
	v := make([]reg.VecVirtual, n)
	for i := range v {
		v[i] = c.YMM()
		c.VXORPS(v[i], v[i], v[i])
	}
	return v
}

// addTo adds the sum of registers of float64, whose number is a power of two, to the memory.
func addTo(c *build.Context, total operand.Mem, v []reg.VecVirtual) {
	for n := len(v) / 2; n > 0; n /= 2 {
		for i := range n {
			c.VADDPD(v[i+n], v[i], v[i])
		}
	}
	c.VADDPD(total, v[0], v[0])
	c.VMOVUPD(v[0], total)
}
