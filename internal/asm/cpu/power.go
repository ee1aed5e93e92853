package cpu

import "github.com/mmcloughlin/avo/operand"

// pow is for finite x whose absolute value is normal, and a normal result.
func (v smooth64) pow(x, y vector) vector {
	a := v.and(x, v.k("abs"))
	v.outUnlessBoth(condition{greaterEqual, "normal"}, condition{less, "inf"}, a)
	high, low := v.logSum(v.logParts(a))
	p, rest := v.product(y, high)
	v.plusProduct(rest, y, low)
	v.outUnless(condition{lessEqual, "expMax"}, v.and(p, v.k("abs")))
	power := v.expParts(p, rest)
	v.ofNegatives(power, x, y)
	return power
}

// pow32 is for float32 that are finite, where the absolute value of x is a normal float32.
func (v smooth64) pow32(x, y vector) vector {
	a := v.and(x, v.k("abs"))
	v.outUnlessBoth(condition{greaterEqual, "normal32"}, condition{less, "inf"}, a)
	v.outUnless(condition{less, "inf"}, v.and(y, v.k("abs")))
	n, f, d, _ := v.logParts(a)
	s := v.div(f, d)
	p := v.horner("pow32Log", 6, v.mul(s, s))
	v.fma213(p, s, n)
	p = v.max(v.load(v.k("pow32Low")), v.min(v.load(v.k("pow32High")), v.mul(p, y)))
	t := v.add(p, v.k("shifter"))
	r := v.sub(p, v.sub(t, v.k("shifter")))
	q := v.horner("pow32Exp", 7, r)
	v.fma213(q, r, v.k("one"))
	power := v.mul(q, v.powerOf(t))
	v.ofNegatives(power, x, y)
	return power
}

// ofNegatives turns |x|^y into x^y: it is NaN if x is negative and y no integer, and negative if y is odd.
func (v smooth64) ofNegatives(power, x, y vector) {
	negative := v.signs(x)
	bits := v.bits(negative)
	v.c.TESTL(bits, bits)
	v.c.JE(operand.LabelRef("positive"))
	half := v.mul(y, v.k("half"))
	even := v.compare(condition{equal, "zero"}, v.fraction(half))
	p := v.xor(power, v.blend(even, v.zero(), v.load(v.k("sign"))))
	integer := v.compare(condition{equal, "zero"}, v.fraction(y))
	p = v.blend(integer, p, v.load(v.k("nan")))
	v.c.VMOVAPD(v.blend(negative, p, power), power)
	v.c.Label("positive")
}

// fraction returns x minus the integer that it is truncated to.
func (v smooth64) fraction(x vector) vector {
	return v.sub(x, v.round(x, 0b1011)) // without an exception
}

// product returns a b as a sum of two numbers.
func (v smooth64) product(a, b vector) (high, low vector) {
	high = v.mul(a, b)
	low = v.copy(a)
	v.fms213(low, b, high)
	return high, low
}

// logSum takes the results of logParts.
func (v smooth64) logSum(n, f, d, _ vector) (high, low vector) {
	s, s1 := v.quotient(f, d)
	z, z1 := v.product(s, s)
	s2 := v.add(s, s)
	v.plusProduct(z1, s2, s1)
	twoS1 := v.add(s1, s1)
	t, t1 := v.series(z, z1)
	// 2s (1 + t)
	g, g1 := v.product(s2, t)
	v.plusProduct(g1, s2, t1)
	v.plusProduct(g1, twoS1, t)
	a := v.mul(n, v.k("ln2High"))
	sum := v.add(a, s2)
	rest := v.add(v.sub(a, sum), s2)
	high = v.add(sum, g)
	rest = v.add(rest, v.add(v.sub(sum, high), g))
	g1 = v.add(g1, twoS1)
	v.plusProduct(g1, n, v.k("ln2Low"))
	return high, v.add(rest, g1)
}

// quotient returns f/(f + 2) as a sum of two numbers, where d is the rounded f + 2. It overwrites f.
func (v smooth64) quotient(f, d vector) (s, s1 vector) {
	d1 := v.sub(f, v.sub(d, v.k("two")))
	r := v.div(v.load(v.k("one")), d)
	s = v.mul(f, r)
	v.lessProduct(f, s, d)
	v.lessProduct(f, s, d1)
	return s, v.mul(f, r)
}

// series returns t = z (1/3 + z (1/5 + z p/2)), from the inside out as sums of two numbers.
func (v smooth64) series(z, z1 vector) (t, t1 vector) {
	p := v.alternate("pow", 8, z, v.mul(z, z))
	e := v.mul(v.mul(z, v.k("half")), p)
	u := v.add(e, v.k("fifth"))
	u1 := v.add(v.add(v.sub(v.load(v.k("fifth")), u), e), v.k("fifthRest"))
	w, w1 := v.product(z, u)
	v.plusProduct(w1, z, u1)
	v.plusProduct(w1, z1, u)
	y := v.add(w, v.k("third"))
	y1 := v.add(v.sub(v.load(v.k("third")), y), w)
	y1 = v.add(y1, v.add(w1, v.k("thirdRest")))
	t, t1 = v.product(z, y)
	v.plusProduct(t1, z, y1)
	v.plusProduct(t1, z1, y)
	return t, t1
}

// exp2 is for a normal result. The Go function computes those of integers exactly, and so does this.
func (v smooth64) exp2(x vector) vector {
	high, low := v.product(x, v.load(v.k("ln2")))
	v.outUnless(condition{lessEqual, "expMax"}, v.and(high, v.k("abs")))
	v.plusProduct(low, x, v.k("ln2Rest"))
	return v.expParts(high, low)
}

func (v smooth64) log2(x vector) vector { return v.logTo(x, "inverseLn2", "inverseLn2Rest") }

func (v smooth64) log10(x vector) vector { return v.logTo(x, "inverseLn10", "inverseLn10Rest") }

// logTo is for positive finite normal numbers.
func (v smooth64) logTo(x vector, scale, rest string) vector {
	v.outUnlessBoth(condition{greaterEqual, "normal"}, condition{less, "inf"}, x)
	high, low := v.logSum(v.logParts(x))
	p, p1 := v.product(high, v.load(v.k(scale)))
	v.plusProduct(p1, low, v.k(scale))
	v.plusProduct(p1, high, v.k(rest))
	return v.add(p, p1)
}
