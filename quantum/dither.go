package quantum

import "math"

// dither rotates a state's numbers in pairs. Each pair has its own angle, the same for all
// states: an orthogonal map, which does not change K. Sums over amplitudes need it. If
// amplitudes are equal (after H on every wire, or with one angle on all), so are the terms
// of a sum. Each addition then rounds in the same direction, and the error grows with the
// number of terms: for 256 terms it reached three times Standard's bound. After the rotation
// the terms differ. Their errors have either sign, and the sum's error grows with the square
// root of the number of terms. A GPU rotates pairs of amplitudes instead (rotate_pair in kernels/amplitudes.cuh): its sums
// combine real and imaginary parts.
type dither struct {
	cos, sin []float64 // cosines and sines of the angles, twice: a stretch may begin anywhere in the first half
}

// dithered is the number of angles. A longer state is divided into stretches, each of which
// begins at another angle.
const dithered = 1 << 12

// newDither returns the dither for states of width numbers.
func newDither(width int) *dither {
	n := min(max(width/2, 1), dithered)
	d := &dither{make([]float64, 2*n), make([]float64, 2*n)}
	for i := range n {
		_, part := math.Modf(float64(i+1) * math.Phi) // equally spaced
		d.sin[i], d.cos[i] = math.Sincos(2 * math.Pi * part)
	}
	copy(d.cos[n:], d.cos)
	copy(d.sin[n:], d.sin)
	return d
}

// rotate rotates a state. The pairs are an amplitude's real and imaginary part; for a real
// state, with im nil, an amplitude of the first half and one of the second.
func (d *dither) rotate(re, im []float64) {
	if im == nil {
		re, im = re[:len(re)/2], re[len(re)/2:]
	}
	n := len(d.cos) / 2
	for at, from := 0, 0; at < len(re); at, from = at+n, (from+1597)%n {
		to := min(at+n, len(re))
		times(re[at:to], im[at:to], d.cos[from:], d.sin[from:])
	}
}
