package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// function holds the Go functions of an operation for which expr.Op.IsFunction is true: for
// floating-point numbers (halves, and float32 where it has no kernel of its own, are computed in float64 and rounded), for
// complex numbers and for integers. Missing ones are nil. internal/gen writes their table,
// functions_gen.go: the function of operation Name is nameF64, nameC128 or nameInt.
type function struct {
	real     func(x float64) float64
	complex  func(x complex128) complex128
	integer  func(x int64) int64
	unsigned func(x uint64) uint64 // for the unsigned types, as integer for the signed ones

	complexToReal func(x complex128) float64

	realTest    func(x float64) bool
	complexTest func(x complex128) bool
	integerTest func(x int64) bool

	unsignedTest func(x uint64) bool

	real2    func(x, y float64) float64
	integer2 func(x, y int64) int64

	unsigned2 func(x, y uint64) uint64
}

// functionUnary returns the kernel of a function; see unaryKernel.
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
	case dtype.Complex64:
		in := func(x complex64) complex128 { return complex128(x) }
		if fn.complexToReal != nil {
			return mapping(func(x complex64) float32 { return float32(fn.complexToReal(complex128(x))) }), dtype.Float32
		}
		return kernelOf(fn.complex, fn.complexTest, in, func(v complex128) complex64 { return complex64(v) }, t)
	case dtype.Complex128:
		if fn.complexToReal != nil {
			return mapping(fn.complexToReal), dtype.Float64
		}
		return kernelOf(fn.complex, fn.complexTest, identity[complex128], identity[complex128], t)
	}
	if k := integerOf(t); k != nil {
		f, test := k.function(&fn)
		if test {
			t = dtype.Bool
		}
		return f, t
	}
	return nil, t
}

func identity[T any](x T) T { return x }

// function returns the kernel of a function, and whether it is a test, whose results are Bool.
func (ints[T]) function(fn *function) (f func(dst, x unsafe.Pointer, n int), test bool) {
	var result dtype.DType
	if lo, _ := bounds[T](); lo < 0 {
		f, result = kernelOf(fn.integer, fn.integerTest, func(x T) int64 { return int64(x) }, func(v int64) T { return T(v) }, dtype.Invalid)
	} else {
		f, result = kernelOf(fn.unsigned, fn.unsignedTest, func(x T) uint64 { return uint64(x) }, func(v uint64) T { return T(v) }, dtype.Invalid)
	}
	return f, result == dtype.Bool
}

// kernelOf makes a kernel on elements of type T from a function or a test on type W.
func kernelOf[T, W any](f func(x W) W, test func(x W) bool, in func(x T) W, out func(v W) T, t dtype.DType) (k func(dst, x unsafe.Pointer, n int), result dtype.DType) {
	switch {
	case test != nil:
		return mapping(func(x T) bool { return test(in(x)) }), dtype.Bool
	case f != nil:
		return mapping(func(x T) T { return out(f(in(x))) }), t
	}
	return nil, t
}

// functionBinary returns the kernels of a function; see binaryKernel.
func functionBinary(op expr.Op, t dtype.DType) binary {
	k := binary{}
	switch fn := functions[op]; {
	case t == dtype.Float32:
		k = functionBinary32(op, fn.real2)
	case t == dtype.Float64:
		k = functionBinary64(op, fn.real2)
	case fn.integer2 != nil && t.IsInteger():
		of := integerOf(t)
		if k = of.functionBinary(&fn); op == expr.FloorDivide || op == expr.Remainder {
			k = of.byNumber(op, k)
		}
	}
	k.size = t.Size()
	return k
}

func functionBinary32(op expr.Op, f func(x, y float64) float64) binary {
	switch op {
	case expr.CopySign:
		return spread[uint32, uint32](copySigns[uint32])
	case expr.Hypot:
		return mapped(hypotF32)
	case expr.Atan2:
		return spread[float32, float32](atan2_32s)
	}
	if block := binaryBlock(op); block != nil {
		return blockBinary[float32](block)
	}
	if f == nil {
		return binary{}
	}
	return mapped(func(x, y float32) float32 { return float32(f(float64(x), float64(y))) })
}

func functionBinary64(op expr.Op, f func(x, y float64) float64) binary {
	switch op {
	case expr.CopySign:
		return spread[uint64, uint64](copySigns[uint64])
	case expr.Atan2:
		return spread[float64, float64](atan2_64s)
	}
	if block := binaryBlock(op); block != nil {
		return blockBinary[float64](block)
	}
	if f == nil {
		return binary{}
	}
	return mapped(f)
}

// functionBinary returns the kernels of a function of two integers.
func (ints[T]) functionBinary(fn *function) binary {
	if lo, _ := bounds[T](); lo < 0 {
		return mapped(func(x, y T) T { return T(fn.integer2(int64(x), int64(y))) })
	}
	return mapped(func(x, y T) T { return T(fn.unsigned2(uint64(x), uint64(y))) })
}
