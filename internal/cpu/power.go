package cpu

import "math"

// Coefficients of (2 atanh(s) - 2s - 2/3 s^3)/s^5 in s^2 without the first, 2/5, for e^(2 atanh(s)) in
// [sqrt(1/2), sqrt(2)], to 2^-54.
const (
	powC1 = 0.28571428571428564
	powC2 = 0.2222222222222843
	powC3 = 0.18181818179656925
	powC4 = 0.15384615761170173
	powC5 = 0.13333296534432942
	powC6 = 0.11766813121034213
	powC7 = 0.10456327269484514
	powC8 = 0.107624244195648
)

// powF64 returns x^y. Special cases are those of C and of math.Pow.
func powF64(x, y float64) float64 {
	if x == 1 || y == 0 || x == 0 || !(math.Abs(x) <= math.MaxFloat64) || !(math.Abs(y) <= math.MaxFloat64) {
		return math.Pow(x, y)
	}
	return powFinite(x, y)
}

// powFinite is powF64 for finite x and y that are not 0: e^(y log|x|), with a logarithm of more than
// 66 bits, and the sign.
func powFinite(x, y float64) float64 {
	negative := false
	if x < 0 {
		half := 0.5 * y
		switch {
		case math.Trunc(y) != y:
			return math.NaN()
		case math.Trunc(half) != half:
			negative = true
		}
		x = -x
	}
	var high, low float64
	if n, f := logParts(x); x < leastNormal {
		n, f = logParts(x * 0x1p54)
		high, low = logSum(n-54, f)
	} else {
		high, low = logSum(n, f)
	}
	p, rest := twoProduct(y, high)
	rest = math.FMA(y, low, rest)
	v := 0.0
	switch {
	case math.Abs(p) <= normalExponent:
		w, t := expParts64(p, rest)
		v = w * powerOf(t)
	case p > 710:
		v = math.Inf(1)
	case p >= -746:
		v = exp64(p, rest)
	}
	if negative {
		return -v
	}
	return v
}

// logSum returns n log 2 + log(1 + f) as a sum of two numbers.
//
// With s = f/(2 + f) and z = s^2, log(1 + f) = 2s (1 + z/3 + z^2/5 + ...); the first three terms and
// their sums are computed in twice the precision.
func logSum(n, f float64) (high, low float64) {
	d := f + 2
	d1 := f - (d - 2)
	r := 1 / d
	s := float64(f * r)
	s1 := float64(math.FMA(-s, d1, math.FMA(-s, d, f)) * r)
	z, z1 := twoProduct(s, s)
	z1 = math.FMA(2*s, s1, z1)
	zz := z * z
	even := math.FMA(powC7, zz, powC5)
	odd := math.FMA(powC8, zz, powC6)
	even = math.FMA(even, zz, powC3)
	odd = math.FMA(odd, zz, powC4)
	even = math.FMA(even, zz, powC1)
	odd = math.FMA(odd, zz, powC2)
	p := math.FMA(odd, z, even)
	// t = z (1/3 + z (1/5 + z p/2)), from the inside out as sums of two numbers
	e := float64(float64(0.5*z) * p) // rounded: its difference from u is computed
	u := fifth + e
	u1 := ((fifth - u) + e) + fifthRest
	w, w1 := twoProduct(z, u)
	w1 = math.FMA(z1, u, math.FMA(z, u1, w1))
	v := third + w
	v1 := ((third - v) + w) + (w1 + thirdRest)
	t, t1 := twoProduct(z, v)
	t1 = math.FMA(z1, v, math.FMA(z, v1, t1))
	// 2s (1 + t)
	s, s1 = 2*s, 2*s1
	g, g1 := twoProduct(s, t)
	g1 = math.FMA(s1, t, math.FMA(s, t1, g1))
	a := float64(n * ln2High) // exact
	sum := a + s
	rest := (a - sum) + s // a is 0 or the larger
	high = sum + g
	rest += (sum - high) + g // g is the smaller
	return high, rest + math.FMA(n, ln2Low, g1+s1)
}

// 1/3 and 1/5 as sums of two numbers.
const (
	third, thirdRest = 0x1.5555555555555p-2, 1.0/3 - 0x1.5555555555555p-2
	fifth, fifthRest = 0x1.999999999999ap-3, 0.2 - 0x1.999999999999ap-3
)
