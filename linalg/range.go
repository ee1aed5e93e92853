package linalg

import "math"

// normalize multiplies a by a power of two if squares or sums of its elements might otherwise overflow or underflow
// in T, as LAPACK's drivers do. It returns the power, 1 for most matrices. The caller divides the eigenvalues and
// singular values by it.
func normalize[T number](a matrix[T]) (factor float64) {
	largest := 0.0
	if a.cols == a.stride {
		largest = largestPart(a.data[:a.rows*a.cols])
	} else {
		for i := range a.rows {
			largest = max(largest, largestPart(a.row(i)))
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

// largestPart returns the largest absolute value of the real and imaginary parts of x, which are finite.
func largestPart[T number](x []T) (largest float64) {
	switch x := any(x).(type) {
	case []float32:
		return float64(largestReal(x))
	case []float64:
		return largestReal(x)
	}
	for _, v := range x {
		re, im := parts(v)
		largest = max(largest, math.Abs(re), math.Abs(im))
	}
	return largest
}

func largestReal[T float32 | float64](x []T) (largest T) {
	for _, v := range x {
		if v = T(math.Abs(float64(v))); v > largest {
			largest = v
		}
	}
	return largest
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
