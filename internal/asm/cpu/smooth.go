package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// smooth32 writes the functions of smooth.go on four or eight float32 at a time, in float64. Each method does the operations of the Go
// function of its name in the same order, and so gives the same bits.
type smooth32 struct{ floats }

// smoothConstants are the names of the constants in smoothTable, polynomials highest coefficient first.
var smoothConstants = constantsOf(`low high log2e shifter ln2 exp*7 bias one abs sign
	erf*9 erfcMax three erfc*14 sqrt1_2 outer inner zero`)

// smooth writes the smooth functions of float32, with AVX2 and with AVX-512.
func smooth(c *build.Context) {
	smooth32Functions(c, false, "AVX2")
	smooth32Functions(c, true, "AVX512")
	expAVX(c)
	expAVX512(c)
}

func smooth32Functions(c *build.Context, wide bool, suffix string) {
	begin := func(name string) smooth32 {
		asm.Function(c, name+suffix)
		return smooth32{floats{c: c, wide: wide, table: asm.Variable(c, "smoothTable"), constants: smoothConstants}}
	}
	for _, f := range []mapping[smooth32]{
		{"sigmoid32", smooth32.sigmoid},
		{"silu32", smooth32.silu},
		{"geluTanh32", smooth32.geluTanh},
		{"gelu32", smooth32.gelu},
		{"erf32", smooth32.erf},
	} {
		v := begin(f.name)
		prefix(v.floats, 4, 1, func(dst, x operand.Mem) { v.storeFloats(f.of(v, v.loadFloats(x)), dst) })
	}
}

// prefix writes the rest of a function (dst, x pointer, n int) int. It computes some vectors of elements of the given
// size at a time, until fewer are left or f jumps to "out", and returns the number of computed elements.
func prefix(v floats, size, vectors int, f func(dst, x operand.Mem)) {
	c, lanes := v.c, vectors*v.lanes()
	p := asm.Load(c, "dst", "x", "n")
	dst, x, n, done := p[0], p[1], p[2], c.GP64()
	c.XORQ(done, done)
	asm.Countdown(c, n, lanes, func() {
		f(asm.At(dst, 0), asm.At(x, 0))
		c.ADDQ(asm.Number(lanes*size), x)
		c.ADDQ(asm.Number(lanes*size), dst)
		c.ADDQ(asm.Number(lanes), done)
	})
	c.VZEROUPPER()
	c.MOVQ(done, asm.Result(c))
	c.RET()
}

// prefix2 is prefix for a function of the elements of x and y.
func prefix2(v floats, size int, f func(dst, x, y operand.Mem)) {
	y := asm.Load(v.c, "y")[0]
	prefix(v, size, 1, func(dst, x operand.Mem) {
		f(dst, x, asm.At(y, 0))
		v.c.ADDQ(asm.Number(size*v.lanes()), y)
	})
}

// polynomial returns the polynomial with the n coefficients of that name. It rounds every product.
func (v floats) polynomial(name string, n int, x vector) vector {
	p := v.add(v.mul(x, v.k(name)), v.ki(name, 1))
	for i := 2; i < n; i++ {
		p = v.add(v.mul(p, x), v.ki(name, i))
	}
	return p
}

func (v smooth32) expParts(x vector) (p, s vector) {
	x = v.max(v.load(v.k("low")), x) // x if it is NaN
	x = v.min(v.load(v.k("high")), x)
	t := v.add(v.mul(x, v.k("log2e")), v.k("shifter"))
	n := v.sub(t, v.k("shifter"))
	r := v.sub(x, v.mul(n, v.k("ln2")))
	s = v.shiftLeft(v.addInt(t, v.k("bias")), 52)
	q := v.polynomial("exp", 7, r)
	return v.add(v.mul(q, v.mul(r, r)), r), s
}

func (v smooth32) expOf(x vector) vector {
	p, s := v.expParts(x)
	return v.add(v.mul(p, s), s)
}

// copySign returns y with the sign of x.
func (v floats) copySign(y, x vector) vector {
	y = v.and(y, v.k("abs"))
	return v.or(y, v.and(x, v.k("sign")))
}

func (v smooth32) sigmoid(x vector) vector {
	d := v.add(v.expOf(v.xor(x, v.k("sign"))), v.k("one"))
	return v.div(v.load(v.k("one")), d)
}

func (v smooth32) silu(x vector) vector { return v.gate(x, x) }

func (v smooth32) geluTanh(x vector) vector {
	w := v.add(v.mul(v.mul(x, x), v.k("inner")), v.k("one"))
	return v.gate(x, v.mul(w, v.mul(x, v.k("outer"))))
}

// gate returns x/(1 + e^-y).
func (v smooth32) gate(x, y vector) vector {
	e := v.expOf(v.xor(y, v.k("sign")))
	return v.nanAtMinusInf(v.div(x, v.add(e, v.k("one"))), x)
}

// nanAtMinusInf returns y, or NaN if x is -Inf.
func (v smooth32) nanAtMinusInf(y, x vector) vector {
	low := v.min(v.load(v.k("zero")), x) // x if it is NaN
	return v.or(y, v.sub(low, low))
}

func (v smooth32) erf(x vector) vector {
	a := v.and(x, v.k("abs"))
	far := v.erfcOf(v.min(v.load(v.k("erfcMax")), a))
	far = v.copySign(v.sub(v.load(v.k("one")), far), x)
	near := v.mul(v.polynomial("erf", 9, v.mul(a, a)), x)
	return v.choose(condition{less, "one"}, a, near, far)
}

// erfcOf returns erfc(a), 0 <= a <= erfcMax.
func (v smooth32) erfcOf(a vector) vector {
	b := v.add(v.add(a, a), v.k("one"))
	c := v.add(a, v.k("three"))
	q := v.div(v.load(v.k("one")), v.mul(c, b))
	t := v.mul(v.mul(v.sub(a, v.k("three")), b), q)
	c = v.mul(c, q)
	p := v.mul(v.polynomial("erfc", 14, t), c)
	return v.mul(p, v.expOf(v.xor(v.mul(a, a), v.k("sign"))))
}

func (v smooth32) gelu(x vector) vector {
	a := v.mul(v.and(x, v.k("abs")), v.k("sqrt1_2"))
	a = v.min(v.load(v.k("erfcMax")), a)
	e := v.erfcOf(a)
	low := v.mul(e, v.mul(a, v.k("sqrt1_2")))
	high := v.max(v.load(v.k("zero")), x) // keeps x = -0
	return v.nanAtMinusInf(v.sub(high, low), x)
}
