package dist

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/dtype/bfloat16"
	"github.com/gpk-go/gpk/internal/deviceapi"
	"github.com/x448/float16"
)

// aligned returns n zero bytes, aligned for every element type.
func aligned(n int) []byte {
	if n == 0 {
		return nil
	}
	words := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 8*len(words))[:n:n]
}

// room returns ErrOutOfMemory if `blocks` blocks of n bytes exceed the machine's memory.
func room(n, blocks int) error {
	if n > math.MaxInt/max(blocks, 1) {
		return deviceapi.HostRoom(math.MaxInt64)
	}
	return deviceapi.HostRoom(int64(n) * int64(blocks))
}

// codec moves elements of a type between arrays and bytes.
type codec struct {
	load  func(a *gpk.Array) ([]byte, error)
	store func(d *device.Device, b []byte, shape []int) *gpk.Array
	into  func(a *gpk.Array, b []byte) error
}

// codecs holds the codec of each type.
var codecs = map[dtype.DType]codec{
	dtype.Float32: codecOf[float32](), dtype.Float64: codecOf[float64](),
	dtype.Float16: codecOf[float16.Float16](), dtype.BFloat16: codecOf[bfloat16.BFloat16](),
	dtype.Int8: codecOf[int8](), dtype.Uint8: codecOf[uint8](), dtype.Int32: codecOf[int32](), dtype.Int64: codecOf[int64](),
	dtype.Int16: codecOf[int16](), dtype.Uint16: codecOf[uint16](), dtype.Uint32: codecOf[uint32](), dtype.Uint64: codecOf[uint64](),
	dtype.Bool: codecOf[bool](), dtype.Complex64: codecOf[complex64](), dtype.Complex128: codecOf[complex128](),
}

func codecOf[T dtype.Elem]() codec {
	return codec{
		load: func(a *gpk.Array) ([]byte, error) {
			if err := room(a.NBytes(), 1); err != nil {
				return nil, err
			}
			b := aligned(a.NBytes())
			return b, gpk.ToSliceInto(elements[T](b), a)
		},
		store: func(d *device.Device, b []byte, shape []int) *gpk.Array {
			if len(shape) == 0 {
				return array.FromSliceOn(d, elements[T](b)).Reshape()
			}
			return array.FromSliceOn(d, elements[T](b), shape...)
		},
		into: func(a *gpk.Array, b []byte) error { return gpk.FromSliceInto(a, elements[T](b)) },
	}
}

// bytesOf waits for the elements of an array of any layout, in row-major order.
func bytesOf(a *gpk.Array) ([]byte, error) {
	k, ok := codecs[a.DType()]
	if !ok {
		return nil, fmt.Errorf("%w: %v", gpk.ErrDType, a.DType())
	}
	return k.load(a)
}

// result makes an array of elements on the rank's device.
func (k *call) result(b []byte, shape []int) (*gpk.Array, error) {
	out := codecs[k.a.DType()].store(k.c.Device(), b, shape)
	return out, out.Err()
}
