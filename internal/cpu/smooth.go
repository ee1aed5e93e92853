package cpu

import "math"

// These functions of float32 are computed in float64, by polynomials accurate to 2^-34
// or better, and rounded once: their error is at most 0.501 ulp. Only exp is computed in
// float32, with an error below 1.1 ulp, as are the functions of exponential32.go,
// logarithm32.go, trigonometry32.go, hyperbolic32.go and cbrt32.go. Every product is rounded
// before it is added, here and in assembly, so that all machines give the same bits.

// Coefficients, lowest first, each of a near-minimax polynomial.
const (
	log2e = 0x1.71547652b82fep+0
	ln2   = 0x1.62e42fefa39efp-1

	// Added to a number below 2^51, it leaves the nearest integer in the low bits.
	shifter = 0x1.8p52

	// (e^r - 1 - r)/r^2 for |r| <= log(2)/2, with e^r - 1 accurate to 2^-36.5
	expC0 = 0.5
	expC1 = 0.16666666719028936
	expC2 = 0.04166666671901226
	expC3 = 0.00833329846980059
	expC4 = 0.001388885403566671
	expC5 = 0.00019899285575896282
	expC6 = 2.4859589834589056e-05

	// erf(x)/x in x^2, |x| <= 1, to 2^-40
	erfC0 = 1.1283791670946768
	erfC1 = -0.3761263888963531
	erfC2 = 0.11283791308604582
	erfC3 = -0.026866133235095593
	erfC4 = 0.005223783477189248
	erfC5 = -0.0008542637997087229
	erfC6 = 0.0001195656256820733
	erfC7 = -1.3909340021874599e-05
	erfC8 = 1.058938064107502e-06

	// e^(a^2) erfc(a) (1 + 2a) in t = (a - 3)/(a + 3), 0 <= a <= 10.5, to 2^-35.7
	erfcMax = 10.5
	erfcC0  = 1.253008058280807
	erfcC1  = -0.13562110639622835
	erfcC2  = -0.04756229633280118
	erfcC3  = 0.129645173991091
	erfcC4  = -0.11927359943616477
	erfcC5  = 0.06830780126063965
	erfcC6  = -0.023771336858299467
	erfcC7  = 0.00253058269218574
	erfcC8  = 0.001893697522988254
	erfcC9  = -0.0007811556256996659
	erfcC10 = -0.00011950862194669432
	erfcC11 = 0.00011849688393249804
	erfcC12 = 2.0279034500364585e-05
	erfcC13 = -4.499234323842599e-06

	sqrt1_2   = 0x1.6a09e667f3bcdp-1
	gateOuter = 0x1.9884533d43651p+0 // 2 sqrt(2/pi)
	gateInner = 0.044715

	// Beyond, e^v is 0 or infinite in float32, even when multiplied by a float32.
	expLimit = 200
)

// expParts returns p and s such that e^v = s + s p and e^v - 1 = (s - 1) + s p, with
// s a power of two. v is clamped to expLimit.
func expParts(v float64) (p, s float64) {
	if v < -expLimit {
		v = -expLimit
	} else if v > expLimit {
		v = expLimit
	}
	t := float64(v*log2e) + shifter
	r := v - float64((t-shifter)*ln2)
	q := horner3(horner3(expC6, r, expC5, expC4, expC3), r, expC2, expC1, expC0)
	p = float64(q*float64(r*r)) + r
	return p, math.Float64frombits((math.Float64bits(t) + 1023) << 52)
}

// expOf returns e^v.
func expOf(v float64) float64 {
	p, s := expParts(v)
	return float64(s*p) + s
}

// sigmoidF32 returns 1/(1 + e^-x).
func sigmoidF32(x float32) float32 { return float32(1 / (expOf(-float64(x)) + 1)) }

// siluF32 returns x/(1 + e^-x). For -Inf it is NaN, as the formula gives.
func siluF32(x float32) float32 { return float32(gate(float64(x), float64(x))) }

// geluTanhF32 returns x/(1 + e^-v), v = 2 sqrt(2/pi) (x + 0.044715 x^3).
func geluTanhF32(x float32) float32 {
	v := float64(x)
	return float32(gate(v, float64(gateOuter*v)*(float64(gateInner*float64(v*v))+1)))
}

