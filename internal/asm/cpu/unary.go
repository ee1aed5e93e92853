package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// unary writes operations on one operand that take an instruction or two, 64 bytes at a time.
func unary(c *build.Context) {
	for _, f := range asm.Floats {
		signs := func() reg.Register {
			v := c.YMM()
			c.VPCMPEQD(v, v, v)
			if f.Double {
				c.VPSLLQ(operand.Imm(63), v, v)
			} else {
				c.VPSLLD(operand.Imm(31), v, v)
			}
			return v
		}
		zeros := func() reg.Register {
			v := c.YMM()
			c.VXORPS(v, v, v)
			return v
		}
		unaryLoop(c, "neg", f, signs, func(bits, v reg.Register) { c.VXORPS(v, bits, v) })
		unaryLoop(c, "abs", f, signs, func(bits, v reg.Register) { c.VANDNPS(v, bits, v) })
		unaryLoop(c, "relu", f, zeros, func(zero, v reg.Register) { reLU(c, f, zero, v) })
		unaryLoop(c, "square", f, nil, func(_, v reg.Register) { f.Mul(c, v, v, v) })
		unaryLoop(c, "sqrt", f, nil, func(_, v reg.Register) { f.Sqrt(c, v, v) })
		for _, r := range roundings {
			unaryLoop(c, r.name, f, nil, func(_, v reg.Register) { f.Round(c, operand.Imm(r.mode), v, v) })
		}
	}
}

// roundings are the modes of VROUNDPS and VROUNDPD, without an exception for what is lost.
var roundings = []struct {
	name string
	mode uint64
}{{"floor", 9}, {"ceil", 10}, {"round", 8}, {"trunc", 11}}

// reLU replaces v by the larger of v and 0. The maximum is its second operand, here v, if that is NaN or both are zeros.
// Adding 0 turns -0 into 0.
func reLU(c *build.Context, f asm.Float, zero, v reg.Register) {
	f.Max(c, v, zero, v)
	f.Add(c, zero, v, v)
}

// unaryLoop writes a function that applies an operation to each vector. It has constant, if not nil, in a register.
func unaryLoop(c *build.Context, name string, f asm.Float, constant func() reg.Register, op func(constant, v reg.Register)) {
	asm.Function(c, name+f.Name+"AVX2")
	p := asm.Load(c, "dst", "x", "n")
	var k reg.Register
	if constant != nil {
		k = constant()
	}
	asm.For(c, p[2], 64/f.Size, func(i reg.Register) {
		for offset := 0; offset < 64; offset += 32 {
			v := c.YMM()
			c.VMOVUPS(asm.At(p[1], offset).Idx(i, uint8(f.Size)), v)
			op(k, v)
			c.VMOVUPS(v, asm.At(p[0], offset).Idx(i, uint8(f.Size)))
		}
	})
	asm.Return(c)
}
