package cpu

import "math"

// mul64 rounds every product and every sum to float32, as the GPU does; Go's
// own operator computes in float64.
func mul64(x, y complex64) complex64 {
	a, b, c, d := real(x), imag(x), real(y), imag(y)
	return complex(float32(a*c)-float32(b*d), float32(a*d)+float32(b*c))
}

func mul128(x, y complex128) complex128 {
	a, b, c, d := real(x), imag(x), real(y), imag(y)
	return complex(float64(a*c)-float64(b*d), float64(a*d)+float64(b*c))
}

// div64 computes in float64, where the products of float32s are exact and
// nothing overflows.
func div64(x, y complex64) complex64 {
	a, b, c, d := float64(real(x)), float64(imag(x)), float64(real(y)), float64(imag(y))
	e, f := quotient(a, b, c, d)
	return complex(float32(e), float32(f))
}

// div128 scales dividend and divisor by powers of two so that the larger part of each
// lies in [1, 2), and then divides: no intermediate result overflows, and one that
// underflows is negligible beside the other part.
func div128(x, y complex128) complex128 {
	a, b, c, d := real(x), imag(x), real(y), imag(y)
	m, n := exponent(a, b), exponent(c, d)
	e, f := quotient(math.Ldexp(a, -m), math.Ldexp(b, -m), math.Ldexp(c, -n), math.Ldexp(d, -n))
	return complex(math.Ldexp(e, m-n), math.Ldexp(f, m-n))
}

// exponent returns the exponent of the larger of |a| and |b|, or 0 if that is 0, infinite
// or NaN.
func exponent(a, b float64) int {
	v := max(math.Abs(a), math.Abs(b)) // NaN if either is
	if !(v > 0) || math.IsInf(v, 0) {
		return 0
	}
	return math.Ilogb(v)
}

// quotient returns the parts of (a + bi)/(c + di) = (ac + bd + (bc - ad)i) /
// (c^2 + d^2). If both are NaN, C99's Annex G says which infinities and zeros to return.
func quotient(a, b, c, d float64) (e, f float64) {
	den := float64(c*c) + float64(d*d)
	e = (float64(a*c) + float64(b*d)) / den
	f = (float64(b*c) - float64(a*d)) / den
	if e == e || f == f {
		return e, f
	}
	inf := math.Inf(1)
	finite := func(v float64) bool { return v-v == 0 }
	switch {
	case den == 0 && (a == a || b == b):
		inf = math.Copysign(inf, c)
		return float64(inf * a), float64(inf * b)
	case (math.IsInf(a, 0) || math.IsInf(b, 0)) && finite(c) && finite(d):
		a, b = unit(a), unit(b)
		return inf * (float64(a*c) + float64(b*d)), inf * (float64(b*c) - float64(a*d))
	case (math.IsInf(c, 0) || math.IsInf(d, 0)) && finite(a) && finite(b):
		c, d = unit(c), unit(d)
		return 0 * (float64(a*c) + float64(b*d)), 0 * (float64(b*c) - float64(a*d))
	}
	return e, f
}

// unit returns 1 for an infinity and 0 for any other v, with v's sign.
func unit(v float64) float64 {
	if math.IsInf(v, 0) {
		return math.Copysign(1, v)
	}
	return math.Copysign(0, v)
}
