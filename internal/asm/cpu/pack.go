package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// pack writes the functions that pack operands of products into panels and those that convert their elements.
func pack(c *build.Context) {
	packFourRows(c, "packRows4f32", loadF32)
	packSixteenRows(c)
	packTwoRows(c)
	packFourRows(c, "packRows4f16", loadF16)
	packFourRows(c, "packRows4bf16", loadBF16)
	packSteps(c, "packStepsF16", loadF16)
	packSteps(c, "packStepsBF16", loadBF16)
	packFourRows64(c)
	packTwoRows64(c)
	converters(c)
	for _, f := range asm.Floats {
		split(c, f)
		join(c, f)
	}
}

// rowPacker reads rows of k contiguous elements and writes a column of the rows for each step of k.
type rowPacker struct {
	*build.Context
	rows    []reg.Register // address of the current step's element in each row
	dst     reg.Register   // the current step's column
	columns asm.Rows       // the columns of the current step and of three steps after it
	ld      reg.Register   // bytes from one row to the next
	k       reg.Register   // steps, then iterations left
}

// newRowPacker begins the function of a row packer. to and from are the logarithms of the elements' sizes.
func newRowPacker(c *build.Context, name string, rows, to, from int) rowPacker {
	asm.Function(c, name)
	p := asm.Load(c, "dst", "w", "src", "ld", "k")
	asm.Bytes(c, to, p[1])
	asm.Bytes(c, from, p[3])
	r := rowPacker{Context: c, dst: p[0], columns: asm.NewRows(c, p[0], p[1]), ld: p[3], k: p[4]}
	r.rows = asm.RowAddresses(c, p[2], r.ld, rows)
	return r
}

// loop repeats a body, which reads the given bytes of each row: two to the power of log steps. Only a function that uses
// more than 16 bytes of vectors is wide.
func (r rowPacker) loop(log, bytes int, wide bool, body func()) {
	r.SHRQ(asm.Number(log), r.k)
	r.JZ(operand.LabelRef("done"))
	asm.Loop(r.Context, "loop", r.k, func() {
		body()
		for _, row := range r.rows {
			r.ADDQ(asm.Number(bytes), row)
		}
	})
	r.Label("done")
	if wide {
		r.VZEROUPPER()
	}
	r.RET()
}

// packFourRows writes a packer that transposes eight steps of four rows to float32.
func packFourRows(c *build.Context, name string, e elements) {
	r := newRowPacker(c, name, 4, 2, e.log)
	y := asm.Vectors(32, 0, 8)
	r.loop(3, 8<<e.log, true, func() {
		for i, row := range r.rows {
			e.load(c, asm.At(row, 0), y[i])
		}
		fifth := c.GP64() // the column of the fourth step after this one
		c.LEAQ(r.columns.Next(4), fifth)
		asm.TransposeQuads(c, y)
		for i, y := range y[:4] {
			c.VMOVUPS(y.AsX(), r.columns.At(i, 0))
		}
		for i, y := range y[:4] {
			c.VEXTRACTF128(asm.Number(1), y, r.columns.From(fifth).At(i, 0))
		}
		c.LEAQ(r.columns.From(fifth).Next(4), r.dst)
	})
}

// packSixteenRows writes a packer that transposes four steps of sixteen rows. Four rows that are four apart go to the
// quarters of a vector, and so complete cache lines are written.
func packSixteenRows(c *build.Context) {
	r := newRowPacker(c, "packRows16f32", 4, 2, 2)
	four, eight, twelve := c.GP64(), r.ld, c.GP64() // bytes of as many rows
	c.LEAQ(asm.At(r.ld, 0).Idx(r.ld, 2), twelve)
	c.SHLQ(asm.Number(2), twelve)
	c.MOVQ(r.ld, four)
	c.SHLQ(asm.Number(2), four)
	c.SHLQ(asm.Number(3), eight)
	z := asm.Vectors(64, 0, 8)
	r.loop(2, 16, true, func() {
		for i, row := range r.rows {
			c.VMOVUPS(asm.At(row, 0), z[i].AsX())
		}
		for quarter, distance := range []reg.Register{four, eight, twelve} {
			for i, row := range r.rows {
				c.VINSERTF32X4(asm.Number(quarter+1), asm.At(row, 0).Idx(distance, 1), z[i], z[i])
			}
		}
		asm.TransposeQuads(c, z)
		for i, z := range z[:4] {
			c.VMOVUPS(z, r.columns.At(i, 0))
		}
		c.LEAQ(r.columns.Next(4), r.dst)
	})
}

