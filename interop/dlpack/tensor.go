package dlpack

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/layout"
)

// tensor has the layout of DLTensor in dlpack.h.
type tensor struct {
	data       unsafe.Pointer // address in the host's or a device's memory
	device     deviceOf
	ndim       int32
	dtype      dataType
	shape      *int64
	strides    *int64 // in elements; nil: dense rows
	byteOffset uint64
}

// deviceOf has the layout of DLDevice.
type deviceOf struct{ kind, index int32 }

// The kinds of devices whose memory gpk can use.
const (
	onCPU         = 1
	onCUDA        = 2
	onCUDAHost    = 3  // page-locked host memory
	onCUDAManaged = 13 // memory that migrates between host and device
)

// dataType has the layout of DLDataType.
type dataType struct {
	code, bits uint8
	lanes      uint16
}

// types maps element types to DLPack's. kDLInt is 0, kDLUInt 1, kDLFloat 2, kDLBfloat 4,
// kDLComplex 5 and kDLBool 6.
var types = map[gpk.DType]dataType{
	gpk.Float32: {2, 32, 1}, gpk.Float64: {2, 64, 1}, gpk.Float16: {2, 16, 1}, gpk.BFloat16: {4, 16, 1},
	gpk.Int8: {0, 8, 1}, gpk.Int32: {0, 32, 1}, gpk.Int64: {0, 64, 1}, gpk.Uint8: {1, 8, 1}, gpk.Bool: {6, 8, 1},
	gpk.Int16: {0, 16, 1}, gpk.Uint16: {1, 16, 1}, gpk.Uint32: {1, 32, 1}, gpk.Uint64: {1, 64, 1},
	gpk.Complex64: {5, 64, 1}, gpk.Complex128: {5, 128, 1},
}

// managed has the layout of DLManagedTensor.
type managed struct {
	tensor  tensor
	context unsafe.Pointer
	deleter unsafe.Pointer // void (*)(DLManagedTensor*), or nil
}

// versioned has the layout of DLManagedTensorVersioned.
type versioned struct {
	major, minor uint32
	context      unsafe.Pointer
	deleter      unsafe.Pointer // void (*)(DLManagedTensorVersioned*), or nil
	flags        uint64
	tensor       tensor
}

// The version of DLPack that ToVersioned states. FromVersioned accepts every minor
// version of it.
const (
	major = 1
	minor = 0
)

// readOnly is the flag of memory that the receiver must not write.
const readOnly = 1

// elements returns the element type of gpk.
func (t *tensor) elements() (gpk.DType, error) {
	for dt, d := range types {
		if d == t.dtype {
			return dt, nil
		}
	}
	return 0, fmt.Errorf("%w: DLPack's type of code %d, %d bits and %d lanes", gpk.ErrDType, t.dtype.code, t.dtype.bits, t.dtype.lanes)
}

// extent describes the memory of a tensor's elements: it begins `first` bytes after data
// (before it, if negative) and has `bytes` bytes. lay is the layout of the elements in
// it.
type extent struct {
	first, bytes int64
	lay          layout.Layout
}

// extent returns the extent of the elements. Negative strides reach before data.
func (t *tensor) extent(dt gpk.DType) (x extent, err error) {
	if x.lay, err = t.layout(); err != nil {
		return x, err
	}
	shape := x.lay.Shape
	if x.lay.Size() == 0 {
		x.lay = layout.Dense(shape)
		return x, nil
	}
	if t.byteOffset > math.MaxInt64 {
		return x, fmt.Errorf("%w: %d bytes from data to the elements", gpk.ErrShape, t.byteOffset)
	}
	below, above := int64(0), int64(0) // distance, in elements, of the first and of the last element in memory
	most := math.MaxInt64 / int64(dt.Size()) / 128
	for i, s := range x.lay.Strides {
		steps := int64(shape[i]) - 1
		if s := max(int64(s), -int64(s)); s < 0 || steps > 0 && s > most/steps {
			return x, fmt.Errorf("%w: shape %v with strides %v takes more bytes than there are", gpk.ErrShape, shape, x.lay.Strides)
		}
		if s < 0 {
			below -= steps * int64(s)
		} else {
			above += steps * int64(s)
		}
	}
	x.lay.Offset = int(below)
	x.first = int64(t.byteOffset) - below*int64(dt.Size())
	x.bytes = (below + above + 1) * int64(dt.Size())
	return x, nil
}

// layout returns shape and strides. Without strides the tensor is dense.
func (t *tensor) layout() (layout.Layout, error) {
	n := int(t.ndim)
	if n < 0 || n > 64 || n > 0 && t.shape == nil {
		return layout.Layout{}, fmt.Errorf("%w: %d axes, shape at %p", gpk.ErrShape, t.ndim, t.shape)
	}
	shape := make([]int, n)
	for i := range shape {
		d := at(t.shape, i)
		if d < 0 || d > math.MaxInt {
			return layout.Layout{}, fmt.Errorf("%w: axis %d has length %d", gpk.ErrShape, i, d)
		}
		shape[i] = int(d)
	}
	if _, err := layout.Size(shape); err != nil {
		return layout.Layout{}, err
	}
	lay := layout.Dense(shape)
	if t.strides == nil {
		return lay, nil
	}
	for i := range shape {
		s := at(t.strides, i)
		if lay.Strides[i] = int(s); int64(lay.Strides[i]) != s {
			return lay, fmt.Errorf("%w: axis %d has stride %d", gpk.ErrShape, i, s)
		}
	}
	return lay, nil
}

// at returns the element i at p.
func at(p *int64, i int) int64 { return *(*int64)(unsafe.Add(unsafe.Pointer(p), i*8)) }
