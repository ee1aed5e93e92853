package asm

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Rows are up to four rows that lie one pitch apart.
type Rows struct {
	base, pitch reg.Register
	triple      reg.Register // 3 pitch, or nil for at most three rows
}

// NewRows returns rows, of which the first is at base, with a pitch in bytes. It computes 3 pitch.
func NewRows(c *build.Context, base, pitch reg.Register) Rows {
	triple := c.GP64()
	c.LEAQ(operand.Mem{Base: pitch, Index: pitch, Scale: 2}, triple)
	return Rows{base, pitch, triple}
}

// From returns rows with the same pitch, of which the first is at base.
func (r Rows) From(base reg.Register) Rows {
	return Rows{base, r.pitch, r.triple}
}

// At is the address offset bytes after the beginning of row i.
func (r Rows) At(i, offset int) operand.Mem {
	m := operand.Mem{Base: r.base, Disp: offset}
	switch i {
	case 1, 2:
		m.Index, m.Scale = r.pitch, uint8(i)
	case 3:
		m.Index, m.Scale = r.triple, 1
	}
	return m
}

// Next is the address of the beginning of row n, which is 4 or 8 or less than 3.
func (r Rows) Next(n int) operand.Mem {
	return operand.Mem{Base: r.base, Index: r.pitch, Scale: uint8(n)}
}
