package gpktest

import (
	"fmt"
	"math"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/dtype/bfloat16"
	"github.com/x448/float16"
)

// tensor is an operand or a result of the reference: dense values in row-major order.
// Integers and bools are in ints (Uint64 as the same bits), all other types in values.
type tensor struct {
	dt     gpk.DType
	shape  []int
	values []complex128
	ints   []int64
}

func size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

func exact(dt gpk.DType) bool { return dt.IsInteger() || dt == gpk.Bool }

// random draws standard normal values, or integers over the whole range of 8-bit and 16-bit
// types and ±2^20 of wider ones, 2^21 without a sign, and rounds them to the type.
func (s *suite) random(dt gpk.DType, shape ...int) tensor {
	n := size(shape)
	x := tensor{dt: dt, shape: shape}
	if exact(dt) {
		x.ints = make([]int64, n)
		for i := range x.ints {
			x.ints[i] = int64(s.rng.IntN(1<<21) - 1<<20)
			switch {
			case dt == gpk.Bool:
				x.ints[i] &= 1
			case dt.Size() < 4:
				x.ints[i] = wrap(dt, x.ints[i])
			case dt.IsUnsigned():
				x.ints[i] += 1 << 20
			}
		}
		return x
	}
	x.values = make([]complex128, n)
	for i := range x.values {
		v := complex(s.rng.NormFloat64(), 0)
		if dt.IsComplex() {
			v = complex(real(v), s.rng.NormFloat64())
		}
		x.values[i] = round(dt, v)
	}
	return x
}

// round rounds v to the type, once, to nearest even.
func round(dt gpk.DType, v complex128) complex128 {
	switch dt {
	case gpk.Float32:
		return complex(float64(float32(real(v))), 0)
	case gpk.Float64:
		return complex(real(v), 0)
	case gpk.Float16:
		return complex(nearest(real(v), 11, -14, 65504), 0)
	case gpk.BFloat16:
		return complex(nearest(real(v), 8, -126, 0x1.fep127), 0)
	case gpk.Complex64:
		return complex128(complex64(v))
	}
	return v
}

// nearest rounds v to p significant bits, to fewer if its exponent is below lowest. If the
// result exceeds largest, nearest returns infinity.
func nearest(v float64, p, lowest int, largest float64) float64 {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return v
	}
	_, e := math.Frexp(v) // |v| in [2^(e-1), 2^e)
	unit := math.Ldexp(1, max(e-1, lowest)-p+1)
	if r := math.RoundToEven(v/unit) * unit; math.Abs(r) <= largest {
		return math.Copysign(r, v)
	}
	return math.Copysign(math.Inf(1), v)
}

// array copies the values to the default device.
func (x tensor) array() *gpk.Array {
	switch x.dt {
	case gpk.Float32:
		return floats(x, func(v float64) float32 { return float32(v) })
	case gpk.Float64:
		return floats(x, func(v float64) float64 { return v })
	case gpk.Float16:
		return floats(x, func(v float64) float16.Float16 { return float16.Fromfloat32(float32(v)) })
	case gpk.BFloat16:
		return floats(x, func(v float64) bfloat16.BFloat16 { return bfloat16.FromFloat32(float32(v)) })
	case gpk.Int8:
		return integers[int8](x)
	case gpk.Uint8:
		return integers[uint8](x)
	case gpk.Int32:
		return integers[int32](x)
	case gpk.Int64:
		return integers[int64](x)
	case gpk.Int16:
		return integers[int16](x)
	case gpk.Uint16:
		return integers[uint16](x)
	case gpk.Uint32:
		return integers[uint32](x)
	case gpk.Uint64:
		return integers[uint64](x)
	case gpk.Bool:
		data := make([]bool, len(x.ints))
		for i, v := range x.ints {
			data[i] = v != 0
		}
		return gpk.FromSlice(data, x.shape...)
	case gpk.Complex64:
		data := make([]complex64, len(x.values))
		for i, v := range x.values {
			data[i] = complex64(v)
		}
		return gpk.FromSlice(data, x.shape...)
	}
	return gpk.FromSlice(x.values, x.shape...)
}

func floats[T gpk.Elem](x tensor, f func(float64) T) *gpk.Array {
	data := make([]T, len(x.values))
	for i, v := range x.values {
		data[i] = f(real(v))
	}
	return gpk.FromSlice(data, x.shape...)
}

func integers[T integer](x tensor) *gpk.Array {
	data := make([]T, len(x.ints))
	for i, v := range x.ints {
		data[i] = T(v)
	}
	return gpk.FromSlice(data, x.shape...)
}

// read brings an array back.
func read(t testing.TB, a *gpk.Array) tensor {
	t.Helper()
	x, err := fetch(a)
	if err != nil {
		t.Fatalf("reading: %v", err)
	}
	return x
}

