package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// gemmVector512 writes the kernels of matrix times vector with AVX-512. Four rows at a time are four streams from memory. The
// bits are those of dotAVX32 and axpy4AVX32.
func gemmVector512(c *build.Context) {
	for _, f := range asm.Floats {
		dots512(c, f)
	}
	for _, f := range asm.Floats {
		columns512(c, f)
	}
}

// dots512 writes the dot products of a vector with n rows, a multiple of 4. Two vectors of sums stand for a row: their
// halves are the four vectors of dotProduct.
func dots512(c *build.Context, f asm.Float) {
	asm.Function(c, "dots512x"+f.Name)
	p := asm.Load(c, "dst", "x", "a", "ld", "n")
	dst, x, ld, n := p[0], p[1], p[3], p[4]
	rows := []reg.Register{p[2], c.GP64(), c.GP64(), c.GP64()}
	left, offset := c.GP64(), c.GP64() // elements left, bytes done
	at := func(row reg.Register, bytes int) operand.Mem { return asm.At(row, bytes).Idx(offset, 1) }
	sums, elements := asm.Vectors(64, 0, 8), asm.Vectors(64, 8, 10)
	c.SHLQ(asm.Number(f.Log), ld)
	c.Label("rows")
	for i := range 3 {
		c.LEAQ(asm.At(rows[i], 0).Idx(ld, 1), rows[i+1])
	}
	c.MOVQ(asm.Parameter(c, "k"), left)
	c.XORQ(offset, offset)
	asm.Zero(c, asm.Vectors(32, 0, 8)...) // all 64 bytes

	c.Label("loop")
	c.CMPQ(left, asm.Number(128/f.Size))
	c.JLT(operand.LabelRef("rest"))
	for i, e := range elements {
		c.VMOVUPS(at(x, 64*i), e)
	}
	for row, r := range rows {
		for i, e := range elements {
			f.Multiply(c, at(r, 64*i), e, sums[2*row+i])
		}
	}
	c.ADDQ(asm.Number(128), offset)
	c.SUBQ(asm.Number(128/f.Size), left)
	c.JMP(operand.LabelRef("loop"))

	c.Label("rest")
	for row := range rows {
		sumPair512(c, f, sums[2*row], sums[2*row+1])
	}
	c.Label("tail")
	c.TESTQ(left, left)
	c.JZ(operand.LabelRef("done"))
	e := elements[0].AsX()
	f.MoveOne(c, at(x, 0), e)
	for row, r := range rows {
		f.MultiplyOne(c, at(r, 0), e, sums[2*row].AsX())
	}
	c.ADDQ(asm.Number(f.Size), offset)
	c.DECQ(left)
	c.JMP(operand.LabelRef("tail"))

	c.Label("done")
	zero := asm.Vectors(16, 8, 9)[0]
	asm.Zero(c, zero)
	for row := range rows {
		f.AddOne(c, zero, sums[2*row].AsX(), sums[2*row].AsX()) // turns a negative zero into 0
	}
	for row := range rows {
		f.MoveOne(c, sums[2*row].AsX(), asm.At(dst, row*f.Size))
	}
	c.ADDQ(asm.Number(4*f.Size), dst)
	c.LEAQ(asm.At(rows[3], 0).Idx(ld, 1), rows[0])
	c.SUBQ(asm.Number(4), n)
	c.JNZ(operand.LabelRef("rows"))
	asm.Return(c)
}

// sumPair512 adds the elements of a and b to the first one of a, in the order of dotProduct.
func sumPair512(c *build.Context, f asm.Float, a, b reg.VecPhysical) {
	half := asm.Vectors(32, 10, 11)[0]
	for _, v := range []reg.VecPhysical{a, b} {
		c.VEXTRACTF64X4(asm.Number(1), v, half)
		f.Add(c, half, v.AsY(), v.AsY())
	}
	f.Add(c, b.AsY(), a.AsY(), a.AsY())
	f.SumLanes(c, a, half)
}

// columns512 writes the addition of k rows of a, each times an element of x, to 256 bytes of y.
func columns512(c *build.Context, f asm.Float) {
	asm.Function(c, "columns512x"+f.Name)
	p := asm.Load(c, "y", "x", "a", "ld", "k")
	y, x, row, ld, k := p[0], p[1], p[2], p[3], p[4]
	sums, factor := asm.Vectors(64, 0, 4), asm.Vectors(64, 4, 5)[0]
	c.SHLQ(asm.Number(f.Log), ld)
	for i, sum := range sums {
		c.VMOVUPS(asm.At(y, 64*i), sum)
	}
	asm.Loop(c, "step", k, func() {
		f.Broadcast(c, asm.At(x, 0), factor)
		for i, sum := range sums {
			f.Multiply(c, asm.At(row, 64*i), factor, sum)
		}
		c.ADDQ(asm.Number(f.Size), x)
		c.ADDQ(ld, row)
	})
	for i, sum := range sums {
		c.VMOVUPS(sum, asm.At(y, 64*i))
	}
	asm.Return(c)
}
