package cpu

import (
	"fmt"
	"math/bits"

	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// vectorLoops writes element-wise operations on dense blocks, and the additions of sums.
func vectorLoops(c *build.Context) {
	for _, e := range []element{{
		bits: 32, move: c.VMOVSS, broadcast: c.VBROADCASTSS, operations: []arithmetic{
			{"add", c.VADDPS, c.VADDSS}, {"sub", c.VSUBPS, c.VSUBSS}, {"mul", c.VMULPS, c.VMULSS}, {"div", c.VDIVPS, c.VDIVSS},
		},
	}, {
		bits: 64, move: c.VMOVSD, broadcast: c.VBROADCASTSD, operations: []arithmetic{
			{"add", c.VADDPD, c.VADDSD}, {"sub", c.VSUBPD, c.VSUBSD}, {"mul", c.VMULPD, c.VMULSD}, {"div", c.VDIVPD, c.VDIVSD},
		},
	}} {
		for _, a := range e.operations {
			binaryLoop(c, e, a, "VV")
			binaryLoop(c, e, a, "VS")
			if a.name == "sub" || a.name == "div" { // the others commute
				binaryLoop(c, e, a, "SV")
			}
		}
	}
	extremeLoop(c, "max32", larger, false)
	extremeLoop(c, "min32", smaller, false)
	extremeLoop(c, "maxVS32", larger, true)
	extremeLoop(c, "minVS32", smaller, true)
	stream(c)
	chunkSums(c)
}

// element is a type of elements.
type element struct {
	bits            int
	move, broadcast func(operands ...operand.Op)
	operations      []arithmetic
}

// arithmetic is an operation on vectors and on single elements: the last operand becomes the second op the first.
type arithmetic struct {
	name           string
	vector, single func(operands ...operand.Op)
}

// binaryLoop writes dst = x op y for two vectors (VV), a vector and a scalar (VS) or a scalar and a vector (SV): 128 bytes at a
// time, then one element at a time.
func binaryLoop(c *build.Context, e element, a arithmetic, kind string) {
	asm.Function(c, fmt.Sprint(a.name, kind, e.bits))
	p := asm.Load(c, "dst", "x", "y", "n")
	dst, x, y, n := p[0], p[1], p[2], p[3]
	if kind == "SV" {
		x, y = y, x
	}
	scalar, i := c.YMM(), c.GP64()
	if kind != "VV" {
		e.broadcast(operand.Mem{Base: y}, scalar)
	}
	// steps writes an operation on the registers, for the vectors at the index.
	steps := func(move, op func(operands ...operand.Op), scalar reg.Register, registers ...reg.Register) {
		at := func(p reg.Register, j int) operand.Mem {
			return operand.Mem{Base: p, Disp: 32 * j, Index: i, Scale: 1}
		}
		for j, v := range registers {
			move(at(x, j), v)
		}
		for j, v := range registers {
			switch kind {
			case "VV":
				op(at(y, j), v, v)
			case "VS":
				op(scalar, v, v)
			case "SV":
				op(v, scalar, v)
			}
		}
		for j, v := range registers {
			move(v, at(dst, j))
		}
	}
	size := e.bits / 8
	c.SHLQ(operand.Imm(uint64(bits.TrailingZeros(uint(size)))), n)
	c.XORQ(i, i)
	c.SUBQ(operand.U32(128), n)
	c.JLT(operand.LabelRef("few"))
	c.Label("four")
	steps(c.VMOVUPS, a.vector, scalar, c.YMM(), c.YMM(), c.YMM(), c.YMM())
	c.ADDQ(operand.U32(128), i)
	c.CMPQ(i, n)
	c.JLE(operand.LabelRef("four"))
	c.Label("few")
	c.ADDQ(operand.U32(128), n)
	c.JMP(operand.LabelRef("check"))
	c.Label("one")
	steps(e.move, a.single, scalar.AsX(), c.XMM())
	c.ADDQ(operand.Imm(uint64(size)), i)
	c.Label("check")
	c.CMPQ(i, n)
	c.JLT(operand.LabelRef("one"))
	asm.Return(c)
}

// extremeLoop writes dst = the extremes of x and y, a vector or a scalar, for a multiple of 16 elements.
func extremeLoop(c *build.Context, name string, of extreme, scalar bool) {
	asm.Function(c, name)
	p := asm.Load(c, "dst", "x", "y", "n")
	dst, x, y, n := p[0], p[1], p[2], p[3]
	b := c.YMM()
	if scalar {
		c.VBROADCASTSS(operand.Mem{Base: y}, b)
	}
	c.SHLQ(operand.Imm(2), n)
	asm.For(c, n, 64, func(i reg.Register) {
		for offset := 0; offset < 64; offset += 32 {
			at := func(p reg.Register) operand.Mem {
				return operand.Mem{Base: p, Disp: offset, Index: i, Scale: 1}
			}
			a, d := c.YMM(), c.YMM()
			c.VMOVUPS(at(x), a)
			if !scalar {
				b = c.YMM()
				c.VMOVUPS(at(y), b)
			}
			of(c, a, b, d)
			c.VMOVUPS(d, at(dst))
		}
	})
	asm.Return(c)
}

// stream writes a copy with non-temporal stores, and their fence.
func stream(c *build.Context) {
	asm.Function(c, "streamAVX")
	p := asm.Load(c, "dst", "src", "n")
	asm.ForPositive(c, p[2], 64, func(i reg.Register) {
		low, high := c.YMM(), c.YMM()
		c.VMOVUPS(operand.Mem{Base: p[1], Index: i, Scale: 1}, low)
		c.VMOVUPS(operand.Mem{Base: p[1], Disp: 32, Index: i, Scale: 1}, high)
		c.VMOVNTPS(low, operand.Mem{Base: p[0], Index: i, Scale: 1})
		c.VMOVNTPS(high, operand.Mem{Base: p[0], Disp: 32, Index: i, Scale: 1})
	})
	asm.Return(c)

	asm.Function(c, "fenceStores")
	c.SFENCE()
	c.RET()
}
