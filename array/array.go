package array

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"weak"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
)

// Array is an n-dimensional array of one element type on one device. It
// behaves as if it had been computed on the line that made it. Whatever makes
// an Array returns one, and an error travels with it: to Err, and to the
// functions at the boundary.
//
// An Array is safe for use by many goroutines; writing into one while another
// goroutine reads it is, as with a slice, the program's mistake. The zero
// value is not an array, and using it is an error.
type Array struct {
	v      *value
	gen    uint64 // v's, as long as v is the array's
	lay    layout.Layout
	dt     dtype.DType
	stream *device.Stream // nil for an array that carries an error
	err    error
	packed *packed

	// Of an array whose value was given up, guarded by v.mu.
	kept  operation // what it computed, or was to compute
	freed bool      // it was freed
	again *value    // the value that it has instead
}

// errNil is the cause of operations on arrays that no constructor made.
var errNil = fmt.Errorf("%w: a nil or zero Array", layout.ErrShape)

// failed returns an array that carries err.
func failed(err error) *Array { return &Array{err: err} }

// check returns the error that an array carries, or what is wrong with it as
// an operand.
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

// with returns the same elements under another layout.
func (a *Array) with(lay layout.Layout) *Array {
	v := a.share()
	return &Array{v: v, gen: v.gen.Load(), lay: lay, dt: a.dt, stream: a.stream}
}

// newOp begins an operation: its name, place in the program and operands.
func newOp(name string, where site, as ...*Array) *operation {
	return &operation{request: request{call{name, where}, slices.Clone(as)}}
}

// newSource begins an operation without operands: what errors name is the
// shape and type of its result.
func newSource(name string, where site, dt dtype.DType, shape []int) *operation {
	return newOp(name, where, &Array{lay: layout.Layout{Shape: slices.Clone(shape)}, dt: dt})
}

// operands checks that arrays can meet in one operation: no errors and one
// device. It fills in what the operation reads, stored and in order.
func (o *operation) operands(as ...*Array) error {
	if err := o.first(as...); err != nil {
		return err
	}
	for _, a := range as {
		if a.on() != as[0].on() {
			return o.request.fail(otherDevice(as[0], a))
		}
	}
	for i, a := range as {
		if i >= len(o.in) {
			o.more = append(o.more, input{})
		}
		o.n = i + 1
		if err := o.input(i).set(a); err != nil {
			return o.request.wrap(err)
		}
	}
	return nil
}

// otherDevice is the error of operands that lie on two devices.
func otherDevice(a, b *Array) error {
	return fmt.Errorf("%w: operands on %v and %v; move one with To", device.ErrDevice, a.on(), b.on())
}

// set makes a, stored, the operand.
func (in *input) set(a *Array) error {
	v, buf, err := a.stored()
	if err != nil {
		return err
	}
	in.of, in.view = v, device.View{Buffer: buf, DType: a.dt, Layout: a.lay}
	return nil
}

// view starts the array where it is open and returns its elements' place.
func (a *Array) view() (device.View, error) {
	_, buf, err := a.stored()
	if err != nil {
		return device.View{}, err
	}
	return device.View{Buffer: buf, DType: a.dt, Layout: a.lay}, nil
}

// result makes the array of an operation, open until something needs it. The
// shape is kept.
func (o *operation) result(s *device.Stream, dt dtype.DType, shape []int) *Array {
	return o.opened(s, dt, layout.Dense(shape))
}

// opened is result with the dense layout of the shape.
func (o *operation) opened(s *device.Stream, dt dtype.DType, lay layout.Layout) *Array {
	r := &Array{}
	v := openOn(s.Device()).value()
	v.op = *o
	r.open(v, s, dt, lay)
	return r
}

// resultOf makes the array of an operation with the shape of a.
func (o *operation) resultOf(a *Array, dt dtype.DType) *Array {
	r := &Array{}
	v := openOn(a.on()).value()
	v.op = *o
	r.open(v, a.stream, dt, a.dense())
	return r
}

// dense is the dense layout of a's shape.
func (a *Array) dense() layout.Layout {
	if lay := a.lay; lay.IsDense() {
		lay.Offset = 0
		return lay
	}
	return layout.Dense(a.lay.Shape)
}

