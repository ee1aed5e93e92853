package array

import (
	"fmt"
	"slices"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// FromSlice returns an array on the default device with a copy of data, which
// fills shape in row-major order; no shape means one axis. Elements of Go's int become
// Int64, those of uint Uint64. A length that does not fit the shape is ErrShape.
func FromSlice[T dtype.HostElem](data []T, shape ...int) *Array {
	return fromBytes(call{"FromSlice", here()}, device.Default(), dtype.Of[T](), dtype.HostBytes(data), len(data), shape)
}

// FromSliceOn is FromSlice on device d.
func FromSliceOn[T dtype.HostElem](d *device.Device, data []T, shape ...int) *Array {
	return fromBytes(call{"FromSliceOn", here()}, d, dtype.Of[T](), dtype.HostBytes(data), len(data), shape)
}

func fromBytes(c call, dev *device.Device, dt dtype.DType, data []byte, n int, shape []int) *Array {
	if shape == nil {
		shape = []int{n}
	}
	size, err := checkedSize(dev, dt, shape)
	if err == nil && size != n {
		err = layout.Errorf("%d elements do not fill %v, which takes %d", n, shape, size)
	}
	if err != nil {
		return c.failed(err, shaped(dt, shape))
	}
	return c.uploaded(dev.DefaultStream(), dt, data, slices.Clone(shape), fromGo)
}

// checkedSize returns the number of elements of a new array. It returns an error if the
// shape, the type or the device cannot be used.
func checkedSize(dev *device.Device, dt dtype.DType, shape []int) (size int, err error) {
	switch size, err = layout.Size(shape); {
	case dev == nil:
		err = fmt.Errorf("%w: no device", device.ErrDevice)
	case !dt.Valid():
		err = fmt.Errorf("%w: %v", dtype.ErrDType, dt)
	case err == nil:
		err = dev.Err()
	}
	return size, err
}

// shaped returns an array without elements: errors print its shape and type in place of an
// array that was not made.
func shaped(dt dtype.DType, shape []int) *Array {
	return &Array{lay: layout.Layout{Shape: shape}, dt: dt}
}

// scalar converts a number to an element of d, the type of an array. Its error advises to
// cast the array.
func scalar(d dtype.DType, v any) (ops.Scalar, error) { return ops.ScalarOf(d, v, "Cast the array") }
