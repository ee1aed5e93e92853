package asm

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Rows are up to four rows at a distance of one pitch.
type Rows struct {
	Base, pitch, triple reg.Register // the address of row 0, the pitch in bytes, and three times that
}

// NewRows returns the rows at base. It computes three times the pitch.
func NewRows(c *build.Context, base, pitch reg.Register) Rows {
	triple := c.GP64()
	c.LEAQ(operand.Mem{Base: pitch, Index: pitch, Scale: 2}, triple)
	return Rows{base, pitch, triple}
}

// From returns rows of the same pitch that begin at base.
func (r Rows) From(base reg.Register) Rows {
	return Rows{base, r.pitch, r.triple}
}

// At returns the memory offset bytes after the beginning of row i.
func (r Rows) At(i, offset int) operand.Mem {
	m := operand.Mem{Base: r.Base, Disp: offset}
	switch i {
	case 1, 2:
		m.Index, m.Scale = r.pitch, uint8(i)
	case 3:
		m.Index, m.Scale = r.triple, 1
	}
	return m
}

// Next returns the beginning of row n, which is 1, 2, 4 or 8.
func (r Rows) Next(n int) operand.Mem {
	return operand.Mem{Base: r.Base, Index: r.pitch, Scale: uint8(n)}
}
