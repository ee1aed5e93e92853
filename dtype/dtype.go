// Package dtype defines the element types of an array: their names, their sizes in
// bytes and their Go types.
//
// It is a leaf: it does not import arrays, devices or kernels. Package ops defines
// which types an operation supports.
package dtype

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gpk-go/gpk/dtype/bfloat16"
	"github.com/x448/float16"
)

// ErrDType is the error of an operation that is not implemented for its operands' element
// types, or whose operands have different types.
var ErrDType = errors.New("element type")

// DType is the element type of an array. The zero value is Invalid.
type DType uint8

// The element types. The numbers are part of the kernel library's ABI.
const (
	Invalid DType = iota
	Float32
	Float64
	Float16
	BFloat16
	Int8
	Uint8
	Int32
	Int64
	Bool
	Complex64
	Complex128
	Int16
	Uint16
	Uint32
	Uint64
)

// All lists every valid element type, in the order of the constants.
var All = [...]DType{Float32, Float64, Float16, BFloat16, Int8, Uint8, Int32, Int64, Bool, Complex64, Complex128, Int16, Uint16, Uint32, Uint64}

// Elem is the set of Go types that an array's elements can have.
type Elem interface {
	float32 | float64 | float16.Float16 | bfloat16.BFloat16 | bool | complex64 | complex128 |
		int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

// HostElem is Elem and Go's int and uint. On every system an array stores the elements of
// an []int as Int64, and those of a []uint as Uint64.
type HostElem interface{ Elem | int | uint }

type kind uint8

const (
	kindNone kind = iota
	kindFloat
	kindInt
	kindUint
	kindBool
	kindComplex
)

var table = [...]struct {
	name  string
	short string // the name in benchmarks and kernels
	size  int
	kind  kind
}{
	Invalid:    {"invalid", "invalid", 0, kindNone},
	Float32:    {"float32", "fp32", 4, kindFloat},
	Float64:    {"float64", "fp64", 8, kindFloat},
	Float16:    {"float16", "fp16", 2, kindFloat},
	BFloat16:   {"bfloat16", "bf16", 2, kindFloat},
	Int8:       {"int8", "i8", 1, kindInt},
	Uint8:      {"uint8", "u8", 1, kindUint},
	Int32:      {"int32", "i32", 4, kindInt},
	Int64:      {"int64", "i64", 8, kindInt},
	Bool:       {"bool", "bool", 1, kindBool},
	Complex64:  {"complex64", "c64", 8, kindComplex},
	Complex128: {"complex128", "c128", 16, kindComplex},
	Int16:      {"int16", "i16", 2, kindInt},
	Uint16:     {"uint16", "u16", 2, kindUint},
	Uint32:     {"uint32", "u32", 4, kindUint},
	Uint64:     {"uint64", "u64", 8, kindUint},
}

// String returns the name in lower case: "float32", "bfloat16", …
func (d DType) String() string {
	if int(d) >= len(table) {
		return fmt.Sprintf("DType(%d)", uint8(d))
	}
	return table[d].name
}

// Short returns the short name: "fp32", "bf16", "i8", "c64", …
func (d DType) Short() string {
	if int(d) >= len(table) {
		return d.String()
	}
	return table[d].short
}

// GoName returns the name of the type's constant, such as BFloat16.
func (d DType) GoName() string {
	s := d.String()
	switch {
	case d == BFloat16:
		return "BFloat16"
	case int(d) >= len(table):
		return s
	}
	return string(s[0]-'a'+'A') + s[1:]
}

// Valid reports whether d is one of the element types that All lists.
func (d DType) Valid() bool { return d > Invalid && int(d) < len(table) }

// Size returns the number of bytes of an element, 0 for an invalid type.
func (d DType) Size() int {
	if int(d) >= len(table) {
		return 0
	}
	return table[d].size
}

// IsFloat reports whether d is a real floating-point type.
func (d DType) IsFloat() bool { return d.kind() == kindFloat }

// IsHalf reports whether d is a 16-bit floating-point type.
func (d DType) IsHalf() bool { return d == Float16 || d == BFloat16 }

// IsInteger reports whether d is an integer type. Bool is not one.
func (d DType) IsInteger() bool { return d.kind() == kindInt || d.IsUnsigned() }

// IsUnsigned reports whether d is an integer type without negative numbers. Bool is not
// one.
func (d DType) IsUnsigned() bool { return d.kind() == kindUint }

// IsComplex reports whether d is a complex type.
func (d DType) IsComplex() bool { return d.kind() == kindComplex }

func (d DType) kind() kind {
	if int(d) >= len(table) {
		return kindNone
	}
	return table[d].kind
}

// Real returns the type of the real part: Float32 for Complex64, Float64 for
// Complex128, and d itself for every other type.
func (d DType) Real() DType {
	switch d {
	case Complex64:
		return Float32
	case Complex128:
		return Float64
	}
	return d
}

// SumType returns the type of a sum or a product of elements of type d: Uint64 for Uint16, Uint32
// and Uint64, Int64 for Bool and all other integer types, and d itself for every other type. The
// sum of Uint8 is Int64 for compatibility with versions before Uint64.
func (d DType) SumType() DType {
	switch {
	case d.IsUnsigned() && d != Uint8:
		return Uint64
	case d.IsInteger() || d == Bool:
		return Int64
	}
	return d
}

// HasProducts reports whether there are matrix products and sums of products of type d. There are
// none for Bool, Int16, Uint16, Uint32 and Uint64.
func (d DType) HasProducts() bool {
	switch d {
	case Bool, Int16, Uint16, Uint32, Uint64:
		return false
	}
	return d.Valid()
}

// ComputeType returns the type in which the CPU and GPUs compute with numbers of type d:
// Float32 for a 16-bit floating-point type, and d itself for every other type.
func (d DType) ComputeType() DType {
	if d.IsHalf() {
		return Float32
	}
	return d
}

// Of returns the element type that holds values of the Go type T: Int64 for int, Uint64 for
// uint.
func Of[T HostElem]() DType {
	var v T
	switch any(v).(type) {
	case int:
		return Int64
	case uint:
		return Uint64
	}
	d, _ := OfValue(v)
	return d
}

// OfValue returns the element type of v's dynamic type, and false if that is not an Elem type.
func OfValue(v any) (DType, bool) {
	switch v.(type) {
	case float32:
		return Float32, true
	case float64:
		return Float64, true
	case float16.Float16:
		return Float16, true
	case bfloat16.BFloat16:
		return BFloat16, true
	case int8:
		return Int8, true
	case uint8:
		return Uint8, true
	case uint16:
		return Uint16, true
	case int16:
		return Int16, true
	case int32:
		return Int32, true
	case uint32:
		return Uint32, true
	case uint64:
		return Uint64, true
	case int64:
		return Int64, true
	case bool:
		return Bool, true
	case complex64:
		return Complex64, true
	case complex128:
		return Complex128, true
	}
	return Invalid, false
}

// Parse returns the type of the given name. It accepts the names of String and the short
// forms of Short, which benchmarks use.
func Parse(name string) (DType, error) {
	names := make([]string, len(All))
	for i, d := range All {
		if d.String() == name || d.Short() == name {
			return d, nil
		}
		names[i] = d.String()
	}
	return Invalid, fmt.Errorf("%w: %q is not one of %s", ErrDType, name, strings.Join(names, ", "))
}
