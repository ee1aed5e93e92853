package asm

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// RowPairs are four rows at a distance of one pitch. The addresses of the first and the third are in registers.
type RowPairs struct {
	First, Third reg.Register
	pitch        reg.Register
}

// NewRowPairs returns rows with a pitch in bytes. The first is at the address in a register. It computes the address of
// the third.
func NewRowPairs(c *build.Context, first, pitch reg.Register) RowPairs {
	third := c.GP64()
	c.LEAQ(At(first, 0).Idx(pitch, 2), third)
	return RowPairs{first, third, pitch}
}

// At returns the memory offset bytes after the beginning of row i.
func (r RowPairs) At(i, offset int) operand.Mem {
	m := At([]reg.Register{r.First, r.Third}[i/2], offset)
	if i%2 == 1 {
		return m.Idx(r.pitch, 1)
	}
	return m
}
