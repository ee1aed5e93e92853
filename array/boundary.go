package array

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// ToSlice waits and returns the elements in row-major order. T must be the
// array's exact element type, else ErrDType.
func ToSlice[T dtype.Elem](a *Array) ([]T, error) {
	op := newOp("ToSlice", here(), a)
	if err := op.first(a); err != nil {
		return nil, err
	}
	if err := exact[T](a); err != nil {
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
	if !a.lay.IsDense() {
		c := a.copied(newOp(op.name, op.site, a))
		if c.err != nil {
			return c.err
		}
		defer c.Free()
		a = c
	}
	if err := op.operands(a); err != nil {
		return err
	}
	v := op.views[0]
	if err := a.v.dev.CopyToHost(dst, v.Buffer, int64(v.Layout.Offset*a.dt.Size()), a.stream); err != nil {
		return op.wrap(err)
	}
	return nil
}

// wrap gives an error this operation's name unless it has one.
func (o *request) wrap(err error) error {
	var oe *OpError
	if err == nil || errors.As(err, &oe) {
		return err
	}
	return o.fail(err)
}

// Eval starts the computation of arrays and does not wait. It returns the
// first error that is known by then.
func Eval(as ...*Array) error {
	for _, a := range as {
		err := a.check()
		if err == nil {
			_, err = a.v.stored()
		}
		if err != nil {
			var r request
			r.begin("Eval", here(), as)
			return r.wrap(err)
		}
	}
	return nil
}

// Into evaluates src straight into dst's memory, which has its shape and type,
// and does not wait. Where the operation can write there, nothing is
// allocated; src itself is not stored, and using it later computes it again.
func Into(dst, src *Array) error {
	var r request
	r.begin("Into", here(), []*Array{dst, src})
	return into(&r, dst, src)
}

func into(op *request, dst, src *Array) error {
	// dst may carry the error of a failed in-place write: this mends it.
	if err := op.first(src); err != nil {
		return err
	}
	if dst == nil || dst.err != nil || dst.v == nil || dst.packed != nil {
		return op.first(dst)
	}
	switch {
	case !slices.Equal(dst.lay.Shape, src.lay.Shape):
		return op.fail(layout.Errorf("%v into %v", src.lay.Shape, dst.lay.Shape))
	case dst.dt != src.dt:
		return op.fail(sameType(dst, src))
	case dst.lay.Repeats():
		return op.fail(layout.Errorf("a broadcast array of shape %v cannot be written", dst.lay.Shape))
	case dst.v.dev != src.v.dev:
		moved := src.To(dst.v.dev)
		if moved.err != nil {
			return op.wrap(moved.err)
		}
		src = moved
	}
	buf, err := dst.v.writable()
	if err != nil {
		return op.wrap(err)
	}
	dst.v.beforeWrite(op.name, op.site, src.v)
	view := device.View{Buffer: buf, DType: dst.dt, Layout: dst.lay}
	poison := buf.Err()
	if poison != nil {
		if !dst.mends() {
			return poison
		}
		buf.Heal()
	}
	if err := src.writeTo(op, view, dst.v); err != nil {
		if poison != nil {
			buf.Fail(poison)
		}
		return op.wrap(err)
	}
	return nil
}

// writeTo computes the array's elements into dst, part of the value into.
func (a *Array) writeTo(op *request, dst device.View, into *value) error {
	if sameLayout(a.lay, a.v.lay) {
		if done, err := a.v.runInto(dst, into); done || err != nil {
			return err
		}
	}
	// Stored, or to be stored: settle what dst's write would disturb.
	src, err := a.view()
	if err != nil {
		return err
	}
	if overlaps(src, dst) && !sameLayout(src.Layout, dst.Layout) {
		c := a.copied(newOp(op.name, op.site, a))
		if c.err != nil {
			return c.err
		}
		defer c.Free()
		if src, err = c.view(); err != nil {
			return err
		}
	}
	return ops.Cast(a.stream, dst, src)
}

// writable returns the buffer of a value about to be written, healthy or not.
func (v *value) writable() (*device.Buffer, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.freed {
		return nil, fmt.Errorf("%w", device.ErrFreed)
	}
	if err := v.startLocked(); err != nil {
		return nil, err
	}
	if v.buf.Freed() {
		return nil, fmt.Errorf("%w", device.ErrFreed)
	}
	return v.buf, nil
}

// mends reports whether writing all of a makes good what a failed in-place
// write left: it covers the array that failed, or the whole value.
func (a *Array) mends() bool {
	a.v.mu.Lock()
	defer a.v.mu.Unlock()
	return sameLayout(a.lay, a.v.failedLay) || a.lay.IsDense() && a.lay.Size() == a.v.lay.Size()
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
		return into(&op.request, dst, tmp)
	}
	buf, err := dst.v.writable()
	if err != nil {
		return op.wrap(err)
	}
	dst.v.beforeWrite(op.name, op.site, nil)
	poison := buf.Err()
	if poison != nil {
		if !dst.mends() {
			return poison
		}
		buf.Heal()
	}
	if err := dst.v.dev.CopyFromHost(buf, int64(dst.lay.Offset*dst.dt.Size()), bytesOf(data), dst.stream); err != nil {
		if poison != nil {
			buf.Fail(poison)
		}
		return op.fail(err)
	}
	return nil
}

// moved is host data as a dense array like a.
func moved(op *operation, a *Array, data []byte) *Array {
	buf, err := a.v.dev.Alloc(int64(len(data)), a.stream)
	if err != nil {
		return failed(op.fail(err))
	}
	if err := a.v.dev.CopyFromHost(buf, 0, data, a.stream); err != nil {
		buf.Free()
		return failed(op.fail(err))
	}
	return stored(buf, a.dt, slices.Clone(a.lay.Shape), a.stream, op.name, "data from a Go slice")
}
