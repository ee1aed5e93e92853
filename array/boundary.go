package array

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/deviceapi"
	"github.com/gpk-go/gpk/internal/observe"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// ToSlice waits and returns the elements in row-major order. T must be the array's exact element type, else ErrDType;
// int reads Int64. Where int has 32 bits, an element that it cannot hold is ErrDType. The length of the slice is the
// product of the shape, even for a broadcast array, which itself takes no memory. A slice larger than the machine's
// memory is ErrOutOfMemory.
func ToSlice[T dtype.HostElem](a *Array) ([]T, error) {
	c, err := ofType[T]("ToSlice", here(), a)
	if err != nil {
		return nil, err
	}
	if err := deviceapi.HostRoom(int64(a.NBytes())); err != nil {
		return nil, c.fail(err, a)
	}
	out := make([]T, a.Size())
	return out, readTo(&c, out, a)
}

// ToSliceInto waits and writes the elements in row-major order into dst, whose length must be the array's size.
func ToSliceInto[T dtype.HostElem](dst []T, a *Array) error {
	c, err := ofType[T]("ToSliceInto", here(), a)
	if err != nil {
		return err
	}
	if len(dst) != a.Size() {
		return c.fail(layout.Errorf("a slice of length %d for %d elements", len(dst), a.Size()), a)
	}
	return readTo(&c, dst, a)
}

// Item waits and returns the one element of an array of size 1.
func Item[T dtype.HostElem](a *Array) (T, error) {
	var out [1]T
	c, err := ofType[T]("Item", here(), a)
	if err != nil {
		return out[0], err
	}
	if a.Size() != 1 {
		return out[0], c.fail(layout.Errorf("%v has %d elements, not 1", a.lay.Shape, a.Size()), a)
	}
	err = readTo(&c, out[:], a)
	return out[0], err
}

// ofType begins an operation on an array whose elements must be of type T.
func ofType[T dtype.HostElem](name string, where site, a *Array) (call, error) {
	c := call{name, where}
	err := a.check()
	if want := dtype.Of[T](); err == nil && want != a.dt {
		err = fmt.Errorf("%w: the elements are %v, not %v; Cast(gpk.%s) first", dtype.ErrDType, a.dt, want, want.GoName())
	}
	return c, c.wrap(err, a)
}

// readTo copies the elements into a slice of T.
func readTo[T dtype.HostElem](c *call, dst []T, a *Array) error {
	return c.wrap(dtype.ReadHost(dst, func(raw []byte) error { return read(c, raw, a) }), a)
}

// read copies the elements to the host. If they are not dense in memory, it makes a dense copy first.
func read(c *call, dst []byte, a *Array) error {
	if err := unwaited(c, a.stream, a); err != nil {
		return err
	}
	if !a.lay.IsDense() && a.on().Kind() == device.CPU {
		op := observe.Begin(a.stream, c.name, c.site)
		done, err := a.gather(dst)
		op.Done(err)
		if done || err != nil {
			return c.wrap(a.blame(err), a)
		}
	}
	if !a.lay.IsDense() {
		// Store the array first. Otherwise the copy would compute it as a step of its own.
		if err := a.start(); err != nil {
			return c.wrap(err, a)
		}
		if a = a.copied(*c); a.err != nil {
			return a.err
		}
		defer a.Free()
	}
	v, release, err := a.acquire()
	if err != nil {
		return c.wrap(err, a)
	}
	defer release()
	if err := a.on().CopyToHost(dst, v.Buffer, v.Start(), open(a.stream)); err != nil {
		return c.wrap(a.blame(err), a)
	}
	return nil
}

// gather copies the elements of an array on the CPU to dst. It reports false if their memory may overlap dst.
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
	return true, ops.Cast(open(a.stream), to, v)
}

// blame adds, to an error of queued work, the call that should have written the array's elements.
func (a *Array) blame(err error) error {
	defer a.lock().mu.Unlock()
	return a.st.cur.blame(err)
}

// Eval starts the computation of arrays and returns without waiting for it. Its error is the first one known at that time.
func Eval(as ...*Array) error {
	if len(as) > 1 && storedTogether(as, nil) {
		return nil
	}
	for _, a := range as {
		if err := a.start(); err != nil {
			c := call{"Eval", here()}
			return c.wrap(err, as...)
		}
	}
	return nil
}

// FromSliceInto copies data, in row-major order, into the array's memory. The caller may reuse data afterwards.
func FromSliceInto[T dtype.HostElem](dst *Array, data []T) error {
	c, err := ofType[T]("FromSliceInto", here(), dst)
	if err == nil {
		err = unwaited(&c, dst.stream, dst)
	}
	switch {
	case err != nil:
		return err
	case len(data) != dst.Size():
		return c.fail(layout.Errorf("%d elements for an array of shape %v", len(data), dst.lay.Shape), dst)
	}
	if !dst.lay.IsDense() {
		tmp := c.uploaded(open(dst.stream), dst.dt, dtype.HostBytes(data), slices.Clone(dst.lay.Shape), fromGo)
		if tmp.err != nil {
			return tmp.err
		}
		defer tmp.Free()
		return into(&c, dst, tmp)
	}
	w := newWrite(&c, dst, dst.stream)
	w.put = func(v device.View) error {
		return dst.on().CopyFromHost(v.Buffer, v.Start(), dtype.HostBytes(data), w.stream)
	}
	return c.wrap(w.do(), dst)
}

const fromGo = "data from a Go slice"

// uploaded returns host data as a dense array of a shape. The array keeps the shape slice.
func (c *call) uploaded(s *device.Stream, dt dtype.DType, data []byte, shape []int, how string) *Array {
	return c.filled(s, dt, shape, how, nil, func(dst device.View) error {
		return s.Device().CopyFromHost(dst.Buffer, 0, data, s)
	})
}
