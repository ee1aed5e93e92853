package cpu

import (
	"fmt"

	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const (
	tileRow   = 256 // elements of a row of a tile
	cacheLine = 64  // bytes of a column
)

// transpose writes the functions that transpose n columns of a cache line each, for elements of 2, 4 and 8 bytes.
func transpose(c *build.Context) {
	transposer{c, 4, 8}.write(func(columns []asm.Rows, offset int, y []reg.VecPhysical) []reg.VecPhysical {
		for i := range 4 {
			c.VMOVUPS(columns[0].At(i, offset), y[i].AsX())
		}
		for i := range 4 {
			c.VINSERTF128(asm.Number(1), columns[1].At(i, offset), y[i], y[i])
		}
		asm.TransposeQuads(c, y)
		return y[:4]
	})
	transposer{c, 8, 4}.write(func(columns []asm.Rows, offset int, y []reg.VecPhysical) []reg.VecPhysical {
		for i := range 2 {
			c.VMOVUPD(columns[0].At(i, offset), y[i].AsX())
		}
		for i := range 2 {
			c.VINSERTF128(asm.Number(1), columns[0].At(2+i, offset), y[i], y[i])
		}
		c.VUNPCKLPD(y[1], y[0], y[2])
		c.VUNPCKHPD(y[1], y[0], y[3])
		return y[2:4]
	})
	transposer{c, 2, 16}.write(func(columns []asm.Rows, offset int, y []reg.VecPhysical) []reg.VecPhysical {
		for i := range 8 {
			c.VMOVDQU(columns[i/4].At(i%4, offset), y[i].AsX())
		}
		for i := range 8 {
			c.VINSERTI128(asm.Number(1), columns[2+i/4].At(i%4, offset), y[i], y[i])
		}
		asm.TransposeOctets(c, y)
		return y[8:]
	})
}

// transposer transposes blocks in registers: 16 bytes of as many columns as fill 32 bytes of a row. One half of a register
// comes from one column, the other half from a later column, and unpack instructions sort the elements within the halves.
type transposer struct {
	*build.Context
	size    int // bytes of an element
	columns int // columns of a block
}

// write writes the function. block gets the block's columns by four, the offset of its 16 bytes in a column and all
// registers, and returns those that hold the rows.
func (t transposer) write(block func(columns []asm.Rows, offset int, y []reg.VecPhysical) []reg.VecPhysical) {
	asm.Function(t.Context, fmt.Sprintf("transpose%dAVX", 8*t.size))
	p := asm.Load(t.Context, "dst", "src", "pitch", "n")
	dst, src, pitch, n := p[0], p[1], p[2], p[3]
	columns := []asm.Rows{asm.NewRows(t.Context, src, pitch)}
	var fours []reg.Register // columns 4, 8 and so on
	for range t.columns/4 - 1 {
		r := t.GP64()
		fours = append(fours, r)
		columns = append(columns, columns[0].From(r))
	}
	t.Label("loop")
	for i, r := range fours {
		t.LEAQ(columns[i].Next(4), r)
	}
	for offset := 0; offset < cacheLine; offset += 16 {
		for i, y := range block(columns, offset, asm.Vectors(32, 0, 16)) {
			t.VMOVUPS(y, asm.At(dst, tileRow*(offset+i*t.size)))
		}
	}
	t.LEAQ(columns[len(fours)].Next(4), src)
	t.ADDQ(asm.Number(32), dst)
	t.SUBQ(asm.Number(t.columns), n)
	t.JNE(operand.LabelRef("loop"))
	asm.Return(t.Context)
}
