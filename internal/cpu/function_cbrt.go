package cpu

import "math"

// The cube root is FreeBSD's (s_cbrt.c), as in Go's package math. Every product is rounded before it is added to something, so
// that all processors give the same bits.

const (
	cbrtStart     = 715094163 << 32 // (682 - 0.03306235651) 2^52
	cbrtSubnormal = 696219795 << 32 // (664 - 0.03306235651) 2^52

	cbrtC = 5.42857142857142815906e-01  // 19/35
	cbrtD = -7.05306122448979611050e-01 // -864/1225
	cbrtE = 1.41428571428571436819e+00  // 99/70
	cbrtF = 1.60714285714285720630e+00  // 45/28
	cbrtG = 3.57142857142857150787e-01  // 5/14

	cbrtMask = 0xffffffffc << 28
	cbrtUp   = 1 << 30
)

// cbrtF64 returns the cube root. An estimate from the bits of x is right to 5 bits. A rational function improves it to 23 bits,
// which are rounded up to 22 so that their square is exact. One Newton step then gives the result.
func cbrtF64(x float64) float64 {
	a := math.Abs(x)
	if !(a > 0 && a <= math.MaxFloat64) {
		return x
	}
	t := math.Float64frombits(math.Float64bits(a)/3 + cbrtStart)
	if a < leastNormal {
		t = math.Float64frombits(math.Float64bits(a*0x1p54)/3 + cbrtSubnormal)
	}
	r := t * t / a
	s := cbrtC + float64(r*t)
	t *= cbrtG + cbrtF/(s+cbrtE+cbrtD/s)
	t = math.Float64frombits(math.Float64bits(t)&cbrtMask + cbrtUp)
	r = a / float64(t*t) // t*t is exact
	r = (r - t) / (t + t + r)
	return math.Copysign(t+float64(t*r), x)
}
