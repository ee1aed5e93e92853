package arrow

import (
	"fmt"
	"unsafe"

	apache "github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/dtype"
	"github.com/x448/float16"
)

// carrier moves the elements of one type. Arrow stores them as Go does.
type carrier interface {
	dtype() gpk.DType
	arrow() apache.DataType
	// load makes an array of the elements that walk visits; at is the index of an
	// element's first byte.
	load(raw []byte, shape []int, walk func(visit func(at int))) *gpk.Array
	// bytes returns an array's elements in row-major order.
	bytes(a *gpk.Array) (*memory.Buffer, error)
}

// carriers has a row for each type of fixed width except Bool, which Arrow stores as
// bits.
var carriers = []carrier{
	elements[float32]{apache.PrimitiveTypes.Float32},
	elements[float64]{apache.PrimitiveTypes.Float64},
	elements[float16.Float16]{apache.FixedWidthTypes.Float16},
	elements[int8]{apache.PrimitiveTypes.Int8},
	elements[uint8]{apache.PrimitiveTypes.Uint8},
	elements[int32]{apache.PrimitiveTypes.Int32},
	elements[int64]{apache.PrimitiveTypes.Int64},
	elements[int16]{apache.PrimitiveTypes.Int16},
	elements[uint16]{apache.PrimitiveTypes.Uint16},
	elements[uint32]{apache.PrimitiveTypes.Uint32},
	elements[uint64]{apache.PrimitiveTypes.Uint64},
}

// carrierOf returns the carrier of a type of Arrow.
func carrierOf(t apache.DataType) (carrier, error) {
	for _, c := range carriers {
		if c.arrow().ID() == t.ID() {
			return c, nil
		}
	}
	return nil, fmt.Errorf("%w: Arrow's type %v; cast it first", gpk.ErrDType, t)
}

// carrierFor returns the carrier of a type of gpk.
func carrierFor(dt gpk.DType) (carrier, error) {
	for _, c := range carriers {
		if c.dtype() == dt {
			return c, nil
		}
	}
	return nil, fmt.Errorf("%w: Arrow has no %v; Cast first", gpk.ErrDType, dt)
}

// elements is the carrier of type T.
type elements[T gpk.Elem] struct{ typ apache.DataType }

func (elements[T]) dtype() gpk.DType { return dtype.Of[T]() }

func (e elements[T]) arrow() apache.DataType { return e.typ }

func (elements[T]) load(raw []byte, shape []int, walk func(visit func(at int))) *gpk.Array {
	size := dtype.Of[T]().Size()
	n := 1
	for _, d := range shape {
		n *= d
	}
	data := make([]T, n)
	to := asBytes(data)
	if walk == nil {
		copy(to, raw)
		return gpk.FromSlice(data, shape...)
	}
	walk(func(at int) {
		copy(to[:size], raw[at:])
		to = to[size:]
	})
	return gpk.FromSlice(data, shape...)
}

func (elements[T]) bytes(a *gpk.Array) (*memory.Buffer, error) {
	data, err := gpk.ToSlice[T](a)
	if err != nil {
		return nil, err
	}
	return memory.NewBufferBytes(asBytes(data)), nil
}

// asBytes returns the memory of a slice.
func asBytes[T gpk.Elem](s []T) []byte {
	var v T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(v)))
}
