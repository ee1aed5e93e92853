package asm

import (
	"math"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// FirstLanes are 32 bytes of ones, then 32 of zeros, in a file's memory: a mask of the first n bytes of a vector of 32
// begins n before the zeros.
func FirstLanes(c *build.Context) operand.Mem {
	ones, zero := operand.U64(math.MaxUint64), operand.U64(0)
	return Constant(c, "lanes", 1, ones, ones, ones, ones, zero, zero, zero, zero)
}

// FirstBytes sets a vector of 32 bytes to ones in the first bytes, whose number is in a register, and zeros after them.
// lanes is a result of FirstLanes.
func FirstBytes(c *build.Context, lanes operand.Mem, number, mask reg.Register) {
	begin := c.GP64()
	c.LEAQ(lanes.Offset(32), begin)
	c.SUBQ(number, begin)
	c.VMOVUPS(At(begin, 0), mask)
}

// FirstBits sets an opmask of at most 16 elements to the first ones, whose number is in CX.
func FirstBits(c *build.Context, number, mask reg.Register) {
	if number != reg.RCX {
		panic("a number of bits to shift by that is not in CX")
	}
	bits := c.GP64()
	c.MOVQ(operand.U32(1), bits)
	c.SHLQ(reg.CL, bits)
	c.DECQ(bits)
	c.KMOVW(bits.As32(), mask)
}
