package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/reg"
)

// activation writes activations of vectors of four or eight float64. The operations and their order are those of approximate,
// normalCDF and nearExp, and so the bits are the same.
type activation struct{ fused }

// epilogueConstants are the names of the constants in epilogueTable, polynomials lowest coefficient first.
var epilogueConstants = constantsOf(`limit rootHalf center one zero log2e shift ln2 unbias abs cdf*12 exp*8
	siluLimit gate cubic`)

// epilogue writes the epilogues with AVX2 and with AVX-512.
func epilogue(c *build.Context) {
	epilogueRows(c, false, "AVX2")
	epilogueRows(c, true, "AVX512")
}

// epilogueRows writes the epilogues of float32 rows: f(alpha x + bias), computed in float64.
func epilogueRows(c *build.Context, wide bool, suffix string) {
	v := activation{fused{floats{c: c, wide: wide, constants: epilogueConstants}}}
	asm.Function(c, "biasRow"+suffix)
	v.row(func(x vector) vector { return x })
	asm.Return(c)

	for _, f := range []mapping[activation]{
		{"geluRow", activation.gelu},
		{"geluTanhRow", activation.geluTanh},
		{"siluRow", activation.silu},
	} {
		asm.Function(c, f.name+suffix)
		v.table = asm.Load(c, "table")[0]
		done := v.row(func(x vector) vector { return f.of(v, x) })
		c.Label("out")
		c.MOVQ(done, asm.Result(c))
		asm.Return(c)
	}
}

// row writes the loop of an activation and returns the number of elements done.
func (v activation) row(f func(x vector) vector) (done reg.Register) {
	p := asm.Load(v.c, "x", "bias", "n")
	alpha := v.broadcast("alpha")
	asm.Up(v.c, "next", p[2], v.lanes(), func(i reg.Register) {
		done = i
		place := asm.At(p[0], 0).Idx(i, 4)
		x := v.mul(v.loadFloats(place), alpha)
		v.storeFloats(f(v.add(x, asm.At(p[1], 0).Idx(i, 8))), place)
	})
	return done
}

// within returns |x|. It jumps to "out" if an element is beyond the limit, or NaN.
func (v activation) within(limit string, x vector) vector {
	a := v.and(x, v.k("abs"))
	v.outUnless(condition{lessEqual, limit}, a)
	return a
}

// line returns coefficient i + coefficient i+1 times x.
func (v activation) line(name string, i int, x vector) vector {
	p := v.load(v.ki(name, i+1))
	v.fma213(p, x, v.ki(name, i))
	return p
}

// cubicOf returns the polynomial of x with the four coefficients from i on; z is x^2.
func (v activation) cubicOf(name string, i int, x, z vector) vector {
	low, high := v.line(name, i, x), v.line(name, i+2, x)
	v.fma213(high, z, low)
	return high
}

// nearExp is for |x| < 708. It overwrites x.
func (v activation) nearExp(x vector) vector {
	t := v.load(v.k("log2e"))
	v.fma213(t, x, v.k("shift"))
	v.lessProduct(x, v.sub(t, v.k("shift")), v.k("ln2"))
	z := v.mul(x, x)
	low, p := v.cubicOf("exp", 0, x, z), v.cubicOf("exp", 4, x, z)
	v.fma213(p, v.mul(z, z), low)
	return v.mul(p, v.shiftLeft(v.addInt(t, v.k("unbias")), 52))
}

// gelu returns x normalCDF(x) up to the limit of normalCDF without its special cases.
func (v activation) gelu(x vector) vector {
	a := v.mul(v.within("limit", x), v.k("rootHalf"))
	b, c := v.add(a, v.k("center")), v.add(a, v.k("one"))
	q := v.div(v.load(v.k("one")), v.mul(b, c))
	t := v.mul(v.mul(v.sub(a, v.k("center")), c), q)
	z := v.mul(t, t)
	zz := v.mul(z, z)
	low, middle, high := v.cubicOf("cdf", 0, t, z), v.cubicOf("cdf", 4, t, z), v.cubicOf("cdf", 8, t, z)
	v.fma213(high, zz, middle)
	v.fma213(high, zz, low)
	e := v.nearExp(v.sub(v.zero(), v.mul(a, a)))
	p := v.mul(high, v.mul(v.mul(e, b), q))
	return v.mul(x, v.mirrored(p, x))
}

// mirrored returns p where x is negative, and 1 - p elsewhere.
func (v activation) mirrored(p, x vector) vector {
	return v.choose(condition{less, "zero"}, x, p, v.sub(v.load(v.k("one")), p))
}

// gated returns x/(1 + e^y). It overwrites y.
func (v activation) gated(x, y vector) vector {
	e := v.nearExp(y)
	return v.div(x, v.add(v.load(v.k("one")), e))
}

func (v activation) silu(x vector) vector {
	v.within("siluLimit", x)
	return v.gated(x, v.sub(v.zero(), x))
}

func (v activation) geluTanh(x vector) vector {
	v.within("limit", x)
	inner := v.mul(v.mul(x, v.k("cubic")), x)
	v.fma213(inner, x, x)
	return v.gated(x, v.mul(inner, v.k("gate")))
}
