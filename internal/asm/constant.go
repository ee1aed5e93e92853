package asm

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// Constant adds read-only data to the file, the values times times, and returns its address.
func Constant(c *build.Context, name string, times int, values ...operand.Constant) operand.Mem {
	m := c.StaticGlobal(name)
	c.DataAttributes(attr.RODATA | attr.NOPTR)
	for range times {
		for _, v := range values {
			c.AppendDatum(v)
		}
	}
	return m
}
