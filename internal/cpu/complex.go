package cpu

import "math"

// expStep is e^700, a factor that complexExp splits off large powers.
const expStep = 0x1.d945df4f8ec8ep+1009

// complexExp returns e^x. Beyond e^709 it multiplies the sine and the cosine by powers of e one
// after the other, since they may be as small as 2^-1074 and the power alone would overflow.
// Infinities, zeros and NaN are as C99's Annex G.6.3.1 has them.
func complexExp(x complex128) complex128 {
	a, b := real(x), imag(x)
	switch {
	case b == 0:
		return complex(exp64(a, 0), b)
	case math.IsInf(a, -1) && (math.IsInf(b, 0) || b != b):
		return complex(0, math.Copysign(0, b))
	case math.IsInf(a, 1) && (math.IsInf(b, 0) || b != b):
		return complex(a, math.NaN())
	}
	re, im := cosF64(b), sinF64(b)
	for range 2 {
		if a > 709 {
			a, re, im = a-700, re*expStep, im*expStep
		}
	}
	e := exp64(a, 0)
	return complex(re*e, im*e)
}

// complexSqrt returns the square root with a real part >= 0. With h = |x|, its parts are
// t = sqrt((|a| + h)/2), which does not cancel, and b/2t. If h would overflow or is
// subnormal, x is scaled by an even power of two. Infinities, zeros and NaN are as C99's
// Annex G.6.4.2 has them.
func complexSqrt(x complex128) complex128 {
	a, b := math.Abs(real(x)), math.Abs(imag(x))
	if math.IsInf(b, 0) {
		return complex(b, imag(x))
	}
	if a == 0 && b == 0 {
		return complex(0, imag(x))
	}
	back := 1.0
	switch {
	case a > 0x1p1000 || b > 0x1p1000:
		a, b, back = a*0x1p-4, b*0x1p-4, 4
	case a < 0x1p-900 && b < 0x1p-900:
		a, b, back = a*0x1p200, b*0x1p200, 0x1p-100
	}
	t := math.Sqrt(0.5 * (a + modulus(a, b)))
	u := b * back / (2 * t) // scaled back before a subnormal result is rounded
	if math.IsInf(a, 0) && b == b {
		u = 0
	}
	t *= back
	if real(x) < 0 {
		t, u = u, t
	}
	return complex(t, math.Copysign(u, imag(x)))
}

// modulus returns sqrt(a^2 + b^2) for a and b that are not negative. It scales the larger one
// to [1, 2): then its square does not overflow, and a square that underflows is negligible.
func modulus(a, b float64) float64 {
	if math.IsInf(a, 0) || math.IsInf(b, 0) {
		return math.Inf(1)
	}
	k := exponent(a, b)
	down := math.Float64frombits(uint64(1023-k) << 52)
	a, b = a*down, b*down
	return math.Sqrt(float64(a*a)+float64(b*b)) * math.Float64frombits(uint64(1023+k)<<52)
}
