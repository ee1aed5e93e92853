package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// function holds the Go functions of an operation for which expr.Op.IsFunction is true: for
// floating-point numbers (float32 and halves are computed in float64 and rounded), for
// complex numbers and for integers. Missing ones are nil. internal/gen writes their table,
// functions_gen.go: the function of operation Name is nameF64, nameC128 or nameInt.
type function struct {
	real    func(x float64) float64
	complex func(x complex128) complex128
	integer func(x int64) int64

	complexToReal func(x complex128) float64

	realTest    func(x float64) bool
	complexTest func(x complex128) bool
	integerTest func(x int64) bool

	real2    func(x, y float64) float64
	integer2 func(x, y int64) int64
}

// functionUnary is unaryKernel for functions.
func functionUnary(op expr.Op, t dtype.DType) (f func(dst, x unsafe.Pointer, n int), result dtype.DType) {
	if f := quickTest(op, t); f != nil {
		return f, dtype.Bool
	}
	if f := quickUnary(op, t); f != nil {
		return f, t
	}
	if f := vectorFunction(op, t); f != nil {
		return f, t
	}
	fn := functions[op]
	switch t {
	case dtype.Float32:
		return kernelOf(fn.real, fn.realTest, func(x float32) float64 { return float64(x) }, func(v float64) float32 { return float32(v) }, t)
	case dtype.Float64:
		return kernelOf(fn.real, fn.realTest, identity[float64], identity[float64], t)
	case dtype.Int8:
		return integerKernel[int8](fn, t)
	case dtype.Uint8:
		return integerKernel[uint8](fn, t)
	case dtype.Int32:
		return integerKernel[int32](fn, t)
	case dtype.Int64:
		return integerKernel[int64](fn, t)
	case dtype.Complex64:
		in := func(x complex64) complex128 { return complex128(x) }
		if fn.complexToReal != nil {
			return mappingTo(func(x complex64) float32 { return float32(fn.complexToReal(complex128(x))) }), dtype.Float32
		}
		return kernelOf(fn.complex, fn.complexTest, in, func(v complex128) complex64 { return complex64(v) }, t)
	case dtype.Complex128:
		if fn.complexToReal != nil {
			return mappingTo(fn.complexToReal), dtype.Float64
		}
		return kernelOf(fn.complex, fn.complexTest, identity[complex128], identity[complex128], t)
	}
	return nil, t
}

func identity[T any](x T) T { return x }

func integerKernel[T int8 | uint8 | int32 | int64](fn function, t dtype.DType) (f func(dst, x unsafe.Pointer, n int), result dtype.DType) {
	return kernelOf(fn.integer, fn.integerTest, func(x T) int64 { return int64(x) }, func(v int64) T { return T(v) }, t)
}

// kernelOf makes a kernel on elements of type T from a function or a test on type W.
func kernelOf[T, W any](f func(x W) W, test func(x W) bool, in func(x T) W, out func(v W) T, t dtype.DType) (k func(dst, x unsafe.Pointer, n int), result dtype.DType) {
	switch {
	case test != nil:
		return mappingTo(func(x T) bool { return test(in(x)) }), dtype.Bool
	case f != nil:
		return mapping(func(x T) T { return out(f(in(x))) }), t
	}
	return nil, t
}

// mappingTo is mapping for a result of another type.
func mappingTo[T, D any](f func(x T) D) func(dst, x unsafe.Pointer, n int) {
	return func(dst, x unsafe.Pointer, n int) {
		d, s := pair[D, T](dst, x, n)
		for i, v := range s {
			d[i] = f(v)
		}
	}
}

// functionBinary is binaryKernel for functions.
func functionBinary(op expr.Op, t dtype.DType) binary {
	k := binary{}
	switch fn := functions[op]; {
	case op == expr.LogAddExp && t == dtype.Float32:
		k = blockBinary[float32](logAddExpBlock)
	case op == expr.LogAddExp && t == dtype.Float64:
		k = blockBinary[float64](logAddExpBlock)
	case fn.real2 != nil && t == dtype.Float32:
		k = mapped(func(x, y float32) float32 { return float32(fn.real2(float64(x), float64(y))) })
	case fn.real2 != nil && t == dtype.Float64:
		k = mapped(fn.real2)
	case fn.integer2 != nil:
		k = integerFunction(fn.integer2, t)
	}
	k.size = t.Size()
	return k
}

func integerFunction(f func(x, y int64) int64, t dtype.DType) binary {
	switch t {
	case dtype.Int8:
		return mapped(func(x, y int8) int8 { return int8(f(int64(x), int64(y))) })
	case dtype.Uint8:
		return mapped(func(x, y uint8) uint8 { return uint8(f(int64(x), int64(y))) })
	case dtype.Int32:
		return mapped(func(x, y int32) int32 { return int32(f(int64(x), int64(y))) })
	case dtype.Int64:
		return mapped(f)
	}
	return binary{}
}
