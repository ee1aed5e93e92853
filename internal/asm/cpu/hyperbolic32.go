package cpu

import "github.com/mmcloughlin/avo/operand"

func (v single) hyperbolicParts(a vector) (up, down, r, sinhSmall, coshSmall vector) {
	a = v.min(v.load(v.k("hyperbolicHigh")), a)
	t, r, n := v.reduceExp(a)
	rest := v.sub(a, r)
	v.lessProduct(rest, n, v.k("ln2Low"))
	up = v.shiftLeft(v.addInt(t, v.k("bias125")), 23)
	down = v.max(v.subInt(v.load(v.k("bits250")), up), v.zero())
	z := v.mul(r, r)
	sinhSmall = v.horner("sinh", 3, z)
	v.fma213(sinhSmall, v.mul(z, r), rest)
	return up, down, r, sinhSmall, v.mul(v.horner("cosh", 3, z), z)
}

func (v single) sinh(x vector) vector {
	up, down, r, s, c := v.hyperbolicParts(v.and(x, v.k("abs")))
	difference, sum := v.sub(up, down), v.add(up, down)
	v.fma213(c, difference, v.sub(v.sub(up, difference), down))
	v.fma213(s, sum, c)
	return v.unlessTiny(v.copySign(v.twice(difference, sum, r, s), x), x, "hyperbolicTiny")
}

func (v single) cosh(x vector) vector {
	up, down, r, s, c := v.hyperbolicParts(v.and(x, v.k("abs")))
	difference, sum := v.sub(up, down), v.add(up, down)
	v.fma213(c, sum, v.add(v.sub(up, sum), down))
	v.fma213(s, difference, c)
	return v.twice(sum, difference, r, s)
}

func (v single) twice(a, b, r, small vector) vector {
	h := v.copy(a)
	v.plusProduct(h, b, r)
	low := v.sub(a, h)
	v.plusProduct(low, b, r)
	y := v.add(h, v.add(low, small))
	return v.add(y, y)
}

// nearZero returns a + a^3 P(a^2), where P is a polynomial with n coefficients.
func (v single) nearZero(coefficients string, n int, a vector) vector {
	z := v.mul(a, a)
	p := v.horner(coefficients, n, z)
	v.fma213(p, v.mul(z, a), a)
	return p
}

// asinh is for finite numbers.
func (v single) asinh(x vector) vector {
	a := v.and(x, v.k("abs"))
	one := v.load(v.k("one"))
	w := v.copy(one)
	v.plusProduct(w, a, a)
	s, rest := v.rootOf(w)
	u := v.add(a, s)
	c := v.add(v.sub(s, u), a)
	n, f, shift, below := v.doubledLogParts(a, u)
	inverse := v.sub(f, one)
	v.fma213(inverse, f, one)
	inverse = v.mul(inverse, v.subInt(one, shift))
	v.fma213(rest, inverse, c)
	y := v.logOfParts(n, f, v.blend(below, v.mul(rest, inverse), v.zero()))
	y = v.choose(condition{less, "asinhNear"}, a, v.nearZero("asinh", 8, a), y)
	return v.copySign(y, x)
}

// rootOf returns the square root of w, and what is left of w.
func (v single) rootOf(w vector) (s, rest vector) {
	s, rest = v.sqrt(w), v.copy(w)
	v.lessProduct(rest, s, s)
	return s, rest
}

// doubledLogParts returns the parts of the logarithm of u where a is below arcFar, as the mask says, and elsewhere those of 2 a.
func (v single) doubledLogParts(a, u vector) (n, f, shift vector, below operand.Op) {
	below = v.compare(condition{less, "arcFar"}, a)
	n, f, shift = v.logParts(v.blend(below, u, a))
	return v.blend(below, n, v.add(n, v.k("one"))), f, shift, below
}

func (v single) logOfParts(n, f, e vector) vector {
	small := v.copy(e)
	v.plusProduct(small, n, v.k("ln2Low"))
	return v.sumOfThree(v.mul(n, v.k("ln2High")), f, v.logSmall("log", f, v.mul(f, f), small))
}

// acosh is for finite numbers from 1.
func (v single) acosh(x vector) vector {
	w := v.load(v.k("minusOne"))
	v.plusProduct(w, x, x)
	s, rest := v.rootOf(w)
	u := v.add(x, s)
	c := v.add(v.sub(x, u), s)
	n, f, shift, below := v.doubledLogParts(x, u)
	c = v.add(c, v.div(v.mul(rest, v.k("half")), v.max(s, v.k("arcLeast"))))
	e := v.mul(c, v.subInt(v.load(v.k("one")), shift))
	g := v.copy(f)
	v.fms213(g, f, f)
	v.fma213(g, e, e)
	return v.logOfParts(n, f, v.blend(below, g, v.zero()))
}

// atanh is for numbers between -1 and 1.
func (v single) atanh(x vector) vector {
	a := v.and(x, v.k("abs"))
	one := v.load(v.k("one"))
	d, s := v.sub(one, a), v.add(one, a)
	rest := v.add(v.sub(one, s), a)
	q := v.div(s, d)
	n, f, _ := v.logParts(q)
	e := v.copy(s)
	v.lessProduct(e, q, d)
	v.fma213(s, v.load(v.k("minusThird")), v.k("sevenSixths"))
	y := v.logOfParts(n, f, v.mul(v.add(e, rest), s))
	y = v.choose(condition{less, "half"}, a, v.nearZero("atanh", 6, a), v.mul(y, v.k("half")))
	return v.copySign(y, x)
}
