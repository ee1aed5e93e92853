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

// ToSlice waits and returns the elements in row-major order. T must be the
// array's exact element type, else ErrDType. The slice is as long as the shape says, also
// that of a broadcast array, which itself takes no memory: more than the machine has is
// ErrOutOfMemory.
func ToSlice[T dtype.Elem](a *Array) ([]T, error) {
	op, err := ofType[T]("ToSlice", here(), a)
	if err != nil {
		return nil, err
	}
	if err := device.HostRoom(int64(a.NBytes())); err != nil {
		return nil, op.fail(err)
	}
	out := make([]T, a.Size())
	return out, read(op, bytesOf(out), a)
}

// ToSliceInto waits and writes the elements in row-major order into dst,
// whose length must be the array's size.
func ToSliceInto[T dtype.Elem](dst []T, a *Array) error {
	op, err := ofType[T]("ToSliceInto", here(), a)
	if err != nil {
		return err
	}
	if len(dst) != a.Size() {
		return op.fail(layout.Errorf("a slice of %d for %d elements", len(dst), a.Size()))
	}
	return read(op, bytesOf(dst), a)
}

// Item waits and returns the one element of an array of size 1.
func Item[T dtype.Elem](a *Array) (T, error) {
	var out [1]T
	op, err := ofType[T]("Item", here(), a)
	if err != nil {
		return out[0], err
	}
	if a.Size() != 1 {
		return out[0], op.fail(layout.Errorf("%v has %d elements, not 1", a.lay.Shape, a.Size()))
	}
	err = read(op, bytesOf(out[:]), a)
	return out[0], err
}

// ofType begins an operation on an array whose elements must be of type T.
func ofType[T dtype.Elem](name string, where site, a *Array) (*node, error) {
	op := newOp(name, where, a)
	if err := op.first(a); err != nil {
		return op, err
	}
	if want := dtype.Of[T](); want != a.dt {
		return op, op.fail(fmt.Errorf("%w: the elements are %v, not %v; Cast(gpk.%s) first", dtype.ErrDType, a.dt, want, want.GoName()))
	}
	return op, nil
}

// read copies the elements to the host, through a dense copy where they do
// not lie dense.
func read(op *node, dst []byte, a *Array) error {
	if err := unwaited(op, a.stream); err != nil {
		return err
	}
	if !a.lay.IsDense() && a.on().Kind() == device.CPU {
		if done, err := a.gather(dst); done || err != nil {
			return op.wrap(a.blame(err))
		}
	}
	if !a.lay.IsDense() {
		c := a.copied(op.call)
		if c.err != nil {
			return c.err
		}
		defer c.Free()
		a = c
	}
	v, release, err := a.acquire()
	if err != nil {
		return op.wrap(err)
	}
	defer release()
	if err := a.on().CopyToHost(dst, v.Buffer, v.Start(), a.stream); err != nil {
		return op.wrap(a.blame(err))
	}
	return nil
}

// gather copies the elements of an array of the CPU to dst. It reports false where
// they may lie in dst.
func (a *Array) gather(dst []byte) (done bool, err error) {
	v, release, err := a.acquire()
	if err != nil {
		return false, err
	}
	defer release()
	buf, err := device.WrapHost(a.on(), unsafe.Pointer(unsafe.SliceData(dst)), int64(len(dst)), nil)
	if err != nil {
		return false, err
	}
	defer buf.Free()
	to := device.View{Buffer: buf, DType: a.dt, Layout: layout.Dense(a.lay.Shape)}
	if to.Overlaps(v) {
		return false, nil
	}
	return true, ops.Cast(a.stream, to, v)
}

// blame has the error of work that was queued name the call that was to write the
// array's elements.
func (a *Array) blame(err error) error {
	s := schedulerOf(a.on())
	s.mu.Lock()
	defer s.mu.Unlock()
	return a.st.cur.blame(err)
}

// Eval starts the computation of arrays and does not wait. It returns the
// first error that is known by then.
func Eval(as ...*Array) error {
	for _, a := range as {
		err := a.check()
		if err == nil {
			err = a.start()
		}
		if err != nil {
			c := call{"Eval", here()}
			return c.wrap(err, as...)
		}
	}
	return nil
}

// FromSliceInto copies data, in row-major order, into the array's memory. data
// may be reused when it returns.
func FromSliceInto[T dtype.Elem](dst *Array, data []T) error {
	op, err := ofType[T]("FromSliceInto", here(), dst)
	if err != nil {
		return err
	}
	if err := unwaited(op, dst.stream); err != nil {
		return err
	}
	switch {
	case len(data) != dst.Size():
		return op.fail(layout.Errorf("%d elements into %v", len(data), dst.lay.Shape))
	case dst.lay.Repeats():
		return op.fail(errBroadcast(dst))
	}
	if !dst.lay.IsDense() {
		if err := dst.usable(); err != nil {
			return op.fail(err)
		}
		tmp := uploaded(op, dst.stream, dst.dt, bytesOf(data), slices.Clone(dst.lay.Shape))
		if tmp.err != nil {
			return tmp.err
		}
		defer tmp.Free()
		return into(&op.call, dst, tmp)
	}
	w := newWrite(&op.call, dst, dst.stream)
	w.put = func(v device.View) error {
		return dst.on().CopyFromHost(v.Buffer, v.Start(), bytesOf(data), dst.stream)
	}
	return op.wrap(w.do())
}

// uploaded is host data as a dense array of a shape, which is kept.
func uploaded(op *node, s *device.Stream, dt dtype.DType, data []byte, shape []int) *Array {
	buf, err := alloc(s.Device(), int64(len(data)), s)
	if err != nil {
		return failedArray(op.fail(err))
	}
	if err := s.Device().CopyFromHost(buf, 0, data, s); err != nil {
		buf.Free()
		return failedArray(op.fail(err))
	}
	label(buf, &op.call, shape, dt)
	return storedArray(buf, dt, shape, s, op.call, "data from a Go slice")
}
