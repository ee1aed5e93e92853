package cpu

import "math"

// Smooth functions of float64: an exponential whose argument carries a rest, and what
// is made of it. erf64.go, expm164.go, log64.go and power.go have the others.

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

// exp64 returns e^(x + rest), where rest is small beside x, below 1 ulp from it.
func exp64(x, rest float64) float64 {
	switch {
	case x != x:
		return x
	case x > 710:
		return math.Inf(1)
	case x < -746:
		return 0
	}
	t := float64(x*log2e) + shifter
	n := t - shifter
	high := x - float64(n*ln2High)
	low := rest - float64(n*ln2Low)
	r := high + low
	low -= r - high
	q := float64(exp64C9*r) + exp64C8
	q = float64(q*r) + exp64C7
	q = float64(q*r) + exp64C6
	q = float64(q*r) + exp64C5
	q = float64(q*r) + exp64C4
	q = float64(q*r) + exp64C3
	q = float64(q*r) + exp64C2
	q = float64(q*r) + exp64C1
	q = float64(q*r) + exp64C0
	z := r * r
	p := float64(float64(z*r)*q) + float64(0.5*z) + float64(low*r) + low
	v := 1 + (r + p)
	if k := int64(math.Float64bits(t) << 12 >> 12); k<<52>>52 > -1022 && k<<52>>52 < 1023 {
		return math.Float64frombits(math.Float64bits(v) + uint64(k)<<52)
	}
	return math.Ldexp(v, int(n))
}

// sigmoidF64 returns 1/(1 + e^-x).
func sigmoidF64(x float64) float64 {
	if x >= 0 {
		return 1 / (1 + exp64(-x, 0))
	}
	e := exp64(x, 0)
	return e / (1 + e)
}

// siluF64 returns x/(1 + e^-x); of -Inf NaN, as the formula does.
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
	w1 += gateInner*z1 + innerRest*z
	u := 1 + w
	u1 := (w - (u - 1)) + w1
	y, y1 := twoProduct(gateOuter, x)
	y1 += outerRest * x
	v, v1 := twoProduct(y, u)
	v1 += y*u1 + y1*u
	return gate64(x, v, v1)
}

// down is e^-100: a power that many times as large is normal, so that its product
// with something is rounded once where that is subnormal.
const down = 0x1.a8c1f14e2af5dp-145

// gate64 returns x/(1 + e^-(v + rest)), where v has the sign of x.
func gate64(x, v, rest float64) float64 {
	if !(v < -600) {
		return x / (1 + exp64(-v, -rest))
	}
	return x * exp64(v+100, rest) * down
}

// geluF64 returns x/2 (1 + erf(x/sqrt 2)), for negative x as x/2 erfc(-x/sqrt 2),
// which does not cancel (Hendrycks and Gimpel, arXiv 1606.08415).
func geluF64(x float64) float64 {
	const rest = -0x1.bdd3413b26456p-55
	y, y1 := twoProduct(x, sqrt1_2)
	y1 += x * rest
	if x > -0.5 || x != x {
		return 0.5 * x * (1 + math.Erf(y))
	}
	switch {
	case x < -20:
		return geluTail(x, 17)
	case x < -9:
		return geluTail(x, 81)
	}
	// erfc(y + y1) = erfc(y) - y1 erfc'(y)
	c := math.Erfc(-y)
	return 0.5 * x * (c + y1*(2/math.Sqrt(math.Pi))*exp64(-(y*y), 0))
}

// geluTail is geluF64 for x < -9: -e^(-x^2/2)/sqrt(2 pi) (1 - 1/x^2 + 3/x^4 - 15/x^6
// + ...). The last factor of the last term is last; math.Erfc is up to 3.7 ulp off there.
func geluTail(x, last float64) float64 {
	z, z1 := twoProduct(x, x)
	if z > 2000 {
		return x * 0
	}
	w := 1 / z
	s := 1.0
	for k := last; k > 0; k -= 2 {
		s = 1 - float64(k*w)*s
	}
	const density = 0x1.9884533d43651p-2 // 1/sqrt(2 pi)
	return -(exp64(100-0.5*z, -0.5*z1) * (s * density)) * down
}

// twoProduct returns a b as a sum of two numbers.
func twoProduct(a, b float64) (high, low float64) {
	high = float64(a * b) // rounded here, not fused into a later sum
	return high, math.FMA(a, b, -high)
}
