package cpu

import (
	"math"
	"math/cmplx"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// unaryKernel returns the kernel of op on dense blocks of n elements of type t and the type
// of its results. It returns nil if there is no kernel. dst may be x if the two types have
// one size.
func unaryKernel(op expr.Op, t dtype.DType) (f func(dst, x unsafe.Pointer, n int), result dtype.DType) {
	if op.IsFunction() {
		return functionUnary(op, t)
	}
	switch t {
	case dtype.Float32:
		f = withUnaryVectors(op, t, float32Unary(op))
	case dtype.Float64:
		f = withUnaryVectors(op, t, float64Unary(op))
	case dtype.Bool:
		if op == expr.Not {
			f = notOfBools()
		}
	case dtype.Complex64:
		if f = complex64ToReal(op); f != nil {
			return withComplexVectors(op, t, f), dtype.Float32
		}
		f = withComplexVectors(op, t, complex64Unary(op))
	case dtype.Complex128:
		if f = complex128ToReal(op); f != nil {
			return withComplexVectors(op, t, f), dtype.Float64
		}
		f = withComplexVectors(op, t, complex128Unary(op))
	default:
		if k := integerOf(t); k != nil {
			f = k.unary(op)
		}
	}
	return f, t
}

// withUnaryVectors returns plain, or a kernel that runs vector code on whole vectors and plain on the other elements.
func withUnaryVectors(op expr.Op, t dtype.DType, plain func(dst, x unsafe.Pointer, n int)) func(dst, x unsafe.Pointer, n int) {
	loop := vectorUnary(op, t)
	size := uintptr(t.Size())
	return withVectors(vectorAVX && loop != nil && plain != nil, size, size, loop, plain)
}

// withComplexVectors is withUnaryVectors for complex numbers.
func withComplexVectors(op expr.Op, t dtype.DType, plain func(dst, x unsafe.Pointer, n int)) func(dst, x unsafe.Pointer, n int) {
	if f := vectorComplexUnary(op, t, plain); f != nil {
		return f
	}
	return plain
}

func float32Unary(op expr.Op) func(dst, x unsafe.Pointer, n int) {
	switch op {
	case expr.Sign:
		return floatSigns[uint32](0x3f800000, 0x7f800000)
	case expr.Rsqrt:
		return mapping(func(x float32) float32 { return float32(1 / math.Sqrt(float64(x))) })
	case expr.Exp:
		return exps
	case expr.Expm1:
		return expm1s
	case expr.Log:
		return logs
	case expr.Log1p:
		return log1ps
	case expr.Sin:
		return sins
	case expr.Cos:
		return coss
	case expr.Tanh:
		return tanhs
	case expr.Erf:
		return erfs
	case expr.Sigmoid:
		return sigmoids
	case expr.GELU:
		return gelus
	case expr.GELUTanh:
		return geluTanhs
	case expr.SiLU:
		return silus
	}
	return floatUnary[float32](op)
}

func float64Unary(op expr.Op) func(dst, x unsafe.Pointer, n int) {
	switch op {
	case expr.Sign:
		return floatSigns[uint64](0x3ff<<52, 0x7ff<<52)
	case expr.Rsqrt:
		return mapping(rsqrtF64)
	case expr.Exp:
		return exp64s
	case expr.Expm1:
		return expm164s
	case expr.Log:
		return log64s
	case expr.Log1p:
		return log1p64s
	case expr.Sin:
		return sin64s
	case expr.Cos:
		return cos64s
	case expr.Tanh:
		return tanh64s
	case expr.Erf:
		return erf64s
	case expr.Sigmoid:
		return mapping(sigmoidF64)
	case expr.GELU:
		return mapping(geluF64)
	case expr.GELUTanh:
		return mapping(geluTanhF64)
	case expr.SiLU:
		return mapping(siluF64)
	}
	return floatUnary[float64](op)
}

// floatUnary returns the kernels that are one loop for both floating-point types.
func floatUnary[T float32 | float64](op expr.Op) func(dst, x unsafe.Pointer, n int) {
	switch op {
	case expr.Abs:
		return func(dst, x unsafe.Pointer, n int) {
			d, s := pair[T, T](dst, x, n)
			for i, v := range s {
				d[i] = T(math.Abs(float64(v)))
			}
		}
	case expr.Sqrt:
		return func(dst, x unsafe.Pointer, n int) {
			d, s := pair[T, T](dst, x, n)
			for i, v := range s {
				d[i] = T(math.Sqrt(float64(v)))
			}
		}
	case expr.Floor:
		return func(dst, x unsafe.Pointer, n int) {
			d, s := pair[T, T](dst, x, n)
			for i, v := range s {
				d[i] = T(math.Floor(float64(v)))
			}
		}
	case expr.Ceil:
		return func(dst, x unsafe.Pointer, n int) {
			d, s := pair[T, T](dst, x, n)
			for i, v := range s {
				d[i] = T(math.Ceil(float64(v)))
			}
		}
	case expr.Round:
		return func(dst, x unsafe.Pointer, n int) {
			d, s := pair[T, T](dst, x, n)
			for i, v := range s {
				d[i] = T(math.RoundToEven(float64(v)))
			}
		}
	}
	return realUnary[T](op)
}

func (ints[T]) unary(op expr.Op) func(dst, x unsafe.Pointer, n int) {
	t, zero := dtype.Of[T](), new(T)
	switch op {
	case expr.Sign:
		return signsOf[T]()
	case expr.Not:
		return complements[T]
	case expr.Abs:
		if f := vectorAbs(t); f != nil {
			return f
		}
		return absolutes[T]
	case expr.Neg:
		if k := vectorIntegers(expr.Sub, t); k.sv != nil {
			return func(dst, x unsafe.Pointer, n int) { k.sv(dst, unsafe.Pointer(zero), x, n) }
		}
	case expr.ReLU:
		if k := vectorIntegers(expr.Maximum, t); k.vs != nil {
			return func(dst, x unsafe.Pointer, n int) { k.vs(dst, x, unsafe.Pointer(zero), n) }
		}
	case expr.Square, expr.AbsSquare:
		if k := vectorIntegers(expr.Mul, t); k.vv != nil {
			return func(dst, x unsafe.Pointer, n int) { k.vv(dst, x, x, n) }
		}
	}
	return realUnary[T](op)
}

// realUnary returns the kernels that exist for every real type.
func realUnary[T number](op expr.Op) func(dst, x unsafe.Pointer, n int) {
	switch op {
	case expr.Neg:
		return negs[T]
	case expr.ReLU:
		return relus[T]
	case expr.Square, expr.AbsSquare:
		return squares[T]
	}
	return nil
}

func complex64Unary(op expr.Op) func(dst, x unsafe.Pointer, n int) {
	switch op {
	case expr.Square:
		return mapping(func(x complex64) complex64 { return mul64(x, x) })
	case expr.Sqrt:
		return mapping(func(x complex64) complex64 { return complex64(complexSqrt(complex128(x))) })
	case expr.Exp:
		return mapping(func(x complex64) complex64 { return complex64(complexExp(complex128(x))) })
	case expr.Log:
		return mapping(func(x complex64) complex64 { return complex64(complexLog(complex128(x))) })
	case expr.Sin:
		return mapping(func(x complex64) complex64 { return complex64(complexSin(complex128(x))) })
	case expr.Cos:
		return mapping(func(x complex64) complex64 { return complex64(complexCos(complex128(x))) })
	}
	return complexUnary[float32](op)
}

func complex128Unary(op expr.Op) func(dst, x unsafe.Pointer, n int) {
	switch op {
	case expr.Square:
		return mapping(func(x complex128) complex128 { return mul128(x, x) })
	case expr.Sqrt:
		return mapping(complexSqrt)
	case expr.Exp:
		return mapping(complexExp)
	case expr.Log:
		return mapping(complexLog)
	case expr.Sin:
		return mapping(complexSin)
	case expr.Cos:
		return mapping(complexCos)
	}
	return complexUnary[float64](op)
}

func complexUnary[R float32 | float64](op expr.Op) func(dst, x unsafe.Pointer, n int) {
	switch op {
	case expr.Neg:
		return func(dst, x unsafe.Pointer, n int) { negs[R](dst, x, 2*n) }
	case expr.Conj:
		return conjs[R]
	}
	return nil
}

func complex64ToReal(op expr.Op) func(dst, x unsafe.Pointer, n int) {
	switch op {
	case expr.Abs:
		return func(dst, x unsafe.Pointer, n int) {
			d, s := pair[float32, [2]float32](dst, x, n)
			for i, v := range s {
				// In float64 the squares are exact and nothing overflows.
				a, b := float64(v[0]), float64(v[1])
				d[i] = absolute(float32(math.Sqrt(a*a+b*b)), a, b)
			}
		}
	case expr.AbsSquare:
		return absSquares[float32]
	}
	return nil
}

// absolute returns v, or +Inf if a or b is infinite, even if the other is NaN.
func absolute(v float32, a, b float64) float32 {
	if math.IsInf(a, 0) || math.IsInf(b, 0) {
		return float32(math.Inf(1))
	}
	return v
}

func complex128ToReal(op expr.Op) func(dst, x unsafe.Pointer, n int) {
	switch op {
	case expr.Abs:
		return func(dst, x unsafe.Pointer, n int) {
			d, s := pair[float64, complex128](dst, x, n)
			for i, v := range s {
				d[i] = cmplx.Abs(v)
			}
		}
	case expr.AbsSquare:
		return absSquares[float64]
	}
	return nil
}

// mapping makes a kernel from a function that costs more than its call.
func mapping[T, D any](f func(x T) D) func(dst, x unsafe.Pointer, n int) {
	return func(dst, x unsafe.Pointer, n int) { apply(f, dst, x, n) }
}

// apply is the loop of mapping.
func apply[T, D any](f func(x T) D, dst, x unsafe.Pointer, n int) {
	d, s := pair[D, T](dst, x, n)
	for i, v := range s {
		d[i] = f(v)
	}
}

func rsqrtF64(x float64) float64 {
	s := math.Sqrt(x)
	r := 1 / s
	if !(r > 0 && r <= math.MaxFloat64) || s == 0 {
		return r
	}
	// One Newton step: s and r are a rounded root and quotient. The step computes
	// 1 - r^2 x from r x as a sum of two numbers.
	high, low := twoProduct(r, x)
	return r + 0.5*r*(math.FMA(-r, high, 1)-r*low)
}

// floatSigns is signs for floating-point numbers, given as bits: 1 with the sign of the element, 0 for both zeros, and
// NaN for NaN. one and infinity are the bits of 1 and of infinity.
func floatSigns[W uint32 | uint64](one, infinity W) func(dst, x unsafe.Pointer, n int) {
	vector := wider(vectorAVX512, signs64AVX512, signs64AVX2)
	if unsafe.Sizeof(one) == 4 {
		vector = wider(vectorAVX512, signs32AVX512, signs32AVX2)
	}
	return withVectors(vectorAVX, unsafe.Sizeof(one), unsafe.Sizeof(one), vector, func(dst, x unsafe.Pointer, n int) {
		sign := ^(^W(0) >> 1)
		d, s := pair[W, W](dst, x, n)
		for i, v := range s {
			r := (v&sign | one) & -W(bit(v&^sign != 0))
			if v&^sign > infinity {
				r = v
			}
			d[i] = r
		}
	})
}

func squares[T number](dst, x unsafe.Pointer, n int) {
	d, s := pair[T, T](dst, x, n)
	for i, v := range s {
		d[i] = v * v
	}
}

func absSquares[R float32 | float64](dst, x unsafe.Pointer, n int) {
	d, s := pair[R, [2]R](dst, x, n)
	for i, v := range s {
		d[i] = R(v[0]*v[0]) + R(v[1]*v[1])
	}
}

func negs[T number](dst, x unsafe.Pointer, n int) {
	d, s := pair[T, T](dst, x, n)
	for i, v := range s {
		d[i] = -v
	}
}

// relus keeps NaN and turns -0 into 0.
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
