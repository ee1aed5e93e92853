package array

import (
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// FromSlice returns an array on the default device with a copy of data, which
// fills shape in row-major order; no shape means one axis. A length that does
// not fit the shape is ErrShape.
func FromSlice[T dtype.Elem](data []T, shape ...int) *Array {
	return fromBytes(here(), dtype.Of[T](), bytesOf(data), len(data), shape)
}

// bytesOf is the memory of a slice of elements.
func bytesOf[T dtype.Elem](data []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))), len(data)*int(unsafe.Sizeof(zero)))
}

func fromBytes(where site, dt dtype.DType, data []byte, n int, shape []int) *Array {
	if shape == nil {
		shape = []int{n}
	}
	op := newSource("FromSlice", where, dt, shape)
	size, err := layout.Size(shape)
	if err == nil && size != n {
		err = layout.Errorf("%d elements do not fill %v, which takes %d", n, shape, size)
	}
	dev := device.Default()
	if err == nil {
		err = dev.Err()
	}
	if err != nil {
		return failedArray(op.fail(err))
	}
	return uploaded(op, dev.DefaultStream(), dt, data, op.shape[0].shape)
}

// source makes a pending array on the default device out of nothing but a function that
// fills it, whatever its strides where strided is set. It fails where err is an error.
func source(name string, where site, dt dtype.DType, shape []int, err error, strided bool, fill func(s *device.Stream, dst device.View) error) *Array {
	shape = slices.Clone(shape)
	op := newSource(name, where, dt, shape)
	op.strided = strided
	if err == nil && !dt.Valid() {
		err = fmt.Errorf("%w: %v", dtype.ErrDType, dt)
	}
	if err == nil {
		_, err = layout.Size(shape)
	}
	dev := device.Default()
	if err == nil {
		err = dev.Err()
	}
	if err != nil {
		return failedArray(op.fail(err))
	}
	op.run = func(_ *job, s *device.Stream, dst device.View) error { return fill(s, dst) }
	op.how = "one fill"
	return op.result(dev.DefaultStream(), dt, layout.Dense(shape), 0)
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

// Full returns an array whose every element is value, a Go number or an Elem value,
// rounded to dt. A number that the type cannot hold (a fraction or overflow on integers,
// complex on reals) is ErrDType; floats overflow to Inf, as they do in arithmetic.
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

// Linspace returns n numbers evenly spaced from lo to hi, both among them: lo + i
// (hi - lo)/(n - 1) in float64, the last exactly hi, rounded to dt once. Integer
// types take the floor, as NumPy's linspace does, and are ErrDType where they do not hold
// that of both ends; one number is lo.
func Linspace(dt dtype.DType, lo, hi float64, n int) *Array {
	where := here()
	if err := ops.LinspaceBounds(dt, lo, hi, n); err != nil {
		return failedArray(newSource("Linspace", where, dt, []int{n}).fail(err))
	}
	tooFar := n > 1 && math.IsInf(hi-lo, 0)
	if tooFar { // half as far, then twice: both are exact
		lo, hi = lo/2, hi/2
	}
	a := source("Linspace", where, dtype.Float64, []int{n}, nil, false, func(s *device.Stream, dst device.View) error {
		return ops.Linspace(s, dst, lo, hi)
	})
	if a.Err() != nil {
		return a
	}
	if tooFar {
		a = a.Mul(2)
	}
	if dt.IsInteger() {
		a = a.Floor()
	}
	if dt != dtype.Float64 {
		a = a.Cast(dt)
	}
	return a
}

// Concat joins arrays of one type along an axis, along which alone their
// lengths may differ.
func Concat(axis int, as ...*Array) *Array {
	return join("Concat", here(), layout.Concat, axis, as)
}

// join copies arrays behind each other along an axis. shapeOf returns the shape of the
// result and that axis. Where the result has more axes, the axis is new.
func join(name string, where site, shapeOf func(axis int, shapes ...[]int) ([]int, int, error), axis int, as []*Array) *Array {
	op := newOp(name, where, as...)
	if len(as) == 0 {
		return failedArray(op.fail(layout.Errorf("no arrays to join")))
	}
	if err := op.first(as...); err != nil {
		return failedArray(err)
	}
	shapes, views := make([][]int, len(as)), slices.Clone(as)
	for i, a := range as {
		shapes[i] = a.lay.Shape
	}
	var shape []int
	err := sameType(as...)
	if err == nil {
		shape, axis, err = shapeOf(axis, shapes...)
	}
	if err == nil {
		err = sameDevice(as)
	}
	for i, a := range as {
		if err == nil && len(shape) > a.NDim() {
			var lay layout.Layout
			lay, err = a.lay.Unsqueeze(axis)
			views[i] = a.with(lay)
		}
	}
	if err != nil {
		return failedArray(op.fail(err))
	}
	op.strided = true
	op.how = fmt.Sprintf("%d copies along axis %d", len(as), axis)
	op.run = func(o *job, s *device.Stream, dst device.View) error {
		from := make([]device.View, o.n)
		for i := range from {
			from[i] = o.view(i)
		}
		return ops.Concat(s, dst, axis, from)
	}
	return op.result(streamOf(as...), as[0].dt, layout.Dense(shape), 0, views...)
}

// scalar returns a number as an element of the type of an array.
func scalar(d dtype.DType, v any) (ops.Scalar, error) { return ops.ScalarOf(d, v, "Cast the array") }

// constant is scalar where there is no array whose type d is.
func constant(d dtype.DType, v any) (ops.Scalar, error) {
	return ops.ScalarOf(d, v, "name a type that does")
}

// sameDevice refuses operands that lie on two devices.
func sameDevice(as []*Array) error {
	for _, a := range as[1:] {
		if a.on() != as[0].on() {
			return otherDevice(as[0], a)
		}
	}
	return nil
}

// sameType refuses arrays of different type, naming the Cast that helps.
func sameType(as ...*Array) error {
	for _, b := range as[1:] {
		if a := as[0]; a.dt != b.dt {
			return fmt.Errorf("%w: %v and %v do not mix; Cast one, as with b.Cast(gpk.%s)", dtype.ErrDType, a.dt, b.dt, a.dt.GoName())
		}
	}
	return nil
}
