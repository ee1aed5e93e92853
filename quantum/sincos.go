package quantum

import "math"

// sincos writes the sines and cosines of x with an error of about 2e-16, for the angles of
// many samples at once. Each result depends only on its angle, not on its neighbours, so
// the bits of K do not depend on which samples are computed together.
func sincos(sin, cos, x []float64) {
	sin, cos = sin[:len(x)], cos[:len(x)]
	for i := 0; i < len(x); i++ {
		if i += sincosVector(sin[i:], cos[i:], x[i:]); i == len(x) {
			return
		}
		s, c, a := [4]float64{}, [4]float64{}, [4]float64{x[i]} // computed as a vector, so that the bits are those of the assembly
		if sincosVector(s[:], c[:], a[:]) == 0 {
			s[0], c[0] = math.Sincos(x[i])
		}
		sin[i], cos[i] = s[0], c[0]
	}
}
