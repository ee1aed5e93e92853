package cpu

import "math"

// Exp2, Expm1 and Tanh of float32 are computed in float32, with fused multiply-adds where fma32 stands. The assembly performs
// the same operations. The largest errors are in docs/accuracy.md.

// Coefficients, lowest first, of near-minimax polynomials, each rounded to float32.
const (
	// (2^r - 1)/r for |r| <= 1/2, with 2^r to 2^-28
	exp2_32C0 = 0x1.62e430p-1
	exp2_32C1 = 0x1.ebfbdcp-3
	exp2_32C2 = 0x1.c6af7cp-5
	exp2_32C3 = 0x1.3b2de0p-7
	exp2_32C4 = 0x1.5f082ep-10
	exp2_32C5 = 0x1.416b52p-13

	// (e^r - 1 - r)/r^2 for |r| <= log(2)/2, with e^r - 1 to 2^-31
	expm1_32C0 = 0.5
	expm1_32C1 = 0x1.555556p-3
	expm1_32C2 = 0x1.5554f6p-5
	expm1_32C3 = 0x1.111004p-7
	expm1_32C4 = 0x1.6d3cb4p-10
	expm1_32C5 = 0x1.a242fcp-13

	// (tanh(x) - x)/x^3 in x^2 for |x| < tanh32Near, with tanh(x) to 2^-29
	tanh32C0 = -0x1.55554ap-2
	tanh32C1 = 0x1.110de2p-3
	tanh32C2 = -0x1.b98296p-5
	tanh32C3 = 0x1.5f9decp-6
	tanh32C4 = -0x1.f6c400p-8
	tanh32C5 = 0x1.c99298p-10

	tanh32Near = 0.75

	exp2_32High   = 128  // from here on, 2^x is infinite
	exp2_32Low    = -151 // up to here, 2^x is 0
	exp2_32Normal = -125 // below, 2^x is computed as 2^(x + 64) 2^-64
	expm1_32High  = 89   // from here on, e^x is infinite
	expm1_32Low   = -20  // up to here, e^x - 1 is -1
	expm1_32Tiny  = 0x1p-26
	tanh32High    = 19 // from here on, 1 - tanh(x/2) is below 2^-26
)

// exp2F32 returns 2^x.
func exp2F32(x float32) float32 {
	v := x
	if v > exp2_32High {
		v = exp2_32High
	} else if v < exp2_32Low {
		v = exp2_32Low
	}
	t := v + shifter32
	r := v - (t - shifter32)
	q := fma32(exp2_32C5, r, exp2_32C4)
	q = fma32(q, r, exp2_32C3)
	q = fma32(q, r, exp2_32C2)
	q = fma32(q, r, exp2_32C1)
	q = fma32(q, r, exp2_32C0)
	p := fma32(q, r, 1)
	p += p // p 2^(n-1): 2^128 is no float32
	b := math.Float32bits(t) + 126
	if v < exp2_32Normal {
		return p * math.Float32frombits((b+64)<<23) * 0x1p-64
	}
	return p * math.Float32frombits(b<<23)
}

// reduceExp32 returns r near 0 and its rounding error: x is n log 2 + r + rest, where n is the integer in the low bits of t.
func reduceExp32(x float32) (t, r, rest float32) {
	t = fma32(x, log2e32, shifter32)
	n := t - shifter32
	a := fma32(n, -ln2High32, x)
	r = fma32(n, -ln2Low32, a)
	return t, r, fma32(n, -ln2Low32, a-r)
}

// expm1Poly32 returns (e^r - 1 - r)/r^2.
func expm1Poly32(r float32) float32 {
	q := fma32(expm1_32C5, r, expm1_32C4)
	q = fma32(q, r, expm1_32C3)
	q = fma32(q, r, expm1_32C2)
	q = fma32(q, r, expm1_32C1)
	return fma32(q, r, expm1_32C0)
}

// halfExpm1 returns (e^x - 1)/2 as a sum of two numbers. With e^x = 2^n (1 + r + small) it is
// (2^(n-1) - 1/2) + 2^(n-1) r + 2^(n-1) small.
func halfExpm1(x float32) (high, low float32) {
	t, r, rest := reduceExp32(x)
	small := fma32(expm1Poly32(r), r*r, rest)
	s := math.Float32frombits((math.Float32bits(t) + 126) << 23)
	u := s - 0.5
	high = fma32(s, r, u)
	return high, fma32(s, small, fma32(s, r, u-high)+((s-u)-0.5))
}

// expm1F32 returns e^x - 1.
func expm1F32(x float32) float32 {
	v := x
	if v > expm1_32High {
		v = expm1_32High
	} else if v < expm1_32Low {
		v = expm1_32Low
	}
	high, low := halfExpm1(v)
	y := high + low
	if float32(math.Abs(float64(x))) < expm1_32Tiny {
		return x
	}
	return y + y
}

// tanhF32 returns 1 - 1/d, d = (e^2x + 1)/2, or a polynomial where x is near 0.
func tanhF32(x float32) float32 {
	a := float32(math.Abs(float64(x)))
	y := float32(0)
	if a < tanh32Near {
		z := a * a
		p := fma32(tanh32C5, z, tanh32C4)
		p = fma32(p, z, tanh32C3)
		p = fma32(p, z, tanh32C2)
		p = fma32(p, z, tanh32C1)
		p = fma32(p, z, tanh32C0)
		y = fma32(p, z*a, a)
	} else {
		v := a + a
		if v > tanh32High {
			v = tanh32High
		}
		t, r, _ := reduceExp32(v)
		p := fma32(expm1Poly32(r), r*r, r)
		s := math.Float32frombits((math.Float32bits(t) + 126) << 23)
		u := s + 0.5
		d := fma32(s, p, u)
		d1 := fma32(s, p, u-d)
		w := 1 / d
		rest := fma32(-w, d1, fma32(-w, d, 1)) // 1/(d + d1) is w (1 + rest)
		y = 1 - w
		y += fma32(-rest, w, (1-y)-w)
	}
	return float32(math.Copysign(float64(y), float64(x)))
}
