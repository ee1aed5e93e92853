package cpu

import "math"

// The logarithms of float64, with an error below 0.6 ulp. With x = 2^n (1 + f), s = f/(2 +
// f) and h = f^2/2,
//
//	log(1 + f) = f - h + s (h + R),  R = 2 atanh(s)/s - 2
//
// where R is a polynomial in s^2 (the decomposition of FreeBSD's e_log.c). The rounding
// errors of h and of the sums are added to the small terms.

const (
	// R/s^2 in s^2, s^2 <= 0.02944, with R accurate to 2^-58.4
	log64C0 = 0x1.5555555555592p-1
	log64C1 = 0x1.999999997fd7fp-2
	log64C2 = 0x1.24924941f491ap-2
	log64C3 = 0x1.c71c520657472p-3
	log64C4 = 0x1.74663f9309d7ap-3
	log64C5 = 0x1.39a1a8628ab3bp-3
	log64C6 = 0x1.2f06272377c0bp-3

	// (1/(1 + f) - 1)/f, sqrt(1/2) <= 1 + f <= sqrt(2), to 2^-6
	inverseC0 = -0x1.01475c12c6c9ep+0
	inverseC1 = 0x1.14a309d18437ep+0
	inverseC2 = -0x1.d41724ba1eb0ep-1

	leastNormal = 0x1p-1022 // the smallest normal number
	log1p64Up   = 0x1p1000  // from here on, log(1 + x) is log(x)
)

// log64 returns n log 2 + log(1 + f) + rest, where rest is small compared with the sum.
func log64(n, f, rest float64) float64 {
	s := f / (f + 2)
	z := s * s
	zz := z * z
	even := math.FMA(log64C6, zz, log64C4)
	odd := math.FMA(log64C5, zz, log64C3)
	even = math.FMA(even, zz, log64C2)
	odd = math.FMA(odd, zz, log64C1)
	even = math.FMA(even, zz, log64C0)
	p := math.FMA(odd, z, even)
	half := 0.5 * f
	d := math.FMA(-half, f, f) // f - h
	d1 := math.FMA(-half, f, f-d)
	a := float64(n * ln2High) // exact
	sum := a + d
	sum1 := (a - sum) + d
	low := math.FMA(n, ln2Low, sum1+d1) + rest
	return sum + math.FMA(s, math.FMA(p, z, float64(half*f)), low)
}

// logF64 returns the natural logarithm.
func logF64(x float64) float64 {
	switch {
	case !(x > 0 && x <= math.MaxFloat64):
		return math.Log(x) // an infinity or NaN
	case x < leastNormal:
		n, f := logParts(x * 0x1p54)
		return log64(n-54, f, 0)
	}
	n, f := logParts(x)
	return log64(n, f, 0)
}

// log1pF64 returns log(1 + x) = log(u) + c/u, where u is the rounded 1 + x and c its
// rounding error. Near 1, u is 1 + f and c/u is nearly c.
func log1pF64(x float64) float64 {
	switch {
	case !(x > -1 && x <= math.MaxFloat64):
		return math.Log1p(x) // an infinity or NaN
	case x >= log1p64Up:
		return logF64(x)
	}
	u := 1 + x
	back := u - 1
	c := (x - back) + (1 - (u - back))
	n, f := logParts(u)
	c *= math.Float64frombits((2046 - (math.Float64bits(u)+(one64-half64))>>52) << 52) // 2^-n
	w := math.FMA(inverseC2, f, inverseC1)
	w = math.FMA(w, f, inverseC0)
	w = math.FMA(w, f, 1)
	return math.Copysign(log64(n, f, float64(c*w)), x) // keeps -0
}