// gate returns x/(1 + e^-v).
func gate(x, v float64) float64 { return nanAtMinusInf(x/(expOf(-v)+1), x) }

// nanAtMinusInf returns v, or NaN if x is -Inf: min(x, 0) - min(x, 0) has only zero bits
// if x is finite.
func nanAtMinusInf(v, x float64) float64 {
	low := min(x, 0)
	return math.Float64frombits(math.Float64bits(v) | math.Float64bits(low-low))
}

// horner3 and horner2 continue the value p of a polynomial at x by its next coefficients. They round every product, as the
// assembly does.
func horner3(p, x, c2, c1, c0 float64) float64 {
	return float64(horner2(p, x, c2, c1)*x) + c0
}

func horner2(p, x, c1, c0 float64) float64 {
	p = float64(p*x) + c1
	return float64(p*x) + c0
}

// erfF32 returns the error function.
func erfF32(x float32) float32 {
	v := float64(x)
	a := math.Abs(v)
	if a < 1 {
		z := a * a
		p := horner3(erfC8, z, erfC7, erfC6, erfC5)
		p = horner3(p, z, erfC4, erfC3, erfC2)
		p = horner2(p, z, erfC1, erfC0)
		return float32(v * p)
	}
	return float32(math.Copysign(1-erfcOf(min(a, erfcMax)), v))
}

// erfcOf returns erfc(a), 0 <= a <= erfcMax.
func erfcOf(a float64) float64 {
	b := float64(2*a) + 1
	q := 1 / ((a + 3) * b)
	t := (a - 3) * b * q
	p := horner3(erfcC13, t, erfcC12, erfcC11, erfcC10)
	p = horner3(p, t, erfcC9, erfcC8, erfcC7)
	p = horner3(p, t, erfcC6, erfcC5, erfcC4)
	p = horner2(p, t, erfcC3, erfcC2)
	p = horner2(p, t, erfcC1, erfcC0)
	return p * ((a + 3) * q) * expOf(-(a * a))
}

// geluF32 returns max(x, 0) - |x| erfc(|x|/sqrt 2)/2, which does not cancel. For -Inf it is
// NaN, as x/2 (1 + erf(x/sqrt 2)) is.
func geluF32(x float32) float32 {
	v := float64(x)
	high := v // keeps -0
	if v < 0 {
		high = 0
	}
	a := min(math.Abs(v)*sqrt1_2, erfcMax)
	return float32(nanAtMinusInf(high-float64(a*sqrt1_2*erfcOf(a)), v))
}

// logParts splits a positive, finite, normal x into n and f, x = 2^n (1 + f), with
// 1 + f in [sqrt(1/2), sqrt(2)).
func logParts(x float64) (n, f float64) {
	b := math.Float64bits(x)
	k := (b + (one64 - half64)) >> 52
	n = math.Float64frombits(k|0x4330<<48) - (0x1p52 + 1023)
	return n, math.Float64frombits(b-k<<52+one64) - 1
}

// one64 holds the bits of 1, and half64 the upper bits of sqrt(1/2).
const (
	one64  = 0x3ff << 52
	half64 = 0x3fe6a09e << 32
)

// Constants of expF32, in float32.
const (
	exp32Limit = 87
	log2e32    = 0x1.715476p+0
	shifter32  = 0x1.8p23
	ln2High32  = 0x1.62ep-1 // 12 bits: a multiple below 2^12 is exact
	ln2Low32   = 0x1.0bfbe8p-15
	exp32C0    = 0.5
	exp32C1    = 0.16666576845993977
	exp32C2    = 0.04166655443768594
	exp32C3    = 0.008363202971575855
	exp32C4    = 0.0013926213466332444
)

// expF32 returns e^x.
func expF32(x float32) float32 {
	if !(x >= -exp32Limit && x <= exp32Limit) {
		return float32(expOf(float64(x)))
	}
	t := float32(x*log2e32) + shifter32
	n := t - shifter32
	r := x - float32(n*ln2High32) - float32(n*ln2Low32)
	q := float32(exp32C4*r) + exp32C3
	q = float32(q*r) + exp32C2
	q = float32(q*r) + exp32C1
	q = float32(q*r) + exp32C0
	y := float32(q*float32(r*r)) + r + 1
	return math.Float32frombits(math.Float32bits(y) + math.Float32bits(t)<<23)
}
