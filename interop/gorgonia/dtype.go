package gorgonia

import (
	"fmt"
	"reflect"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype/bfloat16"
	"github.com/x448/float16"
	"gorgonia.org/tensor"
)

// The half types for the tensor package. It can hold, slice and transpose tensors of
// these types. With an Engine it can multiply them too.
var (
	Float16  = tensor.Dtype{Type: reflect.TypeFor[float16.Float16]()}
	BFloat16 = tensor.Dtype{Type: reflect.TypeFor[bfloat16.BFloat16]()}
)

// carrier moves the elements of one type.
type carrier interface {
	dtype() gpk.DType
	// load copies a tensor to a device. check must have accepted the tensor.
	load(t *tensor.Dense, dev *device.Device) (*gpk.Array, error)
	// store writes an array of the tensor's size into it.
	store(t *tensor.Dense, a *gpk.Array) error
	// tensor returns a new tensor of the array's elements.
	tensor(a *gpk.Array) (*tensor.Dense, error)
}

var carriers = func() map[reflect.Type]carrier {
	m := make(map[reflect.Type]carrier)
	add[float32](m)
	add[float64](m)
	add[float16.Float16](m)
	add[bfloat16.BFloat16](m)
	add[int8](m)
	add[uint8](m)
	add[int32](m)
	add[int64](m)
	add[int16](m)
	add[uint16](m)
	add[uint32](m)
	add[uint64](m)
	add[bool](m)
	add[complex64](m)
	add[complex128](m)
	return m
}()

func add[T gpk.Elem](m map[reflect.Type]carrier) { m[reflect.TypeFor[T]()] = elements[T]{} }

// check returns the carrier of a tensor's elements, or the reason why there is none.
func check(t *tensor.Dense) (carrier, error) {
	switch {
	case t == nil:
		return nil, fmt.Errorf("%w: a nil tensor", gpk.ErrShape)
	case t.Dtype().Type == nil:
		return nil, fmt.Errorf("%w: a zero tensor, which has no element type", gpk.ErrDType)
	case !t.IsNativelyAccessible():
		return nil, fmt.Errorf("%w: the tensor's memory cannot be read by Go", gpk.ErrUnsupported)
	case len(t.Mask()) > 0:
		return nil, fmt.Errorf("%w: a masked tensor; fill it and clear its mask first", gpk.ErrUnsupported)
	}
	c, ok := carriers[t.Dtype().Type]
	if !ok {
		return nil, fmt.Errorf("%w: gpk has no %v; convert the tensor's elements first", gpk.ErrDType, t.Dtype())
	}
	return c, nil
}