// packTwoRows writes a packer that transposes four steps of two rows of float32.
func packTwoRows(c *build.Context) {
	r := newRowPacker(c, "packRows2f32", 2, 2, 2)
	x := asm.Vectors(16, 0, 4)
	r.loop(2, 16, false, func() {
		c.VMOVUPS(asm.At(r.rows[0], 0), x[0])
		c.VMOVUPS(asm.At(r.rows[1], 0), x[1])
		c.VUNPCKLPS(x[1], x[0], x[2])
		c.VUNPCKHPS(x[1], x[0], x[3])
		for i, x := range x[2:] {
			c.VMOVLPS(x, r.columns.At(2*i, 0))
			c.VMOVHPS(x, r.columns.At(2*i+1, 0))
		}
		c.LEAQ(r.columns.Next(4), r.dst)
	})
}

// packFourRows64 writes a packer that transposes four steps of four rows of float64.
func packFourRows64(c *build.Context) {
	r := newRowPacker(c, "packRows4f64", 4, 3, 3)
	y := asm.Vectors(32, 0, 8)
	r.loop(2, 32, true, func() {
		for i, row := range r.rows {
			c.VMOVUPD(asm.At(row, 0), y[i])
		}
		asm.Transpose4x4(c, y)
		for i, y := range y[:4] {
			c.VMOVUPD(y, r.columns.At(i, 0))
		}
		c.LEAQ(r.columns.Next(4), r.dst)
	})
}

// packTwoRows64 writes a packer that transposes two steps of two rows of float64.
func packTwoRows64(c *build.Context) {
	r := newRowPacker(c, "packRows2f64", 2, 3, 3)
	x := asm.Vectors(16, 0, 4)
	r.loop(1, 16, false, func() {
		c.VMOVUPD(asm.At(r.rows[0], 0), x[0])
		c.VMOVUPD(asm.At(r.rows[1], 0), x[1])
		c.VUNPCKLPD(x[1], x[0], x[2])
		c.VUNPCKHPD(x[1], x[0], x[3])
		c.VMOVUPD(x[2], r.columns.At(0, 0))
		c.VMOVUPD(x[3], r.columns.At(1, 0))
		c.LEAQ(r.columns.Next(2), r.dst)
	})
}

// packSteps writes a function that packs k steps of a panel as float32. A step has w contiguous elements, and w is a
// multiple of 16.
func packSteps(c *build.Context, name string, e elements) {
	asm.Function(c, name)
	p := asm.Load(c, "dst", "w", "src", "step", "k")
	dst, sixteens, src, step, k := p[0], p[1], p[2], p[3], p[4]
	c.SHRQ(asm.Number(4), sixteens)
	c.SHLQ(asm.Number(e.log), step)
	c.TESTQ(k, k)
	c.JZ(operand.LabelRef("done"))
	asm.Loop(c, "step", k, func() {
		from, left := c.GP64(), c.GP64()
		c.MOVQ(src, from)
		c.MOVQ(sixteens, left)
		y := asm.Vectors(32, 0, 2)
		asm.Loop(c, "loop", left, func() {
			for i, y := range y {
				e.load(c, asm.At(from, i*8<<e.log), y)
			}
			for i, y := range y {
				c.VMOVUPS(y, asm.At(dst, 32*i))
			}
			c.ADDQ(asm.Number(16<<e.log), from)
			c.ADDQ(asm.Number(64), dst)
		})
		c.ADDQ(step, src)
	})
	c.Label("done")
	asm.Return(c)
}
