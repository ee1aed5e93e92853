package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// activation writes activations of vectors of four or eight float64. The operations and their order are those of normalCDF and
// nearExp, without fused multiply-adds, and so the bits are the same. With GOAMD64=v3 the compiler fuses some of theirs, and a
// rounded float32 may differ: of 41 million none did.
type activation struct{ doubles }

// epilogueConstants are those of epilogueTable, polynomials lowest coefficient first.
var epilogueConstants = constantsOf(`limit rootHalf center one two two52 log2e shift ln2 unbias sign cdf*12 exp*8
	siluLimit gate cubic`)

// epilogue writes the epilogues with AVX2 and with AVX-512.
func epilogue(c *build.Context) {
	epilogueRows(c, false, "AVX2")
	epilogueRows(c, true, "AVX512")
}

// epilogueRows writes the epilogues of float32 rows: f(alpha x + bias), computed in float64.
func epilogueRows(c *build.Context, wide bool, suffix string) {
	v := activation{doubles{c: c, wide: wide, constants: epilogueConstants}}
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
	a := v.shiftRight(v.shiftLeft(x, 1), 1)
	rest, signs := v.subInt(v.load(v.k(limit)), a), v.c.GP32()
	if v.wide {
		mask := v.c.K()
		v.c.VPTESTMQ_BCST(v.k("sign").Mem, rest, mask)
		v.c.KMOVW(mask, signs)
	} else {
		v.c.VMOVMSKPD(rest, signs)
	}
	v.c.TESTL(signs, signs)
	v.c.JNZ(operand.LabelRef("out"))
	return a
}

// line returns coefficient i + coefficient i+1 times x.
func (v activation) line(name string, i int, x vector) vector {
	return v.add(v.mul(x, v.ki(name, i+1)), v.ki(name, i))
}

// cubicOf returns the polynomial of x with the four coefficients from i on; z is x^2.
func (v activation) cubicOf(name string, i int, x, z vector) vector {
	low := v.line(name, i, x)
	return v.add(low, v.mul(z, v.line(name, i+2, x)))
}

// nearExp is for |x| < 708.
func (v activation) nearExp(x vector) vector {
	t := v.add(v.mul(x, v.k("log2e")), v.k("shift"))
	n := v.sub(t, v.k("shift"))
	r := v.sub(x, v.mul(n, v.k("ln2")))
	z := v.mul(r, r)
	low, high := v.cubicOf("exp", 0, r, z), v.cubicOf("exp", 4, r, z)
	p := v.add(low, v.mul(v.mul(z, z), high))
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
	middle = v.add(middle, v.mul(zz, high))
	p := v.add(low, v.mul(zz, middle))
	e := v.nearExp(v.sub(v.zero(), v.mul(a, a)))
	p = v.mul(p, v.mul(v.mul(e, b), q))
	return v.mul(x, v.mirrored(p, x))
}

// mirrored returns p where x is negative, and 1 - p elsewhere.
func (v activation) mirrored(p, x vector) vector {
	negative := v.sub(v.addInt(v.shiftRight(x, 63), v.k("two52")), v.k("two52")) // 1 or 0
	one := v.load(v.k("one"))
	positive := v.sub(one, negative)
	return v.add(p, v.mul(positive, v.sub(one, v.mul(p, v.k("two")))))
}

// gated returns x/(1 + e^y).
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
	cube := v.mul(v.mul(v.mul(x, v.k("cubic")), x), x)
	return v.gated(x, v.mul(v.add(x, cube), v.k("gate")))
}
