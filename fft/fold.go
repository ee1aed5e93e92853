package fft

// fold computes the transform X of the real line from the transform Z of the pairs: with h = n/2,
//
//	X[k] = (Z[k] + conj Z[h-k]) / 2 - i/2 e^(-2 pi i k / n) (Z[k] - conj Z[h-k]),    Z[h] = Z[0]
//
// (Van Loan 1992, section 4.3.4).
func (t *transformer[C]) fold(z []C) []C {
	switch z := any(z).(type) {
	case []complex64:
		foldParts(parts[float32](z), parts[float32](t.turns), vector)
	case []complex128:
		foldParts(parts[float64](z), parts[float64](t.turns), vector)
	}
	return z
}

// times returns the product of two complex numbers. The parts are computed in float64 and rounded once, as Go computes products
// of complex64.
func times[R float32 | float64](ar, ai, br, bi R) (re, im R) {
	p := product(complex(float64(ar), float64(ai)), complex(float64(br), float64(bi)))
	return R(real(p)), R(imag(p))
}

// foldParts is fold on the real and imaginary parts of z and of the turns e^(-2 pi i k / n).
func foldParts[R float32 | float64](z, turns []R, vector bool) {
	h := len(z)/2 - 1
	z[2*h], z[2*h+1] = z[0], z[1]
	k := 0
	if z, ok := any(z).([]float64); ok && vector && h >= 3 {
		turns, count := any(turns).([]float64), (h+1)/4
		fold64(&z[0], &z[2*h-2], &turns[0], &turns[2*h-2], count)
		k = 2 * count
	}
	for ; 2*k <= h; k++ {
		foldPair(z, turns, 2*k, 2*(h-k))
	}
}

// foldPair computes the elements whose parts begin at i and j.
func foldPair[R float32 | float64](z, turns []R, i, j int) {
	ar, ai, br, bi := z[i], z[i+1], z[j], z[j+1]
	sr, si := (ar+br)/2, (ai-bi)/2
	dr, di := (ai+bi)/2, (br-ar)/2
	pr, pi := times(dr, di, turns[i], turns[i+1])
	qr, qi := times(dr, -di, turns[j], turns[j+1])
	z[i], z[i+1] = sr+pr, si+pi
	z[j], z[j+1] = sr+qr, qi-si
}
