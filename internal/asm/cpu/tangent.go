package cpu

// tan is for numbers up to trigLimit that are not too near a multiple of pi/2 beyond the first.
func (v smooth64) tan(x vector) vector {
	high, rest, quarter := v.reduceHalfPi(x)
	z := v.mul(high, high)
	sin := v.mul(v.mul(z, high), v.polynomial("sin", 7, z))
	half := v.mul(z, v.k("half"))
	sin = v.add(sin, v.sub(rest, v.mul(half, rest)))
	sin = v.choose(condition{equal, "zero"}, high, high, v.add(high, sin)) // keeps -0
	cos := v.mul(v.mul(z, z), v.polynomial("cos", 7, z))
	cos = v.sub(cos, v.mul(high, rest))
	one := v.load(v.k("one"))
	w := v.sub(one, half)
	cos = v.add(w, v.add(v.sub(v.sub(one, w), half), cos))
	odd := v.shiftLeft(quarter, 63)
	mask := v.signs(odd)
	return v.xor(v.div(v.blend(mask, cos, sin), v.blend(mask, sin, cos)), odd)
}

// reduceHalfPi jumps to "out" where the Go function needs more bits of pi/2.
func (v smooth64) reduceHalfPi(x vector) (high, low, quarter vector) {
	a := v.and(x, v.k("abs"))
	v.outUnless(condition{lessEqual, "trigLimit"}, a)
	quarter = v.add(v.mul(x, v.k("twoOverPi")), v.k("shifter"))
	n := v.sub(quarter, v.k("shifter"))
	r := v.sub(x, v.mul(n, v.k("halfPi")))
	w := v.mul(n, v.ki("halfPi", 1))
	s := v.sub(r, w)
	w3 := v.sub(v.mul(n, v.ki("halfPi", 2)), v.sub(v.sub(r, s), w))
	high = v.sub(s, w3)
	size := v.choose(condition{lessEqual, "quarterPi"}, a, v.load(v.k("one")), v.and(high, v.k("abs")))
	v.outUnless(condition{greaterEqual, "cancelled"}, size)
	return high, v.sub(v.sub(s, high), w3), quarter
}
