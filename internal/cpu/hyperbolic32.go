package cpu

import "math"

// The hyperbolic functions of float32 and their inverses are computed in float32, as the functions of exponential32.go are.

// Coefficients of near-minimax polynomials in z = x^2, each rounded to float32.
const (
	// (sinh(x) - x)/x^3 for |x| <= log(2)/2, with sinh(x) to 2^-34, lowest first
	sinh32C0 = 0x1.555556p-3
	sinh32C1 = 0x1.110fbep-7
	sinh32C2 = 0x1.a2e2f6p-13

	// (cosh(x) - 1)/x^2 for |x| <= log(2)/2, with cosh(x) to 2^-33, lowest first
	cosh32C0 = 0.5
	cosh32C1 = 0x1.5554e6p-5
	cosh32C2 = 0x1.6d4f24p-10

	hyperbolic32High = 89.6    // from here on, sinh and cosh are infinite
	hyperbolic32Tiny = 0x1p-13 // below, the odd functions of x are x
	asinh32Near      = 0.75
	atanh32Near      = 0.5
	arc32Far         = 0x1p20 // from here on, the square root of x^2 + 1 or x^2 - 1 is x
	arc32Least       = 0x1p-20
)

// asinh32P has the coefficients, highest first, of (asinh(x) - x)/x^3 for |x| < asinh32Near, with asinh(x) to 2^-33; atanh32P
// those of (atanh(x) - x)/x^3 for |x| < atanh32Near, with atanh(x) to 2^-29.
var (
	asinh32P = [8]float32{
		0x1.01d972p-9,
		-0x1.e1cfbep-8,
		0x1.d73b16p-7,
		-0x1.60c28ep-6,
		0x1.ef6a3ep-6,
		-0x1.6d99bcp-5,
		0x1.333286p-4,
		-0x1.555554p-3,
	}
	atanh32P = [6]float32{
		0x1.6b084ap-3,
		0x1.a13c68p-5,
		0x1.e4c944p-4,
		0x1.234056p-3,
		0x1.99a73ep-3,
		0x1.55553ep-2,
	}
)

// hyperbolicParts32 returns what sinh(a)/2 and cosh(a)/2 are computed from, for a = n log 2 + r. With up = 2^(n-2) and
// down = 2^(-n-2) they are (up - down) cosh(r) + (up + down) sinh(r), and with up + down before up - down.
func hyperbolicParts32(a float32) (up, down, r, sinhSmall, coshSmall float32) {
	t, r, rest := reduceExp32(min(a, hyperbolic32High))
	b := (math.Float32bits(t) + 125) << 23
	up, down = math.Float32frombits(b), max(0, math.Float32frombits(250<<23-b)) // 0 if -n-2 is no exponent
	z := float32(r * r)
	s := fma32(sinh32C2, z, sinh32C1)
	s = fma32(s, z, sinh32C0)
	c := fma32(cosh32C2, z, cosh32C1)
	c = fma32(c, z, cosh32C0)
	return up, down, r, fma32(s, float32(z*r), rest), float32(c * z)
}

// sinhF32 returns the hyperbolic sine.
func sinhF32(x float32) float32 {
	a := abs32(x)
	if a < hyperbolic32Tiny {
		return x
	}
	up, down, r, s, c := hyperbolicParts32(a)
	difference, sum := up-down, up+down
	small := fma32(sum, s, fma32(difference, c, (up-difference)-down))
	return copySign32(twice32(difference, sum, r, small), x)
}

// coshF32 returns the hyperbolic cosine.
func coshF32(x float32) float32 {
	up, down, r, s, c := hyperbolicParts32(abs32(x))
	difference, sum := up-down, up+down
	return twice32(sum, difference, r, fma32(difference, s, fma32(sum, c, (up-sum)+down)))
}

// twice32 returns 2 (a + b r + small), where b r is smaller than a, or a is 0.
func twice32(a, b, r, small float32) float32 {
	h := fma32(b, r, a)
	y := h + (fma32(b, r, a-h) + small)
	return y + y
}

// asinhF32 returns the inverse hyperbolic sine: the logarithm of |x| + sqrt(x^2 + 1), or a polynomial where x is near 0.
func asinhF32(x float32) float32 {
	a := abs32(x)
	switch {
	case !(a <= math.MaxFloat32):
		return x
	case a < asinh32Near:
		z := float32(a * a)
		return copySign32(fma32(horner32(asinh32P[:], z), float32(z*a), a), x)
	}
	w := fma32(a, a, 1)
	s := sqrt32(w)
	u := a + s
	n, f, shift, c := float32(0), float32(0), uint32(0), (s-u)+a
	if a < arc32Far {
		n, f, shift = logParts32(u)
	} else {
		n, f, shift = logParts32(a)
		n++
	}
	// 1/(1 + f) is near 1 - f + f^2
	inverse := float32(math.Float32frombits(one32-shift) * fma32(f, f-1, 1))
	e := float32(0) // the rest of s is that of s^2 over 2 s, which is near u
	if a < arc32Far {
		e = float32(fma32(fma32(-s, s, w), inverse, c) * inverse)
	}
	return copySign32(logOfParts32(n, f, e), x)
}

// logOfParts32 returns n log 2 + log(1 + f) + e, where e is small.
func logOfParts32(n, f, e float32) float32 {
	return sumOfThree32(float32(n*ln2High32), f, logSmall32(&log32P, f, float32(f*f), fma32(n, ln2Low32, e)))
}

func sqrt32(x float32) float32 { return float32(math.Sqrt(float64(x))) }

// acoshF32 returns the inverse hyperbolic cosine: the logarithm of x + sqrt(x^2 - 1).
func acoshF32(x float32) float32 {
	switch {
	case !(x >= 1):
		return float32(math.NaN())
	case x > math.MaxFloat32:
		return x
	}
	w := fma32(x, x, -1)
	s := sqrt32(w)
	u := x + s
	n, f, shift, c := float32(0), float32(0), uint32(0), (x-u)+s
	if x < arc32Far {
		n, f, shift = logParts32(u)
	} else {
		n, f, shift = logParts32(x)
		n++
	}
	e := float32(0)
	if x < arc32Far {
		c += float32(0.5*fma32(-s, s, w)) / max(s, arc32Least) // the rest of s
		e = float32(c * math.Float32frombits(one32-shift))
		e = fma32(e, fma32(f, f, -f), e) // over 1 + f
	}
	return logOfParts32(n, f, e)
}

// atanhF32 returns the inverse hyperbolic tangent: half the logarithm of (1 + |x|)/(1 - |x|), or a polynomial where x is near 0.
func atanhF32(x float32) float32 {
	a := abs32(x)
	switch {
	case a < atanh32Near:
		z := float32(a * a)
		return copySign32(fma32(horner32(atanh32P[:], z), float32(z*a), a), x)
	case !(a < 1):
		return float32(math.Copysign(math.Log1p(2*float64(a)/(1-float64(a))), float64(x)))
	}
	d := 1 - a // exact
	s := 1 + a
	rest := (1 - s) + a
	q := s / d
	n, f, _ := logParts32(q)
	// The rest of q over q is that of q d over s, and 1/s is near 7/6 - s/3.
	e := float32((fma32(-q, d, s) + rest) * fma32(s, -1.0/3, 7.0/6))
	return copySign32(0.5*logOfParts32(n, f, e), x)
}
