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
	return toSlice[T](newOp("ToSlice", here(), a), a)
}

// toSlice is ToSlice for the operation that errors name.
func toSlice[T dtype.Elem](op *operation, a *Array) ([]T, error) {
	if err := op.first(a); err != nil {
		return nil, err
	}
	if err := exact[T](a); err != nil {
		return nil, op.fail(err)
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
	op := newOp("ToSliceInto", here(), a)
	if err := op.first(a); err != nil {
		return err
	}
	if err := exact[T](a); err != nil {
		return op.fail(err)
	}
	if len(dst) != a.Size() {
		return op.fail(layout.Errorf("a slice of %d for %d elements", len(dst), a.Size()))
	}
	return read(op, bytesOf(dst), a)
}

// Item waits and returns the one element of an array of size 1.
func Item[T dtype.Elem](a *Array) (T, error) {
	var out [1]T
	op := newOp("Item", here(), a)
	if err := op.first(a); err != nil {
		return out[0], err
	}
	if err := exact[T](a); err != nil {
		return out[0], op.fail(err)
	}
	if a.Size() != 1 {
		return out[0], op.fail(layout.Errorf("%v has %d elements, not 1", a.lay.Shape, a.Size()))
	}
	err := read(op, bytesOf(out[:]), a)
	return out[0], err
}

func exact[T dtype.Elem](a *Array) error {
	if want := dtype.Of[T](); want != a.dt {
		return fmt.Errorf("%w: the elements are %v, not %v; Cast(gpk.%s) first", dtype.ErrDType, a.dt, want, goName(want))
	}
	return nil
}

// read copies the elements to the host, through a dense copy where they do
// not lie dense.
func read(op *operation, dst []byte, a *Array) error {
	if err := unwaited(op, a.stream); err != nil {
		return err
	}
	if !a.lay.IsDense() && a.on().Kind() == device.CPU {
		if done, err := a.gather(dst); done || err != nil {
			return op.wrap(a.blame(err))
		}
	}
	if !a.lay.IsDense() {
		c := a.copied(op.name, op.site)
		if c.err != nil {
			return c.err
		}
		defer c.Free()
		a = c
	}
	v, err := a.view()
	if err != nil {
		return op.wrap(err)
	}
	if err := a.on().CopyToHost(dst, v.Buffer, a.at(), a.stream); err != nil {
		return op.wrap(a.blame(err))
	}
	return nil
}

// gather copies the elements of an array of the CPU to dst. It reports false where
// they may lie in dst.
func (a *Array) gather(dst []byte) (done bool, err error) {
	v, err := a.view()
	if err != nil {
		return false, err
	}
	buf, err := device.WrapHost(a.on(), unsafe.Pointer(unsafe.SliceData(dst)), int64(len(dst)), nil)
	if err != nil {
		return false, err
	}
	defer buf.Free()
	to := device.View{Buffer: buf, DType: a.dt, Layout: layout.Dense(a.lay.Shape)}
	if overlaps(&to, &v) {
		return false, nil
	}
	return true, ops.Cast(a.stream, to, v)
}

// at is the byte of the buffer at which a dense array begins; 0 where it has no
// elements, whose offset may lie anywhere.
func (a *Array) at() int64 {
	if a.lay.Size() == 0 {
		return 0
	}
	return int64(a.lay.Offset * a.dt.Size())
}

// Eval starts the computation of arrays and does not wait. It returns the
// first error that is known by then.
func Eval(as ...*Array) error {
	for _, a := range as {
		err := a.check()
		if err == nil {
			_, _, err = a.stored()
		}
		if err != nil {
			c := call{"Eval", here()}
			return c.wrap(err, as...)
		}
	}
	return nil
}

// Into evaluates src straight into dst's memory, which has its shape and type,
// and does not wait. Where the operation can write there, nothing is
// allocated; src itself is not stored, and using it later computes it again.
func Into(dst, src *Array) error {
	return into(&call{"Into", here()}, dst, src)
}

func into(c *call, dst, src *Array) error {
	// dst may carry the error of a failed in-place write: this mends it.
	if err := src.check(); err != nil {
		return c.wrap(err, dst, src)
	}
	if dst == nil || dst.err != nil || dst.stream == nil || dst.packed != nil {
		return c.wrap(dst.check(), dst, src)
	}
	switch {
	case !slices.Equal(dst.lay.Shape, src.lay.Shape):
		return c.fail(layout.Errorf("%v into %v", src.lay.Shape, dst.lay.Shape), dst, src)
	case dst.dt != src.dt:
		return c.fail(sameType(dst, src), dst, src)
	case dst.lay.Repeats():
		return c.fail(layout.Errorf("a broadcast array of shape %v cannot be written", dst.lay.Shape), dst, src)
	case dst.on() != src.on():
		if r := recordingOn(dst.stream); r != nil {
			return r.refuse(c.fail(errWaits, dst, src))
		}
		moved := src.to(c, dst.on())
		if moved.err != nil {
			return moved.err
		}
		src = moved
	}
	if s := streamOf(src, dst); s != src.stream { // dst is part of a sequence, src a constant
		if _, _, err := src.stored(); err != nil {
			return c.wrap(err, dst, src)
		}
		src = src.with(src.lay)
		src.stream = s
	}
	v, buf, err := dst.writable()
	if err != nil {
		return c.wrap(err, dst, src)
	}
	writes(src.stream, v)
	v.settle(src.current())
	poison := buf.Settled()
	if poison != nil {
		if !dst.mends() || src.reads(buf) {
			return poison
		}
		buf.Heal()
	}
	v.changedBy(c.name, &c.site)
	if err := src.writeTo(c, v, device.View{Buffer: buf, DType: dst.dt, Layout: dst.lay}); err != nil {
		if poison != nil {
			buf.Fail(poison)
		}
		return c.wrap(err, dst, src)
	}
	return nil
}

// writeTo computes the array's elements into dst, the memory of to.
func (a *Array) writeTo(c *call, to *value, dst device.View) error {
	if done, err := a.runInto(to, dst); done || err != nil {
		return err
	}
	// Stored, or to be stored: settle what dst's write would disturb.
	a.startFor(to)
	src, err := a.view()
	if err != nil {
		return err
	}
	to.settle(nil) // what took a, and has read to's memory through it
	to.set.awaitRedos(to)
	if overlaps(&src, &dst) && !sameLayout(&src.Layout, &dst.Layout) {
		b := a.copied(c.name, c.site)
		if b.err != nil {
			return b.err
		}
		defer b.Free()
		if src, err = b.view(); err != nil {
			return err
		}
	}
	return ops.Cast(a.stream, dst, src)
}

// startFor starts an open array that is to be copied into to.
func (a *Array) startFor(to *value) {
	v := a.hold()
	defer v.mu.Unlock()
	if !v.freed {
		_ = v.startLocked(to) // kept in the value
	}
}

// mends reports whether writing all of a makes good what a failed in-place
// write left: it covers the array that failed, or the whole value.
func (a *Array) mends() bool {
	v := a.hold()
	defer v.mu.Unlock()
	return sameLayout(&a.lay, &v.failedLay) || a.lay.IsDense() && a.lay.Size() == v.lay.Size()
}

// reads reports whether the array's elements lie in buf, or come from there.
func (a *Array) reads(buf *device.Buffer) bool {
	v := a.hold()
	defer v.mu.Unlock()
	return v.buf.Load() == buf || v.open && v.readsBuffer(buf)
}

// FromSliceInto copies data, in row-major order, into the array's memory. data
// may be reused when it returns.
func FromSliceInto[T dtype.Elem](dst *Array, data []T) error {
	op := newOp("FromSliceInto", here(), dst)
	if err := op.first(dst); err != nil {
		return err
	}
	if err := exact[T](dst); err != nil {
		return op.fail(err)
	}
	if err := unwaited(op, dst.stream); err != nil {
		return err
	}
	switch {
	case len(data) != dst.Size():
		return op.fail(layout.Errorf("%d elements into %v", len(data), dst.lay.Shape))
	case dst.lay.Repeats():
		return op.fail(layout.Errorf("a broadcast array of shape %v cannot be written", dst.lay.Shape))
	}
	if !dst.lay.IsDense() {
		tmp := moved(op, dst, bytesOf(data))
		if tmp.err != nil {
			return tmp.err
		}
		defer tmp.Free()
		return into(&op.call, dst, tmp)
	}
	v, buf, err := dst.writable()
	if err != nil {
		return op.wrap(err)
	}
	v.settle(nil)
	v.changedBy(op.name, &op.site)
	poison := buf.Settled()
	if poison != nil {
		if !dst.mends() {
			return poison
		}
		buf.Heal()
	}
	if err := dst.on().CopyFromHost(buf, dst.at(), bytesOf(data), dst.stream); err != nil {
		if poison != nil {
			buf.Fail(poison)
		}
		return op.fail(err)
	}
	return nil
}

// moved is host data as a dense array like a.
func moved(op *operation, a *Array, data []byte) *Array {
	buf, err := alloc(a.on(), int64(len(data)), a.stream)
	if err != nil {
		return failed(op.fail(err))
	}
	if err := a.on().CopyFromHost(buf, 0, data, a.stream); err != nil {
		buf.Free()
		return failed(op.fail(err))
	}
	return stored(buf, a.dt, slices.Clone(a.lay.Shape), a.stream, op.name, "data from a Go slice")
}
