package cpu

import (
	"math"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// binary is an operation on dense blocks of n elements: of two vectors, of a
// vector and one scalar, of a scalar and a vector. dst may be x or y.
type binary struct {
	vv, vs, sv func(dst, x, y unsafe.Pointer, n int)
	size       int // bytes of an element
}

// binaryKernel returns the kernels of op on type t, without functions when
// there are none.
func binaryKernel(op expr.Op, t dtype.DType) binary {
	var k binary
	switch t {
	case dtype.Float32:
		k = floatBinary[float32](op)
	case dtype.Float64:
		k = floatBinary[float64](op)
	case dtype.Int8, dtype.Uint8: // wrapping does not know signs
		k = realBinary[uint8](op)
	case dtype.Int32:
		k = realBinary[int32](op)
	case dtype.Int64:
		k = realBinary[int64](op)
	case dtype.Complex64:
		k = complexBinary(op, mul64, div64)
	case dtype.Complex128:
		k = complexBinary(op, mul128, div128)
	}
	k.size = t.Size()
	return k
}

func floatBinary[T float32 | float64](op expr.Op) binary {
	if op == expr.Div {
		return binary{vv: divVV[T], vs: divVS[T], sv: divSV[T]}
	}
	return realBinary[T](op)
}

// realBinary are the operations that every real type has.
func realBinary[T number](op expr.Op) binary {
	switch op {
	case expr.Add:
		return binary{vv: addVV[T], vs: addVS[T], sv: swapped(addVS[T])}
	case expr.Sub:
		return binary{vv: subVV[T], vs: subVS[T], sv: subSV[T]}
	case expr.Mul:
		return binary{vv: mulVV[T], vs: mulVS[T], sv: swapped(mulVS[T])}
	}
	return binary{}
}

func complexBinary[C complex64 | complex128](op expr.Op, mul, div func(x, y C) C) binary {
	switch op {
	case expr.Add:
		return binary{vv: addVV[C], vs: addVS[C], sv: swapped(addVS[C])}
	case expr.Sub:
		return binary{vv: subVV[C], vs: subVS[C], sv: subSV[C]}
	case expr.Mul:
		return mapped(mul)
	case expr.Div:
		return mapped(div)
	}
	return binary{}
}

// swapped makes the scalar-vector form of a commutative operation.
func swapped(vs func(dst, x, y unsafe.Pointer, n int)) func(dst, x, y unsafe.Pointer, n int) {
	return func(dst, x, y unsafe.Pointer, n int) { vs(dst, y, x, n) }
}

// mapped makes the three forms of an operation that is worth a call.
func mapped[T any](f func(x, y T) T) binary {
	return binary{
		vv: func(dst, x, y unsafe.Pointer, n int) {
			d, a, b := vectors[T](dst, x, y, n)
			for i := range d {
				d[i] = f(a[i], b[i])
			}
		},
		vs: func(dst, x, y unsafe.Pointer, n int) {
			d, a, _ := vectors[T](dst, x, x, n)
			s := *(*T)(y)
			for i := range d {
				d[i] = f(a[i], s)
			}
		},
		sv: func(dst, x, y unsafe.Pointer, n int) {
			d, a, _ := vectors[T](dst, y, y, n)
			s := *(*T)(x)
			for i := range d {
				d[i] = f(s, a[i])
			}
		},
	}
}

// vectors returns the operands as slices whose lengths the compiler knows to
// be equal.
func vectors[T any](dst, x, y unsafe.Pointer, n int) (d, a, b []T) {
	d = unsafe.Slice((*T)(dst), n)
	return d, unsafe.Slice((*T)(x), n)[:len(d)], unsafe.Slice((*T)(y), n)[:len(d)]
}

type arithmetic interface {
	number | complex64 | complex128
}

func addVV[T arithmetic](dst, x, y unsafe.Pointer, n int) {
	d, a, b := vectors[T](dst, x, y, n)
	for i := range d {
		d[i] = a[i] + b[i]
	}
}

func addVS[T arithmetic](dst, x, y unsafe.Pointer, n int) {
	d, a, _ := vectors[T](dst, x, x, n)
	s := *(*T)(y)
	for i := range d {
		d[i] = a[i] + s
	}
}

func subVV[T arithmetic](dst, x, y unsafe.Pointer, n int) {
	d, a, b := vectors[T](dst, x, y, n)
	for i := range d {
		d[i] = a[i] - b[i]
	}
}

func subVS[T arithmetic](dst, x, y unsafe.Pointer, n int) {
	d, a, _ := vectors[T](dst, x, x, n)
	s := *(*T)(y)
	for i := range d {
		d[i] = a[i] - s
	}
}

func subSV[T arithmetic](dst, x, y unsafe.Pointer, n int) {
	d, b, _ := vectors[T](dst, y, y, n)
	s := *(*T)(x)
	for i := range d {
		d[i] = s - b[i]
	}
}

func mulVV[T number](dst, x, y unsafe.Pointer, n int) {
	d, a, b := vectors[T](dst, x, y, n)
	for i := range d {
		d[i] = a[i] * b[i]
	}
}

func mulVS[T number](dst, x, y unsafe.Pointer, n int) {
	d, a, _ := vectors[T](dst, x, x, n)
	s := *(*T)(y)
	for i := range d {
		d[i] = a[i] * s
	}
}

func divVV[T float32 | float64](dst, x, y unsafe.Pointer, n int) {
	d, a, b := vectors[T](dst, x, y, n)
	for i := range d {
		d[i] = a[i] / b[i]
	}
}

func divVS[T float32 | float64](dst, x, y unsafe.Pointer, n int) {
	d, a, _ := vectors[T](dst, x, x, n)
	s := *(*T)(y)
	for i := range d {
		d[i] = a[i] / s
	}
}

func divSV[T float32 | float64](dst, x, y unsafe.Pointer, n int) {
	d, b, _ := vectors[T](dst, y, y, n)
	s := *(*T)(x)
	for i := range d {
		d[i] = s / b[i]
	}
}

// mul64 rounds every product and every sum to float32, as the GPU does; Go's
// own operator computes in float64.
func mul64(x, y complex64) complex64 {
	a, b, c, d := real(x), imag(x), real(y), imag(y)
	return complex(float32(a*c)-float32(b*d), float32(a*d)+float32(b*c))
}

func mul128(x, y complex128) complex128 {
	a, b, c, d := real(x), imag(x), real(y), imag(y)
	return complex(float64(a*c)-float64(b*d), float64(a*d)+float64(b*c))
}

// div64 computes in float64, where the products of float32s are exact and
// nothing overflows.
func div64(x, y complex64) complex64 {
	a, b, c, d := float64(real(x)), float64(imag(x)), float64(real(y)), float64(imag(y))
	e, f := quotient(a, b, c, d)
	return complex(float32(e), float32(f))
}

// div128 divides after scaling dividend and divisor by powers of two so that
// the larger part of each lies in [1, 2): nothing overflows on the way, and
// what underflows is too small to count beside the other part.
func div128(x, y complex128) complex128 {
	a, b, c, d := real(x), imag(x), real(y), imag(y)
	m, n := exponent(a, b), exponent(c, d)
	e, f := quotient(math.Ldexp(a, -m), math.Ldexp(b, -m), math.Ldexp(c, -n), math.Ldexp(d, -n))
	return complex(math.Ldexp(e, m-n), math.Ldexp(f, m-n))
}

// exponent returns the exponent of the larger of |a| and |b|, 0 when that is 0,
// infinite or NaN.
func exponent(a, b float64) int {
	v := max(math.Abs(a), math.Abs(b)) // NaN if either is
	if !(v > 0) || math.IsInf(v, 0) {
		return 0
	}
	return math.Ilogb(v)
}

// quotient returns the parts of (a + bi)/(c + di) = (ac + bd + (bc - ad)i) /
// (c^2 + d^2). Where that has no number for an answer, infinities and zeros
// are as C99's Annex G has them.
func quotient(a, b, c, d float64) (e, f float64) {
	den := float64(c*c) + float64(d*d)
	e = (float64(a*c) + float64(b*d)) / den
	f = (float64(b*c) - float64(a*d)) / den
	if e == e || f == f {
		return e, f
	}
	inf := math.Inf(1)
	finite := func(v float64) bool { return v-v == 0 }
	switch {
	case den == 0 && (a == a || b == b):
		inf = math.Copysign(inf, c)
		return float64(inf * a), float64(inf * b)
	case (math.IsInf(a, 0) || math.IsInf(b, 0)) && finite(c) && finite(d):
		a, b = unit(a), unit(b)
		return inf * (float64(a*c) + float64(b*d)), inf * (float64(b*c) - float64(a*d))
	case (math.IsInf(c, 0) || math.IsInf(d, 0)) && finite(a) && finite(b):
		c, d = unit(c), unit(d)
		return 0 * (float64(a*c) + float64(b*d)), 0 * (float64(b*c) - float64(a*d))
	}
	return e, f
}

// unit is 1 for an infinity and 0 for what is none, with v's sign.
func unit(v float64) float64 {
	if math.IsInf(v, 0) {
		return math.Copysign(1, v)
	}
	return math.Copysign(0, v)
}
