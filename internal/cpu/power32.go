package cpu

import "math"

// Coefficients, highest first, of near-minimax polynomials.
var (
	// log2((1 + s)/(1 - s))/s in s^2, for (1 + s)/(1 - s) in [sqrt(1/2), sqrt(2)), to 2^-45
	pow32Log = [6]float64{0.28291264088878953, 0.3199048166876391, 0.41220927401429536, 0.5770779421493651, 0.9617966941140909, 2.8853900817778495}

	// (2^r - 1)/r for |r| <= 1/2, with 2^r to 2^-34
	pow32Exp = [7]float64{
		1.5196133666748476e-05,
		0.00015466781567746282,
		0.0013333935358180876,
		0.009618038059464389,
		0.05550410365389198,
		0.24022651067004452,
		0.6931471807047644,
	}
)

// pow32Limit is the largest |y log2 x| that powF32 computes with: there and beyond, the result is 0 or infinite.
const pow32Limit = 1000

// powF32 returns x^y, computed in float64 as 2^(y log2 x) and rounded once; special cases are those of C and of math.Pow.
func powF32(x, y float32) float32 {
	a, b := math.Abs(float64(x)), float64(y)
	if x == 1 || y == 0 || x == 0 || !(a <= math.MaxFloat32) || !(math.Abs(b) <= math.MaxFloat32) {
		return float32(math.Pow(float64(x), b))
	}
	v := powPositive32(a, b)
	if x < 0 {
		half := 0.5 * b
		switch {
		case math.Trunc(b) != b:
			return float32(math.NaN())
		case math.Trunc(half) != half:
			v = -v
		}
	}
	return float32(v)
}

// powPositive32 returns x^y, where positive x and finite y are of float32.
func powPositive32(x, y float64) float64 {
	n, f := logParts(x)
	s := f / (f + 2)
	z := float64(s * s)
	p := pow32Log[0]
	for _, c := range pow32Log[1:] {
		p = math.FMA(p, z, c)
	}
	v := float64(y * math.FMA(s, p, n))
	v = max(-pow32Limit, min(v, pow32Limit))
	t := v + shifter
	r := v - (t - shifter)
	q := pow32Exp[0]
	for _, c := range pow32Exp[1:] {
		q = math.FMA(q, r, c)
	}
	return math.FMA(q, r, 1) * math.Float64frombits((math.Float64bits(t)+1023)<<52)
}
