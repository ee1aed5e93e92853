package ops

import (
	"fmt"
	"math"
	"reflect"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// goNumber holds a Go number of any type without loss, in the field for its kind.
type goNumber struct {
	kind numberKind
	i    int64 // isInt, isBool
	u    uint64
	f    float64
	c    complex128
}

type numberKind uint8

const (
	isInt numberKind = iota
	isUint
	isFloat
	isComplex
	isBool
)

// numberOf returns the number that v holds: any Go integer, float or complex
// number, a bool, an Elem value, or a type defined from one of them.
func numberOf(v any) (goNumber, bool) {
	switch x := v.(type) {
	case int:
		return goNumber{kind: isInt, i: int64(x)}, true
	case float64:
		return goNumber{kind: isFloat, f: x}, true
	case float32:
		return goNumber{kind: isFloat, f: float64(x)}, true
	case nil:
		return goNumber{}, false
	}
	r := reflect.ValueOf(v)
	if d, ok := dtype.OfValue(v); ok && d.IsHalf() {
		h, _ := d.Half()
		return goNumber{kind: isFloat, f: float64(h.Float32(uint16(r.Uint())))}, true
	}
	switch r.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return goNumber{kind: isInt, i: r.Int()}, true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return goNumber{kind: isUint, u: r.Uint()}, true
	case reflect.Float32, reflect.Float64:
		return goNumber{kind: isFloat, f: r.Float()}, true
	case reflect.Complex64, reflect.Complex128:
		return goNumber{kind: isComplex, c: r.Complex()}, true
	case reflect.Bool:
		n := goNumber{kind: isBool}
		if r.Bool() {
			n.i = 1
		}
		return n, true
	}
	return goNumber{}, false
}

func (n goNumber) String() string {
	switch n.kind {
	case isInt:
		return fmt.Sprint(n.i)
	case isUint:
		return fmt.Sprint(n.u)
	case isFloat:
		return fmt.Sprint(n.f)
	case isComplex:
		return fmt.Sprint(n.c)
	}
	return fmt.Sprint(n.i == 1)
}

// float returns the value of a number that is not complex.
func (n goNumber) float() float64 {
	switch n.kind {
	case isUint:
		return float64(n.u)
	case isFloat:
		return n.f
	}
	return float64(n.i)
}

// integer returns the bits of the number as a 64-bit integer, whether it is negative, and
// whether it is an integer of at least -2^63 and below 2^64.
func (n goNumber) integer() (bits uint64, negative, ok bool) {
	switch n.kind {
	case isInt:
		return uint64(n.i), n.i < 0, true
	case isUint:
		return n.u, false, true
	case isFloat:
		whole := n.f == math.Trunc(n.f)
		if n.f < 0 {
			return uint64(int64(n.f)), true, whole && n.f >= -1<<63
		}
		return uint64(n.f), false, whole && n.f < 1<<64
	}
	return 0, false, false
}

// IntegerRange returns the least and the greatest number of an integer type or Bool.
func IntegerRange(d dtype.DType) (lo int64, hi uint64) {
	bits := 8 * d.Size()
	switch {
	case d == dtype.Bool:
		return 0, 1
	case d.IsUnsigned():
		return 0, math.MaxUint64 >> (64 - bits)
	}
	hi = math.MaxInt64 >> (64 - bits)
	return -int64(hi) - 1, hi
}

// PowerOf returns the operation that computes the power of an array by a number, and its number of operands: Square for 2 and
// Reciprocal for -1 of floating-point types, which are rounded once and take a fraction of Pow's time, else Pow.
func PowerOf(dt dtype.DType, exponent Scalar) (code expr.Op, operands uint8) {
	is := func(n int) bool {
		s, err := ScalarOf(dt, n, "")
		return err == nil && s == exponent
	}
	switch {
	case !dt.IsFloat():
	case is(2):
		return expr.Square, 1
	case is(-1):
		return expr.Reciprocal, 1
	}
	return expr.Pow, 2
}

// ScalarOf returns v, any Go number or Elem value, as an element of type d. A number that
// the type cannot hold (a fraction or overflow for integers, a complex number for reals) is
// ErrDType, and the message ends with advice. Rounding and overflow to infinity of floats
// are no errors.
func ScalarOf(d dtype.DType, v any, advice string) (Scalar, error) {
	n, ok := numberOf(v)
	if !ok {
		return Scalar{}, notNumber(v)
	}
	refuse := func() (Scalar, error) {
		return Scalar{}, fmt.Errorf("%w: %v does not hold the number %v; %s", dtype.ErrDType, d, n, advice)
	}
	if n.kind == isBool && d != dtype.Bool {
		return refuse()
	}
	switch {
	case d.IsComplex():
		if n.kind != isComplex {
			n.c = complex(n.float(), 0)
		}
		return complexScalar(d, n.c), nil
	case n.kind == isComplex:
		return refuse()
	case d.IsFloat():
		return floatScalar(d, n.float()), nil
	}
	if n.kind == isBool {
		return Scalar{uint64(n.i)}, nil
	}
	i, negative, ok := n.integer()
	if lo, hi := IntegerRange(d); !ok || negative && int64(i) < lo || !negative && i > hi {
		return refuse()
	}
	return Scalar{i}, nil
}

// notNumber returns the error of an operand that is neither an array nor a number.
func notNumber(v any) error {
	t, hint := reflect.TypeOf(v), ""
	if t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
		hint = "; gpk.FromSlice makes an array of a slice"
	}
	return fmt.Errorf("%w: %v is neither an *Array nor a number%s", dtype.ErrDType, t, hint)
}

func complexScalar(d dtype.DType, c complex128) Scalar {
	if d == dtype.Complex64 {
		c64 := complex64(c)
		return Scalar{uint64(math.Float32bits(real(c64))) | uint64(math.Float32bits(imag(c64)))<<32}
	}
	return Scalar{math.Float64bits(real(c)), math.Float64bits(imag(c))}
}

func floatScalar(d dtype.DType, f float64) Scalar {
	if d == dtype.Float64 {
		return Scalar{math.Float64bits(f)}
	}
	if h, ok := d.Half(); ok {
		return Scalar{uint64(h.Round(roundOdd(f)))}
	}
	return Scalar{uint64(math.Float32bits(float32(f)))}
}

// roundOdd rounds a float64 to float32 so that a second rounding to 16 bits gives the
// result of a single rounding. It rounds towards zero, and sets the last bit if the number
// is inexact (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
func roundOdd(f float64) float32 {
	g := float32(f)
	if float64(g) == f || math.IsNaN(f) || math.IsInf(float64(g), 0) {
		return g
	}
	bits := math.Float32bits(g)
	if math.Abs(float64(g)) > math.Abs(f) {
		bits--
	}
	return math.Float32frombits(bits | 1)
}
