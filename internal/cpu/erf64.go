package cpu

import "math"

// The error function of float64, with an error below 0.95 ulp. Up to erf64Mid it is x + x
// R, where R is a polynomial in x^2. Beyond, with b = |x| - 1, it is 1 - e^(g + b G), where
// g = log erfc(1) and G is a polynomial in b. The error of G is weighted by erfc, which
// falls as b grows, so that the error of erf is below 2^-60. The upper two coefficients of
// R were rounded before the others were fitted.

const (
	logErfc1     = -0x1.d97fbf27aa2a1p+0
	logErfc1Rest = -0x1.9b2f9379f1952p-57
	erf64Mid     = 0.8125
	erf64Max     = 5.95 // from here on, erf rounds to 1
)

// erf64R and erf64G are the coefficients of R and G, highest first.
var (
	erf64R = [...]float64{
		0x1.6938b1daee639p-27,
		-0x1.4ffa633c8b84cp-23,
		0x1.b8059b53440dbp-20,
		-0x1.f4adcf2be66bdp-17,
		0x1.f9a15d7ccdc16p-14,
		-0x1.c02da5a278f08p-11,
		0x1.565bccc673fc6p-8,
		-0x1.b82ce310e46a2p-6,
		0x1.ce2f21a03dd3fp-4,
		-0x1.812746b03798bp-2,
		0x1.06eba8214db68p-3,
	}
	erf64G = [...]float64{
		-0x1.f9e5d6dc0034fp-43,
		0x1.d867cb6f73c38p-38,
		-0x1.9c8a73bf036c3p-34,
		0x1.c0573f47e80a3p-31,
		-0x1.52df075ee9dd8p-28,
		0x1.74d46e9ab55f5p-26,
		-0x1.25caa228cec8fp-24,
		0x1.10c2c3d85b25ap-23,
		0x1.b9f2d9b1018adp-24,
		-0x1.0ef6f8d1a95b4p-19,
		0x1.415d74e901c92p-17,
		-0x1.c75a3d386a071p-16,
		0x1.b8be5f5ac0eb3p-16,
		0x1.f1b4bbcaa337dp-13,
		-0x1.033f6994fb740p-9,
		0x1.48c9d40c00fe1p-7,
		-0x1.5477f09ca91b5p-5,
		-0x1.afabc11a28f32p-1,
		-0x1.51c9b0006c23dp+1,
	}
)

// erfF64 returns the error function.
func erfF64(x float64) float64 {
	a := math.Abs(x)
	switch {
	case x != x:
		return x
	case a < erf64Mid:
		return math.FMA(x, alternate(erf64R[:], float64(a*a)), x)
	}
	b := min(a, erf64Max) - 1
	p := float64(b * alternate(erf64G[:], b))
	g := logErfc1 + p
	v, t := expParts64(g, ((logErfc1-g)+p)+logErfc1Rest)
	return math.Copysign(1-float64(v*powerOf(t)), x)
}

// alternate returns the polynomial with these coefficients, highest first, as the sum of
// two polynomials in x^2: the even powers and the odd ones.
func alternate(c []float64, x float64) float64 {
	z := x * x
	even, odd := c[0], c[1]
	for c = c[2:]; len(c) > 1; c = c[2:] {
		even, odd = math.FMA(even, z, c[0]), math.FMA(odd, z, c[1])
	}
	return math.FMA(odd, x, math.FMA(even, z, c[0]))
}
