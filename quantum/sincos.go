package quantum

import "math"

// sincos writes the sines and cosines of x with an error of about 2e-16, for the angles of
// many samples at once.
func sincos(sin, cos, x []float64) {
	sin, cos = sin[:len(x)], cos[:len(x)]
	for i := 0; i < len(x); i++ {
		if i += sincosVector(sin[i:], cos[i:], x[i:]); i == len(x) {
			return
		}
		sin[i], cos[i] = math.Sincos(x[i])
	}
}
