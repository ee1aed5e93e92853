package cpu

func (v single) cbrt(x vector) vector {
	a := v.and(x, v.k("abs"))
	small := v.compare(condition{less, "cbrtSmall"}, a)
	u := v.blend(small, v.mul(a, v.k("cbrtUp")), a)
	bits := v.register()
	v.c.VCVTDQ2PS(u, bits)
	bits = v.mul(bits, v.k("third"))
	v.c.VCVTTPS2DQ(bits, bits)
	r := v.subInt(v.load(v.k("cbrtStart")), bits)
	third := v.load(v.k("third"))
	e := v.cubeRest(u, r)
	p := v.load(v.k("twoNinths"))
	v.fma213(p, e, third)
	e = v.mul(r, e)
	v.plusProduct(r, e, p)
	v.plusProduct(r, v.mul(r, v.cubeRest(u, r)), third)
	w := v.mul(r, r)
	y := v.mul(u, w)
	square := v.mul(y, y)
	low := v.copy(y)
	v.fms213(low, y, square)
	rest := v.copy(u)
	v.lessProduct(rest, square, y)
	v.lessProduct(rest, low, y)
	v.plusProduct(y, rest, v.mul(w, third))
	y = v.blend(small, v.mul(y, v.k("cbrtDown")), y)
	return v.copySign(v.blend(v.both(condition{greater, "zero"}, condition{less, "inf"}, a), y, a), x)
}

// cubeRest returns 1 - u r^3.
func (v single) cubeRest(u, r vector) vector {
	e := v.load(v.k("one"))
	v.lessProduct(e, u, v.mul(v.mul(r, r), r))
	return e
}
