package linalg

import "math"

// normalize multiplies a by a power of two if squares or sums of its elements might otherwise overflow or underflow
// in T, as LAPACK's drivers do. It returns the power, 1 for most matrices. The caller divides the eigenvalues and
// singular values by it.
func normalize[T number](a matrix[T]) (factor float64) {
	largest := 0.0
	for i := range a.rows {
		for _, v := range a.row(i) {
			re, im := parts(v)
			largest = max(largest, math.Abs(re), math.Abs(im))
		}
	}
	if factor = normalizer(largest, epsilon[T]()); factor == 1 {
		return 1
	}
	for i := range a.rows {
		scale(of2[T](factor, 0), a.row(i))
	}
	return factor
}

// normalizer returns the power of two by which normalize multiplies a matrix, 1 for most matrices. largest is the
// largest absolute value of its elements, and eps the epsilon of its type.
func normalizer(largest, eps float64) float64 {
	far, most := 400, 1000 // exponents; 2^-most and 2^most are normal numbers of the type
	if eps > eps64 {
		far, most = 40, 100
	}
	_, exponent := math.Frexp(largest)
	if largest == 0 || -far <= exponent && exponent <= far {
		return 1
	}
	return math.Ldexp(1, -max(-most, min(exponent, most)))
}
