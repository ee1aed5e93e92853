package asm

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// At returns the memory operand offset bytes after the address in a register.
func At(base reg.Register, offset int) operand.Mem { return operand.Mem{Base: base, Disp: offset} }

// Number returns an immediate operand of 8 bits, or of 32 bits if n is larger: most instructions have no form for the
// 16 bits of operand.Imm.
func Number(n int) operand.Constant {
	if n < 256 {
		return operand.U8(n)
	}
	return operand.U32(n)
}