// open makes r the array of v, which is new and locked, and whose operation is
// complete.
func (r *Array) open(v *value, s *device.Stream, dt dtype.DType, lay layout.Layout) {
	v.stream, v.lay, v.dt, v.open = s, lay, dt, true
	r.v, r.gen, r.lay, r.dt, r.stream = v, v.gen.Load(), lay, dt, s
	if eager.Load() {
		v.shared = true
		err := v.startLocked(nil)
		v.mu.Unlock()
		if err != nil {
			r.fail(err)
		}
		return
	}
	var took [3]*value
	n := 0
	if v.op.depth > 0 {
		for i := range v.op.n {
			if in := v.op.input(i); in.view.Buffer == nil {
				took[n], n = in.of, n+1
			}
		}
	}
	v.mu.Unlock()
	listed := false
	for _, t := range took[:n] {
		listed = listed || v.set.newest.CompareAndSwap(t, v)
	}
	if !listed {
		v.set.add(v)
	}
	for _, t := range took[:n] {
		t.mu.Lock()
		t.limbo = false
		t.mu.Unlock()
		v.set.forget(t)
	}
}

// fail makes r carry err.
func (r *Array) fail(err error) {
	r.v, r.err, r.lay, r.dt, r.stream = nil, err, layout.Layout{}, dtype.Invalid, nil
}

// sameLayout reports whether two views name the same elements in one order.
func sameLayout(a, b *layout.Layout) bool {
	return a.Offset == b.Offset && slices.Equal(a.Shape, b.Shape) && slices.Equal(a.Strides, b.Strides)
}

// overlaps reports whether two views may share memory: of one buffer, or of two over
// foreign memory that is one.
func overlaps(a, b *device.View) bool {
	apart := 0 // bytes from the beginning of a's buffer to that of b's
	if a.Buffer != b.Buffer {
		if a.Buffer == nil || b.Buffer == nil || a.Buffer.Device() != b.Buffer.Device() {
			return false
		}
		apart = int(b.Buffer.Addr() - a.Buffer.Addr())
	}
	al, ah := a.Layout.Span()
	bl, bh := b.Layout.Span()
	as, bs := a.DType.Size(), b.DType.Size()
	return al*as < apart+bh*bs && apart+bl*bs < ah*as
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

// NBytes returns Size times the bytes of an element, whatever a view's strides.
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
	v := a.hold()
	defer v.mu.Unlock()
	switch buf := v.buf.Load(); {
	case v.err != nil:
		return v.err
	case v.freed:
		c := call{"Err", here()}
		return c.fail(device.ErrFreed, a)
	case buf != nil:
		return buf.Err()
	}
	return nil
}

// Explain says how the array's elements are or were computed: of a product
// the plan, with kernel, tile, steps and reason.
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
	v := a.hold()
	defer v.mu.Unlock()
	state := "stored"
	if v.open {
		state = "open: starts at its first use"
		v.op.foresee(v)
	}
	return fmt.Sprintf("%s\n  %v %v on %v, %s", v.op.explain(), a.lay.Shape, a.dt, a.on(), state)
}

// Free gives the memory of the array, and of every view of it, back to the
// pool. It may be called more than once; any other use afterwards is
// ErrFreed. Open arrays that read the memory start first.
func (a *Array) Free() {
	if a == nil {
		return
	}
	if a.packed != nil {
		a.packed.free()
		return
	}
	if a.stream != nil {
		a.free(here())
	}
}

// On returns the same elements carried by stream s: what is computed from the
// result runs on s, beside what runs on other streams. Where an operation's
// operands are carried by several, the first's counts. Nobody has to wait for the
// other streams: work that reads what another stream writes, or writes what it
// reads, starts behind it, by an event on the device. A stream of another device
// is ErrDevice.
func (a *Array) On(s *device.Stream) *Array {
	op := newOp("On", here(), a)
	if err := op.first(a); err != nil {
		return failed(err)
	}
	if s == nil || s.Device() != a.on() {
		return failed(op.fail(fmt.Errorf("%w: a stream of another device", device.ErrDevice)))
	}
	b := a.with(a.lay)
	b.stream = s
	return b
}

