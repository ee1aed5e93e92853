package array

import (
	"context"
	"fmt"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/deviceapi"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// Array is an n-dimensional array of one element type on one device. It behaves as if it
// had been computed on the line that made it. An operation that fails returns an Array that
// carries the error; Err and the functions at the boundary return that error.
//
// An Array is safe for use by many goroutines. As with a slice, a program must not write an
// array in one goroutine while another reads it. The zero value is not an array, and using
// it is an error.
type Array struct {
	st     *storage
	lay    layout.Layout
	dt     dtype.DType
	stream *device.Stream // nil for an array that carries an error
	err    error
	packed *packed
	in     *Scope // results that are computed from the array belong to this scope

	own storage // allocated together with the array; st of an array from newArray points here
}

// errNil is the cause of operations on arrays that no constructor made.
var errNil = fmt.Errorf("%w: a nil or zero Array", layout.ErrShape)

// failedArray returns an array that carries err.
func failedArray(err error) *Array { return &Array{err: err} }

// check returns the error that the array carries, or the reason why it cannot be an
// operand.
func (a *Array) check() error {
	switch {
	case a == nil:
		return errNil
	case a.err != nil:
		return a.err
	case a.packed != nil:
		return fmt.Errorf("%w: a packed array is only the right operand of MatMul or the weight of Linear", expr.ErrUnsupported)
	case a.stream == nil:
		return errNil
	}
	return nil
}

// on returns the device of an array that carries no error.
func (a *Array) on() *device.Device { return a.stream.Device() }

// with returns an array over the same storage with another layout.
func (a *Array) with(lay layout.Layout) *Array {
	return &Array{st: a.st, lay: lay, dt: a.dt, stream: a.stream, in: a.in}
}

// check returns the first error among the operands.
func check(as ...*Array) error {
	for _, a := range as {
		if err := a.check(); err != nil {
			return err
		}
	}
	return nil
}

// match returns an error if operands cannot be used, differ in type, or are on different
// devices.
func match(as ...*Array) error {
	err := check(as...)
	if err == nil {
		err = sameType(as...)
	}
	if err == nil {
		err = sameDevice(as...)
	}
	return err
}

// sameDevice returns an error if operands are on different devices.
func sameDevice(as ...*Array) error {
	for _, b := range as {
		if a := as[0]; a.on() != b.on() {
			return fmt.Errorf("%w: operands on %v and %v; move one with To", device.ErrDevice, a.on(), b.on())
		}
	}
	return nil
}

// sameType returns ErrDType if operands differ in type, and names the Cast that helps.
func sameType(as ...*Array) error {
	for _, b := range as {
		if a := as[0]; a.dt != b.dt {
			return fmt.Errorf("%w: %v and %v do not mix; Cast one, as with b.Cast(gpk.%s)", dtype.ErrDType, a.dt, b.dt, a.dt.GoName())
		}
	}
	return nil
}

// typeOf returns the result type of an operation of ops.Table on a.
func typeOf(code expr.Op, a *Array) (dtype.DType, error) {
	if err := a.check(); err != nil {
		return dtype.Invalid, err
	}
	return ops.Lookup(code).Check(a.dt)
}

// dense returns the dense layout of a's shape.
func (a *Array) dense() layout.Layout {
	if lay := a.lay; lay.IsDense() {
		lay.Offset = 0
		return lay
	}
	return layout.Dense(a.lay.Shape)
}

// Shape returns the lengths of the axes, a copy; nil for an array that
// carries an error.
func (a *Array) Shape() []int {
	if a == nil || a.err != nil {
		return nil
	}
	return append([]int{}, a.lay.Shape...)
}

// DType returns the element type, Invalid for an array that carries an error.
func (a *Array) DType() dtype.DType {
	if a == nil {
		return dtype.Invalid
	}
	return a.dt
}

// NDim returns the number of axes.
func (a *Array) NDim() int {
	if a == nil {
		return 0
	}
	return len(a.lay.Shape)
}

// Size returns the number of elements, 0 for an array that carries an error.
func (a *Array) Size() int {
	if a == nil || a.err != nil || a.dt == dtype.Invalid {
		return 0
	}
	return a.lay.Size()
}

// NBytes returns Size times the bytes of an element. The strides of a view do not matter.
func (a *Array) NBytes() int { return a.Size() * a.DType().Size() }

// Strides returns the distance of neighbours along each axis, in elements.
func (a *Array) Strides() []int {
	if a == nil || a.err != nil {
		return nil
	}
	return append([]int{}, a.lay.Strides...)
}

// Device returns where the elements are, nil for an array that carries an
// error.
func (a *Array) Device() *device.Device {
	if a == nil || a.stream == nil {
		return nil
	}
	return a.on()
}

// Err returns the first error of the expression that made the array, as far
// as it is known without waiting: shapes, types, devices, and memory once the
// work has started.
func (a *Array) Err() error {
	if a == nil {
		return errNil
	}
	if a.err != nil || a.stream == nil {
		return a.err
	}
	defer a.lock().mu.Unlock()
	c, err := a.contents(recordingOn(a.stream))
	if err == nil {
		err = c.err()
	}
	op := call{"Err", here()}
	return op.wrap(err, a)
}

// Explain describes how the array's elements are or were computed. For a product it prints
// the plan: kernel, tile, steps and the reason for the choice.
func (a *Array) Explain() string {
	switch {
	case a == nil:
		return "a nil Array"
	case a.err != nil:
		return "failed: " + a.err.Error()
	case a.packed != nil:
		return a.packed.String()
	case a.stream == nil:
		return "a zero Array"
	}
	s := a.lock()
	defer s.mu.Unlock()
	c, err := a.contents(recordingOn(a.stream))
	if err != nil {
		return "failed: " + err.Error()
	}
	text, state := "", "stored"
	if n := c.node; n == nil {
		text = c.origin.name + ": " + c.origin.how
	} else {
		if n.state == pending {
			state = "pending: starts when it is needed"
			s.foresee(n)
		}
		text = n.explain(n.product, n.fused)
	}
	return fmt.Sprintf("%s\n  %v %v on %v, %s", text, a.lay.Shape, a.dt, a.on(), state)
}

// On returns the same elements on stream s: operations on the result run on s, concurrently
// with the work of other streams. If the operands of an operation are on several streams,
// the first operand's stream counts. The program need not wait for the other streams: an
// event on the device orders work that reads or overwrites a buffer behind the work of
// another stream that writes or reads it. After s is closed, its arrays use the default
// stream. A stream of another device is ErrDevice.
func (a *Array) On(s *device.Stream) *Array {
	c := call{"On", here()}
	err := a.check()
	if err == nil && (s == nil || s.Device() != a.on()) {
		err = fmt.Errorf("%w: the stream belongs to another device", device.ErrDevice)
	}
	if err != nil {
		return c.failed(err, a)
	}
	b := a.with(a.lay)
	b.stream = s
	return b
}

// Offset returns the element of Buffer at which the array begins.
func (a *Array) Offset() int {
	if a == nil {
		return 0
	}
	return a.lay.Offset
}

// Stream returns the stream on which operations on the array run.
func (a *Array) Stream() *device.Stream {
	if a == nil {
		return nil
	}
	return a.stream
}

// open returns s, or the default stream of its device once s is closed: arrays outlive
// their streams.
func open(s *device.Stream) *device.Stream {
	if deviceapi.Closed(s) {
		return s.Device().DefaultStream()
	}
	return s
}

// Synchronize waits for everything that was started on any device. It returns the first
// error of this work that has not been returned yet, such as an index of Take outside its
// axis. A nil context is ErrUnsupported.
func Synchronize(ctx context.Context) error {
	if ctx == nil {
		c := call{"Synchronize", here()}
		return c.fail(fmt.Errorf("%w: a nil Context; use context.Background() for no deadline", expr.ErrUnsupported))
	}
	var first error
	schedulers.Range(func(k, _ any) bool {
		if err := k.(*device.Device).Synchronize(ctx); err != nil && first == nil {
			first = err
		}
		return true
	})
	return first
}

// Failed returns an array that carries err. It is for packages whose functions return an
// Array and, as this package's do, report errors as part of it.
func Failed(err error) *Array {
	c := call{"Failed", here()}
	return c.failed(err)
}
