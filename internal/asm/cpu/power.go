package cpu

import "github.com/mmcloughlin/avo/operand"

// pow is for finite x whose absolute value is normal, and a normal result.
func (v smooth64) pow(x, y vector) vector {
	a := v.and(x, v.k("abs"))
	v.outUnlessBoth(condition{greaterEqual, "normal"}, condition{less, "inf"}, a)
	high, low := v.logSum(a)
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

// exp2 is for a normal result. The Go function computes those of integers exactly, and so does this.
func (v smooth64) exp2(x vector) vector {
	high, low := v.product(x, v.load(v.k("ln2")))
	v.outUnless(condition{lessEqual, "expMax"}, v.and(high, v.k("abs")))
	v.plusProduct(low, x, v.k("ln2Rest"))
	return v.expParts(high, low)
}
