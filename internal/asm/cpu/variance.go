package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// variance writes Mean and Var of rows, in which the four lanes of float64 are elements of one vector, and of
// columns, in which the elements of a vector belong to four results.
func variance(c *build.Context) {
	for _, f := range asm.Floats {
		addLanes(c, f)
		addDeviations(c, f)
		addColumnDeviations(c, f)
		addBlocks(c, f, false)
		addBlocks(c, f, true)
	}
	addColumns32(c)
}

// varianceBlock is cpu.varianceBlock, the number of elements of a block.
const varianceBlock = 64

// addBlocks writes the sums, or the deviations and their squares, of eight blocks, merged in a tree. Four blocks at a time
// hide the time that an addition takes.
func addBlocks(c *build.Context, f asm.Float, deviations bool) {
	name, sets := "addLanesOf8", []string{"sums"}
	if deviations {
		name, sets = "addDeviationsOf8", []string{"rest", "squares"}
	}
	asm.Function(c, name+"Blocks"+f.Name)
	p := asm.Load(c, append(sets, "x")...)
	x, mean := p[len(sets)], c.YMM()
	if deviations {
		c.VBROADCASTSD(asm.Parameter(c, "mean"), mean)
	}
	for half := range 2 {
		sums := make([][4]vector, len(sets))
		for s := range sums {
			for b := range sums[s] {
				sums[s][b] = c.YMM()
				c.VXORPD(sums[s][b], sums[s][b], sums[s][b])
			}
		}
		i := c.GP64()
		c.XORQ(i, i)
		loop := []string{"lower", "upper"}[half]
		c.Label(loop)
		for b := range 4 {
			v, at := c.YMM(), asm.At(x, (4*half+b)*varianceBlock*f.Size).Idx(i, uint8(f.Size))
			if f.Double {
				c.VMOVUPD(at, v)
			} else {
				c.VCVTPS2PD(at, v)
			}
			if deviations {
				c.VSUBPD(mean, v, v)
			}
			c.VADDPD(v, sums[0][b], sums[0][b])
			if deviations {
				c.VMULPD(v, v, v)
				c.VADDPD(v, sums[1][b], sums[1][b])
			}
		}
		c.ADDQ(operand.Imm(4), i)
		c.CMPQ(i, asm.Number(varianceBlock))
		c.JLT(operand.LabelRef(loop))
		for s, v := range sums {
			c.VADDPD(v[1], v[0], v[0])
			c.VADDPD(v[3], v[2], v[2])
			c.VADDPD(v[2], v[0], v[0])
			if half == 1 {
				c.VADDPD(asm.At(p[s], 0), v[0], v[0])
			}
			c.VMOVUPD(v[0], asm.At(p[s], 0))
		}
	}
	asm.Return(c)
}

// fourWide loads four elements as float64.
func fourWide(c *build.Context, f asm.Float, x, i reg.Register) vector {
	v := c.YMM()
	if at := asm.At(x, 0).Idx(i, uint8(f.Size)); f.Double {
		c.VMOVUPD(at, v)
	} else {
		c.VCVTPS2PD(at, v)
	}
	return v
}

func addLanes(c *build.Context, f asm.Float) {
	asm.Function(c, "addLanes"+f.Name)
	p := asm.Load(c, "sums", "x", "n")
	sums, x, n, sum := p[0], p[1], p[2], c.YMM()
	c.VMOVUPD(asm.At(sums, 0), sum)
	asm.For(c, n, 4, func(i reg.Register) {
		c.VADDPD(fourWide(c, f, x, i), sum, sum)
	})
	c.VMOVUPD(sum, asm.At(sums, 0))
	asm.Return(c)
}

func addDeviations(c *build.Context, f asm.Float) {
	asm.Function(c, "addDeviations"+f.Name)
	p := asm.Load(c, "rest", "squares", "x", "n")
	rest, squares, x, n := p[0], p[1], p[2], p[3]
	mean, sum, square := c.YMM(), c.YMM(), c.YMM()
	c.VBROADCASTSD(asm.Parameter(c, "mean"), mean)
	c.VMOVUPD(asm.At(rest, 0), sum)
	c.VMOVUPD(asm.At(squares, 0), square)
	asm.For(c, n, 4, func(i reg.Register) {
		d := fourWide(c, f, x, i)
		c.VSUBPD(mean, d, d)
		c.VADDPD(d, sum, sum)
		c.VMULPD(d, d, d)
		c.VADDPD(d, square, square)
	})
	c.VMOVUPD(sum, asm.At(rest, 0))
	c.VMOVUPD(square, asm.At(squares, 0))
	asm.Return(c)
}

func addColumns32(c *build.Context) {
	asm.Function(c, "addColumns32")
	p := asm.Load(c, "sums", "x", "n")
	sums, x, n := p[0], p[1], p[2]
	asm.For(c, n, 4, func(i reg.Register) {
		v, sum := fourWide(c, asm.Float32, x, i), asm.At(sums, 0).Idx(i, 8)
		c.VADDPD(sum, v, v)
		c.VMOVUPD(v, sum)
	})
	asm.Return(c)
}

func addColumnDeviations(c *build.Context, f asm.Float) {
	asm.Function(c, "addColumnDeviations"+f.Name)
	p := asm.Load(c, "rest", "squares", "x", "means", "n")
	rest, squares, x, means, n := p[0], p[1], p[2], p[3], p[4]
	asm.For(c, n, 4, func(i reg.Register) {
		d, v := fourWide(c, f, x, i), c.YMM()
		sum, square := asm.At(rest, 0).Idx(i, 8), asm.At(squares, 0).Idx(i, 8)
		c.VSUBPD(asm.At(means, 0).Idx(i, 8), d, d)
		c.VADDPD(sum, d, v)
		c.VMOVUPD(v, sum)
		c.VMULPD(d, d, d)
		c.VADDPD(square, d, d)
		c.VMOVUPD(d, square)
	})
	asm.Return(c)
}
