package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// integer lists the Go types of the integer element types.
type integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

// integerType has the kernels of one integer type. Each method is declared beside the
// floating-point kernels of its operation.
type integerType interface {
	folds
	orderedFolds

	unary(op expr.Op) func(dst, x unsafe.Pointer, n int)
	binary(op expr.Op) binary
	bitwise(op expr.Op) binary
	ordered(op expr.Op) binary
	compare(op expr.Op) binary
	clamps() func(dst, x, y, z unsafe.Pointer, n int)
	function(fn *function) (f func(dst, x unsafe.Pointer, n int), test bool)
	functionBinary(fn *function) binary
	byNumber(op expr.Op, k binary) binary

	to(t dtype.DType) func(dst, src unsafe.Pointer, n int)
	fromFloat32() func(dst, src unsafe.Pointer, n int)
	fromFloat64() func(dst, src unsafe.Pointer, n int)

	arange(n int, start, step int64, dst unsafe.Pointer)
	uniform(n int, seed, block uint64, p [3]uint64, dst unsafe.Pointer)

	sum(c reduceArgs)
	cumSum(l lines, xt dtype.DType)
	cumProd(l lines, xt dtype.DType)
	cumExtreme(op expr.Op, l lines, xt dtype.DType)
	scatterExtreme(op expr.Op, c *ScatterCall)

	search(c SearchCall)
	isIn(c SearchCall)
}

// ints implements integerType for the Go type T.
type ints[T integer] struct{}

// integerTypes is the one list of the integer types and their Go types.
var integerTypes = [...]integerType{
	dtype.Int8: ints[int8]{}, dtype.Int16: ints[int16]{}, dtype.Int32: ints[int32]{}, dtype.Int64: ints[int64]{},
	dtype.Uint8: ints[uint8]{}, dtype.Uint16: ints[uint16]{}, dtype.Uint32: ints[uint32]{}, dtype.Uint64: ints[uint64]{},
}

// integerOf returns the kernels of an integer type, and nil for every other type.
func integerOf(t dtype.DType) integerType {
	if int(t) < len(integerTypes) {
		return integerTypes[t]
	}
	return nil
}

// wholeOf is integerOf. For Bool, whose elements are bytes of 0 or 1, it returns the kernels
// of Uint8.
func wholeOf(t dtype.DType) integerType {
	if t == dtype.Bool {
		t = dtype.Uint8
	}
	return integerOf(t)
}

// bounds returns the least and the greatest number of T.
func bounds[T integer]() (lo, hi T) {
	hi = ^T(0)
	if hi > 0 {
		return 0, hi
	}
	hi = T(1)<<(8*unsafe.Sizeof(hi)-2) - 1
	hi = 2*hi + 1
	return ^hi, hi
}
