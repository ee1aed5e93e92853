package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// single writes the functions of exponential32.go, logarithm32.go, trigonometry32.go, hyperbolic32.go and cbrt32.go of internal/cpu on 8 or 16 float32 at a time. Each method
// performs the operations of the Go function of its name in the same order. The results therefore have the same bits.
type single struct{ fused }

// singleConstants are the names of the constants in singleTable, polynomials highest coefficient first.
var singleConstants = constantsOf(`abs sign zero half one two inf minusInf nan minusOne bias126 bias190 scale64
	log2e shifter ln2High ln2Low exp2High exp2Low exp2Normal exp2*6 expm1High expm1Low expm1Tiny expm1*6
	tanhNear tanhHigh tanh*6
	split normal up24 bits24 log1pFar log*9 log2*9 log2eLow log10e log10eLow log10Of2High log10Of2Low
	unit trigTiny trigLimit twoOverPi halfPiA halfPiB halfPiC sin*4 cos*3 tan*7
	halfPi halfPiRest pi piRest atanFar atan*9 asin*5
	bias125 bits250 sinh*3 cosh*3 hyperbolicHigh hyperbolicTiny arcFar arcLeast asinhNear asinh*8 atanh*6 minusThird sevenSixths
	cbrtStart third twoNinths cbrtSmall cbrtUp cbrtDown`)

// singles writes the functions with AVX2 and with AVX-512.
func singles(c *build.Context) {
	singleFunctions(c, false, "AVX2")
	singleFunctions(c, true, "AVX512")
}

func singleFunctions(c *build.Context, wide bool, suffix string) {
	begin := func(name string) single {
		asm.Function(c, name+suffix)
		table := asm.Variable(c, "singleTable")
		return single{fused{floats{c: c, wide: wide, single: true, table: table, constants: singleConstants}}}
	}
	for _, f := range []mapping[single]{
		{"exp2_32", single.exp2},
		{"expm1_32", single.expm1},
		{"tanh32", single.tanh},
		{"atan32", single.atan},
		{"asin32", single.asin},
		{"acos32", single.acos},
		{"sinh32", single.sinh},
		{"cosh32", single.cosh},
		{"cbrt32", single.cbrt},
	} {
		begin(f.name).several(f.of)
	}
	for _, f := range []partial{
		{"sin32", condition{}, condition{lessEqual, "trigLimit"}, single.sin},
		{"cos32", condition{}, condition{lessEqual, "trigLimit"}, single.cos},
		{"tan32", condition{}, condition{lessEqual, "trigLimit"}, single.tan},
		{"asinh32", condition{}, condition{less, "inf"}, single.asinh},
		{"acosh32", condition{greaterEqual, "one"}, condition{less, "inf"}, single.acosh},
		{"atanh32", condition{}, condition{less, "one"}, single.atanh},
	} {
		begin(f.name).partly(f)
	}
	v := begin("atan2_32")
	prefix2(v.floats, 4, func(dst, y, x operand.Mem) { v.c.VMOVUPS(v.atan2(v.load(y), v.load(x)), dst) })
	for _, f := range []logarithm{
		{"log32", condition{greaterEqual, "normal"}, condition{less, "inf"}, single.log},
		{"log2_32", condition{greaterEqual, "normal"}, condition{less, "inf"}, single.log2},
		{"log10_32", condition{greaterEqual, "normal"}, condition{less, "inf"}, single.log10},
		{"log1p32", condition{greater, "minusOne"}, condition{less, "log1pFar"}, single.log1p},
	} {
		begin(f.name).logarithm(f)
	}
}

// group returns the number of vectors that are computed together. Their instructions are interleaved.
func (v single) group() int {
	if v.wide {
		return 2
	}
	return 1
}

// several writes a function of all numbers.
func (v single) several(of func(v single, x vector) vector) {
	n := v.group()
	prefix(v.floats, 4, n, func(dst, x operand.Mem) {
		asm.Interleave(v.c, n, func(i int) {
			at := i * v.bytes()
			v.c.VMOVUPS(of(v, v.load(x.Offset(at))), dst.Offset(at))
		})
	})
}

// partial is a function of the numbers for which low holds, or all if it is empty, and high holds for the absolute value.
type partial struct {
	name      string
	low, high condition
	of        func(v single, x vector) vector
}

