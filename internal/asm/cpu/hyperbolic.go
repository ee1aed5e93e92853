package cpu

import "github.com/mmcloughlin/avo/operand"

// sinh supports numbers up to expMax.
func (v smooth64) sinh(x vector) vector {
	a := v.and(x, v.k("abs"))
	v.outUnless(condition{lessEqual, "expMax"}, a)
	e, _ := v.expm1Sum(a)
	y := v.mul(v.add(e, v.div(e, v.add(e, v.k("one")))), v.k("half"))
	return v.unlessTiny(v.copySign(y, x), x)
}

// cosh supports numbers up to expMax.
func (v smooth64) cosh(x vector) vector {
	a := v.and(x, v.k("abs"))
	v.outUnless(condition{lessEqual, "expMax"}, a)
	e := v.expParts(a, v.zero())
	return v.add(v.mul(e, v.k("half")), v.div(v.load(v.k("half")), e))
}

// asinh supports numbers up to hyperbolicFar.
func (v smooth64) asinh(x vector) vector {
	a := v.and(x, v.k("abs"))
	v.outUnless(condition{lessEqual, "hyperbolicFar"}, a)
	near := v.compare(condition{lessEqual, "two"}, a)
	one := v.load(v.k("one"))
	z := v.mul(a, a)
	root := v.copy(one)
	v.plusProduct(root, a, a)
	root = v.sqrt(v.blend(near, v.add(z, one), root))
	q := v.div(v.blend(near, z, one), v.add(root, v.blend(near, one, a)))
	y := v.logOrLog1p(v.add(v.blend(near, a, v.add(a, a)), q), near)
	return v.unlessTiny(v.copySign(y, x), x)
}

// acosh supports numbers from 1 to hyperbolicFar.
func (v smooth64) acosh(x vector) vector {
	v.outUnlessBoth(condition{greaterEqual, "one"}, condition{lessEqual, "hyperbolicFar"}, x)
	near := v.compare(condition{lessEqual, "two"}, x)
	t := v.sub(x, v.k("one"))
	root := v.add(t, t)
	v.plusProduct(root, t, t)
	far := v.load(v.k("minusOne"))
	v.plusProduct(far, x, x)
	root = v.sqrt(v.blend(near, root, far))
	far = v.sub(v.add(x, x), v.div(v.load(v.k("one")), v.add(x, root)))
	return v.logOrLog1p(v.blend(near, v.add(t, root), far), near)
}

// atanh supports numbers between -1 and 1.
func (v smooth64) atanh(x vector) vector {
	a := v.and(x, v.k("abs"))
	v.outUnless(condition{less, "one"}, a)
	near := v.compare(condition{less, "half"}, a)
	twice := v.add(a, a)
	q := v.div(v.blend(near, v.mul(twice, a), twice), v.sub(v.load(v.k("one")), a))
	y := v.log1pOf(v.blend(near, v.add(twice, q), q))
	return v.unlessTiny(v.copySign(v.mul(y, v.k("half")), x), x)
}

// unlessTiny returns y, or x in elements in which x is tiny.
func (v smooth64) unlessTiny(y, x vector) vector {
	return v.choose(condition{less, "tiny"}, v.and(x, v.k("abs")), x, y)
}

// logOrLog1p returns log(1 + x) where a mask is set, and log(x) elsewhere.
func (v smooth64) logOrLog1p(x vector, plus operand.Op) vector {
	u, c := v.onePlus(x)
	return v.logOfSum(v.blend(plus, u, x), v.blend(plus, c, v.zero()))
}
