package array

import (
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/matmul"
)

// Operation is an operation that a package above this one defines: Attention, say. It
// stands for a call of the function that the package exports.
type Operation struct {
	call
	operands []*Array
}

// NewOperation begins an operation on operands, and on optional ones, which may be nil.
// Its errors name it, and the line of the program, as those of this package do. The caller
// is one of the packages that internal/callsite counts as gpk's own.
func NewOperation(name string, operands []*Array, optional ...*Array) *Operation {
	o := &Operation{call: call{name, here()}, operands: operands}
	for _, a := range optional {
		if a != nil {
			o.operands = append(o.operands[:len(o.operands):len(o.operands)], a)
		}
	}
	return o
}

// Check returns the first error that an operand carries. Operands on two devices are
// ErrDevice.
func (o *Operation) Check() error {
	err := o.first(o.operands...)
	if err == nil {
		err = sameDevice(o.operands...)
	}
	if err == nil && len(o.operands) == 0 {
		err = device.Default().Err()
	}
	return err
}

// SameType returns ErrDType where arrays differ in type, and names the Cast that helps.
func SameType(as ...*Array) error {
	if err := check(as...); err != nil {
		return err
	}
	return sameType(as...)
}

// Failed is the result of an operation that cannot run.
func (o *Operation) Failed(err error) *Array { return o.failed(err, o.operands...) }

// Failure returns an error of the device as an error of the operation, for Device.NewDeferredError. It may be called
// after the operands were freed.
func (o *Operation) Failure() func(error) error {
	what, where := &OpError{Op: o.name}, o.site
	for _, a := range o.operands {
		if a != nil && a.err == nil {
			what = what.with(a.lay.Shape, a.dt)
		}
	}
	return func(err error) error {
		e := *what
		e.Site, e.Err = where.String(), err // the line is looked up for an error alone: it takes microseconds
		return &e
	}
}

// Elementwise is the result of an element-wise operation of the table, as a step of o.
func (o *Operation) Elementwise(code expr.Op, args ...any) *Array {
	return mapped(o.call, code, args...)
}

// Cast is a converted to a type, or a dense copy of it, as a step of o.
func (o *Operation) Cast(a *Array, dt dtype.DType) *Array {
	if err := a.check(); err != nil {
		return o.Failed(err)
	}
	return elementwise(o.call, cast, dt, a)
}

// Reduce is a reduction of the table, as a step of o. Options may be among the axes.
func (o *Operation) Reduce(code expr.Op, a *Array, axes []int) *Array { return o.reduce(code, a, axes) }

// Take is Take as a step of o. An index outside has the cause outside.
func (o *Operation) Take(a, indices *Array, axis int, outside error) *Array {
	return o.take(a, indices, axis, outside)
}

// View is a under the layout that f makes of its own.
func (o *Operation) View(a *Array, f func(layout.Layout) (layout.Layout, error)) *Array {
	return a.viewed(o.name, o.site, f)
}

// Product is the matrix product of a and b, as a step of o.
func (o *Operation) Product(a, b *Array) *Array {
	return multiply(o.call, a, b, nil, matmul.NoActivation, &matmul.Options{}, nil)
}

// Host is a dense result on the default device, of bytes that the host has computed.
func (o *Operation) Host(dt dtype.DType, shape []int, how string, data []byte) *Array {
	s := device.Default().DefaultStream()
	return o.filled(s, dt, shape, how, func(v device.View) error { return s.Device().CopyFromHost(v.Buffer, 0, data, s) })
}

// Wait returns the elements of an Int64 array. It waits for them.
func (o *Operation) Wait(a *Array) ([]int64, error) { return ToSlice[int64](a) }

// Step is o with a name that says what is done in a step of it, for Explain.
func (o *Operation) Step(what string) { o.name += " " + what }

// Result is the pending result of a type and shape. run computes it when it is needed:
// it starts work on s that writes all of dst, from where the elements of reads are then,
// whatever their strides. how says in Explain what runs.
func (o *Operation) Result(dt dtype.DType, shape []int, how string, reads []*Array, run func(s *device.Stream, dst device.View, reads []device.View) error) *Array {
	if err := o.first(reads...); err != nil {
		return o.Failed(err)
	}
	n := newNode(o.call)
	n.strided, n.how = true, how
	n.run = func(j *job, s *device.Stream, dst device.View) error {
		views := make([]device.View, j.n)
		for i := range views {
			views[i] = j.view(i)
		}
		return run(s, dst, views)
	}
	s := device.Default().DefaultStream()
	if len(o.operands) > 0 {
		s = streamOf(o.operands...)
	}
	return n.result(s, dt, layout.Dense(shape), 0, reads...)
}

// On returns an operand on the stream of the operation. In a capture, what is computed from
// it is then part of the graph.
func (o *Operation) On(a *Array) *Array {
	b := a.with(a.lay)
	b.stream = streamOf(o.operands...)
	return b
}

// Pair runs an operation with two results of one shape, on this line. run starts the work,
// as that of Result does.
func (o *Operation) Pair(types [2]dtype.DType, shape []int, how string, reads []*Array, run func(s *device.Stream, dst [2]device.View, reads []device.View) error) (first, second *Array) {
	s, scope := streamOf(o.operands...), (*Scope)(nil)
	var views []device.View
	for _, a := range reads {
		v, release, err := o.On(a).acquire()
		if err != nil {
			return o.Failed(err), o.Failed(err)
		}
		defer release()
		views, scope = append(views, v), newer(scope, a.scopeOf())
	}
	first = o.filled(s, types[0], shape, how, func(one device.View) error {
		second = o.filled(s, types[1], shape, how, func(two device.View) error {
			return run(s, [2]device.View{one, two}, views)
		})
		return second.err
	})
	if first.err != nil {
		return first, first
	}
	first.ownedBy(scope)
	second.ownedBy(scope)
	return first, second
}

// Shown is where an array's elements lie, but for their memory, which is not known yet:
// the zero View for nil.
func Shown(a *Array) device.View {
	if a == nil {
		return device.View{}
	}
	return device.View{DType: a.dt, Layout: a.lay}
}
