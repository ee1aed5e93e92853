package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// gemmVector writes the kernels of matrix times vector. They run at the speed of memory if several rows are read at a
// time, each a stream of its own.
func gemmVector(c *build.Context) {
	for _, f := range asm.Floats {
		dot(c, f)
	}
	for _, f := range asm.Floats {
		axpy(c, f)
	}
	for _, f := range asm.Floats {
		dots(c, f)
	}
	for _, f := range asm.Floats {
		rowDots(c, f, 32, 3)
	}
	for _, f := range asm.Floats {
		rowDots(c, f, 64, 4)
	}
	for _, f := range asm.Floats {
		columns512(c, f)
	}
}

// dot writes the dot product of two vectors.
func dot(c *build.Context, f asm.Float) {
	asm.Function(c, "dotAVX"+f.Name)
	p := asm.Load(c, "x", "y", "n")
	sum := dotProduct(c, f, p[0], p[1], p[2])
	f.MoveOne(c, sum.AsX(), asm.Result(c))
	asm.Return(c)
}

// dots writes the dot products of a vector with n rows.
func dots(c *build.Context, f asm.Float) {
	asm.Function(c, "dotsAVX"+f.Name)
	x, row, k := c.GP64(), c.GP64(), c.GP64()
	p := asm.Load(c, "dst", "x", "a", "ld", "k", "n")
	dst, ld, rows := p[0], p[3], p[5]
	asm.Bytes(c, f.Log, ld)
	asm.Loop(c, "row", rows, func() {
		c.MOVQ(p[1], x)
		c.MOVQ(p[2], row)
		c.MOVQ(p[4], k)
		sum := dotProduct(c, f, x, row, k)
		zero := asm.Vectors(16, 4, 5)[0]
		asm.Zero(c, zero)
		f.AddOne(c, zero, sum.AsX(), sum.AsX()) // turns a negative zero into 0
		f.MoveOne(c, sum.AsX(), asm.At(dst, 0))
		c.ADDQ(asm.Number(f.Size), dst)
		c.ADDQ(ld, p[2])
	})
	asm.Return(c)
}

// dotProduct computes the dot product of n elements at x and y, whose registers it changes: the lanes of four vectors are
// chains of sums, which it adds in pairs, and the elements that fill no four vectors follow one by one. The result is the
// first element of the register that it returns.
func dotProduct(c *build.Context, f asm.Float, x, y, n reg.Register) reg.VecPhysical {
	sums, elements := asm.Vectors(32, 0, 4), asm.Vectors(32, 4, 8)
	asm.Zero(c, sums...)
	c.Label("loop")
	c.CMPQ(n, asm.Number(128/f.Size))
	c.JLT(operand.LabelRef("rest"))
	for i, e := range elements {
		c.VMOVUPS(asm.At(x, 32*i), e)
	}
	for i, e := range elements {
		f.Multiply(c, asm.At(y, 32*i), e, sums[i])
	}
	c.ADDQ(asm.Number(128), x)
	c.ADDQ(asm.Number(128), y)
	c.SUBQ(asm.Number(128/f.Size), n)
	c.JMP(operand.LabelRef("loop"))

	c.Label("rest")
	sumFour(c, f, sums)
	c.Label("tail")
	c.TESTQ(n, n)
	c.JZ(operand.LabelRef("done"))
	f.MoveOne(c, asm.At(x, 0), elements[0].AsX())
	f.MultiplyOne(c, asm.At(y, 0), elements[0].AsX(), sums[0].AsX())
	c.ADDQ(asm.Number(f.Size), x)
	c.ADDQ(asm.Number(f.Size), y)
	c.DECQ(n)
	c.JMP(operand.LabelRef("tail"))
	c.Label("done")
	return sums[0]
}

// axpy writes the addition of four rows of a, each times an element of x, to y.
func axpy(c *build.Context, f asm.Float) {
	asm.Function(c, "axpy4AVX"+f.Name)
	p := asm.Load(c, "y", "x", "a", "ld", "n")
	y, x, ld, n := p[0], p[1], p[3], p[4]
	asm.Bytes(c, f.Log, ld)
	rows := asm.RowAddresses(c, p[2], ld, 4)
	factors, sums := asm.Vectors(32, 0, 4), asm.Vectors(32, 4, 6)
	for i, factor := range factors {
		f.Broadcast(c, asm.At(x, i*f.Size), factor)
	}
	advance := func(bytes int) {
		for _, r := range append([]reg.Register{y}, rows...) {
			c.ADDQ(asm.Number(bytes), r)
		}
	}
	c.Label("loop")
	c.CMPQ(n, asm.Number(64/f.Size))
	c.JLT(operand.LabelRef("tail"))
	for i, sum := range sums {
		c.VMOVUPS(asm.At(y, 32*i), sum)
	}
	for row, factor := range factors {
		for i, sum := range sums {
			f.Multiply(c, asm.At(rows[row], 32*i), factor, sum)
		}
	}
	for i, sum := range sums {
		c.VMOVUPS(sum, asm.At(y, 32*i))
	}
	advance(64)
	c.SUBQ(asm.Number(64/f.Size), n)
	c.JMP(operand.LabelRef("loop"))

	c.Label("tail")
	c.TESTQ(n, n)
	c.JZ(operand.LabelRef("done"))
	sum := sums[0].AsX()
	f.MoveOne(c, asm.At(y, 0), sum)
	for row, factor := range factors {
		f.MultiplyOne(c, asm.At(rows[row], 0), factor.AsX(), sum)
	}
	f.MoveOne(c, sum, asm.At(y, 0))
	advance(f.Size)
	c.DECQ(n)
	c.JMP(operand.LabelRef("tail"))
	c.Label("done")
	asm.Return(c)
}
