package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// smooth64 writes the float64 functions for vectors of four or eight elements. A method performs the operations of the Go
// function of the same name in the same order, so the results have the same bits.
type smooth64 struct{ fused }

// smooth64Constants are the names of the constants in smooth64Table, polynomials highest coefficient first, those of estrin lowest.
var smooth64Constants = constantsOf(`one two half abs sign zero inf bias log2e shifter ln2High ln2Low exp*10
	expMax expm1Low expm1High tanhHigh normal split two52 unbias log*7 minusOne log1pUp scales inverse*3
	mantissa erfMax logErfc logErfcRest erfR*11 erfG*19 erfMid
	rootHalf ln2 ln2Rest minusHalf logSplit logFrom powSplit powFrom powLog*8
	binaryTwo binaryTwoLow binaryE binaryELow binary*9 decimalTwo decimalTwoLow decimalE decimalELow decimal*9
	cbrtStart cbrtMask third twoThirds fiveNinths cbrt*4
	tiny hyperbolicFar quarterPi trigLimit twoOverPi halfPi*3 cancelled unit sin*7 cos*7
	normal32 pow32Log*6 pow32Exp*7 pow32High pow32Low nan`)

// smooth64Loops writes the functions with AVX2 and with AVX-512.
func smooth64Loops(c *build.Context) {
	smooth64Functions(c, false, "AVX2")
	smooth64Functions(c, true, "AVX512")
}

func smooth64Functions(c *build.Context, wide bool, suffix string) {
	begin := func(name string) smooth64 {
		asm.Function(c, name+suffix)
		return smooth64{fused{floats{c: c, wide: wide, table: asm.Variable(c, "smooth64Table"), constants: smooth64Constants}}}
	}
	for _, f := range []mapping[smooth64]{
		{"exp64", smooth64.exp},
		{"expm164", smooth64.expm1},
		{"log64", smooth64.log},
		{"log1p64", smooth64.log1p},
		{"tanh64", smooth64.tanh},
		{"erf64", smooth64.erf},
		{"exp2_64", smooth64.exp2},
		{"log2_64", smooth64.log2},
		{"log10_64", smooth64.log10},
		{"cbrt64", smooth64.cbrt},
		{"sinh64", smooth64.sinh},
		{"cosh64", smooth64.cosh},
		{"asinh64", smooth64.asinh},
		{"acosh64", smooth64.acosh},
		{"atanh64", smooth64.atanh},
		{"sin64", smooth64.sin},
		{"cos64", smooth64.cos},
		{"tan64", smooth64.tan},
	} {
		v := begin(f.name)
		prefix(v.floats, 8, 1, func(dst, x operand.Mem) { v.c.VMOVUPD(f.of(v, v.load(x)), dst) })
	}
	v := begin("pow64")
	prefix2(v.floats, 8, func(dst, x, y operand.Mem) { v.c.VMOVUPD(v.pow(v.load(x), v.load(y)), dst) })
	v = begin("remainder64")
	prefix2(v.floats, 8, func(dst, x, y operand.Mem) { v.c.VMOVUPD(v.remainder(v.load(x), v.load(y)), dst) })
	v = begin("floorDivide64")
	prefix2(v.floats, 8, func(dst, x, y operand.Mem) { v.c.VMOVUPD(v.floorDivide(v.load(x), v.load(y)), dst) })
	v = begin("pow32")
	prefix2(v.floats, 4, func(dst, x, y operand.Mem) { v.storeFloats(v.pow32(v.loadFloats(x), v.loadFloats(y)), dst) })
}

func (v smooth64) exp(x vector) vector {
	v.outUnless(condition{lessEqual, "expMax"}, v.and(x, v.k("abs")))
	return v.expParts(v.copy(x), v.zero())
}

// reduceExp overwrites its arguments.
func (v smooth64) reduceExp(x, rest vector) (t, r, low vector) {
	t = v.load(v.k("log2e"))
	v.fma213(t, x, v.k("shifter"))
	n := v.sub(t, v.k("shifter"))
	v.lessProduct(x, n, v.k("ln2High"))
	v.lessProduct(rest, n, v.k("ln2Low"))
	r = v.add(x, rest)
	return t, r, v.sub(rest, v.sub(r, x))
}

// cubic returns the polynomial of r, and z = r^2.
func (v smooth64) cubic(r vector) (p, z vector) {
	z = v.mul(r, r)
	return v.alternate("exp", 10, r, z), z
}

// expParts computes e^(x + rest) in parts, and overwrites its arguments.
func (v smooth64) expParts(x, rest vector) vector {
	t, r, low := v.reduceExp(x, rest)
	v.fma213(low, r, low)
	p, z := v.cubic(r)
	v.fma213(p, r, v.k("half"))
	v.fma213(p, z, low)
	power := v.powerOf(t)
	return v.mul(v.add(v.add(p, r), v.k("one")), power)
}

func (v smooth64) powerOf(t vector) vector { return v.shiftLeft(v.addInt(t, v.k("bias")), 52) }

// expm1Sum overwrites its argument.
func (v smooth64) expm1Sum(x vector) (high, low vector) {
	t, r, low := v.reduceExp(x, v.zero())
	q, z := v.cubic(r)
	zr := v.mul(z, r)
	down := v.shiftLeft(v.subInt(v.load(v.k("bias")), t), 52)
	one := v.load(v.k("one"))
	c := v.sub(one, down)
	c1 := v.sub(v.sub(one, c), down)
	half := v.mul(r, v.k("half"))
	h := v.mul(half, r)
	v.fms213(half, r, h) // h1
	a := v.add(c, r)
	a1 := v.add(v.sub(c, a), r)
	b := v.add(a, h)
	b1 := v.add(v.sub(a, b), h)
	v.fma213(q, zr, half)
	v.fma213(low, r, low)
	small := v.add(q, v.add(v.add(v.add(a1, b1), c1), low))
	y := v.add(b, small)
	y1 := v.add(v.sub(b, y), small)
	up := v.powerOf(t)
	return v.mul(y, up), v.mul(y1, up)
}

