package cpu

import (
	"strconv"

	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rowDots writes the dot products of a vector with n rows, a multiple of rows, in vectors of width bytes. The rows are
// as many streams from memory. The bits are those of dotAVX32 and dotAVX64.
func rowDots(c *build.Context, f asm.Float, width, rows int) {
	asm.Function(c, "dots"+strconv.Itoa(8*width)+"x"+f.Name)
	p := asm.Load(c, "dst", "x", "a", "ld", "n")
	dst, ld, n := p[0], p[3], p[4]
	parts := 128 / width
	d := dotsOfRows{
		Context: c, Float: f, x: p[1], left: c.GP64(), offset: c.GP64(), width: width, parts: parts,
		sums: asm.Vectors(width, 0, parts*rows), elements: asm.Vectors(width, parts*rows, parts*rows+parts),
	}
	asm.Bytes(c, f.Log, ld)
	c.Label("rows")
	d.rows = asm.RowAddresses(c, p[2], ld, rows)
	c.MOVQ(asm.Parameter(c, "k"), d.left)
	c.XORQ(d.offset, d.offset)
	d.addVectors()
	d.addTail()
	zero := d.elements[0].AsX()
	c.VXORPS(zero, zero, zero)
	for row := range d.rows {
		f.AddOne(c, zero, d.sum(row), d.sum(row)) // turns a negative zero into 0
	}
	for row := range d.rows {
		f.MoveOne(c, d.sum(row), asm.At(dst, row*f.Size))
	}
	c.ADDQ(asm.Number(rows*f.Size), dst)
	c.LEAQ(asm.At(d.rows[rows-1], 0).Idx(ld, 1), d.rows[0])
	c.SUBQ(asm.Number(rows), n)
	c.JNZ(operand.LabelRef("rows"))
	asm.Return(c)
}

// dotsOfRows computes the dot products of x with a few rows. A row has `parts` vectors of sums, 128 bytes in all, whose
// pieces of 32 bytes are the four vectors of dotProduct.
type dotsOfRows struct {
	*build.Context
	asm.Float
	x            reg.Register
	rows         []reg.Register
	left, offset reg.Register // elements left, bytes done
	width, parts int
	sums         []reg.VecPhysical
	elements     []reg.VecPhysical // elements of x
}

// at returns the memory of a row or of x, bytes after the next element.
func (d dotsOfRows) at(row reg.Register, bytes int) operand.Mem {
	return asm.At(row, bytes).Idx(d.offset, 1)
}

// sum returns the register whose first element becomes a row's result.
func (d dotsOfRows) sum(row int) reg.Register { return d.sums[d.parts*row].AsX() }

// addVectors adds the products of all pairs of vectors, and then all lanes of the sums.
func (d dotsOfRows) addVectors() {
	asm.Zero(d.Context, asm.Vectors(32, 0, len(d.sums))...) // this clears the upper halves of 64 bytes too
	d.Label("loop")
	d.CMPQ(d.left, asm.Number(128/d.Size))
	d.JLT(operand.LabelRef("rest"))
	for i, e := range d.elements {
		d.VMOVUPS(d.at(d.x, d.width*i), e)
	}
	for row, r := range d.rows {
		for i, e := range d.elements {
			d.Multiply(d.Context, d.at(r, d.width*i), e, d.sums[d.parts*row+i])
		}
	}
	d.ADDQ(asm.Number(128), d.offset)
	d.SUBQ(asm.Number(128/d.Size), d.left)
	d.JMP(operand.LabelRef("loop"))
	d.Label("rest")
	for row := range d.rows {
		sums := d.sums[d.parts*row:][:d.parts]
		if d.width == 64 {
			sumPair512(d.Context, d.Float, sums[0], sums[1])
		} else {
			sumFour(d.Context, d.Float, sums)
		}
	}
}

// addTail adds the products of the elements left, one by one.
func (d dotsOfRows) addTail() {
	d.Label("tail")
	d.TESTQ(d.left, d.left)
	d.JZ(operand.LabelRef("done"))
	e := d.elements[0].AsX()
	d.MoveOne(d.Context, d.at(d.x, 0), e)
	for row, r := range d.rows {
		d.MultiplyOne(d.Context, d.at(r, 0), e, d.sum(row))
	}
	d.ADDQ(asm.Number(d.Size), d.offset)
	d.DECQ(d.left)
	d.JMP(operand.LabelRef("tail"))
	d.Label("done")
}

// sumPair512 adds the elements of a and b to the first one of a, in the order of sumFour.
func sumPair512(c *build.Context, f asm.Float, a, b reg.VecPhysical) {
	half := asm.Vectors(32, 10, 11)[0]
	for _, v := range []reg.VecPhysical{a, b} {
		c.VEXTRACTF64X4(asm.Number(1), v, half)
		f.Add(c, half, v.AsY(), v.AsY())
	}
	f.Add(c, b.AsY(), a.AsY(), a.AsY())
	f.SumLanes(c, a, half)
}

// sumFour adds the elements of four vectors of 32 bytes to the first one of sums[0], in pairs. It overwrites sums.
func sumFour(c *build.Context, f asm.Float, sums []reg.VecPhysical) {
	f.Add(c, sums[1], sums[0], sums[0])
	f.Add(c, sums[3], sums[2], sums[2])
	f.Add(c, sums[2], sums[0], sums[0])
	f.SumLanes(c, sums[0], sums[1])
}

// columns512 writes the addition of k rows of a, each times an element of x, to 256 bytes of y.
func columns512(c *build.Context, f asm.Float) {
	asm.Function(c, "columns512x"+f.Name)
	p := asm.Load(c, "y", "x", "a", "ld", "k")
	y, x, row, ld, k := p[0], p[1], p[2], p[3], p[4]
	sums, factor := asm.Vectors(64, 0, 4), asm.Vectors(64, 4, 5)[0]
	asm.Bytes(c, f.Log, ld)
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