// partly writes a function that stops before a group with an element for which a condition does not hold.
func (v single) partly(f partial) {
	n := v.group()
	x := make([]vector, n)
	prefix(v.floats, 4, n, func(dst, from operand.Mem) {
		var inside []operand.Op
		for i := range n {
			x[i] = v.load(from.Offset(i * v.bytes()))
			inside = append(inside, v.compare(f.high, v.and(x[i], v.k("abs"))))
			if f.low.constant != "" {
				inside = append(inside, v.compare(f.low, x[i]))
			}
		}
		v.outUnlessAll(v.all(inside))
		asm.Interleave(v.c, n, func(i int) { v.c.VMOVUPS(f.of(v, x[i]), dst.Offset(i*v.bytes())) })
	})
}

// between returns x, but at least low and at most high. NaN stays NaN.
func (v single) between(x vector, low, high string) vector {
	return v.min(v.load(v.k(high)), v.max(v.load(v.k(low)), x))
}

func (v single) exp2(x vector) vector {
	x = v.between(x, "exp2Low", "exp2High")
	t := v.add(x, v.k("shifter"))
	n := v.sub(t, v.k("shifter"))
	r := v.sub(x, n)
	p := v.horner("exp2", 6, r)
	v.fma213(p, r, v.k("one"))
	if v.wide {
		y := v.register()
		v.c.VSCALEFPS(n, p, y)
		return y
	}
	p = v.add(p, p)
	small := v.compare(condition{less, "exp2Normal"}, x)
	b := v.blend(small, v.load(v.k("bias190")), v.load(v.k("bias126")))
	p = v.mul(p, v.shiftLeft(v.addInt(t, b), 23))
	return v.blend(small, v.mul(p, v.k("scale64")), p)
}

// reduceExp overwrites x.
func (v single) reduceExp(x vector) (t, r, n vector) {
	t = v.copy(x)
	v.fma213(t, v.load(v.k("log2e")), v.k("shifter"))
	n = v.sub(t, v.k("shifter"))
	v.lessProduct(x, n, v.k("ln2High"))
	r = v.copy(x)
	v.lessProduct(r, n, v.k("ln2Low"))
	return t, r, n
}

// halfPower returns 2^(n-1), where n is the integer in the low bits of t.
func (v single) halfPower(t vector) vector { return v.shiftLeft(v.addInt(t, v.k("bias126")), 23) }

// halfExpm1 overwrites its argument.
func (v single) halfExpm1(x vector) (high, low vector) {
	t, r, n := v.reduceExp(x)
	rest := v.sub(x, r)
	v.lessProduct(rest, n, v.k("ln2Low"))
	small := v.horner("expm1", 6, r)
	v.fma213(small, v.mul(r, r), rest)
	s := v.halfPower(t)
	u := v.sub(s, v.k("half"))
	high = v.copy(u)
	v.plusProduct(high, s, r)
	low = v.sub(u, high)
	v.plusProduct(low, s, r)
	low = v.add(low, v.sub(v.sub(s, u), v.k("half")))
	v.plusProduct(low, s, small)
	return high, low
}

func (v single) expm1(x vector) vector {
	y := v.add(v.halfExpm1(v.between(x, "expm1Low", "expm1High")))
	return v.choose(condition{less, "expm1Tiny"}, v.and(x, v.k("abs")), x, v.add(y, y))
}

func (v single) tanh(x vector) vector {
	a := v.and(x, v.k("abs"))
	z := v.mul(a, a)
	near := v.horner("tanh", 6, z)
	v.fma213(near, v.mul(z, a), a)
	w := v.min(v.load(v.k("tanhHigh")), v.add(a, a))
	t, r, _ := v.reduceExp(w)
	p := v.horner("expm1", 6, r)
	v.fma213(p, v.mul(r, r), r)
	s := v.halfPower(t)
	u := v.add(s, v.k("half"))
	d := v.copy(u)
	v.plusProduct(d, s, p)
	d1 := v.sub(u, d)
	v.plusProduct(d1, s, p)
	one := v.load(v.k("one"))
	w = v.div(one, d)
	rest := v.copy(one)
	v.lessProduct(rest, w, d)
	v.lessProduct(rest, w, d1)
	y := v.sub(one, w)
	low := v.sub(v.sub(one, y), w)
	v.lessProduct(low, rest, w)
	y = v.choose(condition{less, "tanhNear"}, a, near, v.add(y, low))
	return v.copySign(y, x)
}
