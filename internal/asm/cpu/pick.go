package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// pick writes searches and selections.
func pick(c *build.Context) {
	for _, f := range asm.Floats {
		extremeOf(c, "largest"+f.Name, f, largerOf(f))
		extremeOf(c, "smallest"+f.Name, f, smallerOf(f))
		extremeRange(c, "largest"+f.Name+"AVX512", f, 5)  // the larger one; 0 over -0
		extremeRange(c, "smallest"+f.Name+"AVX512", f, 4) // the smaller one; -0 over 0
		index(c, f)
		choose(c, f)
	}
	floats8(c)
}

// extremeOf writes a function that returns the extreme element of x: four independent vectors at a time, then one at a
// time, and then the extreme of these vectors' elements.
func extremeOf(c *build.Context, name string, f asm.Float, of extreme) {
	asm.Function(c, name)
	p := asm.Load(c, "x", "n")
	x, n := p[0], p[1]
	best := [4]vector{c.YMM(), c.YMM(), c.YMM(), c.YMM()}
	c.VMOVUPS(asm.At(x, 0), best[0])
	for _, b := range best[1:] {
		c.VMOVUPS(best[0], b)
	}
	loop := func(name string, vectors int) {
		check := name + "Check"
		c.JMP(operand.LabelRef(check))
		c.Label(name)
		for i, b := range best[:vectors] {
			v := c.YMM()
			c.VMOVUPS(asm.At(x, 32*i), v)
			of(c, b, v, b)
		}
		c.ADDQ(asm.Number(32*vectors), x)
		c.SUBQ(asm.Number(32/f.Size*vectors), n)
		c.Label(check)
		c.CMPQ(n, asm.Number(32/f.Size*vectors))
		c.JGE(operand.LabelRef(name))
	}
	loop("four", 4)
	loop("one", 1)
	of(c, best[0], best[1], best[0])
	of(c, best[2], best[3], best[2])
	of(c, best[0], best[2], best[0])
	extremeElement(c, f, of, best[0])
	f.MoveOne(c, best[0].AsX(), asm.Result(c))
	asm.Return(c)
}

// extremeElement replaces each element of x by the extreme one.
func extremeElement(c *build.Context, f asm.Float, of extreme, x vector) {
	other := c.YMM()
	c.VPERM2F128(operand.Imm(1), x, x, other) // the other half
	of(c, x, other, x)
	c.VSHUFPS(operand.Imm(0x4e), x, x, other) // the other 8 of 16 bytes
	of(c, x, other, x)
	if f.Double {
		return
	}
	c.VSHUFPS(operand.Imm(0xb1), x, x, other) // the neighbour
	of(c, x, other, x)
}

// extremeRange is extremeOf with VRANGEPS or VRANGEPD, whose immediate operand says which of two elements it selects. These
// instructions order zeros by their signs and prefer a number to NaN. A separate comparison looks for NaNs.
func extremeRange(c *build.Context, name string, f asm.Float, which uint64) {
	of, isNumber := c.VRANGEPS, c.VCMPPS
	if f.Double {
		of, isNumber = c.VRANGEPD, c.VCMPPD
	}
	asm.Function(c, name)
	p := asm.Load(c, "x", "n")
	x, n := p[0], p[1]
	best := [4]reg.VecVirtual{c.ZMM(), c.ZMM(), c.ZMM(), c.ZMM()}
	c.VMOVUPS(asm.At(x, 0), best[0])
	for _, b := range best[1:] {
		c.VMOVAPS(best[0], b)
	}
	found, nan := c.K(), c.K()
	c.KXORW(found, found, found)
	loop := func(name string, vectors int) {
		check := name + "Check"
		c.JMP(operand.LabelRef(check))
		c.Label(name)
		for i, b := range best[:vectors] {
			v := c.ZMM()
			c.VMOVUPS(asm.At(x, 64*i), v)
			isNumber(operand.Imm(unordered), v, v, nan)
			c.KORW(nan, found, found)
			of(operand.Imm(which), v, b, b)
		}
		c.ADDQ(asm.Number(64*vectors), x)
		c.SUBQ(asm.Number(64/f.Size*vectors), n)
		c.Label(check)
		c.CMPQ(n, asm.Number(64/f.Size*vectors))
		c.JGE(operand.LabelRef(name))
	}
	loop("four", 4)
	loop("one", 1)
	for _, pair := range [][2]int{{0, 1}, {2, 3}, {0, 2}} {
		of(operand.Imm(which), best[pair[1]], best[pair[0]], best[pair[0]])
	}
	one, other := best[0], c.ZMM()
	c.VSHUFF64X2(operand.Imm(0x4e), one, one, other) // the other half
	of(operand.Imm(which), other, one, one)
	c.VSHUFF64X2(operand.Imm(0xb1), one, one, other) // the other quarter
	of(operand.Imm(which), other, one, one)
	c.VSHUFPS(operand.Imm(0x4e), one, one, other)
	of(operand.Imm(which), other, one, one)
	if !f.Double {
		c.VSHUFPS(operand.Imm(0xb1), one, one, other)
		of(operand.Imm(which), other, one, one)
	}
	c.KTESTW(found, found)
	c.JZ(operand.LabelRef("numbers"))
	c.VPTERNLOGD(operand.U8(0xff), one, one, one) // all bits, which is NaN
	c.Label("numbers")
	f.MoveOne(c, one.AsX(), asm.Result(c))
	asm.Return(c)
}

