//go:build !noasm

package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// Element-wise operations on complex numbers with AVX2, for any n. In the functions with VS, y is one number, and in those with SV,
// x is. dst may be x or y.

//go:noescape
func addVSComplex64(dst, x, y unsafe.Pointer, n int)

//go:noescape
func subVSComplex64(dst, x, y unsafe.Pointer, n int)

//go:noescape
func subSVComplex64(dst, x, y unsafe.Pointer, n int)

//go:noescape
func mulVVComplex64(dst, x, y unsafe.Pointer, n int)

//go:noescape
func mulVSComplex64(dst, x, y unsafe.Pointer, n int)

//go:noescape
func addVSComplex128(dst, x, y unsafe.Pointer, n int)

//go:noescape
func subVSComplex128(dst, x, y unsafe.Pointer, n int)

//go:noescape
func subSVComplex128(dst, x, y unsafe.Pointer, n int)

//go:noescape
func mulVVComplex128(dst, x, y unsafe.Pointer, n int)

//go:noescape
func mulVSComplex128(dst, x, y unsafe.Pointer, n int)

//go:noescape
func conjComplex64(dst, x unsafe.Pointer, n int)

//go:noescape
func conjComplex128(dst, x unsafe.Pointer, n int)

// The real parts, the squares of the absolute values, and the absolute values of n complex numbers, a multiple of 8 of complex64 and
// of 4 of complex128.

//go:noescape
func realsComplex64(dst, x unsafe.Pointer, n int)

//go:noescape
func realsComplex128(dst, x unsafe.Pointer, n int)

//go:noescape
func absSquaresComplex64(dst, x unsafe.Pointer, n int)

//go:noescape
func absSquaresComplex128(dst, x unsafe.Pointer, n int)

//go:noescape
func absComplex64(dst, x unsafe.Pointer, n int)

// vectorComplex returns the vector kernels of a binary operation on complex numbers. They are nil for other operations, and where the
// processor has no AVX2.
func vectorComplex(op expr.Op, t dtype.DType) binary {
	switch {
	case !vectorAVX:
	case op == expr.Add && t == dtype.Complex64:
		return commuting(ofParts(addVV32), addVSComplex64)
	case op == expr.Sub && t == dtype.Complex64:
		return binary{vv: ofParts(subVV32), vs: subVSComplex64, sv: subSVComplex64}
	case op == expr.Mul && t == dtype.Complex64:
		return commuting(mulVVComplex64, mulVSComplex64)
	case op == expr.Add:
		return commuting(ofParts(addVV64), addVSComplex128)
	case op == expr.Sub:
		return binary{vv: ofParts(subVV64), vs: subVSComplex128, sv: subSVComplex128}
	case op == expr.Mul:
		return commuting(mulVVComplex128, mulVSComplex128)
	}
	return binary{}
}

// ofParts returns the operation on complex numbers that f is on their parts.
func ofParts(f func(dst, x, y unsafe.Pointer, n int)) func(dst, x, y unsafe.Pointer, n int) {
	return func(dst, x, y unsafe.Pointer, n int) { f(dst, x, y, 2*n) }
}

// vectorComplexUnary returns the vector kernel of a unary operation on complex numbers, or nil as vectorComplex does. plain computes the
// elements after the last whole vector.
func vectorComplexUnary(op expr.Op, t dtype.DType, plain func(dst, x unsafe.Pointer, n int)) func(dst, x unsafe.Pointer, n int) {
	switch {
	case !vectorAVX:
	case op == expr.Neg:
		f, _ := unaryKernel(op, t.Real())
		return func(dst, x unsafe.Pointer, n int) { f(dst, x, 2*n) }
	case op == expr.Conj && t == dtype.Complex64:
		return conjComplex64
	case op == expr.Conj:
		return conjComplex128
	case op == expr.Square && t == dtype.Complex64:
		return func(dst, x unsafe.Pointer, n int) { mulVVComplex64(dst, x, x, n) }
	case op == expr.Square:
		return func(dst, x unsafe.Pointer, n int) { mulVVComplex128(dst, x, x, n) }
	case op == expr.AbsSquare && t == dtype.Complex64:
		return withVectors(true, 4, 8, absSquaresComplex64, plain)
	case op == expr.AbsSquare:
		return withVectors(true, 8, 16, absSquaresComplex128, plain)
	case op == expr.Abs && t == dtype.Complex64:
		return withVectors(true, 4, 8, absComplex64, plain)
	}
	return nil
}

// vectorReals gathers the real parts of the adjacent complex numbers that fill whole vectors, and returns their number.
func vectorReals[R float32 | float64](dst, src unsafe.Pointer, n int) int {
	size := int(unsafe.Sizeof(R(0)))
	if n &^= 32/size - 1; !vectorAVX {
		return 0
	}
	if size == 4 {
		realsComplex64(dst, src, n)
	} else {
		realsComplex128(dst, src, n)
	}
	return n
}
