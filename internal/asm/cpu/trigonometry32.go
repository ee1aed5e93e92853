package cpu

import "github.com/mmcloughlin/avo/operand"

// sin, cos and tan are for numbers up to trigLimit.

func (v single) sin(x vector) vector {
	sin, cos, quarter := v.sinAndCos(x)
	return v.unlessTiny(v.inQuarter(sin, cos, quarter), x, "trigTiny")
}

func (v single) cos(x vector) vector {
	sin, cos, quarter := v.sinAndCos(x)
	return v.inQuarter(sin, cos, v.addInt(quarter, v.k("unit")))
}

// unlessTiny returns y, or x where its absolute value is below a constant.
func (v single) unlessTiny(y, x vector, tiny string) vector {
	return v.choose(condition{less, tiny}, v.and(x, v.k("abs")), x, y)
}

// sinAndCos returns the sine and cosine of x - q pi/2 for an integer q near 2x/pi. The low bits of quarter are those of q.
func (v single) sinAndCos(x vector) (sin, cos, quarter vector) {
	r, low, quarter := v.reduceHalfPi(x)
	z := v.mul(r, r)
	sin = v.horner("sin", 4, z)
	v.fma213(sin, v.mul(z, r), low)
	cos = v.horner("cos", 3, z)
	half := v.mul(z, v.k("half"))
	one := v.load(v.k("one"))
	w := v.sub(one, half)
	rest := v.sub(v.sub(one, w), half)
	v.lessProduct(rest, r, low)
	v.fma213(cos, v.mul(z, z), rest)
	return v.add(r, sin), v.add(w, cos), quarter
}

func (v single) reduceHalfPi(x vector) (r, low, quarter vector) {
	quarter = v.copy(x)
	v.fma213(quarter, v.load(v.k("twoOverPi")), v.k("shifter"))
	n := v.sub(quarter, v.k("shifter"))
	a := v.copy(x)
	v.lessProduct(a, n, v.k("halfPiA"))
	b := v.mul(n, v.k("halfPiB"))
	r = v.sub(a, b)
	low = v.sub(v.sub(a, r), b)
	rest := v.copy(n)
	v.fms213(rest, v.load(v.k("halfPiB")), b)
	low = v.sub(low, rest)
	v.lessProduct(low, n, v.k("halfPiC"))
	return r, low, quarter
}

func (v single) tan(x vector) vector {
	s, low, quarter := v.reduceHalfPi(x)
	r := v.add(s, low)
	low = v.add(v.sub(s, r), low)
	z := v.mul(r, r)
	small := v.horner("tan", 7, z)
	rest := v.copy(low)
	v.fma213(rest, z, low)
	v.fma213(small, v.mul(z, r), rest)
	y := v.add(r, small)
	rest = v.add(v.sub(r, y), small)
	one := v.load(v.k("one"))
	w := v.div(one, y)
	v.lessProduct(one, w, y)
	v.lessProduct(one, w, rest)
	v.fma213(one, w, w)
	y = v.blend(v.odd(quarter), v.xor(one, v.k("sign")), y)
	return v.unlessTiny(y, x, "trigTiny")
}

func (v single) atan(x vector) vector {
	a := v.and(x, v.k("abs"))
	far := v.compare(condition{greater, "one"}, a)
	y := v.blend(far, v.div(v.load(v.k("minusOne")), v.min(v.load(v.k("atanFar")), a)), a)
	zero := v.zero()
	base := v.blend(far, v.load(v.k("halfPi")), zero)
	rest := v.blend(far, v.load(v.k("halfPiRest")), zero)
	return v.copySign(v.aboveBase("atan", 9, v.mul(y, y), base, y, rest), x)
}

// atan2 is for points other than (0, 0) whose coordinates have a finite sum.
func (v single) atan2(y, x vector) vector {
	a, b := v.and(x, v.k("abs")), v.and(y, v.k("abs"))
	v.outUnlessBoth(condition{greater, "zero"}, condition{less, "inf"}, v.add(a, b))
	t := v.div(v.min(a, b), v.max(a, b))
	left, above := v.signs(x), v.compare(condition{greater, "zero"}, v.sub(b, a))
	zero := v.zero()
	base := v.blend(above, v.load(v.k("halfPi")), v.blend(left, v.load(v.k("pi")), zero))
	rest := v.blend(above, v.load(v.k("halfPiRest")), v.blend(left, v.load(v.k("piRest")), zero))
	turned := v.xor(v.and(x, v.k("sign")), v.blend(above, v.load(v.k("sign")), zero))
	t = v.xor(t, turned)
	return v.copySign(v.aboveBase("atan", 9, v.mul(t, t), base, t, rest), y)
}

// aboveBase returns base + y + rest + z y P(z), where P is a polynomial with n coefficients.
func (v single) aboveBase(coefficients string, n int, z, base, y, rest vector) vector {
	p := v.horner(coefficients, n, z)
	v.fma213(p, v.mul(z, y), rest)
	return v.sumOfThree(base, y, p)
}

// rootParts returns near and the square of x where |x| is at most 1/2. Where it is larger, as the mask says, z is (1 - |x|)/2 and y
// twice its square root, with the sign bit of sign.
func (v single) rootParts(x, sign, near vector) (far operand.Op, z, y vector) {
	a := v.and(x, v.k("abs"))
	far = v.compare(condition{greater, "half"}, a)
	z = v.blend(far, v.mul(v.sub(v.load(v.k("one")), a), v.k("half")), v.mul(a, a))
	s := v.sqrt(z)
	return far, z, v.blend(far, v.or(v.add(s, s), sign), near)
}

func (v single) asin(x vector) vector {
	far, z, y := v.rootParts(x, v.load(v.k("sign")), v.and(x, v.k("abs")))
	zero := v.zero()
	base := v.blend(far, v.load(v.k("halfPi")), zero)
	rest := v.blend(far, v.load(v.k("halfPiRest")), zero)
	return v.copySign(v.aboveBase("asin", 5, z, base, y, rest), x)
}

func (v single) acos(x vector) vector {
	far, z, y := v.rootParts(x, v.and(x, v.k("sign")), v.xor(x, v.k("sign")))
	negative := v.signs(x)
	zero := v.zero()
	base := v.blend(far, v.blend(negative, v.load(v.k("pi")), zero), v.load(v.k("halfPi")))
	rest := v.blend(far, v.blend(negative, v.load(v.k("piRest")), zero), v.load(v.k("halfPiRest")))
	return v.aboveBase("asin", 5, z, base, y, rest)
}
