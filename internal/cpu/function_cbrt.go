package cpu

import "math"

const (
	cbrtStart = 0x553ee978 << 32 // estimates x^(-1/3) from a third of the upper half of x's bits, to 3.5 %
	cbrtMask  = 1<<64 - 1<<27

	twoThirds  = 2.0 / 3
	fiveNinths = 5.0 / 9
)

// cbrtC are the coefficients of ((1 - e)^(-1/3) - 1)/e, lowest first, to 2^-23.4 of (1 - e)^(-1/3) for |e| < 0.102.
var cbrtC = [4]float64{0x1.55543d8a19319p-2, 0x1.c718448a740cfp-3, 0x1.654f1b2fd62ecp-3, 0x1.2aef409536445p-3}

// cbrtF64 returns the cube root. With an estimate r of |x|^(-1/3) and e = 1 - |x| r^3, |x|^(-1/3) = r (1 - e)^(-1/3). A
// polynomial gives that to 23 bits. It is cut to 26 bits, so that its square is exact, and the cube root |x| r^2 (1 - e)^(-2/3) is
// computed from the new e by the first three terms of its series.
func cbrtF64(x float64) float64 {
	a := math.Abs(x)
	switch {
	case !(a > 0 && a <= math.MaxFloat64):
		return x
	case a < leastNormal:
		return cbrtF64(x*0x1p54) * 0x1p-18
	}
	r := math.Float64frombits(cbrtStart - math.Float64bits(a)>>32*((1<<32+2)/3))
	e := math.FMA(-float64(a*r), float64(r*r), 1)
	r = math.FMA(float64(r*e), estrin(cbrtC[:], e), r)
	r = math.Float64frombits(math.Float64bits(r) & cbrtMask)
	t, low := twoProduct(a, float64(r*r)) // the square is exact
	e = math.FMA(-low, r, math.FMA(-t, r, 1))
	return math.Copysign(t+math.FMA(float64(t*e), math.FMA(fiveNinths, e, twoThirds), low), x)
}
