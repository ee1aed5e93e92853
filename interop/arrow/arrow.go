package arrow

import (
	"fmt"

	apache "github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/tensor"
	"github.com/gpk-go/gpk"
	gpkarray "github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/internal/deviceapi"
	"github.com/gpk-go/gpk/interop/internal/site"
	"github.com/gpk-go/gpk/layout"
)

// FromArray returns an array [n] on the default device with a copy of the n elements of a
// primitive array or of a boolean one.
func FromArray(x apache.Array) *gpk.Array {
	return converted("FromArray", x, fromArray)
}

// converted returns the array that from makes of x. If from fails, the array carries the error,
// as one of op.
func converted[X any](op string, x X, from func(X) (*gpk.Array, error)) *gpk.Array {
	a, err := from(x)
	if err != nil {
		return gpkarray.Failed(site.Fail("arrow", op, err))
	}
	return a
}

func fromArray(x apache.Array) (*gpk.Array, error) {
	if x == nil {
		return nil, errNil
	}
	if n := x.NullN(); n > 0 {
		return nil, fmt.Errorf("%w: %d of %d elements are null; fill them first", gpk.ErrUnsupported, n, x.Len())
	}
	if b, ok := x.(*array.Boolean); ok {
		data := make([]bool, b.Len())
		for i := range data {
			data[i] = b.Value(i)
		}
		a := gpk.FromSlice(data)
		return a, a.Err()
	}
	c, raw, err := carried(x.Data())
	if err != nil {
		return nil, err
	}
	a := c.load(raw, []int{x.Len()}, nil)
	return a, a.Err()
}

// carried returns the carrier for data and the memory of its elements.
func carried(data apache.ArrayData) (carrier, []byte, error) {
	c, err := carrierOf(data.DataType())
	n, buffers := data.Len(), data.Buffers()
	if err != nil || n == 0 {
		return c, nil, err
	}
	size := c.dtype().Size()
	if n < 0 || len(buffers) < 2 || buffers[1] == nil || data.Offset() < 0 || data.Offset()+n > buffers[1].Len()/size {
		return nil, nil, fmt.Errorf("%w: %d elements from number %d on lie outside their memory", gpk.ErrShape, n, data.Offset())
	}
	return c, buffers[1].Bytes()[data.Offset()*size:][:n*size], nil
}

// ToArray waits and returns a new Arrow array with the elements of an array of one axis.
func ToArray(a *gpk.Array) (apache.Array, error) {
	x, err := toArray(a)
	if err != nil {
		return nil, site.Fail("arrow", "ToArray", err)
	}
	return x, nil
}

func toArray(a *gpk.Array) (apache.Array, error) {
	if err := a.Err(); err != nil {
		return nil, err
	}
	if a.NDim() != 1 {
		return nil, fmt.Errorf("%w: %v has %d axes, an array of Arrow has one; ToTensor keeps them", gpk.ErrShape, a.Shape(), a.NDim())
	}
	if a.DType() == gpk.Bool {
		data, err := gpk.ToSlice[bool](a)
		if err != nil {
			return nil, err
		}
		b := array.NewBooleanBuilder(memory.DefaultAllocator)
		defer b.Release()
		b.AppendValues(data, nil)
		return b.NewArray(), nil
	}
	data, err := dataOf(a)
	if err != nil {
		return nil, err
	}
	defer data.Release()
	return array.MakeFromData(data), nil
}

// dataOf returns Arrow's data with an array's elements in row-major order.
func dataOf(a *gpk.Array) (*array.Data, error) {
	c, err := carrierFor(a.DType())
	if err != nil {
		return nil, err
	}
	buffer, err := c.bytes(a)
	if err != nil {
		return nil, err
	}
	defer buffer.Release()
	return array.NewData(c.arrow(), a.Size(), []*memory.Buffer{nil, buffer}, nil, 0, 0), nil
}

// FromTensor returns an array on the default device with a copy of a tensor's elements.
func FromTensor(t tensor.Interface) *gpk.Array {
	return converted("FromTensor", t, fromTensor)
}

func fromTensor(t tensor.Interface) (*gpk.Array, error) {
	if t == nil {
		return nil, errNil
	}
	c, raw, err := carried(t.Data())
	if err != nil {
		return nil, err
	}
	if n := t.Data().NullN(); n > 0 {
		return nil, fmt.Errorf("%w: %d elements are null; fill them first", gpk.ErrUnsupported, n)
	}
	lay, err := layoutOf(t, c.dtype().Size())
	if err != nil {
		return nil, err
	}
	size := c.dtype().Size()
	if err := lay.Within(len(raw) / size); err != nil {
		return nil, err
	}
	if lay.IsDense() {
		a := c.load(raw, lay.Shape, nil)
		return a, a.Err()
	}
	if err := deviceapi.HostRoom(int64(lay.Size()) * int64(size)); err != nil {
		return nil, err
	}
	a := c.load(raw, lay.Shape, func(visit func(at int)) { walk(lay, 0, lay.Offset, func(i int) { visit(i * size) }) })
	return a, a.Err()
}

// layoutOf returns the layout of a tensor's elements. size is the number of bytes of an
// element.
func layoutOf(t tensor.Interface, size int) (layout.Layout, error) {
	shape := make([]int, t.NumDims())
	for i, d := range t.Shape() {
		if shape[i] = int(d); int64(shape[i]) != d {
			return layout.Layout{}, fmt.Errorf("%w: axis %d has length %d", gpk.ErrShape, i, d)
		}
	}
	n, err := layout.Size(shape)
	if err != nil {
		return layout.Layout{}, err
	}
	lay := layout.Dense(shape)
	if n == 0 {
		return lay, nil
	}
	for i, s := range t.Strides() {
		if s%int64(size) != 0 || int64(int(s)) != s {
			return lay, fmt.Errorf("%w: axis %d has a stride of %d bytes, elements have %d", gpk.ErrUnsupported, i, s, size)
		}
		lay.Strides[i] = int(s) / size
	}
	return lay, nil
}

// walk visits the elements of a layout in order, from axis on.
func walk(lay layout.Layout, axis, at int, visit func(at int)) {
	if axis == len(lay.Shape) {
		visit(at)
		return
	}
	for range lay.Shape[axis] {
		walk(lay, axis+1, at, visit)
		at += lay.Strides[axis]
	}
}

// ToTensor waits and returns a new row-major tensor with an array's elements and shape. names
// are the names of all axes; without names the axes have none.
func ToTensor(a *gpk.Array, names ...string) (tensor.Interface, error) {
	t, err := toTensor(a, names)
	if err != nil {
		return nil, site.Fail("arrow", "ToTensor", err)
	}
	return t, nil
}

func toTensor(a *gpk.Array, names []string) (tensor.Interface, error) {
	if err := a.Err(); err != nil {
		return nil, err
	}
	if len(names) > 0 && len(names) != a.NDim() {
		return nil, fmt.Errorf("%w: %d names for the axes of %v", gpk.ErrShape, len(names), a.Shape())
	}
	if dt := a.DType(); dt == gpk.Float16 || dt == gpk.Bool {
		return nil, fmt.Errorf("%w: Arrow has no tensors of %v; Cast first", gpk.ErrDType, dt)
	}
	data, err := dataOf(a)
	if err != nil {
		return nil, err
	}
	defer data.Release()
	shape := make([]int64, a.NDim())
	for i, d := range a.Shape() {
		shape[i] = int64(d)
	}
	return tensor.New(data, shape, nil, names), nil
}

var errNil = fmt.Errorf("%w: nil, which has no element type", gpk.ErrDType)