// fetch is like read, but returns the error.
func fetch(a *gpk.Array) (tensor, error) {
	x := tensor{dt: a.DType(), shape: a.Shape()}
	var err error
	switch x.dt {
	case gpk.Float32:
		x.values, err = values(a, func(v float32) complex128 { return complex(float64(v), 0) })
	case gpk.Float64:
		x.values, err = values(a, func(v float64) complex128 { return complex(v, 0) })
	case gpk.Float16:
		x.values, err = values(a, func(v float16.Float16) complex128 { return complex(float64(v.Float32()), 0) })
	case gpk.BFloat16:
		x.values, err = values(a, func(v bfloat16.BFloat16) complex128 { return complex(float64(v.Float32()), 0) })
	case gpk.Complex64:
		x.values, err = values(a, func(v complex64) complex128 { return complex128(v) })
	case gpk.Complex128:
		x.values, err = values(a, func(v complex128) complex128 { return v })
	case gpk.Int8:
		x.ints, err = values(a, func(v int8) int64 { return int64(v) })
	case gpk.Uint8:
		x.ints, err = values(a, func(v uint8) int64 { return int64(v) })
	case gpk.Int32:
		x.ints, err = values(a, func(v int32) int64 { return int64(v) })
	case gpk.Int64:
		x.ints, err = values(a, func(v int64) int64 { return v })
	case gpk.Int16:
		x.ints, err = values(a, func(v int16) int64 { return int64(v) })
	case gpk.Uint16:
		x.ints, err = values(a, func(v uint16) int64 { return int64(v) })
	case gpk.Uint32:
		x.ints, err = values(a, func(v uint32) int64 { return int64(v) })
	case gpk.Uint64:
		x.ints, err = values(a, func(v uint64) int64 { return int64(v) })
	case gpk.Bool:
		x.ints, err = values(a, func(v bool) int64 {
			if v {
				return 1
			}
			return 0
		})
	default:
		err = a.Err()
	}
	return x, err
}

func values[T gpk.Elem, R any](a *gpk.Array, f func(T) R) ([]R, error) {
	data, err := gpk.ToSlice[T](a)
	out := make([]R, len(data))
	for i, v := range data {
		out[i] = f(v)
	}
	return out, err
}

// poison returns an array full of a value that no test computes.
func poison(dt gpk.DType, shape ...int) *gpk.Array {
	if exact(dt) {
		if dt == gpk.Bool {
			return gpk.Full(dt, true, shape...)
		}
		return gpk.Full(dt, 77, shape...)
	}
	return gpk.Full(dt, math.NaN(), shape...)
}

// evaluate computes a into a poisoned array and reads that.
func evaluate(t testing.TB, a *gpk.Array) tensor {
	t.Helper()
	if err := a.Err(); err != nil {
		t.Fatal(err)
	}
	dst := poison(a.DType(), a.Shape()...)
	if err := gpk.Into(dst, a); err != nil {
		t.Fatal(err)
	}
	defer dst.Free()
	return read(t, dst)
}

// frobenius returns |got - want| over |want|, or over the root of expected if that is
// larger. It returns 0 if all elements are equal, and +Inf if an element that should be
// finite is not.
func frobenius(got, want []complex128, expected float64) float64 {
	var d, n float64
	for i := range want {
		d += sqr(got[i] - want[i])
		n += sqr(want[i])
	}
	switch {
	case math.IsNaN(d) || math.IsInf(d, 0):
		return math.Inf(1)
	case d == 0:
		return 0
	}
	return math.Sqrt(d / max(n, expected))
}

// wrap returns v modulo the range of the integer type dt.
func wrap(dt gpk.DType, v int64) int64 {
	rest := 64 - 8*dt.Size()
	if dt.IsUnsigned() {
		return int64(uint64(v) << rest >> rest)
	}
	return v << rest >> rest
}

// sameInts fails unless two lists are equal.
func sameInts(t testing.TB, what string, got, want []int64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d elements, want %d", what, len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%s: element %d is %d, want %d", what, i, got[i], want[i])
		}
	}
}

// index walks a shape in row-major order.
func index(shape []int, f func(ix []int)) {
	if size(shape) == 0 {
		return
	}
	ix := make([]int, len(shape))
	for {
		f(ix)
		d := len(shape) - 1
		for ; d >= 0; d-- {
			if ix[d]++; ix[d] < shape[d] {
				break
			}
			ix[d] = 0
		}
		if d < 0 {
			return
		}
	}
}

// at returns the position of an index in a dense array of a shape. Axes of length 1 are
// broadcast.
func at(shape, ix []int) int {
	p := 0
	skip := len(ix) - len(shape)
	for d, n := range shape {
		i := ix[skip+d]
		if n == 1 {
			i = 0
		}
		p = p*n + i
	}
	return p
}

func name(parts ...any) string {
	s := ""
	for i, p := range parts {
		if i > 0 {
			s += "/"
		}
		s += fmt.Sprint(p)
	}
	return s
}
