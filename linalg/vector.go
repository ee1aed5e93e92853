package linalg

import (
	"math"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"gonum.org/v1/gonum/blas/gonum"
)

// number is the set of element types of this package.
type number interface {
	float32 | float64 | complex64 | complex128
}

var blas1 gonum.Implementation

// axpy adds alpha x to y. The vectors have the same length.
func axpy[T number](alpha T, x, y []T) {
	n := len(x)
	if n == 0 {
		return
	}
	switch x := any(x).(type) {
	case []float32:
		blas1.Saxpy(n, any(alpha).(float32), x, 1, any(y).([]float32), 1)
	case []float64:
		blas1.Daxpy(n, any(alpha).(float64), x, 1, any(y).([]float64), 1)
	case []complex64:
		blas1.Caxpy(n, any(alpha).(complex64), x, 1, any(y).([]complex64), 1)
	case []complex128:
		blas1.Zaxpy(n, any(alpha).(complex128), x, 1, any(y).([]complex128), 1)
	}
}

// dotc returns the sum of conj(x[i]) y[i].
func dotc[T number](x, y []T) T {
	n := len(x)
	if n == 0 {
		return 0
	}
	var s any
	switch x := any(x).(type) {
	case []float32:
		s = blas1.Sdot(n, x, 1, any(y).([]float32), 1)
	case []float64:
		s = blas1.Ddot(n, x, 1, any(y).([]float64), 1)
	case []complex64:
		s = blas1.Cdotc(n, x, 1, any(y).([]complex64), 1)
	case []complex128:
		s = blas1.Zdotc(n, x, 1, any(y).([]complex128), 1)
	}
	return s.(T)
}

// scale multiplies x by alpha.
func scale[T number](alpha T, x []T) {
	n := len(x)
	if n == 0 {
		return
	}
	switch x := any(x).(type) {
	case []float32:
		blas1.Sscal(n, any(alpha).(float32), x, 1)
	case []float64:
		blas1.Dscal(n, any(alpha).(float64), x, 1)
	case []complex64:
		blas1.Cscal(n, any(alpha).(complex64), x, 1)
	case []complex128:
		blas1.Zscal(n, any(alpha).(complex128), x, 1)
	}
}

// norm returns the Euclidean norm of x.
func norm[T number](x []T) float64 {
	sum := 0.0
	switch x := any(x).(type) {
	case []float32: // squares of float32 numbers neither overflow nor underflow in float64
		var a, b float64
		for ; len(x) >= 2; x = x[2:] {
			a += float64(x[0]) * float64(x[0])
			b += float64(x[1]) * float64(x[1])
		}
		for _, v := range x {
			a += float64(v) * float64(v)
		}
		return math.Sqrt(a + b)
	case []complex64:
		for _, v := range x {
			sum += float64(real(v))*float64(real(v)) + float64(imag(v))*float64(imag(v))
		}
		return math.Sqrt(sum)
	case []float64:
		if len(x) > 0 {
			sum = blas1.Ddot(len(x), x, 1, x, 1)
		}
	case []complex128:
		if len(x) > 0 {
			sum = real(blas1.Zdotc(len(x), x, 1, x, 1))
		}
	}
	if sum > 0x1p-900 && sum < 0x1p1000 { // otherwise squares may have overflowed, or underflowed by more than the rounding error
		return math.Sqrt(sum)
	}
	return scaledNorm(x)
}

// scaledNorm is norm of numbers whose squares may overflow or be subnormal.
func scaledNorm[T number](x []T) float64 {
	scale, sum := 0.0, 1.0
	add := func(v float64) {
		if v == 0 {
			return
		}
		if v = math.Abs(v); scale < v {
			sum = 1 + sum*(scale/v)*(scale/v)
			scale = v
		} else {
			sum += (v / scale) * (v / scale)
		}
	}
	for _, v := range x {
		re, im := parts(v)
		add(re)
		add(im)
	}
	return scale * math.Sqrt(sum)
}

// parts returns the real and the imaginary part of x.
func parts[T number](x T) (re, im float64) {
	switch v := any(x).(type) {
	case float32:
		return float64(v), 0
	case float64:
		return v, 0
	case complex64:
		return float64(real(v)), float64(imag(v))
	case complex128:
		return real(v), imag(v)
	}
	return 0, 0
}

// of2 returns the number with the given parts. For a real type the imaginary part is
// dropped.
func of2[T number](re, im float64) T {
	var v any
	switch any(T(0)).(type) {
	case float32:
		v = float32(re)
	case float64:
		v = re
	case complex64:
		v = complex64(complex(re, im))
	case complex128:
		v = complex(re, im)
	}
	return v.(T)
}

// conj returns the conjugate of x.
func conj[T number](x T) T {
	var v any
	switch x := any(x).(type) {
	case complex64:
		v = complex(real(x), -imag(x))
	case complex128:
		v = complex(real(x), -imag(x))
	default:
		v = x
	}
	return v.(T)
}

// conjugate replaces the elements of x by their conjugates.
func conjugate[T number](x []T) {
	switch x := any(x).(type) {
	case []complex64:
		for i, v := range x {
			x[i] = complex(real(v), -imag(v))
		}
	case []complex128:
		for i, v := range x {
			x[i] = complex(real(v), -imag(v))
		}
	}
}

// size1 returns |re x| + |im x|, by which LAPACK compares pivots.
func size1[T number](x T) float64 {
	re, im := parts(x)
	return math.Abs(re) + math.Abs(im)
}

// epsilon returns the distance from 1 to the next number of T's real type.
func epsilon[T number]() float64 {
	if dtype.Of[T]().Real() == dtype.Float32 {
		return 0x1p-23
	}
	return 0x1p-52
}

// isComplex reports whether T is a complex type.
func isComplex[T number]() bool { return dtype.Of[T]().IsComplex() }

func pointer[T number](x []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(x)) }
