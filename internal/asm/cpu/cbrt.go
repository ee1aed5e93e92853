package cpu

import "github.com/mmcloughlin/avo/operand"

// cbrt supports zeros and finite normal numbers.
func (v smooth64) cbrt(x vector) vector {
	a := v.and(x, v.k("abs"))
	b := v.choose(condition{equal, "zero"}, a, v.load(v.k("one")), a)
	v.outUnlessBoth(condition{greaterEqual, "normal"}, condition{less, "inf"}, b)
	t := v.addInt(v.third(b), v.k("cbrtStart"))
	r := v.div(v.mul(t, t), b)
	s := v.add(v.mul(r, t), v.k("cbrtC"))
	d := v.div(v.load(v.k("cbrtD")), s)
	d = v.add(v.add(s, v.k("cbrtE")), d)
	d = v.div(v.load(v.k("cbrtF")), d)
	t = v.mul(t, v.add(d, v.k("cbrtG")))
	t = v.addInt(v.and(t, v.k("cbrtMask")), v.k("cbrtUp"))
	r = v.div(b, v.mul(t, t))
	r = v.div(v.sub(r, t), v.add(v.add(t, t), r))
	t = v.add(t, v.mul(t, r))
	return v.copySign(v.choose(condition{equal, "zero"}, a, a, t), x)
}

// third returns the bits of x, which is not negative, divided by 3 as an integer. With bits of h 2^31 + l and h = 3q +
// r that is q 2^31 + r (2^31 - 2)/3 + (2r + l)/3. A 32-bit quotient is computed as a product with (2^33 + 1)/3 and a
// shift.
func (v smooth64) third(x vector) vector {
	high := v.shiftRight(x, 31)
	q := v.thirdOf(high)
	r := v.subInt(v.subInt(high, q), v.addInt(q, q))
	low := v.thirdOf(v.addInt(v.and(x, v.k("low31")), v.addInt(r, r)))
	return v.addInt(v.addInt(v.shiftLeft(q, 31), v.product32(r, "thirdOf31")), low)
}

// thirdOf divides 32 bits by 3.
func (v smooth64) thirdOf(x vector) vector { return v.shiftRight(v.product32(x, "thirdOf33"), 33) }

// product32 returns products of 64 bits of the lower 32 bits of elements and a constant.
func (v smooth64) product32(x vector, name string) vector {
	return v.apply(instruction{plain: func(o ...operand.Op) { v.c.VPMULUDQ(o[0], o[1], o[2]) }}, x, v.load(v.k(name)))
}
