package array

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// FromSlice returns an array on the default device with a copy of data, which
// fills shape in row-major order; no shape means one axis. Elements of Go's int become
// Int64, those of uint Uint64. A length that does not fit the shape is ErrShape.
func FromSlice[T dtype.HostElem](data []T, shape ...int) *Array {
	return fromBytes(call{"FromSlice", here()}, device.Default(), dtype.Of[T](), hostBytes(data), len(data), shape)
}

// FromSliceOn is FromSlice on device d.
func FromSliceOn[T dtype.HostElem](d *device.Device, data []T, shape ...int) *Array {
	c := call{"FromSliceOn", here()}
	if d == nil {
		return c.failed(fmt.Errorf("%w: no device", device.ErrDevice))
	}
	return fromBytes(c, d, dtype.Of[T](), hostBytes(data), len(data), shape)
}

// bytesOf returns the memory of a slice as bytes, without a copy.
func bytesOf[T dtype.HostElem](data []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))), len(data)*int(unsafe.Sizeof(zero)))
}

func fromBytes(c call, dev *device.Device, dt dtype.DType, data []byte, n int, shape []int) *Array {
	if shape == nil {
		shape = []int{n}
	}
	size, err := room(dev, dt, shape)
	if err == nil && size != n {
		err = layout.Errorf("%d elements do not fill %v, which takes %d", n, shape, size)
	}
	if err != nil {
		return c.failed(err, shaped(dt, shape))
	}
	return c.uploaded(dev.DefaultStream(), dt, data, slices.Clone(shape))
}

// room returns the number of elements of a new array on a device, or the reason why it
// cannot be made there.
func room(dev *device.Device, dt dtype.DType, shape []int) (size int, err error) {
	switch size, err = layout.Size(shape); {
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

// source returns a pending array on the default device. fill computes it without operands.
// strided says that fill can write to any strides. If err is not nil, the array carries it.
func source(name string, where site, dt dtype.DType, shape []int, err error, strided bool, fill func(s *device.Stream, dst device.View) error) *Array {
	c := call{name, where}
	dev := device.Default()
	if err == nil {
		_, err = room(dev, dt, shape)
	}
	if err != nil {
		return c.failed(err, shaped(dt, shape))
	}
	op := newNode(c)
	op.strided, op.how = strided, "one fill"
	op.run = func(_ *job, s *device.Stream, dst device.View) error { return fill(s, dst) }
	return op.result(dev.DefaultStream(), dt, layout.Dense(slices.Clone(shape)), 0)
}

// Zeros returns an array of zeros (false for Bool) on the default device; no
// shape makes it 0-d.
func Zeros(dt dtype.DType, shape ...int) *Array {
	return source("Zeros", here(), dt, shape, nil, true, func(s *device.Stream, dst device.View) error {
		return ops.Fill(s, dst, ops.Scalar{})
	})
}

// Ones returns an array of ones (true for Bool) on the default device.
func Ones(dt dtype.DType, shape ...int) *Array { return full("Ones", here(), dt, 1, shape) }

// Full returns an array whose every element is value, a Go number or an Elem value, rounded
// to dt. A number that the type cannot hold (a fraction or overflow for integers, a complex
// number for reals) is ErrDType; floats overflow to Inf, as they do in arithmetic.
func Full(dt dtype.DType, value any, shape ...int) *Array {
	return full("Full", here(), dt, value, shape)
}

func full(name string, where site, dt dtype.DType, value any, shape []int) *Array {
	x, err := constant(dt, value)
	return source(name, where, dt, shape, err, true, func(s *device.Stream, dst device.View) error { return ops.Fill(s, dst, x) })
}

// Eye returns the identity matrix of n rows.
func Eye(dt dtype.DType, n int) *Array {
	where := here()
	one, err := constant(dt, 1)
	return source("Eye", where, dt, []int{n, n}, err, true, func(s *device.Stream, dst device.View) error { return ops.Eye(s, dst, one) })
}

// Arange returns 0, 1, … n-1, rounded to dt. An integer type that cannot hold n-1 is
// ErrDType; floats overflow to Inf.
func Arange(dt dtype.DType, n int) *Array {
	where := here()
	var err error
	if n > 0 && !dt.IsFloat() && !dt.IsComplex() {
		_, err = constant(dt, n-1)
	}
	return source("Arange", where, dt, []int{n}, err, false, func(s *device.Stream, dst device.View) error { return ops.Arange(s, dst, 0, 1) })
}

// Linspace returns n numbers evenly spaced from lo to hi, including both: lo + i (hi -
// lo)/(n - 1) in float64, the last exactly hi, rounded to dt once. Integer types take the
// floor, as NumPy's linspace does, and are ErrDType if they cannot hold the floor of lo and
// of hi. For n = 1 the number is lo.
func Linspace(dt dtype.DType, lo, hi float64, n int) *Array {
	where := here()
	if err := ops.LinspaceBounds(dt, lo, hi, n); err != nil {
		c := call{"Linspace", where}
		return c.failed(err, shaped(dt, []int{n}))
	}
	a := source("Linspace", where, dtype.Float64, []int{n}, nil, false, func(s *device.Stream, dst device.View) error {
		return ops.Linspace(s, dst, lo, hi)
	})
	if dt.IsInteger() {
		a = a.Floor()
	}
	if dt != dtype.Float64 {
		a = a.Cast(dt)
	}
	return a
}

// Concat joins arrays of one type along an axis. Their lengths may differ along this axis
// alone.
func Concat(axis int, as ...*Array) *Array {
	return join("Concat", here(), layout.Concat, axis, as)
}

// join copies arrays one behind the other along an axis. shapeOf returns the shape of the
// result and the axis counted from 0. If the result has one axis more than the arrays, the
// axis is new.
func join(name string, where site, shapeOf func(axis int, shapes ...[]int) ([]int, int, error), axis int, as []*Array) *Array {
	c := call{name, where}
	err := match(as...)
	if len(as) == 0 {
		err = layout.Errorf("no arrays to join")
	}
	var shape []int
	views := slices.Clone(as)
	if err == nil {
		shapes := make([][]int, len(as))
		for i, a := range as {
			shapes[i] = a.lay.Shape
		}
		shape, axis, err = shapeOf(axis, shapes...)
	}
	for i, a := range as {
		if err == nil && len(shape) > a.NDim() {
			var lay layout.Layout
			lay, err = a.lay.Unsqueeze(axis)
			views[i] = a.with(lay)
		}
	}
	if err != nil {
		return c.failed(err, as...)
	}
	op := newNode(c)
	op.strided, op.how = true, fmt.Sprintf("%d copies along axis %d", len(as), axis)
	op.run = func(o *job, s *device.Stream, dst device.View) error { return ops.Concat(s, dst, axis, o.all()) }
	return op.result(streamOf(as...), as[0].dt, layout.Dense(shape), 0, views...)
}

// scalar converts a number to an element of d, the type of an array. Its error advises to
// cast the array.
func scalar(d dtype.DType, v any) (ops.Scalar, error) { return ops.ScalarOf(d, v, "Cast the array") }

// constant is scalar for a type that the caller named. Its error advises to name another
// type.
func constant(d dtype.DType, v any) (ops.Scalar, error) {
	return ops.ScalarOf(d, v, "name a type that does")
}
