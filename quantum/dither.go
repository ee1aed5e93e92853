package quantum

import "math"

// dither turns a state's numbers in pairs, each by an angle of its own, the same for all
// states: an orthogonal map, which changes no K. Sums over amplitudes need it. Where
// amplitudes are alike, after H on every wire or one angle on all, so are the terms of a
// sum: each addition then rounds the same way, the error grows with their number, and
// 256 of them took three times what Standard allows. Turned, the terms differ, errors
// have either sign, and grow with the root. A GPU turns two amplitudes instead (turn_pair
// in cutlass/src/quantum.cu): its sums take real and imaginary parts together.
type dither struct {
	cos, sin []float64 // of the angles, twice: a stretch may begin anywhere in the first half
}

// dithered is the number of angles. A longer state takes them in stretches, each from
// another one on.
const dithered = 1 << 12

// newDither is the dither of states of so many numbers.
func newDither(width int) *dither {
	n := min(max(width/2, 1), dithered)
	d := &dither{make([]float64, 2*n), make([]float64, 2*n)}
	for i := range n {
		_, part := math.Modf(float64(i+1) * math.Phi) // equally spread
		d.sin[i], d.cos[i] = math.Sincos(2 * math.Pi * part)
	}
	copy(d.cos[n:], d.cos)
	copy(d.sin[n:], d.sin)
	return d
}

// turn turns a state. An amplitude's real and imaginary part are a pair; of a real
// state, with im nil, an amplitude of the first half and one of the second.
func (d *dither) turn(re, im []float64) {
	if im == nil {
		re, im = re[:len(re)/2], re[len(re)/2:]
	}
	n := len(d.cos) / 2
	for at, from := 0, 0; at < len(re); at, from = at+n, (from+1597)%n {
		to := min(at+n, len(re))
		times(re[at:to], im[at:to], d.cos[from:], d.sin[from:])
	}
}
