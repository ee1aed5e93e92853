package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// exp32Names are the constants of exp32Table.
var exp32Names = []string{
	"abs", "limit", "log2e", "shifter", "ln2High", "ln2Low", "c4", "c3", "c2", "c1", "c0", "one",
}

// exp32 writes expF32 on vectors of float32.
type exp32 struct {
	c         *build.Context
	constants map[string]operand.Op // in registers or memory
}

// newExp32 finds the constants in exp32Table. It loads those for which keep is true into registers.
func newExp32(c *build.Context, keep func(name string) bool, load func(operand.Mem) vector) exp32 {
	table := asm.Variable(c, "exp32Table")
	e := exp32{c, map[string]operand.Op{}}
	for i, name := range exp32Names {
		place := asm.At(table, 32*i)
		e.constants[name] = place
		if keep(name) {
			e.constants[name] = load(place)
		}
	}
	return e
}

func (e exp32) k(name string) operand.Op { return e.constants[name] }

// argument is a vector on the way from x to e^x.
type argument struct {
	x vector // then r
	t vector // the nearest integer to x/log(2) in the low bits, then 2^n as a difference of exponents
	q vector // the polynomial, then the result
	s vector // scratch
}

// steps writes the steps of expF32, each for all arguments before the next: the steps of one vector depend on each other, and
// several independent vectors keep the execution units busy.
func (e exp32) steps(arguments ...argument) {
	c, k := e.c, e.k
	for _, step := range []func(a argument){
		func(a argument) { c.VMULPS(k("log2e"), a.x, a.t) },
		func(a argument) { c.VADDPS(k("shifter"), a.t, a.t) },
		func(a argument) { c.VSUBPS(k("shifter"), a.t, a.q) }, // n
		func(a argument) { c.VMULPS(k("ln2High"), a.q, a.s) },
		func(a argument) { c.VSUBPS(a.s, a.x, a.x) },
		func(a argument) { c.VMULPS(k("ln2Low"), a.q, a.q) },
		func(a argument) { c.VSUBPS(a.q, a.x, a.x) }, // r
		func(a argument) { c.VMULPS(k("c4"), a.x, a.q) },
		func(a argument) { c.VMULPS(a.x, a.x, a.s) },
		func(a argument) { c.VADDPS(k("c3"), a.q, a.q) },
		func(a argument) { c.VMULPS(a.x, a.q, a.q) },
		func(a argument) { c.VADDPS(k("c2"), a.q, a.q) },
		func(a argument) { c.VMULPS(a.x, a.q, a.q) },
		func(a argument) { c.VADDPS(k("c1"), a.q, a.q) },
		func(a argument) { c.VMULPS(a.x, a.q, a.q) },
		func(a argument) { c.VADDPS(k("c0"), a.q, a.q) },
		func(a argument) { c.VMULPS(a.s, a.q, a.q) },
		func(a argument) { c.VPSLLD(operand.Imm(23), a.t, a.t) },
		func(a argument) { c.VADDPS(a.x, a.q, a.q) },
		func(a argument) { c.VADDPS(k("one"), a.q, a.q) },
		func(a argument) { c.VPADDD(a.t, a.q, a.q) },
	} {
		for _, a := range arguments {
			step(a)
		}
	}
}

