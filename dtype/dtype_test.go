package dtype

import (
	"errors"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/dtype/bfloat16"
	"github.com/x448/float16"
)

func check[T Elem](t *testing.T, want DType, name string) {
	t.Helper()
	var v T
	d := Of[T]()
	if d != want || d.Size() != int(unsafe.Sizeof(v)) || d.String() != name || !d.Valid() {
		t.Errorf("%T is %v of %d bytes", v, d, d.Size())
	}
	if back, err := Parse(name); err != nil || back != d {
		t.Errorf("Parse(%q) = %v, %v", name, back, err)
	}
}

func TestOf(t *testing.T) {
	check[float32](t, Float32, "float32")
	check[float64](t, Float64, "float64")
	check[float16.Float16](t, Float16, "float16")
	check[bfloat16.BFloat16](t, BFloat16, "bfloat16")
	check[int8](t, Int8, "int8")
	check[uint8](t, Uint8, "uint8")
	check[int32](t, Int32, "int32")
	check[int64](t, Int64, "int64")
	check[bool](t, Bool, "bool")
	check[complex64](t, Complex64, "complex64")
	check[complex128](t, Complex128, "complex128")
	check[int16](t, Int16, "int16")
	check[uint16](t, Uint16, "uint16")
	check[uint32](t, Uint32, "uint32")
	check[uint64](t, Uint64, "uint64")
	if len(All) != 15 || All[len(All)-1].Valid() && (All[len(All)-1]+1).Valid() {
		t.Errorf("%d types", len(All))
	}
	if Of[int]() != Int64 || Of[uint]() != Uint64 {
		t.Errorf("int is %v, uint %v", Of[int](), Of[uint]())
	}
}

// TestKinds compares the properties of the integer types with the arithmetic of their Go types.
func TestKinds(t *testing.T) {
	unsigned := map[DType]bool{
		Int8: ^int8(0) > 0, Int16: ^int16(0) > 0, Int32: ^int32(0) > 0, Int64: ^int64(0) > 0,
		Uint8: ^uint8(0) > 0, Uint16: ^uint16(0) > 0, Uint32: ^uint32(0) > 0, Uint64: ^uint64(0) > 0,
	}
	for _, d := range All {
		u, integer := unsigned[d]
		if d.IsInteger() != integer || d.IsUnsigned() != u {
			t.Errorf("%v: integer %v, unsigned %v", d, d.IsInteger(), d.IsUnsigned())
		}
	}
	for d, want := range map[DType]int{Complex128: 11, Int16: 12, Uint16: 13, Uint32: 14, Uint64: 15} {
		if int(d) != want {
			t.Errorf("%v is number %d, want %d", d, int(d), want)
		}
	}
}

func TestInvalid(t *testing.T) {
	for _, d := range []DType{Invalid, 99} {
		if d.Valid() || d.Size() != 0 || d.IsFloat() || d.IsInteger() || d.IsComplex() || d.String() == "" {
			t.Errorf("%v is accepted as a type", d)
		}
	}
	if _, err := Parse("float128"); !errors.Is(err, ErrDType) {
		t.Error(err)
	}
	if _, ok := OfValue(uintptr(1)); ok {
		t.Error("uintptr is accepted as an element type")
	}
	if Complex64.Real() != Float32 || Complex128.Real() != Float64 || Int8.Real() != Int8 {
		t.Error("Real")
	}
}

func TestGoName(t *testing.T) {
	for d, want := range map[DType]string{Float32: "Float32", BFloat16: "BFloat16", Uint8: "Uint8", Bool: "Bool", Complex128: "Complex128", Invalid: "Invalid", 200: "DType(200)"} {
		if got := d.GoName(); got != want {
			t.Errorf("%v: %q", d, got)
		}
	}
}
