package asm

import (
	"math"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// Constant adds read-only data to the file: the values, repeated times times. It returns their
// memory operand.
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

// Bits32 returns a float32 as a constant. operand.F32 is wrong for integers: $(1) is 1 and not
// 1.0.
func Bits32(x float32) operand.Constant { return operand.U32(math.Float32bits(x)) }

// Bits64 returns a float64 as a constant, for the same reason.
func Bits64(x float64) operand.Constant { return operand.U64(math.Float64bits(x)) }
