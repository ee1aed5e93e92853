package cpu

import "github.com/mmcloughlin/avo/operand"

// cbrt supports zeros, for which its steps give 0, and finite normal numbers.
func (v smooth64) cbrt(x vector) vector {
	a := v.and(x, v.k("abs"))
	v.outUnlessBoth(condition{greaterEqual, "normal"}, condition{less, "inf"}, v.choose(condition{equal, "zero"}, a, v.load(v.k("one")), a))
	r := v.subInt(v.load(v.k("cbrtStart")), v.product32(v.shiftRight(a, 32), "third"))
	e := v.load(v.k("one"))
	v.lessProduct(e, v.mul(a, r), v.mul(r, r))
	p := v.estrin("cbrt", 4, e)
	v.plusProduct(r, v.mul(r, e), p)
	r = v.and(r, v.k("cbrtMask"))
	t, low := v.product(a, v.mul(r, r))
	e = v.load(v.k("one"))
	v.lessProduct(e, t, r)
	v.lessProduct(e, low, r)
	c := v.load(v.k("fiveNinths"))
	v.fma213(c, e, v.k("twoThirds"))
	rest := v.mul(t, e)
	v.fma213(rest, c, low)
	return v.or(v.add(t, rest), v.and(x, v.k("sign")))
}

// product32 returns products of 64 bits of the lower 32 bits of elements and a constant.
func (v smooth64) product32(x vector, name string) vector {
	return v.apply(instruction{plain: func(o ...operand.Op) { v.c.VPMULUDQ(o[0], o[1], o[2]) }}, x, v.load(v.k(name)))
}
