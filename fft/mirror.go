package fft

// mirror completes the transform of a line of real numbers by X[n-k] = conj X[k]. The elements up to n/2 are already
// set. The inverse transform is the conjugate of the forward one.
func (t *transformer[C]) mirror(z []C) []C {
	switch z := any(z).(type) {
	case []complex64:
		mirrorParts(parts[float32](z), t.inverse)
	case []complex128:
		mirrorParts(parts[float64](z), t.inverse)
	}
	return z
}

// mirrorParts is mirror on the real and imaginary parts.
func mirrorParts[R float32 | float64](z []R, inverse bool) {
	h := len(z) / 2
	low, high := z[2:h], z[h+2:]
	high = high[:len(low)]
	if inverse {
		for i, j := 0, len(high)-2; i < len(low)-1 && j >= 0; i, j = i+2, j-2 {
			high[j], high[j+1] = low[i], low[i+1]
			low[i+1] = -low[i+1]
		}
		return
	}
	for i, j := 0, len(high)-2; i < len(low)-1 && j >= 0; i, j = i+2, j-2 {
		high[j], high[j+1] = low[i], -low[i+1]
	}
}
