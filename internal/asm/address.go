package asm

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// At is the memory that begins offset bytes after the address in a register.
func At(base reg.Register, offset int) operand.Mem { return operand.Mem{Base: base, Disp: offset} }

// Number is an immediate operand of 8 bits, or of 32 if it is larger: most instructions have no form for the 16 bits of
// operand.Imm.
func Number(n int) operand.Constant {
	if n < 256 {
		return operand.U8(n)
	}
	return operand.U32(n)
}

// Four are the memory that begins offset bytes after the address in a register, and one, two and three strides after it. The
// last register holds three strides.
func Four(base reg.Register, offset int, stride, stride3 reg.Register) []operand.Mem {
	first := At(base, offset)
	return []operand.Mem{first, first.Idx(stride, 1), first.Idx(stride, 2), first.Idx(stride3, 1)}
}
