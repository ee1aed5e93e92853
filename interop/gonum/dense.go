package gonum

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/layout"
)

// number is the set of gonum's element types.
type number interface {
	float32 | float64 | complex64 | complex128
}

// dense is a General of any type: rows of cols elements at a distance of stride elements.
// A Vector is a dense with one column and one axis.
type dense[T number] struct {
	dims               int
	rows, cols, stride int
	data               []T
}

// check returns an error for a matrix that reaches outside its data.
func (d dense[T]) check() error {
	switch {
	case d.dims == 1:
		return d.checkVector()
	case d.rows < 0 || d.cols < 0:
		return fmt.Errorf("%w: a matrix of %d x %d", gpk.ErrShape, d.rows, d.cols)
	case d.stride < max(1, d.cols):
		return fmt.Errorf("%w: the stride is %d; it must be at least the number of columns, %d", gpk.ErrShape, d.stride, d.cols)
	case d.rows == 0 || d.cols == 0:
		return nil
	case d.cols > len(d.data) || d.rows > 1 && d.stride > (len(d.data)-d.cols)/(d.rows-1):
		return fmt.Errorf("%w: %d rows of %d elements with stride %d in a slice of length %d", gpk.ErrShape, d.rows, d.cols, d.stride, len(d.data))
	}
	return nil
}

// checkVector is check for a Vector.
func (d dense[T]) checkVector() error {
	switch {
	case d.rows < 0:
		return fmt.Errorf("%w: N is %d; it must not be negative", gpk.ErrShape, d.rows)
	case d.stride < 1:
		return fmt.Errorf("%w: Inc is %d; it must be at least 1, which is the Inc of adjacent elements", gpk.ErrShape, d.stride)
	case d.rows > 0 && (len(d.data) == 0 || d.rows > 1 && d.stride > (len(d.data)-1)/(d.rows-1)):
		return fmt.Errorf("%w: N is %d and Inc is %d, but Data has %d elements", gpk.ErrShape, d.rows, d.stride, len(d.data))
	}
	return nil
}

func (d dense[T]) shape() []int { return []int{d.rows, d.cols}[:d.dims] }

func (d dense[T]) size() int { return d.rows * d.cols }

// row returns the elements of row i.
func (d dense[T]) row(i int) []T { return d.data[i*d.stride:][:d.cols] }

// gapless reports whether the elements are adjacent.
func (d dense[T]) gapless() bool { return d.stride == d.cols || d.rows < 2 || d.size() == 0 }

// load copies the elements to the default device.
func (d dense[T]) load() (*gpk.Array, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	var elems []T
	if d.gapless() {
		elems = d.data[:d.size()]
	} else {
		elems = make([]T, 0, d.size())
		for i := range d.rows {
			elems = append(elems, d.row(i)...)
		}
	}
	a := gpk.FromSlice(elems, d.shape()...)
	return a, a.Err()
}

// store waits and copies an array's elements into the matrix.
func (d dense[T]) store(a *gpk.Array) error {
	if err := d.check(); err != nil {
		return err
	}
	if err := holds[T](a, d.dims); err != nil {
		return err
	}
	if !slices.Equal(a.Shape(), d.shape()) {
		return fmt.Errorf("%w: %v into %v", gpk.ErrShape, a.Shape(), d.shape())
	}
	if d.gapless() {
		return gpk.ToSliceInto(d.data[:d.size()], a)
	}
	elems, err := gpk.ToSlice[T](a)
	if err != nil {
		return err
	}
	for i := range d.rows {
		copy(d.row(i), elems[i*d.cols:])
	}
	return nil
}

// copied waits and returns a new matrix with an array's elements.
func (d dense[T]) copied(a *gpk.Array, dims int) (matrix, error) {
	if err := holds[T](a, dims); err != nil {
		return nil, err
	}
	elems, err := gpk.ToSlice[T](a)
	if err != nil {
		return nil, err
	}
	out := dense[T]{dims: dims, rows: a.Shape()[0], cols: 1, data: elems}
	if dims == 2 {
		out.cols = a.Shape()[1]
	}
	out.stride = max(1, out.cols)
	return out, nil
}

// share makes an array over the elements, on the CPU.
func (d dense[T]) share() (*gpk.Array, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	dev, err := device.Open("cpu")
	if err != nil {
		return nil, err
	}
	n := 0 // number of elements up to the last one
	if d.size() > 0 {
		n = (d.rows-1)*d.stride + d.cols
	}
	dt := dtype.Of[T]()
	buf, err := device.WrapHost(dev, unsafe.Pointer(unsafe.SliceData(d.data)), int64(n)*int64(dt.Size()), nil)
	if err != nil {
		return nil, err
	}
	a := array.FromLayout(buf, dt, layout.Layout{Shape: d.shape(), Strides: []int{d.stride, 1}[:d.dims]})
	return a, a.Err()
}

// view returns a matrix over an array's elements.
func (d dense[T]) view(a *gpk.Array, dims int) (matrix, error) {
	if err := holds[T](a, dims); err != nil {
		return nil, err
	}
	buf, err := a.Buffer()
	if err == nil {
		err = a.Err() // the error of the computation, as far as it is known
	}
	if err != nil {
		return nil, err
	}
	if buf.Device().Kind() != device.CPU {
		return nil, fmt.Errorf("%w: the elements are on %v; To the CPU copies them", gpk.ErrDevice, buf.Device())
	}
	shape, strides := a.Shape(), a.Strides()
	out := dense[T]{dims: dims, rows: shape[0], cols: 1, stride: strides[0]}
	inner := 1
	if dims == 2 {
		out.cols, inner = shape[1], strides[1]
	}
	if out.rows < 2 || out.cols == 0 { // the stride has no meaning
		out.stride = max(1, out.cols)
	}
	if out.cols > 1 && inner != 1 || out.stride < max(1, out.cols) {
		return nil, fmt.Errorf("%w: %v with strides %v is not a row-major matrix; Contiguous copies it into one", gpk.ErrUnsupported, shape, strides)
	}
	if out.size() > 0 {
		first := unsafe.Add(buf.Ptr(), a.Offset()*a.DType().Size())
		out.data = unsafe.Slice((*T)(first), (out.rows-1)*out.stride+out.cols)
	}
	return out, nil
}

// holds returns an error for an array whose elements are not of type T or that does not
// have dims axes.
func holds[T number](a *gpk.Array, dims int) error {
	if err := a.Err(); err != nil {
		return err
	}
	if want := dtype.Of[T](); a.DType() != want {
		return fmt.Errorf("%w: elements of %v, not %v; Cast first", gpk.ErrDType, a.DType(), want)
	}
	if a.NDim() != dims {
		return fmt.Errorf("%w: %v has %d axes, not %d", gpk.ErrShape, a.Shape(), a.NDim(), dims)
	}
	return nil
}
