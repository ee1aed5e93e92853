package gorgonia

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/deviceapi"
	"github.com/gpk-go/gpk/interop/internal/site"
	"gorgonia.org/tensor"
)

// FromDense returns an array on the default device with a copy of the tensor's elements
// and its shape; a scalar tensor gives a 0-d array. A transposed or column-major tensor
// is copied in the order of its memory, and the result is a transposed view. The array
// carries ErrUnsupported for a masked tensor or memory that Go cannot read, and ErrDType
// for an element type that gpk does not have.
func FromDense(t *tensor.Dense) *gpk.Array {
	c, err := check(t)
	if err != nil {
		return failed(err)
	}
	a, err := c.load(t, device.Default())
	if err != nil {
		return failed(err)
	}
	return a
}

// failed returns an array that carries an error of FromDense.
func failed(err error) *gpk.Array {
	return array.Failed(site.Fail("gorgonia", "FromDense", err))
}

// ToDense waits and returns a new row-major tensor with the array's elements,
// shape and element type. The tensor package has no tensors without elements:
// an array of size 0 is ErrShape.
func ToDense(a *gpk.Array) (*tensor.Dense, error) {
	if err := a.Err(); err != nil {
		return nil, err
	}
	if a.Size() == 0 {
		return nil, fmt.Errorf("gorgonia: ToDense: %w: a tensor of shape %v would have no elements", gpk.ErrShape, a.Shape())
	}
	for _, c := range carriers {
		if c.dtype() == a.DType() {
			return c.tensor(a)
		}
	}
	return nil, fmt.Errorf("gorgonia: ToDense: %w: %v", gpk.ErrDType, a.DType())
}

// IntoDense waits and writes the array's elements into a tensor of its shape and element
// type, which may be a view, transposed or column-major. If it fails, nothing is written.
func IntoDense(dst *tensor.Dense, a *gpk.Array) error {
	if err := a.Err(); err != nil {
		return err
	}
	c, err := check(dst)
	switch {
	case err != nil:
	case c.dtype() != a.DType():
		err = fmt.Errorf("%w: elements of %v into a tensor of %v; Cast first", gpk.ErrDType, a.DType(), c.dtype())
	case !slices.Equal([]int(dst.Shape()), a.Shape()):
		err = fmt.Errorf("%w: %v into a tensor of shape %v", gpk.ErrShape, a.Shape(), dst.Shape())
	default:
		err = c.store(dst, a)
	}
	if err != nil {
		return fmt.Errorf("gorgonia: IntoDense: %w", err)
	}
	return nil
}

// elements is the carrier of type T.
type elements[T gpk.Elem] struct{}

func (elements[T]) dtype() gpk.DType { return dtype.Of[T]() }

func (e elements[T]) load(t *tensor.Dense, dev *device.Device) (*gpk.Array, error) {
	data, s := memory[T](t), stridesOf(t)
	if err := s.fits(len(data)); err != nil {
		return nil, err
	}
	size := t.Shape().TotalSize()
	axes, dense := s.order()
	if dense {
		a, err := e.upload(dev, data[:size], s.permuted(axes))
		if err != nil {
			return nil, err
		}
		return a.Transpose(inverse(axes)...), nil
	}
	if err := deviceapi.HostRoom(int64(size) * int64(e.dtype().Size())); err != nil {
		return nil, err
	}
	gathered := make([]T, 0, size)
	s.rows(func(at, n, step int) {
		for range n {
			gathered = append(gathered, data[at])
			at += step
		}
	})
	return e.upload(dev, gathered, s.shape)
}

func (e elements[T]) store(t *tensor.Dense, a *gpk.Array) error {
	data, s := memory[T](t), stridesOf(t)
	if err := s.fits(len(data)); err != nil {
		return err
	}
	axes, dense := s.order()
	if dense {
		return gpk.ToSliceInto(data[:a.Size()], a.Transpose(axes...))
	}
	elems, err := gpk.ToSlice[T](a)
	if err != nil {
		return err
	}
	s.rows(func(at, n, step int) {
		for _, v := range elems[:n] {
			data[at] = v
			at += step
		}
		elems = elems[n:]
	})
	return nil
}

func (elements[T]) tensor(a *gpk.Array) (*tensor.Dense, error) {
	elems, err := gpk.ToSlice[T](a)
	if err != nil {
		return nil, err
	}
	if a.NDim() == 0 {
		return tensor.New(tensor.FromScalar(elems[0])), nil
	}
	return tensor.New(tensor.WithShape(a.Shape()...), tensor.WithBacking(elems)), nil
}

// memory returns the elements of a tensor's memory, beginning with its first element.
func memory[T gpk.Elem](t *tensor.Dense) []T {
	if t.IsScalar() { // its Data is a value, not a slice
		t = t.ShallowClone()
		if err := t.Reshape(1); err != nil {
			return nil
		}
	}
	data, _ := t.Data().([]T)
	return data
}

// upload copies data to a device, which need not be the default one.
func (e elements[T]) upload(dev *device.Device, data []T, shape []int) (*gpk.Array, error) {
	if err := dev.Err(); err != nil {
		return nil, err
	}
	s := dev.DefaultStream()
	raw := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))), len(data)*e.dtype().Size())
	buf, err := dev.Alloc(int64(len(raw)), s)
	if err != nil {
		return nil, err
	}
	if err := dev.CopyFromHost(buf, 0, raw, s); err != nil {
		buf.Free()
		return nil, err
	}
	return array.FromBuffer(buf, e.dtype(), shape...), nil
}
