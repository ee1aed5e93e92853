package array

import (
	"cmp"
	"slices"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/compose"
	"github.com/gpk-go/gpk/internal/operror"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/matmul"
)

// Operation is a call of an exported operation of another package, such as Attention.
type Operation struct {
	call
	operands []*Array
}

// NewOperation begins an operation on operands and on optional operands, which may be nil. Its
// errors name the operation and the line of the program. The caller must be one of the
// packages that internal/callsite counts as gpk's own.
func NewOperation(name string, operands []*Array, optional ...*Array) *Operation {
	o := &Operation{call: call{name, here()}, operands: operands}
	for _, a := range optional {
		if a != nil {
			o.operands = append(o.operands[:len(o.operands):len(o.operands)], a)
		}
	}
	return o
}

// op begins an operation on a and other operands.
func (a *Array) op(name string, others ...*Array) *Operation {
	return &Operation{call: call{name, here()}, operands: slices.Concat([]*Array{a}, others)}
}

// Name returns the name of the operation, "" for nil.
func (o *Operation) Name() string { return cmp.Or(o, &Operation{}).name }

// Check returns the first error that an operand carries. Operands on two devices are ErrDevice.
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

// SameType returns ErrDType if arrays differ in type, and names the Cast that helps.
func (*Operation) SameType(as ...*Array) error {
	if err := check(as...); err != nil {
		return err
	}
	return sameType(as...)
}

// Failed returns an array that carries err as an error of the operation.
func (o *Operation) Failed(err error) *Array { return o.failed(err, o.operands...) }

// Wrap makes err an error of the operation, unless it is nil or names an operation already.
func (o *Operation) Wrap(err error) error { return o.wrap(err, o.operands...) }

// Stream returns the stream on which the operation runs, or the first error that an operand
// carries. Without operands it is the default stream of the default device.
func (o *Operation) Stream() (*device.Stream, error) {
	if err := check(o.operands...); err != nil {
		return nil, err
	}
	return open(o.stream()), nil
}

// Failure returns a function that wraps an error of the device as an error of the operation, for
// Device.NewDeferredError. The function may be called after the operands were freed.
func (o *Operation) Failure() func(error) error {
	c, shown := o.call, make([]device.View, 0, len(o.operands)) // the text of the operands is made only for an error
	for _, a := range o.operands {
		if a != nil && a.err == nil {
			shown = append(shown, Shown(a))
		}
	}
	return func(err error) error {
		e := c.fail(err)
		for i := range shown {
			e = operror.With(e, shown[i].Layout.Shape, shown[i].DType)
		}
		return e
	}
}

// Elementwise returns the result of an element-wise operation of ops.Table, as a part of o.
func (o *Operation) Elementwise(code expr.Op, args ...any) *Array {
	return mapped(o.call, code, args...)
}

// Cast returns a converted to a type, or a dense copy of a if it has that type, as a part of o.
func (o *Operation) Cast(a *Array, dt dtype.DType) *Array { return a.castFor(o.call, dt) }

// Reduce returns the result of a reduction of ops.Table, as a part of o. Options may be among the axes.
func (o *Operation) Reduce(code expr.Op, a *Array, axes []int) *Array { return o.reduce(code, a, axes) }

// View returns a view of a with the layout that f computes from a's layout.
func (o *Operation) View(a *Array, f func(layout.Layout) (layout.Layout, error)) *Array {
	return a.viewed(o.name, o.site, f)
}

// Product returns the matrix product of a and b, as a part of o.
func (o *Operation) Product(a, b *Array) *Array {
	return multiply(o.call, a, b, b, nil, matmul.NoActivation, &matmul.Options{}, nil)
}

// Host returns a stored, dense array on the default device with a copy of data. how is what Explain prints.
func (o *Operation) Host(dt dtype.DType, shape []int, how string, data []byte) *Array {
	return o.uploaded(device.Default().DefaultStream(), dt, data, shape, how)
}

// Waits returns an error during Capture: the operation waits for elements.
func (o *Operation) Waits() error { return unwaited(&o.call, o.stream(), o.operands...) }

// Wait waits for the elements of an Int64 array and returns them.
func (o *Operation) Wait(a *Array) ([]int64, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	if err := unwaited(&o.call, a.stream, o.operands...); err != nil {
		return nil, err
	}
	out := make([]int64, a.Size())
	return out, readTo(&o.call, out, a)
}