func index(c *build.Context, f asm.Float) {
	asm.Function(c, "index"+f.Name)
	p := asm.Load(c, "x", "n")
	x, n, v := p[0], p[1], c.YMM()
	f.Broadcast(c, asm.Parameter(c, "v"), v)
	matches := c.GP32()
	i := asm.For(c, n, 32/f.Size, func(i reg.Register) {
		equals := c.YMM()
		f.Compare(c, operand.Imm(equal), asm.At(x, 0).Idx(i, uint8(f.Size)), v, equals)
		if f.Double {
			c.VMOVMSKPD(equals, matches)
		} else {
			c.VMOVMSKPS(equals, matches)
		}
		c.TESTL(matches, matches)
		c.JNZ(operand.LabelRef("found"))
	})
	c.MOVQ(n, asm.Result(c))
	asm.Return(c)

	c.Label("found")
	c.BSFL(matches, matches)
	c.ADDQ(matches.As64(), i)
	c.MOVQ(i, asm.Result(c))
	asm.Return(c)
}

// choose writes choose32 or choose64, which select elements of y where bytes of x are not 0, and of z elsewhere.
func choose(c *build.Context, f asm.Float) {
	asm.Function(c, "choose"+f.Name)
	p := asm.Load(c, "dst", "x", "y", "z", "n")
	dst, x, y, z, n := p[0], p[1], p[2], p[3], p[4]
	zero := c.YMM()
	c.VPXOR(zero, zero, zero)
	asm.For(c, n, 32/f.Size, func(i reg.Register) {
		isZero, v := c.YMM(), c.YMM()
		at := func(p reg.Register) operand.Mem { return asm.At(p, 0).Idx(i, uint8(f.Size)) }
		if f.Double {
			c.VPMOVZXBQ(asm.At(x, 0).Idx(i, 1), isZero)
			c.VPCMPEQQ(zero, isZero, isZero)
			c.VMOVUPS(at(y), v)
			c.VBLENDVPD(isZero, at(z), v, v)
		} else {
			c.VPMOVZXBD(asm.At(x, 0).Idx(i, 1), isZero)
			c.VPCMPEQD(zero, isZero, isZero)
			c.VMOVUPS(at(y), v)
			c.VBLENDVPS(isZero, at(z), v, v)
		}
		c.VMOVUPS(v, at(dst))
	})
	asm.Return(c)
}

func floats8(c *build.Context) {
	asm.Function(c, "floats8")
	p := asm.Load(c, "dst", "src", "n")
	dst, src, n := p[0], p[1], p[2]
	asm.For(c, n, 8, func(i reg.Register) {
		v := c.YMM()
		c.VPMOVZXBD(asm.At(src, 0).Idx(i, 1), v)
		c.VCVTDQ2PS(v, v)
		c.VMOVUPS(v, asm.At(dst, 0).Idx(i, 4))
	})
	asm.Return(c)
}
