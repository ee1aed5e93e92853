package cpu

import (
	"math"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// unaryKernel returns the kernel of op on dense blocks of n elements of type
// t, nil when there is none. dst may be x.
func unaryKernel(op expr.Op, t dtype.DType) func(dst, x unsafe.Pointer, n int) {
	switch t {
	case dtype.Float32:
		return floatUnary[float32](op)
	case dtype.Float64:
		return floatUnary[float64](op)
	case dtype.Int8:
		return realUnary[int8](op)
	case dtype.Uint8:
		return realUnary[uint8](op)
	case dtype.Int32:
		return realUnary[int32](op)
	case dtype.Int64:
		return realUnary[int64](op)
	case dtype.Complex64:
		return complexUnary[complex64, float32](op)
	case dtype.Complex128:
		return complexUnary[complex128, float64](op)
	}
	return nil
}

func floatUnary[T float32 | float64](op expr.Op) func(dst, x unsafe.Pointer, n int) {
	switch op {
	case expr.GELU:
		return smooth[T](gelu)
	case expr.GELUTanh:
		return smooth[T](geluTanh)
	case expr.SiLU:
		return smooth[T](silu)
	}
	return realUnary[T](op)
}

// realUnary are the operations that every real type has.
func realUnary[T number](op expr.Op) func(dst, x unsafe.Pointer, n int) {
	switch op {
	case expr.Neg:
		return negs[T]
	case expr.ReLU:
		return relus[T]
	}
	return nil
}

func complexUnary[C complex64 | complex128, R float32 | float64](op expr.Op) func(dst, x unsafe.Pointer, n int) {
	switch op {
	case expr.Neg:
		return func(dst, x unsafe.Pointer, n int) { negs[R](dst, x, 2*n) }
	case expr.Conj:
		return conjs[R]
	}
	return nil
}

func negs[T number](dst, x unsafe.Pointer, n int) {
	d, s := pair[T, T](dst, x, n)
	for i, v := range s {
		d[i] = -v
	}
}

// relus leaves NaN as it is, and turns -0 into 0.
func relus[T number](dst, x unsafe.Pointer, n int) {
	d, s := pair[T, T](dst, x, n)
	for i, v := range s {
		d[i] = max(v, 0)
	}
}

func conjs[R float32 | float64](dst, x unsafe.Pointer, n int) {
	d, s := pair[[2]R, [2]R](dst, x, n)
	for i, v := range s {
		d[i] = [2]R{v[0], -v[1]}
	}
}

// smooth makes the kernel of a function on float64.
func smooth[T float32 | float64](f func(x float64) float64) func(dst, x unsafe.Pointer, n int) {
	return func(dst, x unsafe.Pointer, n int) {
		d, s := pair[T, T](dst, x, n)
		for i, v := range s {
			d[i] = T(f(float64(v)))
		}
	}
}

// gelu returns x/2 (1 + erf(x/sqrt 2)) = x/2 erfc(-x/sqrt 2), the second form
// because it does not cancel for negative x (Hendrycks and Gimpel, arXiv
// 1606.08415).
func gelu(x float64) float64 { return 0.5 * x * math.Erfc(-x/math.Sqrt2) }

// geluTanh returns x/2 (1 + tanh u) = x sigmoid(2u), u = sqrt(2/pi) (x +
// 0.044715 x^3) (arXiv 1606.08415).
func geluTanh(x float64) float64 {
	const c = 2 * math.Sqrt2 / math.SqrtPi
	return gated(x, c*x*(1+float64(0.044715*x*x)))
}

// silu returns x sigmoid(x).
func silu(x float64) float64 { return gated(x, x) }

// gated returns x sigmoid(v), where v has the sign of x. The exponential is
// taken of -|v|, which cannot overflow, so that small results keep their
// precision.
func gated(x, v float64) float64 {
	if v >= 0 {
		return x / (1 + math.Exp(-v))
	}
	e := math.Exp(v)
	return x * e / (1 + e)
}
