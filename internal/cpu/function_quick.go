package cpu

import (
	"math"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// Functions that take less time than a call have their own loops.

// quickTest returns a kernel of a test of floating-point numbers, or nil. NaN is not equal to itself, and comparisons
// have vector code.
func quickTest(op expr.Op, t dtype.DType) func(dst, x unsafe.Pointer, n int) {
	switch t {
	case dtype.Float32:
		return floatTest[float32, uint32](op, t)
	case dtype.Float64:
		return floatTest[float64, uint64](op, t)
	}
	return nil
}

// floatTest returns a test of elements of type T, whose bits are a W.
func floatTest[T float32 | float64, W uint32 | uint64](op expr.Op, t dtype.DType) func(dst, x unsafe.Pointer, n int) {
	switch op {
	case expr.IsNaN:
		unequal := comparison(expr.Ne, t).vv
		return func(dst, x unsafe.Pointer, n int) { unequal(dst, x, x, n) }
	case expr.IsInf, expr.IsFinite:
		return magnitudeTest[T, W](op, t)
	case expr.SignBit:
		return func(dst, x unsafe.Pointer, n int) {
			sign := ^(^W(0) >> 1)
			d, s := pair[bool, W](dst, x, n)
			for i, v := range s {
				d[i] = v >= sign
			}
		}
	}
	return nil
}

// magnitudeTest returns IsInf or IsFinite, which compare absolute values with infinity.
func magnitudeTest[T float32 | float64, W uint32 | uint64](op expr.Op, t dtype.DType) func(dst, x unsafe.Pointer, n int) {
	v := T(math.Inf(1))
	infinity := *(*W)(unsafe.Pointer(&v))
	return func(dst, x unsafe.Pointer, n int) {
		if m := magnitudes(op, t, dst, x, n); m > 0 {
			if n -= m; n == 0 {
				return // a pointer must not point after the last element
			}
			dst, x = unsafe.Add(dst, m), unsafe.Add(x, m*t.Size())
		}
		d, s := pair[bool, W](dst, x, n)
		for i, v := range s {
			magnitude := v &^ (^(^W(0) >> 1))
			d[i] = op == expr.IsInf && magnitude == infinity || op == expr.IsFinite && magnitude < infinity
		}
	}
}

// quickUnary returns a kernel of Trunc or Reciprocal, or nil for other operations.
func quickUnary(op expr.Op, t dtype.DType) func(dst, x unsafe.Pointer, n int) {
	switch t {
	case dtype.Float32:
		return quickFloat[float32](op)
	case dtype.Float64:
		return quickFloat[float64](op)
	}
	return nil
}

func quickFloat[T float32 | float64](op expr.Op) func(dst, x unsafe.Pointer, n int) {
	switch op {
	case expr.Trunc:
		return withUnaryVectors(op, dtype.Of[T](), func(dst, x unsafe.Pointer, n int) {
			d, s := pair[T, T](dst, x, n)
			for i, v := range s {
				d[i] = T(math.Trunc(float64(v)))
			}
		})
	case expr.Reciprocal:
		return func(dst, x unsafe.Pointer, n int) {
			d, s := pair[T, T](dst, x, n)
			for i, v := range s {
				d[i] = 1 / v
			}
		}
	}
	return nil
}
