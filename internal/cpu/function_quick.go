package cpu

import (
	"math"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// Functions that take less time than a call have their own loops.

// quickTest returns a kernel of a test of floating-point numbers, or nil.
func quickTest(op expr.Op, t dtype.DType) func(dst, x unsafe.Pointer, n int) {
	switch t {
	case dtype.Float32:
		return floatTest[uint32](op, 0x7f800000)
	case dtype.Float64:
		return floatTest[uint64](op, 0x7ff<<52)
	}
	return nil
}

// floatTest makes a test from the bits of floating-point numbers: without the sign, only
// NaN has larger bits than an infinity.
func floatTest[W uint32 | uint64](op expr.Op, infinity W) func(dst, x unsafe.Pointer, n int) {
	sign := ^(^W(0) >> 1)
	loop := func(test func(d []bool, s []W)) func(dst, x unsafe.Pointer, n int) {
		return func(dst, x unsafe.Pointer, n int) {
			d, s := pair[bool, W](dst, x, n)
			test(d[:len(s)], s)
		}
	}
	switch op {
	case expr.IsNaN:
		return loop(func(d []bool, s []W) {
			for i, v := range s {
				d[i] = v&^sign > infinity
			}
		})
	case expr.IsInf:
		return loop(func(d []bool, s []W) {
			for i, v := range s {
				d[i] = v&^sign == infinity
			}
		})
	case expr.IsFinite:
		return loop(func(d []bool, s []W) {
			for i, v := range s {
				d[i] = v&^sign < infinity
			}
		})
	case expr.SignBit:
		return loop(func(d []bool, s []W) {
			for i, v := range s {
				d[i] = v >= sign
			}
		})
	}
	return nil
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
		return func(dst, x unsafe.Pointer, n int) {
			d, s := pair[T, T](dst, x, n)
			for i, v := range s {
				d[i] = T(math.Trunc(float64(v)))
			}
		}
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
