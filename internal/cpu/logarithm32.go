package cpu

import "math"

// The logarithms of float32 are computed in float32 with fused multiply-adds, as the functions of exponential32.go are.

const (
	log32Split = 0x3f3504f3 // the bits of sqrt(1/2)
	log1p32Far = 0x1p64     // from here on, 1 + x is x

	// log2(e), log10(e) and log10(2) are sums of two float32. A product of the upper part of log10(2), of 13 bits, and an integer
	// below 2^11 is exact.
	log2e32Low     = 0x1.4ae0c0p-26
	log10e32       = 0x1.bcb7b2p-2
	log10e32Low    = -0x1.5b235ep-27
	log10Of2High32 = 0x1.344p-2
	log10Of2Low32  = 0x1.3509f8p-18
	leastNormal32  = 0x1p-126
	subnormalScale = 0x1p24
)

// Coefficients, highest first, of near-minimax polynomials of (log(1 + f) - f)/f^2, and of the same over log 2, for 1 + f in
// [sqrt(1/2), sqrt(2)). The logarithm of 1 + f is accurate to 2^-27.8.
var log32P = [9]float32{
	-0x1.384eeep-4,
	0x1.087ddap-3,
	-0x1.0f4cdcp-3,
	0x1.226b2ap-3,
	-0x1.542420p-3,
	0x1.99a428p-3,
	-0x1.000438p-2,
	0x1.555550p-2,
	-0x1.fffff8p-2,
}

var log2_32P = [9]float32{
	-0x1.c39bc6p-4,
	0x1.7f2818p-3,
	-0x1.87f7e8p-3,
	0x1.a2c9dcp-3,
	-0x1.eaa24ap-3,
	0x1.277f44p-2,
	-0x1.715afep-2,
	0x1.ec7094p-2,
	-0x1.715470p-1,
}

// logParts32 splits a positive, finite, normal x into n and f, x = 2^n (1 + f), with 1 + f in [sqrt(1/2), sqrt(2)).
// shift is n in the bits of the exponent.
func logParts32(x float32) (n, f float32, shift uint32) {
	b := math.Float32bits(x)
	k := int32(b-log32Split) >> 23
	shift = uint32(k) << 23
	return float32(k), math.Float32frombits(b-shift) - 1, shift
}

// logPartsAny32 is logParts32 also for subnormal x.
func logPartsAny32(x float32) (n, f float32) {
	if x < leastNormal32 {
		n, f, _ = logParts32(x * subnormalScale)
		return n - 24, f
	}
	n, f, _ = logParts32(x)
	return n, f
}

// logSmall32 returns low + square P(f), where P is the polynomial with the given coefficients.
func logSmall32(coefficients *[9]float32, f, square, low float32) float32 {
	p := coefficients[0]
	for _, c := range coefficients[1:] {
		p = fma32(p, f, c)
	}
	return fma32(p, square, low)
}

// sumOfThree32 returns a + b + small, where a is 0 or larger than b, and both are larger than small.
func sumOfThree32(a, b, small float32) float32 {
	h := a + b
	return h + (((a - h) + b) + small)
}

// logSpecial32 returns the logarithm of zero, a negative number, an infinity or NaN. It is the same for every base above 1.
func logSpecial32(x float32) float32 {
	switch {
	case x == 0:
		return float32(math.Inf(-1))
	case x > 0 || x != x:
		return x
	}
	return float32(math.NaN())
}

func outsideLog32(x float32) bool { return !(x > 0 && x <= math.MaxFloat32) }

// logF32 returns the natural logarithm.
func logF32(x float32) float32 {
	if outsideLog32(x) {
		return logSpecial32(x)
	}
	n, f := logPartsAny32(x)
	return sumOfThree32(n*ln2High32, f, logSmall32(&log32P, f, f*f, float32(n*ln2Low32)))
}

// log2F32 returns the logarithm to base 2. It is exact for powers of 2.
func log2F32(x float32) float32 {
	if outsideLog32(x) {
		return logSpecial32(x)
	}
	n, f := logPartsAny32(x)
	p := float32(f * log2e32)
	rest := fma32(f, log2e32Low, fma32(f, log2e32, -p))
	return sumOfThree32(n, p, logSmall32(&log2_32P, f, f*f, rest))
}

// log10F32 returns the logarithm to base 10. It is exact for powers of 10.
func log10F32(x float32) float32 {
	if outsideLog32(x) {
		return logSpecial32(x)
	}
	n, f := logPartsAny32(x)
	p := float32(f * log10e32)
	rest := fma32(f, log10e32Low, fma32(f, log10e32, -p))
	rest = fma32(n, log10Of2Low32, rest)
	return sumOfThree32(n*log10Of2High32, p, fma32(logSmall32(&log32P, f, f*f, 0), log10e32, rest))
}

// log1pF32 returns log(1 + x).
func log1pF32(x float32) float32 {
	if !(x > -1 && x <= math.MaxFloat32) {
		return logSpecial32(1 + x)
	}
	u := 1 + x
	n, f, shift := logParts32(u)
	c := float32(0) // 1 + x is u + c
	if x < log1p32Far {
		c = min(x, 1) - (u - max(x, 1))
		c *= math.Float32frombits(one32 - shift)
	}
	square := float32(f * f)
	small := fma32(c, square-f, c) // c/(1 + f)
	y := sumOfThree32(n*ln2High32, f, logSmall32(&log32P, f, square, fma32(n, ln2Low32, small)))
	return float32(math.Copysign(float64(y), float64(x))) // keeps -0
}

// one32 holds the bits of 1.
const one32 = 0x7f << 23