// expAVX computes elements beyond the limit, and NaN, again in float64.
func expAVX(c *build.Context) {
	asm.Function(c, "expAVX")
	v := smooth32{floats{c: c, table: asm.Variable(c, "smoothTable"), constants: smoothConstants}}
	e := newExp32(c, func(name string) bool {
		return name != "abs" && name != "limit" && name != "c1" && name != "c0"
	}, func(place operand.Mem) vector {
		y := c.YMM()
		c.VMOVUPS(place, y)
		return y
	})
	p := asm.Load(c, "dst", "x", "n")
	dst, x, n, done := p[0], p[1], p[2], c.GP64()
	c.XORQ(done, done)
	c.Label("loop")
	c.SUBQ(operand.Imm(8), n)
	c.JLT(operand.LabelRef("out"))
	a, far, signs := argument{c.YMM(), c.YMM(), c.YMM(), c.YMM()}, c.YMM(), c.GP32()
	c.VMOVUPS(asm.At(x, 0), a.x)
	c.VANDPS(e.k("abs"), a.x, far)
	c.VCMPPS(operand.Imm(notLessEqual), e.k("limit"), far, far)
	e.steps(a)
	c.VMOVMSKPS(far, signs)
	c.TESTL(signs, signs)
	c.JNE(operand.LabelRef("far"))
	c.Label("store")
	c.VMOVUPS(a.q, asm.At(dst, 0))
	c.ADDQ(operand.Imm(32), x)
	c.ADDQ(operand.Imm(32), dst)
	c.ADDQ(operand.Imm(8), done)
	c.JMP(operand.LabelRef("loop"))

	c.Label("far")
	var halves [2]vector
	for i := range halves {
		halves[i] = v.expOf(v.loadFloats(asm.At(x, 16*i)))
		c.VCVTPD2PSY(halves[i], halves[i].AsX())
	}
	c.VINSERTF128(operand.Imm(1), halves[1].AsX(), halves[0], halves[0])
	c.VBLENDVPS(far, halves[0], a.q, a.q)
	c.JMP(operand.LabelRef("store"))

	c.Label("out")
	c.VZEROUPPER()
	c.MOVQ(done, asm.Result(c))
	c.RET()
}

// expAVX512 computes four vectors at a time, then one at a time. It leaves the loop for an element beyond the limit.
func expAVX512(c *build.Context) {
	asm.Function(c, "expAVX512")
	e := newExp32(c, func(string) bool { return true }, func(place operand.Mem) vector {
		z := c.ZMM()
		c.VBROADCASTSS(place, z)
		return z
	})
	p := asm.Load(c, "dst", "x", "n")
	dst, x, n, done := p[0], p[1], p[2], c.GP64()
	c.XORQ(done, done)
	var four [4]argument
	for i := range four {
		four[i] = argument{c.ZMM(), c.ZMM(), c.ZMM(), c.ZMM()}
	}
	c.Label("four")
	c.CMPQ(n, operand.Imm(64))
	c.JLT(operand.LabelRef("one"))
	e.loadWithin(x, "one", four[:]...)
	e.steps(four[:]...)
	for i, a := range four {
		c.VMOVUPS(a.q, asm.At(dst, 64*i))
	}
	advance(c, 64, x, dst, done)
	c.SUBQ(operand.Imm(64), n)
	c.JMP(operand.LabelRef("four"))

	c.Label("one")
	c.SUBQ(operand.Imm(16), n)
	c.JLT(operand.LabelRef("out"))
	e.loadWithin(x, "out", four[0])
	e.steps(four[0])
	c.VMOVUPS(four[0].q, asm.At(dst, 0))
	advance(c, 16, x, dst, done)
	c.JMP(operand.LabelRef("one"))
	c.Label("out")
	c.VZEROUPPER()
	c.MOVQ(done, asm.Result(c))
	c.RET()
}

// advance advances the addresses by a number of float32.
func advance(c *build.Context, elements int, x, dst, done reg.Register) {
	c.ADDQ(asm.Number(4*elements), x)
	c.ADDQ(asm.Number(4*elements), dst)
	c.ADDQ(asm.Number(elements), done)
}

// loadWithin loads the arguments, and jumps to the label if one is beyond the limit. As integers, magnitudes are ordered, with
// NaN above all.
func (e exp32) loadWithin(x reg.Register, beyond string, arguments ...argument) {
	c := e.c
	for i, a := range arguments {
		c.VMOVUPS(asm.At(x, 64*i), a.x)
	}
	for _, a := range arguments {
		c.VPANDD(e.k("abs"), a.x, a.s)
	}
	for distance := 1; distance < len(arguments); distance *= 2 {
		for i := 0; i < len(arguments); i += 2 * distance {
			c.VPMAXUD(arguments[i+distance].s, arguments[i].s, arguments[i].s)
		}
	}
	mask := c.K()
	c.VPCMPUD(operand.Imm(6), e.k("limit"), arguments[0].s, mask) // greater
	c.KORTESTW(mask, mask)
	c.JNE(operand.LabelRef(beyond))
}
