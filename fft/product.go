package fft

// product returns x y. Its real products are rounded before they are added. The operator for complex128 does not promise that:
// Go's compiler fuses them with the sums for processors that can (arm64, GOAMD64=v3), and the loops would differ from the
// assembly. For complex64 the operator has the same bits everywhere, because products in float64 are exact.
func product(x, y complex128) complex128 {
	a, b, c, d := real(x), imag(x), real(y), imag(y)
	return complex(float64(a*c)-float64(b*d), float64(a*d)+float64(b*c))
}

// multiply sets dst[i] to x[i] y[i] for the elements of y. dst may be x.
func multiply[C number](dst, x, y []C) {
	switch dst := any(dst).(type) {
	case []complex64:
		x, y := any(x).([]complex64), any(y).([]complex64)
		for i, c := range y {
			dst[i] = x[i] * c
		}
	case []complex128:
		x, y := any(x).([]complex128), any(y).([]complex128)
		for i, c := range y {
			dst[i] = product(x[i], c)
		}
	}
}
