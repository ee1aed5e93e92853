package cpu

import (
	"fmt"

	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// gemmUnpacked writes the kernels of products that are not packed.
func gemmUnpacked(c *build.Context) {
	ones := asm.FirstLanes(c)
	for _, f := range asm.Floats {
		u := unpacked{Context: c, Float: f, width: 64, most: 8, mask: reg.K1}
		u.a, u.sums = asm.Vectors(64, 2, 6), asm.Vectors(64, 8, 24)
		u.write(ones)
	}
	for _, f := range asm.Floats {
		u := unpacked{Context: c, Float: f, width: 32, most: 6, mask: reg.Y1}
		u.a, u.sums = asm.Vectors(32, 2, 4), asm.Vectors(32, 4, 16)
		u.write(ones)
	}
}

// unpacked writes a kernel of products that are not packed. A row panel of C, at most eight rows (six with AVX2) of one
// or two vectors, stays in registers. A step of k loads the vectors of B's row, broadcasts an element of A for each row
// and adds their products to the sums. Each number of rows has a loop, so that no row is computed and discarded. The
// last two panels share their rows evenly.
type unpacked struct {
	*build.Context
	asm.Float
	width int // bytes of a vector
	most  int // rows of a panel

	a    []reg.VecPhysical // elements of A, which take these registers in turn
	sums []reg.VecPhysical // two for each row; a panel of one vector uses the first
	mask reg.Register      // mask of a panel of one vector: an opmask with AVX-512, and with AVX2 the register of B's second vector

	m, c, ldc    reg.Register // rows left, row of C, bytes from one row to the next
	panel        reg.Register // the panel's first row of A
	ars          reg.Register // bytes from one row of A to the next
	acs, brs     reg.Register // bytes from one step of k to the next in A and in B
	first, fifth reg.Register // the step's elements of A in the panel's first and fifth row
	elements     asm.Rows     // the step's elements of A in the first four rows
	b            reg.Register // the step's row of B
	count        reg.Register // columns of C, then the rows of a panel, then its steps left
}

// write writes the kernel.
func (u *unpacked) write(ones operand.Mem) {
	asm.Function(u.Context, fmt.Sprintf("unpacked%dx%s", 8*u.width, u.Name))
	u.first, u.fifth, u.b = u.GP64(), u.GP64(), u.GP64()
	p := asm.Load(u.Context, "m", "a", "ars", "acs", "brs", "c", "ldc")
	u.m, u.panel, u.ars, u.acs, u.brs, u.c, u.ldc = p[0], p[1], p[2], p[3], p[4], p[5], p[6]
	asm.Bytes(u.Context, u.Log, u.ars, u.acs, u.brs, u.ldc)
	u.elements = asm.NewRows(u.Context, u.first, u.ars)
	u.count = reg.RCX // shifts need the count in this register
	u.MOVQ(asm.Parameter(u.Context, "n"), u.count)
	u.CMPQ(u.count, asm.Number(u.width/u.Size))
	u.JGT(operand.LabelRef("two"))
	if u.width == 64 {
		asm.FirstBits(u.Context, u.count, u.mask)
	} else {
		u.SHLQ(asm.Number(u.Log), u.count)
		asm.FirstBytes(u.Context, ones, u.count, u.mask)
	}
	u.panels("one", 1)
	u.panels("two", 2)
	u.Label("done")
	asm.Return(u.Context)
}

// panels computes all panels of one or two vectors.
func (u *unpacked) panels(name string, vectors int) {
	u.Label(name)
	u.share(name + "rows")
	for rows := u.most; rows > 1; rows-- {
		u.CMPQ(u.count, asm.Number(rows))
		u.JEQ(operand.LabelRef(fmt.Sprint(name, rows)))
	}
	for rows := 1; rows <= u.most; rows++ {
		u.Label(fmt.Sprint(name, rows))
		u.compute(fmt.Sprint(name, "loop", rows), rows, vectors)
		u.SUBQ(asm.Number(rows), u.m)
		u.JZ(operand.LabelRef("done"))
		u.IMUL3Q(asm.Number(rows), u.ars, u.fifth)
		u.ADDQ(u.fifth, u.panel)
		u.JMP(operand.LabelRef(name))
	}
}

// share sets the number of rows of the next panel: the maximum, half of the remaining rows, or all of them.
func (u *unpacked) share(label string) {
	u.MOVQ(u.m, u.count)
	u.CMPQ(u.count, asm.Number(u.most))
	u.JLE(operand.LabelRef(label))
	u.INCQ(u.count)
	u.SHRQ(asm.Number(1), u.count)
	u.CMPQ(u.count, asm.Number(u.most))
	u.JLE(operand.LabelRef(label))
	u.MOVQ(operand.U32(u.most), u.count)
	u.Label(label)
}

// compute computes a panel and stores it to C.
func (u *unpacked) compute(loop string, rows, vectors int) {
	u.MOVQ(asm.Parameter(u.Context, "k"), u.count)
	u.MOVQ(asm.Parameter(u.Context, "b"), u.b)
	u.MOVQ(u.panel, u.first)
	u.LEAQ(asm.At(u.panel, 0).Idx(u.ars, 4), u.fifth)
	b := asm.Vectors(u.width, 0, vectors)
	for row := range rows {
		asm.Zero(u.Context, u.sums[2*row:][:vectors]...)
	}
	asm.Loop(u.Context, loop, u.count, func() {
		u.load(b)
		for row := range rows {
			a := u.a[row%len(u.a)]
			u.Broadcast(u.Context, u.element(row), a)
			for i, b := range b {
				u.Multiply(u.Context, b, a, u.sums[2*row+i])
			}
		}
		u.ADDQ(u.brs, u.b)
		u.ADDQ(u.acs, u.first)
		u.ADDQ(u.acs, u.fifth)
	})
	for row := range rows {
		u.store(u.sums[2*row:][:vectors])
	}
}

// element returns the memory of the step's element of A in a row of the panel.
func (u *unpacked) element(row int) operand.Mem {
	if row < 4 {
		return u.elements.At(row, 0)
	}
	return u.elements.From(u.fifth).At(row-4, 0)
}

// load loads one masked vector or two vectors of a row of B.
func (u *unpacked) load(b []reg.VecPhysical) {
	switch {
	case len(b) == 2:
		u.VMOVUPS(asm.At(u.b, 0), b[0])
		u.VMOVUPS(asm.At(u.b, u.width), b[1])
	case u.width == 64:
		u.LoadMasked(u.Context, asm.At(u.b, 0), u.mask, b[0])
	default:
		u.MaskMove(u.Context, asm.At(u.b, 0), u.mask, b[0])
	}
}

// store stores a row of sums to C, and continues with the next one.
func (u *unpacked) store(sums []reg.VecPhysical) {
	switch {
	case len(sums) == 2:
		u.VMOVUPS(sums[0], asm.At(u.c, 0))
		u.VMOVUPS(sums[1], asm.At(u.c, u.width))
	case u.width == 64:
		u.StoreMasked(u.Context, sums[0], u.mask, asm.At(u.c, 0))
	default:
		u.MaskMove(u.Context, sums[0], u.mask, asm.At(u.c, 0))
	}
	u.ADDQ(u.ldc, u.c)
}
