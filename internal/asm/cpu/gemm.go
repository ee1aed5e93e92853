package cpu

import (
	"fmt"

	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// gemm writes the micro-kernels of matrix products, and their left halves with AVX-512.
func gemm(c *build.Context) {
	for _, k := range []microKernel{
		{Float: asm.Float32, width: 64, rows: 12, panels: 6, ahead: 768},
		{Float: asm.Float64, width: 64, rows: 12, panels: 6, ahead: 768},
		{Float: asm.Float32, width: 32, rows: 6, panels: 2, ahead: 384},
		{Float: asm.Float64, width: 32, rows: 6, panels: 2, ahead: 768},
	} {
		k.write(c)
		if k.width == 64 {
			k.writeHalf(c)
		}
	}
}

// microKernel computes a tile of C from a packed panel of A, which has an element of each row for a step of k, and a
// packed panel of B, which has two vectors for a step. Two vectors of sums stand for a row of the tile. A step loads
// the vectors of B, broadcasts the elements of A from memory and adds the products to the sums by FMA.
type microKernel struct {
	asm.Float
	width  int // bytes of a vector: 32 with AVX2, 64 with AVX-512
	rows   int
	panels int // number of vector registers that hold elements of A in turn
	ahead  int // bytes from a step's elements of A to those that it prefetches
}

// microOperands are the registers of a micro-kernel.
type microOperands struct {
	k, a, b reg.Register // steps left, the panels
	c, ldc  reg.Register // row of C, bytes from one row to the next
}

// begin begins a function and loads its parameters.
func (m microKernel) begin(c *build.Context, name string) microOperands {
	asm.Function(c, fmt.Sprintf("%s%dx%d", name, m.rows, 2*m.width/m.Size))
	p := asm.Load(c, "k", "a", "b", "c", "ldc")
	asm.Bytes(c, m.Log, p[4])
	return microOperands{p[0], p[1], p[2], p[3], p[4]}
}

// write writes the kernel, which does four steps of k at a time and then single ones.
func (m microKernel) write(c *build.Context) {
	const unrolled = 4
	p := m.begin(c, "kernel")
	b := asm.Vectors(m.width, 0, 2)
	a := asm.Vectors(m.width, 2, 2+m.panels)
	sums := asm.Vectors(m.width, 2+m.panels, 2+m.panels+2*m.rows)
	stepA, stepB := m.rows*m.Size, 2*m.width
	step := func(n int) { // adds the products of step n after the current one
		for i, b := range b {
			c.VMOVUPS(asm.At(p.b, n*stepB+i*m.width), b)
		}
		for row := range m.rows {
			a := a[row%len(a)]
			m.Broadcast(c, asm.At(p.a, n*stepA+row*m.Size), a)
			m.Multiply(c, b[0], a, sums[2*row])
			m.Multiply(c, b[1], a, sums[2*row+1])
		}
	}
	advance := func(n int) {
		c.ADDQ(asm.Number(n*stepA), p.a)
		c.ADDQ(asm.Number(n*stepB), p.b)
	}

	asm.Zero(c, sums...)
	m.prefetch(c, p)
	rest := c.GP64()
	c.MOVQ(p.k, rest)
	c.SHRQ(asm.Number(2), p.k)
	c.JZ(operand.LabelRef("rest"))
	asm.Loop(c, "loop", p.k, func() {
		for line := 0; line < unrolled*stepA; line += 64 {
			c.PREFETCHT0(asm.At(p.a, m.ahead+line))
		}
		for n := range unrolled {
			step(n)
		}
		advance(unrolled)
	})
	c.Label("rest")
	c.ANDQ(asm.Number(unrolled-1), rest)
	c.JZ(operand.LabelRef("out"))
	asm.Loop(c, "one", rest, func() {
		step(0)
		advance(1)
	})
	c.Label("out")
	m.store(c, p, sums, 2)
}

// prefetch prefetches the tile of C, which is needed at the end.
func (m microKernel) prefetch(c *build.Context, p microOperands) {
	row, rows := c.GP64(), c.GP64()
	c.MOVQ(p.c, row)
	c.MOVQ(operand.U32(m.rows), rows)
	asm.Loop(c, "prefetch", rows, func() {
		c.PREFETCHT0(asm.At(row, 0))
		c.PREFETCHT0(asm.At(row, 64))
		c.ADDQ(p.ldc, row)
	})
}

// writeHalf writes the kernel of the left half of a tile, which has one vector of sums for each row.
func (m microKernel) writeHalf(c *build.Context) {
	p := m.begin(c, "half")
	b := asm.Vectors(m.width, 0, 1)[0]
	sums := asm.Vectors(m.width, 8, 8+m.rows)
	asm.Zero(c, sums...)
	asm.Loop(c, "loop", p.k, func() {
		c.VMOVUPS(asm.At(p.b, 0), b)
		for row, sum := range sums {
			m.MultiplyBCST(c, asm.At(p.a, row*m.Size), b, sum)
		}
		c.ADDQ(asm.Number(m.rows*m.Size), p.a)
		c.ADDQ(asm.Number(2*m.width), p.b)
	})
	m.store(c, p, sums, 1)
}

// store writes the sums, several vectors a row, to C or, if parameter add is set, adds them to C, and ends the
// function.
func (m microKernel) store(c *build.Context, p microOperands, sums []reg.VecPhysical, vectors int) {
	rows := func(add bool) {
		for ; len(sums) > 0; sums = sums[vectors:] {
			for i, sum := range sums[:vectors] {
				if add {
					m.Add(c, asm.At(p.c, i*m.width), sum, sum)
				}
			}
			for i, sum := range sums[:vectors] {
				c.VMOVUPS(sum, asm.At(p.c, i*m.width))
			}
			c.ADDQ(p.ldc, p.c)
		}
		asm.Return(c)
	}
	all := sums
	c.CMPB(asm.Parameter(c, "add"), asm.Number(0))
	c.JNE(operand.LabelRef("sum"))
	rows(false)
	c.Label("sum")
	sums = all
	rows(true)
}