// Own moves an array that the operation has made to the scope of the operation's results, and
// returns it. Arrays from Result and from other operations already are in their scope.
func (o *Operation) Own(a *Array) *Array {
	var s *Scope
	for _, x := range o.operands {
		if x != nil && x.err == nil {
			s = newer(s, x.scopeNow())
		}
	}
	if s == nil || a.err != nil || !s.serves(recordingOn(a.stream)) {
		return a
	}
	return s.own(&o.call, a)
}

// Step appends what to the name of o, so that Explain and errors name the current part of the operation.
func (o *Operation) Step(what string) { o.name += " " + what }

// Result returns a pending array of a type and shape. run computes it once it is needed: run starts work on s that
// reads the views of reads, whatever their strides, and writes all of dst. how is what Explain prints.
func (o *Operation) Result(dt dtype.DType, shape []int, how string, reads []*Array, run func(s *device.Stream, dst device.View, reads []device.View) error) *Array {
	return o.result(dt, shape, how, false, reads, run)
}

// Checked is Result for work that checks its operands on the device, such as indices. run
// attaches the error to dst's buffer.
func (o *Operation) Checked(dt dtype.DType, shape []int, how string, reads []*Array, run func(s *device.Stream, dst device.View, reads []device.View) error) *Array {
	return o.result(dt, shape, how, true, reads, run)
}

func (o *Operation) result(dt dtype.DType, shape []int, how string, checked bool, reads []*Array, run func(s *device.Stream, dst device.View, reads []device.View) error) *Array {
	if err := o.first(reads...); err != nil {
		return o.Failed(err)
	}
	n := newNode(o.call)
	n.strided, n.checked, n.how = true, checked, how
	n.run = func(j *job, s *device.Stream, dst device.View) error { return run(s, dst, j.all()) }
	return n.result(o.stream(), dt, layout.Dense(shape), 0, reads...)
}

// stream returns the stream of the operands' results, and that of constants without operands.
func (o *Operation) stream() *device.Stream {
	if len(o.operands) > 0 {
		return streamOf(o.operands...)
	}
	return device.Default().DefaultStream()
}

// Source returns a pending array that fill computes without operands. With strided, fill
// writes to any strides. If err is not nil, the array carries it.
func (o *Operation) Source(dt dtype.DType, shape []int, strided bool, err error, fill func(s *device.Stream, dst device.View) error) *Array {
	if err == nil {
		err = check(o.operands...)
	}
	var s *device.Stream
	if err == nil {
		s = o.stream()
		_, err = checkedSize(s.Device(), dt, shape)
	}
	if err != nil {
		return o.failed(err, append(slices.Clone(o.operands), shaped(dt, shape))...)
	}
	n := newNode(o.call)
	n.strided, n.how = strided, "one fill"
	n.run = func(_ *job, s *device.Stream, dst device.View) error { return fill(s, dst) }
	return n.result(s, dt, layout.Dense(slices.Clone(shape)), 0)
}

// On returns an operand on the stream of the operation. In a capture, results computed from
// it are then part of the graph.
func (o *Operation) On(a *Array) *Array {
	b := a.with(a.lay)
	b.stream = streamOf(o.operands...)
	return b
}

// Part is the type and shape of a result of Several.
type Part = compose.Part

// Several runs an operation with several results, which are dense, immediately. run starts the work, as for Result.
func (o *Operation) Several(parts []Part, how string, reads []*Array, run func(s *device.Stream, dst, reads []device.View) error) ([]*Array, error) {
	if err := o.first(reads...); err != nil {
		return nil, err
	}
	s, scope := streamOf(o.operands...), (*Scope)(nil)
	var views []device.View
	for _, a := range reads {
		v, release, err := o.On(a).acquire()
		if err != nil {
			return nil, err
		}
		defer release()
		views, scope = append(views, v), newer(scope, a.scopeNow())
	}
	results := make([]*Array, len(parts))
	var fill func(dst []device.View) error // allocates the next result
	fill = func(dst []device.View) error {
		i := len(dst)
		if i == len(parts) {
			return run(s, dst, views)
		}
		results[i] = o.filled(s, parts[i].DType, parts[i].Shape, how, nil, func(v device.View) error { return fill(append(dst, v)) })
		return results[i].err
	}
	if err := fill(nil); err != nil {
		return nil, err
	}
	for _, a := range results {
		a.ownedBy(scope)
	}
	return results, nil
}

// Shown returns the view of an array without its buffer, which is not known yet. For nil it returns the zero View.
func Shown(a *Array) device.View {
	if a == nil {
		return device.View{}
	}
	return device.View{DType: a.dt, Layout: a.lay}
}
