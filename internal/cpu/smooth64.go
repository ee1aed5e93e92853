package cpu

import "math"

// Smooth functions of float64: an exponential whose argument has a low-order part rest, and
// the functions computed from it. The others are in erf64.go, expm164.go, log64.go and power.go.

// Coefficients as in smooth.go: (e^r - 1 - r - r^2/2)/r^3 for |r| <= log(2)/2, to 2^-60.
const (
	exp64C0 = 0x1.5555555555555p-3
	exp64C1 = 0x1.5555555555555p-5
	exp64C2 = 0.008333333333330062
	exp64C3 = 0.0013888888888886552
	exp64C4 = 0.00019841269863053618
	exp64C5 = 2.4801587317144498e-05
	exp64C6 = 2.7557268459997064e-06
	exp64C7 = 2.755728296954995e-07
	exp64C8 = 2.510038549551032e-08
	exp64C9 = 2.0911236630261545e-09

	ln2High = 0x1.62e42fefa3p-1 // 41 bits: a multiple below 2^12 is exact
	ln2Low  = 0x1.3de6af278ece6p-42
)

// exp64 returns e^(x + rest) with an error below 1 ulp. rest must be small compared with x.
func exp64(x, rest float64) float64 {
	switch {
	case x != x:
		return x
	case x > 710:
		return math.Inf(1)
	case x < -746:
		return 0
	}
	return scaled64(1, x, rest)
}

// scaled64 returns a e^(x + rest) for |x| below 2^11. A subnormal result is rounded twice.
func scaled64(a, x, rest float64) float64 {
	w, t := expm1Parts64(x, rest)
	v := math.FMA(a, w, a)
	n := int(int64(math.Float64bits(t)<<52) >> 52)
	if n > -1022 && n < 1023 {
		return v * powerOf(t)
	}
	return math.Ldexp(v, n)
}

// sigmoidF64 returns 1/(1 + e^-x).
func sigmoidF64(x float64) float64 { return gate64(1, x, 0) }

// siluF64 returns x/(1 + e^-x). For -Inf it is NaN, as the formula gives.
func siluF64(x float64) float64 { return gate64(x, x, 0) }

// geluTanhF64 returns x/(1 + e^-v), v = 2 sqrt(2/pi) (x + 0.044715 x^3).
func geluTanhF64(x float64) float64 {
	const (
		outerRest = -0x1.cbc0d30ebfd15p-54
		innerRest = 0x1.441355475a31ap-59
	)
	if !(math.Abs(x) < 100) {
		return gate64(x, x*1e3, 0)
	}
	// Sums of two numbers, the second the rounding of the first.
	z, z1 := twoProduct(x, x)
	w, w1 := twoProduct(gateInner, z)
	w1 += float64(gateInner*z1) + float64(innerRest*z) // products are rounded, not fused into the sums
	u := 1 + w
	u1 := (w - (u - 1)) + w1
	y, y1 := twoProduct(gateOuter, x)
	y1 += float64(outerRest * x)
	v, v1 := twoProduct(y, u)
	v1 += float64(y*u1) + float64(y1*u)
	return gate64(x, v, v1)
}

// gate64 returns x/(1 + e^-(v + rest)). The largest error measured is 1.46 ulp.
func gate64(x, v, rest float64) float64 {
	switch {
	case v < -800:
		return x * 0
	case v < -37: // 1 + e^-v rounds to e^-v
		return scaled64(x, v, rest)
	}
	e := exp64(-v, -rest)
	d := 1 + e
	back := d - 1
	d1 := (1 - (d - back)) + (e - back) // the rounding error of d
	q := x / d
	if r := math.FMA(-q, d, x) - float64(q*d1); math.Abs(r) > 0 { // r is neither 0, which would lose q's -0, nor NaN
		return q + r/d
	}
	return q
}

// geluF64 returns x/2 (1 + erf(x/sqrt 2)) (Hendrycks and Gimpel, arXiv 1606.08415). Below -1/2,
// where the sum cancels, it is -e^(g - x^2/2 - log(2 pi)/2), where g = log(sqrt(pi/2) |x|
// e^(x^2/2) erfc(|x|/sqrt 2)) is a polynomial in A - B/(|x| + C) with an error of 2^-58. The
// argument is -1 at x = -1/2 and 1 at x = -40.
func geluF64(x float64) float64 {
	switch {
	case x != x, x == 0:
		return x
	case x >= -0.5:
		half := 0.5 * x
		return math.FMA(half, erfF64(x*sqrt1_2), half)
	case x < -40:
		return x * 0
	}
	z, z1 := twoProduct(x, x)
	g := alternate(gelu64G[:], gelu64A-gelu64B/(gelu64C-x))
	p := -0.5*z - logDensity
	back := p + 0.5*z
	p1 := (-0.5*z - (p - back)) - (logDensity + back) // the rounding error of p
	v := p + g
	return scaled64(-1, v, ((p-v)+g)+(p1-logDensityRest-0.5*z1))
}

// twoProduct returns a b as a sum of two numbers.
func twoProduct(a, b float64) (high, low float64) {
	high = float64(a * b) // rounded here, not fused into a later sum
	return high, math.FMA(a, b, -high)
}

const (
	logDensity     = 0x1.d67f1c864beb5p-1 // log(2 pi)/2
	logDensityRest = -0x1.65b5a1b7ff5dfp-55

	gelu64A = 0x1.16aefcc26e2d6p+0
	gelu64B = 0x1.d3d91d2a2067bp+1
	gelu64C = 1.25
)

// gelu64G are the coefficients of g, highest first.
var gelu64G = [...]float64{
	-0x1.cf306ec7687d2p-27,
	-0x1.682198ab0566bp-28,
	0x1.3b85d98fd2983p-24,
	0x1.31e5f44faa571p-24,
	-0x1.4a13b99b6170ep-23,
	-0x1.9092313904230p-23,
	0x1.6795437b16943p-25,
	0x1.0df07e0331622p-23,
	-0x1.4d6ec56a85495p-23,
	0x1.792aaba13a2dbp-22,
	0x1.3add006d3a03dp-21,
	0x1.a0b059ff04340p-20,
	-0x1.b0737b360bdc4p-21,
	-0x1.3e60beff763b6p-22,
	-0x1.4d08536c23615p-17,
	-0x1.9e1ac788ce9c0p-20,
	-0x1.31427684534f3p-16,
	0x1.88639d3bf3c7dp-15,
	-0x1.dc644a91d3513p-21,
	0x1.97ab775d82754p-13,
	-0x1.c80896fc4112bp-13,
	0x1.e2ef509f09ca2p-13,
	-0x1.a41a086ba886ap-10,
	0x1.68fa4be4d033cp-10,
	-0x1.c73f2a2451e39p-9,
	0x1.e04d994ba4556p-7,
	-0x1.bc22954ac48b7p-7,
	0x1.7d2cbe7f041e5p-5,
	-0x1.e2e3f4c14de90p-3,
	0x1.6597c9c691059p-2,
	-0x1.4403338da6eacp-3,
}
