package cpu

// sin, cos and tan support numbers up to trigLimit that are not too near a multiple of pi/2 other than 0.

func (v smooth64) sin(x vector) vector {
	sin, cos, quarter := v.sinAndCos(x)
	return v.inQuarter(sin, cos, quarter)
}

func (v smooth64) cos(x vector) vector {
	sin, cos, quarter := v.sinAndCos(x)
	return v.inQuarter(sin, cos, v.addInt(quarter, v.k("unit")))
}

func (v smooth64) tan(x vector) vector {
	sin, cos, quarter := v.sinAndCos(x)
	odd := v.shiftLeft(quarter, v.signBit())
	mask := v.signs(odd)
	return v.xor(v.div(v.blend(mask, cos, sin), v.blend(mask, sin, cos)), odd)
}

// sinAndCos returns sine and cosine of x minus a multiple of pi/2, whose number's low bits are those of quarter.
func (v smooth64) sinAndCos(x vector) (sin, cos, quarter vector) {
	high, rest, quarter := v.reduceHalfPi(x)
	z := v.mul(high, high)
	sin = v.mul(v.mul(z, high), v.polynomial("sin", 7, z))
	half := v.mul(z, v.k("half"))
	sin = v.add(sin, v.sub(rest, v.mul(half, rest)))
	sin = v.choose(condition{equal, "zero"}, high, high, v.add(high, sin)) // keeps -0
	cos = v.mul(v.mul(z, z), v.polynomial("cos", 7, z))
	cos = v.sub(cos, v.mul(high, rest))
	one := v.load(v.k("one"))
	w := v.sub(one, half)
	return sin, v.add(w, v.add(v.sub(v.sub(one, w), half), cos)), quarter
}

// inQuarter returns the sine of an angle in a quarter of the circle, from sine and cosine of the angle minus a multiple of pi/2.
func (v floats) inQuarter(sin, cos, quarter vector) vector {
	y := v.blend(v.odd(quarter), cos, sin)
	return v.xor(y, v.shiftLeft(v.shiftRight(quarter, 1), v.signBit()))
}

// reduceHalfPi jumps to "out" if the Go function needs more bits of pi/2 for an element.
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