// FromBuffer returns an array over memory that is there: the dense elements
// of shape at the beginning of buf, not copied. It is how interop packages
// share foreign memory. Arrays of one type over one buffer are views of each
// other; of two types they are not: Eval what reads the one before the other is
// written.
func FromBuffer(buf *device.Buffer, dt dtype.DType, shape ...int) *Array {
	op := newSource("FromBuffer", here(), dt, shape)
	if buf.Device() == nil || !dt.Valid() {
		return failed(op.fail(fmt.Errorf("%w: no buffer or no element type", dtype.ErrDType)))
	}
	n, err := layout.Size(shape)
	if err == nil && int64(n)*int64(dt.Size()) > buf.Size() {
		err = layout.Errorf("%v %v takes %d bytes, the buffer has %d", shape, dt, n*dt.Size(), buf.Size())
	}
	if err != nil {
		return failed(op.fail(err))
	}
	return over(buf, dt, layout.Dense(slices.Clone(shape)), op.name)
}

// owners are the values of the arrays over one buffer, one a type.
type owners map[dtype.DType]weak.Pointer[value]

// owning guards the owners of all buffers.
var owning sync.Mutex

// ownersOf returns a buffer's owners; owning is held.
func ownersOf(buf *device.Buffer) owners {
	o, _ := buf.Owner().(owners)
	if o == nil {
		o = owners{}
		buf.SetOwner(o)
	}
	return o
}

// over makes the array of elements that lie in buf as lay says, which they do. What
// reads the memory by another array is to start before this one is written, and the
// other way round: they are views of one value, that of all the buffer.
func over(buf *device.Buffer, dt dtype.DType, lay layout.Layout, name string) *Array {
	owning.Lock()
	defer owning.Unlock()
	o, s := ownersOf(buf), buf.Device().DefaultStream()
	v := o[dt].Value()
	if v == nil {
		v = stored(buf, dt, []int{int(buf.Size() / int64(dt.Size()))}, s, name, "memory from outside").v
		o[dt] = weak.Make(v)
	}
	return &Array{v: v, gen: v.gen.Load(), lay: lay, dt: dt, stream: s}
}

// stored makes the array of a buffer whose elements are there.
func stored(buf *device.Buffer, dt dtype.DType, shape []int, s *device.Stream, name, how string) *Array {
	v := &value{set: openOn(buf.Device()), stream: s, lay: layout.Dense(shape), dt: dt, shared: true}
	v.op.name, v.op.how = name, how
	v.buf.Store(buf)
	return &Array{v: v, lay: v.lay, dt: dt, stream: s}
}

// Buffer starts the array where it is open and returns the memory that holds
// it; its elements lie there as Strides and Offset say. Writing into it from
// outside is not seen by open arrays that read it: Eval those before.
func (a *Array) Buffer() (*device.Buffer, error) {
	c := call{"Buffer", here()}
	if err := c.first(a); err != nil {
		return nil, err
	}
	_, buf, err := a.stored()
	if err != nil {
		return nil, c.wrap(err, a)
	}
	v := a.share()
	owning.Lock()
	defer owning.Unlock()
	ownersOf(buf)[v.dt] = weak.Make(v)
	return buf, nil
}

// Offset returns the element of Buffer at which the array begins.
func (a *Array) Offset() int {
	if a == nil {
		return 0
	}
	return a.lay.Offset
}

// Stream returns the stream that what is computed from the array runs on.
func (a *Array) Stream() *device.Stream {
	if a == nil {
		return nil
	}
	return a.stream
}

// Synchronize waits for everything that was started on any device. It returns the
// first error that the work has found, such as an index of Take outside its axis,
// unless a boundary has returned it before. A nil context is ErrUnsupported.
func Synchronize(ctx context.Context) error {
	if ctx == nil {
		c := call{"Synchronize", here()}
		return c.fail(fmt.Errorf("%w: a nil Context; context.Background() has no end", expr.ErrUnsupported))
	}
	var first error
	openSets.Range(func(k, _ any) bool {
		if err := k.(*device.Device).Synchronize(ctx); err != nil && first == nil {
			first = err
		}
		return true
	})
	return first
}

// Failed returns an array that carries err, for packages that make arrays of
// something else and have the same rule: what makes an Array returns one.
func Failed(err error) *Array {
	c := call{"Failed", here()}
	return failed(c.wrap(err))
}
