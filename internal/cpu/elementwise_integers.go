package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// signsOf returns the kernel of Sign of integers. By vectors it clamps them to -1 and 1.
func signsOf[T integer]() func(dst, x unsafe.Pointer, n int) {
	maximum, minimum := vectorIntegers(expr.Maximum, dtype.Of[T]()).vs, vectorIntegers(expr.Minimum, dtype.Of[T]()).vs
	if maximum == nil || minimum == nil {
		return signs[T]
	}
	bounds := [2]T{^T(0), 1}
	if bounds[0] > 0 { // unsigned
		return func(dst, x unsafe.Pointer, n int) { minimum(dst, x, unsafe.Pointer(&bounds[1]), n) }
	}
	return func(dst, x unsafe.Pointer, n int) {
		maximum(dst, x, unsafe.Pointer(&bounds[0]), n)
		minimum(dst, dst, unsafe.Pointer(&bounds[1]), n)
	}
}

// signs writes -1, 0 or 1. It does not branch on the sign: branch prediction fails on random signs.
func signs[T integer](dst, x unsafe.Pointer, n int) {
	d, s := pair[T, T](dst, x, n)
	for i, v := range s {
		d[i] = T(bit(v > 0)) - T(bit(v < 0))
	}
}

// absolutes computes Abs of integers. It does not branch on the sign, as signs does not.
func absolutes[T integer](dst, x unsafe.Pointer, n int) {
	d, s := pair[T, T](dst, x, n)
	if ^T(0) > 0 { // unsigned
		copy(d, s)
		return
	}
	sign := 8*unsafe.Sizeof(T(0)) - 1
	for i, v := range s {
		m := v >> sign
		d[i] = v ^ m - m
	}
}

// integerPowers returns the kernels of Pow of integers. A power by one number is computed by products of blocks.
func integerPowers[T integer]() binary {
	k := mapped(integerPow[T])
	multiply := vectorIntegers(expr.Mul, dtype.Of[T]()).vv
	if multiply == nil {
		return k
	}
	slow := k.vs
	k.vs = func(dst, x, y unsafe.Pointer, n int) {
		exponent := *(*T)(y)
		switch {
		case exponent <= 0:
			slow(dst, x, y, n)
			return
		case exponent == 2:
			multiply(dst, x, x, n)
			return
		}
		w := works.Get().(*work)
		defer works.Put(w)
		factor := unsafe.Pointer(&w.block[0])
		for at := 0; at < n; at += blockLen {
			integerPowersOfBlock(multiply, elementAt[T](dst, at), elementAt[T](x, at), factor, exponent, min(blockLen, n-at))
		}
	}
	return k
}

// integerPowersOfBlock computes positive powers of a block by repeated squares, as integerPow. factor has room for the block.
func integerPowersOfBlock[T integer](multiply func(dst, x, y unsafe.Pointer, n int), dst, x, factor unsafe.Pointer, exponent T, n int) {
	size := n * int(unsafe.Sizeof(T(0)))
	copyBytes(factor, x, size)
	for first := true; ; {
		switch {
		case exponent&1 == 0:
		case first:
			copyBytes(dst, factor, size)
			first = false
		default:
			multiply(dst, dst, factor, n)
		}
		if exponent >>= 1; exponent == 0 {
			return
		}
		multiply(factor, factor, factor, n)
	}
}