func (v smooth64) expm1(x vector) vector {
	v.outUnless(condition{lessEqual, "expm1High"}, x)
	high, _ := v.expm1Sum(v.max(x, v.load(v.k("expm1Low"))))
	return v.copySign(high, x)
}

func (v smooth64) tanh(x vector) vector {
	a := v.and(x, v.k("abs"))
	a = v.add(a, a)
	m, m1 := v.expm1Sum(v.min(v.load(v.k("tanhHigh")), a)) // NaN if a is NaN
	d := v.add(m, v.k("two"))
	back := v.sub(d, m)
	d1 := v.sub(m, v.sub(d, back))
	d1 = v.add(d1, v.sub(v.load(v.k("two")), back))
	d1 = v.add(d1, m1)
	w := v.div(v.load(v.k("one")), d)
	q := v.mul(m, w)
	v.lessProduct(m, q, d)
	v.lessProduct(m1, q, d1)
	v.plusProduct(q, v.add(m, m1), w)
	return v.copySign(q, x)
}

// logParts also returns d = f + 2, which is as exact when computed from 1 + f, and the exponent bits of n.
func (v smooth64) logParts(x vector) (n, f, d, exponent vector) {
	b := v.addInt(x, v.k("split"))
	exponent = v.shiftRight(b, 52)
	n = v.sub(v.or(exponent, v.k("two52")), v.k("unbias"))
	f = v.addInt(v.and(b, v.k("mantissa")), v.k("rootHalf"))
	d = v.add(f, v.k("one"))
	return n, v.sub(f, v.k("one")), d, exponent
}

// log64 returns n log 2 + log(1 + f), to which rest adds. d is f + 2.
func (v smooth64) log64(n, f, d vector, rest func(low vector)) vector {
	s := v.div(f, d)
	half := v.mul(f, v.k("half"))
	h := v.mul(half, f)
	z := v.mul(s, s)
	p := v.alternate("log", 7, z, v.mul(z, z))
	v.fma213(p, z, h) // h + R
	e := v.copy(f)
	v.lessProduct(e, half, f)
	e1 := v.sub(f, e)
	v.lessProduct(e1, half, f)
	a := v.mul(n, v.k("ln2High"))
	sum := v.add(a, e)
	low := v.add(v.add(v.sub(a, sum), e), e1)
	v.plusProduct(low, n, v.k("ln2Low"))
	rest(low)
	v.plusProduct(low, s, p)
	return v.add(sum, low)
}

// log supports positive finite normal numbers.
func (v smooth64) log(x vector) vector {
	v.outUnlessBoth(condition{greaterEqual, "normal"}, condition{less, "inf"}, x)
	n, f, d, _ := v.logParts(x)
	return v.log64(n, f, d, func(vector) {})
}

// log1p supports numbers between -1 and log1pUp.
func (v smooth64) log1p(x vector) vector {
	v.outUnlessBoth(condition{greater, "minusOne"}, condition{less, "log1pUp"}, x)
	return v.copySign(v.log1pOf(x), x)
}

// log1pOf returns log(1 + x). The sign of a zero is not that of x.
func (v smooth64) log1pOf(x vector) vector { return v.logOfSum(v.onePlus(x)) }

// onePlus returns 1 + x as a sum of two numbers.
func (v smooth64) onePlus(x vector) (u, c vector) {
	u = v.add(x, v.k("one"))
	back := v.sub(u, v.k("one"))
	c = v.sub(x, back)
	back = v.sub(u, back)
	return u, v.add(c, v.sub(v.load(v.k("one")), back))
}

// logOfSum returns log(u + c), where c is small beside u.
func (v smooth64) logOfSum(u, c vector) vector {
	n, f, d, exponent := v.logParts(u)
	scale := v.subInt(v.load(v.k("scales")), v.shiftLeft(exponent, 52))
	c = v.mul(c, scale)
	w := v.load(v.k("inverse"))
	v.fma213(w, f, v.ki("inverse", 1))
	v.fma213(w, f, v.ki("inverse", 2))
	v.fma213(w, f, v.k("one"))
	c = v.mul(c, w)
	return v.log64(n, f, d, func(low vector) { v.c.VADDPD(c, low, low) })
}

func (v smooth64) erf(x vector) vector {
	a := v.and(x, v.k("abs"))
	z := v.mul(a, a)
	b := v.sub(v.min(v.load(v.k("erfMax")), a), v.k("one")) // NaN if a is NaN
	far := v.alternate("erfG", 19, b, v.mul(b, b))
	near := v.alternate("erfR", 11, z, v.mul(z, z))
	v.fma213(near, x, x)
	p := v.mul(far, b)
	g, g1 := v.sumOf("logErfc", p)
	y := v.sub(v.load(v.k("one")), v.expParts(g, v.add(g1, v.k("logErfcRest"))))
	return v.choose(condition{less, "erfMid"}, a, near, v.copySign(y, x))
}

// sumOf returns a constant + x as a sum of two numbers.
func (v smooth64) sumOf(name string, x vector) (sum, rest vector) {
	k := v.load(v.k(name))
	sum = v.add(k, x)
	return sum, v.add(v.sub(k, sum), x)
}
