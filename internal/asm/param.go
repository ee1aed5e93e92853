package asm

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/reg"
)

// Load loads parameters of 8 bytes (pointers, int, uint64) into registers. build.Context.Load refuses unsafe.Pointer.
func Load(c *build.Context, names ...string) []reg.GPVirtual {
	var registers []reg.GPVirtual
	for _, name := range names {
		p, err := c.Param(name).Resolve()
		if err != nil {
			panic(err) // the program names a parameter that the function does not have
		}
		r := c.GP64()
		c.MOVQ(p.Addr, r)
		registers = append(registers, r)
	}
	return registers
}
