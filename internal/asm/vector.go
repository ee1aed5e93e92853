package asm

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/reg"
)

// Vectors returns the vector registers [from, to) of a width of 16, 32 or 64 bytes: X, Y or Z
// registers.
func Vectors(width, from, to int) []reg.VecPhysical {
	spec := map[int]reg.Spec{16: reg.S128, 32: reg.S256, 64: reg.S512}[width]
	var registers []reg.VecPhysical
	for i := from; i < to; i++ {
		registers = append(registers, reg.Vector.Lookup(reg.Index(i), spec).(reg.VecPhysical))
	}
	return registers
}

// Zero sets vectors to 0.
func Zero(c *build.Context, vectors ...reg.VecPhysical) {
	for _, v := range vectors {
		if v.Size() == 64 {
			c.VPXORQ(v, v, v)
		} else {
			c.VXORPS(v, v, v)
		}
	}
}
