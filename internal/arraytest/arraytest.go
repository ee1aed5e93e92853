// Package arraytest makes and reads arrays whose element type is known only at run time. A
// function that reads ends the test if it fails.
package arraytest

import (
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/dtype/bfloat16"
	"github.com/x448/float16"
)

// element makes and reads arrays of one type.
type element struct {
	array func(data []byte, shape []int) *gpk.Array
	slice func(a *gpk.Array) (elements any, data []byte, err error)
}

var byType = map[gpk.DType]element{
	gpk.Float32:    of[float32](),
	gpk.Float64:    of[float64](),
	gpk.Float16:    of[float16.Float16](),
	gpk.BFloat16:   of[bfloat16.BFloat16](),
	gpk.Int8:       of[int8](),
	gpk.Uint8:      of[uint8](),
	gpk.Int16:      of[int16](),
	gpk.Uint16:     of[uint16](),
	gpk.Int32:      of[int32](),
	gpk.Uint32:     of[uint32](),
	gpk.Int64:      of[int64](),
	gpk.Uint64:     of[uint64](),
	gpk.Bool:       of[bool](),
	gpk.Complex64:  of[complex64](),
	gpk.Complex128: of[complex128](),
}

func of[T gpk.Elem]() element {
	return element{
		array: func(data []byte, shape []int) *gpk.Array {
			s := make([]T, len(data)/dtype.Of[T]().Size())
			copy(dtype.HostBytes(s), data)
			return gpk.FromSlice(s).Reshape(shape...)
		},
		slice: func(a *gpk.Array) (any, []byte, error) {
			s, err := gpk.ToSlice[T](a)
			return s, dtype.HostBytes(s), err
		},
	}
}

// FromBytes returns an array whose elements have the bytes of data. No shape makes it 0-d.
func FromBytes(dt gpk.DType, data []byte, shape ...int) *gpk.Array {
	return byType[dt].array(data, shape)
}

// Bytes returns the bytes of an array's elements, in row-major order.
func Bytes(t testing.TB, a *gpk.Array) []byte {
	t.Helper()
	_, data := read(t, a)
	return data
}

// Slice returns an array's elements as a slice of their Go type.
func Slice(t testing.TB, a *gpk.Array) any {
	t.Helper()
	s, _ := read(t, a)
	return s
}

func read(t testing.TB, a *gpk.Array) (any, []byte) {
	t.Helper()
	e, ok := byType[a.DType()]
	if !ok {
		t.Fatalf("an array of %v: %v", a.DType(), a.Err())
	}
	s, data, err := e.slice(a)
	if err != nil {
		t.Fatal(err)
	}
	return s, data
}

// Elements returns an array's elements, of type T.
func Elements[T gpk.Elem](t testing.TB, a *gpk.Array) []T {
	t.Helper()
	s, err := gpk.ToSlice[T](a)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
