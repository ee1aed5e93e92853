package cpu

import "math"

// The exponential of float64, with an error below 0.85 ulp, and e^x - 1, below 0.6 ulp. A
// polynomial is evaluated as two independent ones, of the even and of the odd powers. With
// x = n log 2 + r and the polynomial q of exp64,
//
//	e^x - 1 = 2^n ((1 - 2^-n) + r + r^2/2 + r^3 q)
//
// is added from the largest term on, and the rounding error of each sum is added too.

const (
	// The largest exponent of e whose power, and the powers of 2 near it, are normal.
	normalExponent = 708

	expm1Low  = -100 // up to here, e^x - 1 rounds to -1
	expm1High = 709  // from here on, it rounds to e^x
	tanhHigh  = 44   // twice an x for which tanh rounds to 1
)

// reduceExp64 returns n, as the low bits of t, and r + low = x + rest - n log 2.
func reduceExp64(x, rest float64) (t, r, low float64) {
	t = math.FMA(x, log2e, shifter)
	n := t - shifter
	high := math.FMA(-n, ln2High, x) // exact
	low = math.FMA(-n, ln2Low, rest)
	r = high + low
	return t, r, low - (r - high)
}

// cubic64 returns (e^r - 1 - r - r^2/2)/r^3, where z is r^2.
func cubic64(r, z float64) float64 {
	even := math.FMA(exp64C8, z, exp64C6)
	odd := math.FMA(exp64C9, z, exp64C7)
	even = math.FMA(even, z, exp64C4)
	odd = math.FMA(odd, z, exp64C5)
	even = math.FMA(even, z, exp64C2)
	odd = math.FMA(odd, z, exp64C3)
	even = math.FMA(even, z, exp64C0)
	odd = math.FMA(odd, z, exp64C1)
	return math.FMA(odd, r, even)
}

// expParts64 returns v and t such that e^(x + rest) = v 2^n, with n in the low bits of t;
// rest must be small compared with x.
func expParts64(x, rest float64) (v, t float64) {
	w, t := expm1Parts64(x, rest)
	return 1 + w, t
}

// expm1Parts64 is expParts64 but returns v - 1 instead of v.
func expm1Parts64(x, rest float64) (w, t float64) {
	t, r, low := reduceExp64(x, rest)
	z := r * r
	p := math.FMA(math.FMA(r, cubic64(r, z), 0.5), z, math.FMA(r, low, low))
	return r + p, t
}

// powerOf returns 2^n, where n is in the low bits of t. 2^n must be a normal number.
func powerOf(t float64) float64 { return math.Float64frombits((math.Float64bits(t) + 1023) << 52) }

// expm1Sum64 returns e^x - 1 as a sum of two numbers, the second of which is the rounding
// error of the first, for x between expm1Low and expm1High.
func expm1Sum64(x float64) (high, low float64) {
	t, r, low := reduceExp64(x, 0)
	z := r * r
	q := cubic64(r, z)
	down := math.Float64frombits((1023 - math.Float64bits(t)) << 52) // 2^-n
	c := 1 - down
	c1 := (1 - c) - down
	half := 0.5 * r
	h := float64(half * r)
	h1 := math.FMA(half, r, -h)
	a := c + r
	a1 := (c - a) + r
	b := a + h
	b1 := (a - b) + h
	small := math.FMA(float64(z*r), q, h1) + (((a1 + b1) + c1) + math.FMA(r, low, low))
	v := b + small
	up := powerOf(t)
	return v * up, ((b - v) + small) * up
}

// expF64 returns e^x.
func expF64(x float64) float64 {
	if !(math.Abs(x) <= normalExponent) {
		return exp64(x, 0)
	}
	v, t := expParts64(x, 0)
	return v * powerOf(t)
}

// expm1F64 returns e^x - 1.
func expm1F64(x float64) float64 {
	switch {
	case x != x:
		return x
	case x > expm1High:
		return exp64(x, 0)
	}
	high, _ := expm1Sum64(max(x, expm1Low))
	return math.Copysign(high, x) // keeps -0
}

// tanhF64 returns m/(m + 2) with the sign of x, where m = e^2|x| - 1. Numerator and
// denominator are sums of two numbers.
func tanhF64(x float64) float64 {
	if x != x {
		return x
	}
	m, m1 := expm1Sum64(min(2*math.Abs(x), tanhHigh))
	d := m + 2
	back := d - m
	d1 := ((m - (d - back)) + (2 - back)) + m1
	w := 1 / d
	q := float64(m * w)
	e := math.FMA(-q, d, m) + math.FMA(-q, d1, m1)
	return math.Copysign(math.FMA(e, w, q), x)
}
