package asm

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Parameter returns the memory of a parameter.
func Parameter(c *build.Context, name string) operand.Mem {
	p, err := c.Param(name).Resolve()
	if err != nil {
		panic(err) // the program names a parameter that the function does not have
	}
	return p.Addr
}

// Result returns the memory of the function's only result.
func Result(c *build.Context) operand.Mem {
	p, err := c.ReturnIndex(0).Resolve()
	if err != nil {
		panic(err) // the function has no result
	}
	return p.Addr
}

// Load loads parameters of 8 bytes (pointers, int, uint64) into registers. build.Context.Load refuses unsafe.Pointer.
func Load(c *build.Context, names ...string) []reg.GPVirtual {
	var registers []reg.GPVirtual
	for _, name := range names {
		from := Parameter(c, name)
		r := c.GP64()
		c.MOVQ(from, r)
		registers = append(registers, r)
	}
	return registers
}
