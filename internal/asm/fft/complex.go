package fft

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// complexFloat is a type of float with the instructions for pairs of them, real and imaginary parts.
type complexFloat struct {
	asm.Float
	odd          operand.Mem // the sign bits of the imaginary parts
	permute      asm.Instruction
	swap, re, im operand.Constant                             // permute exchanges the two parts, or copies one of them to both
	addSub       func(c *build.Context, x, y, sum operand.Op) // adds imaginary parts, subtracts real ones
}

// complexes has the instructions for complex64 and complex128.
func complexes(c *build.Context) [2]complexFloat {
	odd32 := asm.Constant(c, "odd32", 4, operand.U64(1<<63))
	odd64 := asm.Constant(c, "odd64", 2, operand.U64(0), operand.U64(1<<63))
	return [2]complexFloat{
		{
			asm.Float32, odd32, (*build.Context).VPERMILPS, operand.U8(0xb1), operand.U8(0xa0), operand.U8(0xf5),
			(*build.Context).VADDSUBPS,
		},
		{
			asm.Float64, odd64, (*build.Context).VPERMILPD, operand.U8(0x5), operand.U8(0x0), operand.U8(0xf),
			(*build.Context).VADDSUBPD,
		},
	}
}

// factor is a vector of complex factors, with the real part of each in both lanes of re and the imaginary one in im.
type factor struct{ re, im reg.VecVirtual }

// times multiplies x by e.
func (f complexFloat) times(c *build.Context, x reg.VecVirtual, e factor) {
	swapped := c.YMM()
	f.permute(c, f.swap, x, swapped)
	f.Mul(c, e.re, x, x)
	f.Mul(c, e.im, swapped, swapped)
	f.addSub(c, swapped, x, x)
}
