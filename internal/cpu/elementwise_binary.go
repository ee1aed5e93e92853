package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// binary is an operation on dense blocks of n elements: of two vectors, of a vector and one
// scalar, or of a scalar and a vector. dst may be x or y if elements and results have one
// size.
type binary struct {
	vv, vs, sv func(dst, x, y unsafe.Pointer, n int)
	size       int  // bytes of a result in the compute type
	truth      bool // results are Bool
}

// result returns the type of the results on operands of type t.
func (k binary) result(t dtype.DType) dtype.DType {
	if k.truth {
		return dtype.Bool
	}
	return t
}

// binaryKernel returns the kernels of op on type t, or a value without functions if there
// are none.
func binaryKernel(op expr.Op, t dtype.DType) binary {
	if k := comparison(op, t); k.vv != nil {
		return k
	}
	if op.IsFunction() {
		return functionBinary(op, t)
	}
	var k binary
	switch t {
	case dtype.Float32:
		if k = vectorBinary32(op); k.vv == nil {
			k = floatBinary[float32](op, spread[float32, float32](pow32s))
		}
	case dtype.Float64:
		if k = vectorBinary64(op); k.vv == nil {
			k = floatBinary[float64](op, spread[float64, float64](pow64s))
		}
	case dtype.Bool:
		k = boolBinary(op)
	case dtype.Complex64:
		if k = vectorComplex(op, t); k.vv != nil {
			break
		}
		k = complexBinary(op, mul64, div64, func(x, y complex64) complex64 { return complex64(complexPow(complex128(x), complex128(y))) })
	case dtype.Complex128:
		if k = vectorComplex(op, t); k.vv != nil {
			break
		}
		k = complexBinary(op, mul128, div128, complexPow)
	default:
		if of := integerOf(t); of != nil {
			k = of.binary(op)
		}
	}
	k.size = t.Size()
	return k
}

func floatBinary[T float32 | float64](op expr.Op, pow binary) binary {
	switch op {
	case expr.Div:
		return binary{vv: divVV[T], vs: divVS[T], sv: divSV[T]}
	case expr.Pow:
		return pow
	}
	if k := ordered2[T](op); k.vv != nil {
		return k
	}
	return realBinary[T](op)
}

func (k ints[T]) binary(op expr.Op) binary {
	if k := vectorIntegers(op, dtype.Of[T]()); k.vv != nil {
		return k
	}
	switch op {
	case expr.Pow:
		return integerPowers[T]()
	case expr.And, expr.Or, expr.Xor:
		return k.bitwise(op)
	case expr.Shl, expr.Shr:
		return k.shifts(op)
	}
	if k := ordered2[T](op); k.vv != nil {
		return k
	}
	return realBinary[T](op)
}

func boolBinary(op expr.Op) binary {
	switch op {
	case expr.And, expr.Or, expr.Xor:
		return wholeOf(dtype.Bool).bitwise(op)
	}
	return wholeOf(dtype.Bool).ordered(op)
}

func (ints[T]) ordered(op expr.Op) binary {
	if op != expr.Maximum && op != expr.Minimum {
		return binary{}
	}
	if k := vectorIntegers(op, dtype.Of[T]()); k.vv != nil {
		return k
	}
	return ordered2[T](op)
}

// ordered2 returns the kernels of Maximum and Minimum. Both give NaN if an operand is NaN.
func ordered2[T number](op expr.Op) binary {
	switch op {
	case expr.Maximum:
		return spread[T, T](maximums[T])
	case expr.Minimum:
		return spread[T, T](minimums[T])
	}
	return binary{}
}

func maximums[T number](dst, x, y unsafe.Pointer, n int) {
	d, a, b := vectors[T](dst, x, y, n)
	for i := range d {
		d[i] = max(a[i], b[i])
	}
}

func minimums[T number](dst, x, y unsafe.Pointer, n int) {
	d, a, b := vectors[T](dst, x, y, n)
	for i := range d {
		d[i] = min(a[i], b[i])
	}
}

// integerPow returns x^y, wrapping. A negative exponent gives the fraction truncated to an
// integer: 1 or -1 for a base of 1 or -1, otherwise 0. For base 0 it is 0 too.
func integerPow[T integer](x, y T) T {
	if y < 0 {
		switch {
		case x == 1:
			return 1
		case x+1 == 0:
			if y&1 == 0 {
				return 1
			}
			return x
		}
		return 0
	}
	p := T(1)
	for ; y > 0; y >>= 1 {
		if y&1 != 0 {
			p *= x
		}
		x *= x
	}
	return p
}

// spread makes all three forms of an operation on elements of type T with results of type D from its loop over two
// vectors, by repeating the scalar.
func spread[T, D any](vv func(dst, x, y unsafe.Pointer, n int)) binary {
	return binary{
		vv: vv,
		vs: func(dst, x, y unsafe.Pointer, n int) {
			w := works.Get().(*work)
			defer works.Put(w)
			number := repeated[T](w, y, min(n, blockLen))
			for at := 0; at < n; at += blockLen {
				vv(elementAt[D](dst, at), elementAt[T](x, at), number, min(blockLen, n-at))
			}
		},
		sv: func(dst, x, y unsafe.Pointer, n int) {
			w := works.Get().(*work)
			defer works.Put(w)
			number := repeated[T](w, x, min(n, blockLen))
			for at := 0; at < n; at += blockLen {
				vv(elementAt[D](dst, at), number, elementAt[T](y, at), min(blockLen, n-at))
			}
		},
	}
}

// elementAt returns the address of element i of a vector at p.
func elementAt[T any](p unsafe.Pointer, i int) unsafe.Pointer {
	var zero T
	return unsafe.Add(p, i*int(unsafe.Sizeof(zero)))
}

// repeated fills n places of scratch memory with the element at p.
func repeated[T any](w *work, p unsafe.Pointer, n int) unsafe.Pointer {
	b := unsafe.Pointer(&w.block[0])
	fill(unsafe.Slice((*T)(b), n), *(*T)(p))
	return b
}

// realBinary returns the kernels that exist for every real type.
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

func complexBinary[C complex64 | complex128](op expr.Op, mul, div, pow func(x, y C) C) binary {
	switch op {
	case expr.Add:
		return binary{vv: addVV[C], vs: addVS[C], sv: swapped(addVS[C])}
	case expr.Sub:
		return binary{vv: subVV[C], vs: subVS[C], sv: subSV[C]}
	case expr.Mul:
		return mapped(mul)
	case expr.Div:
		return mapped(div)
	case expr.Pow:
		return mapped(pow)
	}
	return binary{}
}

// swapped makes the scalar-vector form of a commutative operation.
func swapped(vs func(dst, x, y unsafe.Pointer, n int)) func(dst, x, y unsafe.Pointer, n int) {
	return func(dst, x, y unsafe.Pointer, n int) { vs(dst, y, x, n) }
}

// mapped makes the three forms of an operation from a function that costs more than its call.
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

// vectors returns the operands as slices of equal length, which lets the compiler
// drop the bounds checks.
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
