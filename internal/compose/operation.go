package compose

import (
	"slices"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// Operand is the part of an array that this package uses.
type Operand interface {
	Shape() []int
	Strides() []int
	Offset() int
	DType() dtype.DType
	NDim() int
	Size() int
	Err() error
	Device() *device.Device
}

// Operation is a call of a function of this package, and performs its steps. Errors of the steps name the
// function, and the line of the program that called it. array.Operation implements it.
type Operation[A any] interface {
	// Name returns the name of the function.
	Name() string
	// Check returns the first error that an operand carries.
	Check() error
	// SameType returns an error if arrays differ in type.
	SameType(as ...A) error
	// Failure returns a function that wraps an error of the device as an error of the operation, for
	// Device.NewDeferredError.
	Failure() func(error) error
	// Failed returns an array that carries an error.
	Failed(err error) A
	// Elementwise computes an operation of the table on arrays and numbers, broadcast.
	Elementwise(code expr.Op, args ...any) A
	// Cast converts the elements. If they already have the type, it copies them.
	Cast(a A, dt dtype.DType) A
	// Reduce computes a reduction of the table; options may be among the axes.
	Reduce(code expr.Op, a A, axes []int) A
	// View returns a view of a with the layout that f computes from a's layout.
	View(a A, f func(layout.Layout) (layout.Layout, error)) A
	// Product returns the matrix product, in the precision of SetPrecision.
	Product(a, b A) A
	// Result returns an array that run computes: run starts work on s that writes all of dst. how is the text
	// for Explain.
	Result(dt dtype.DType, shape []int, how string, reads []A, run func(s *device.Stream, dst device.View, reads []device.View) error) A
	// Checked is Result for work that checks its operands on the device, such as indices. run
	// attaches the error to dst's buffer.
	Checked(dt dtype.DType, shape []int, how string, reads []A, run func(s *device.Stream, dst device.View, reads []device.View) error) A
	// Source returns an array that fill computes without operands. fill writes all of dst and, if strided is
	// set, accepts any strides. If err is not nil, the array carries it.
	Source(dt dtype.DType, shape []int, strided bool, err error, fill func(s *device.Stream, dst device.View) error) A
	// Several computes several results, which are dense, at once, as Result computes one later.
	Several(parts []Part, how string, reads []A, run func(s *device.Stream, dst, reads []device.View) error) ([]A, error)
	// Host returns an array with a copy of bytes that the host has computed. how is the text for Explain.
	Host(dt dtype.DType, shape []int, how string, data []byte) A
	// Wait waits for the elements of an Int64 array and returns them.
	Wait(a A) ([]int64, error)
	// Step adds a text to the name of the operation for the next steps.
	Step(what string)
}

// Part is the type and shape of a result of Several.
type Part struct {
	DType dtype.DType
	Shape []int
}

// Pair is Several for two results of one shape. Its results carry the error.
//
//gpk:step
func Pair[A any](o Operation[A], types [2]dtype.DType, shape []int, how string, reads []A, run func(s *device.Stream, dst [2]device.View, reads []device.View) error) (first, second A) {
	both, err := o.Several([]Part{{types[0], shape}, {types[1], shape}}, how, reads, func(s *device.Stream, dst, reads []device.View) error {
		return run(s, [2]device.View(dst), reads)
	})
	if err != nil {
		return o.Failed(err), o.Failed(err)
	}
	return both[0], both[1]
}

// layoutOf returns the layout of a's elements.
func layoutOf[A Operand](a A) layout.Layout {
	return layout.Layout{Shape: a.Shape(), Strides: a.Strides(), Offset: a.Offset()}
}

// failures returns n arrays that carry an error.
func failures[A any](o Operation[A], err error, n int) []A {
	return slices.Repeat([]A{o.Failed(err)}, n)
}

// viewAs returns the view of a with the layout l.
func viewAs[A any](o Operation[A], a A, l layout.Layout) A {
	return o.View(a, func(layout.Layout) (layout.Layout, error) { return l, nil })
}

// reshape returns the elements of a in a shape of the same size: a view if the strides allow it, else a copy.
func reshape[A Operand](o Operation[A], a A, shape ...int) A {
	if l, ok := layoutOf(a).Reshape(shape); ok {
		return viewAs(o, a, l)
	}
	return viewAs(o, o.Cast(a, a.DType()), layout.Dense(shape))
}

// permute returns the view of a with the axes in an order.
func permute[A any](o Operation[A], a A, order []int) A {
	if len(order) == 0 {
		return a
	}
	return o.View(a, func(l layout.Layout) (layout.Layout, error) { return l.Transpose(order) })
}

// unsqueeze returns the view of a with a new axis.
func unsqueeze[A any](o Operation[A], a A, axis int) A {
	return o.View(a, func(l layout.Layout) (layout.Layout, error) { return l.Unsqueeze(axis) })
}

// slice returns the view of the elements from start to stop along an axis.
func slice[A any](o Operation[A], a A, axis, start, stop int) A {
	return o.View(a, func(l layout.Layout) (layout.Layout, error) { return l.Slice(axis, start, stop, 1) })
}

// counted returns 0, 1, … n-1 as Int64, on the stream of the operation.
func counted[A any](o Operation[A], n int) A {
	return o.Source(dtype.Int64, []int{n}, false, nil, func(s *device.Stream, dst device.View) error {
		return ops.Arange(s, dst, 0, 1)
	})
}

// supports returns an error for a type that an operation of the table does not support. The error names o, which needs
// that operation.
func supports[A any](o Operation[A], code expr.Op, dt dtype.DType) error {
	_, err := ops.Lookup(code).CheckFor(o.Name(), dt)
	return err
}

// optional returns the value that was given, or none if there is none. More than one is an error; what names
// the parameter.
func optional[T any](given []T, none T, what string) (T, error) {
	switch len(given) {
	case 0:
		return none, nil
	case 1:
		return given[0], nil
	}
	return none, layout.Errorf("%d values for %s", len(given), what)
}
