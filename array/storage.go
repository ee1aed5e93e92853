package array

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/deviceapi"
	"github.com/gpk-go/gpk/internal/observe"
	"github.com/gpk-go/gpk/layout"
)

// storage is what an array and its views share. A write gives it new contents.
//
// Invariant: the contents of a fixed storage are in its one buffer, in the newest version.
//
// The scheduler's mutex guards it.
type storage struct {
	cur     *contents
	holds   int          // number of bridges and graphs that need the memory at its address
	repaid  atomic.Int32 // loans that have ended, which holds still counts; any goroutine may add
	writing bool         // a write is being prepared or done; others wait
	ended   *call        // the call that freed it
	scope   *Scope       // it is freed with this scope
	rec     *recording   // the capture that made it: only that capture can read it
}

// fixed reports whether a bridge or a graph needs the memory at its address. The mutex is held.
func (st *storage) fixed() bool {
	st.holds -= int(st.repaid.Swap(0))
	return st.holds > 0
}

// newArray makes an array with a new storage.
func newArray(c *contents, lay layout.Layout, dt dtype.DType, s *device.Stream) *Array {
	a := &Array{lay: lay, dt: dt, stream: s}
	a.own.cur = c
	a.st = &a.own
	return a
}

// storedArray makes the array of a buffer whose elements are already there.
func storedArray(buf *device.Buffer, dt dtype.DType, shape []int, s *device.Stream, origin call, how string) *Array {
	lay := layout.Dense(shape)
	return newArray(storedContents(buf, lay, dt, origin, how), lay, dt, s)
}

// filled returns a stored array, whose elements fill computes from reads. The array keeps the shape slice.
func (c *call) filled(s *device.Stream, dt dtype.DType, shape []int, how string, reads []device.View, fill func(dst device.View) error) *Array {
	op := observe.Begin(s, c.name, c.site)
	op.Reads(reads...)
	op.Writes(dt, shape)
	buf, err := filled(c, s, dt, layout.Dense(shape), fill)
	op.Done(err)
	if err != nil {
		return c.failed(err, shaped(dt, shape))
	}
	return storedArray(buf, dt, shape, s, *c, how)
}

// size returns the number of elements of the storage, counted in elements of dt.
func (st *storage) size(dt dtype.DType) int {
	if m := st.cur.mem; m != nil {
		if m.DType == dt {
			return m.Layout.Size()
		}
		return int(m.NBytes()) / dt.Size()
	}
	return st.cur.node.lay.Size()
}

// check returns the reason why the storage cannot be used, or nil.
func (st *storage) check() error {
	if st.ended != nil {
		return freedBy(st.ended)
	}
	return st.scope.err()
}

// contents returns the contents that the array shows, within the capture rec or, if rec is
// nil, outside of captures. The mutex is held.
func (a *Array) contents(rec *recording) (*contents, error) {
	if err := a.st.check(); err != nil {
		return nil, err
	}
	if err := a.in.err(); err != nil {
		return nil, err
	}
	if a.st.rec != rec {
		if a.st.rec != nil {
			return nil, errIntermediate
		}
		return rec.contents(a.st)
	}
	return a.st.cur, nil
}

// usable returns an error if the array was freed or its scope was closed.
func (a *Array) usable() error {
	defer a.lock().mu.Unlock()
	_, err := a.contents(a.st.rec)
	return err
}

// scopeOf returns the scope of results that are computed from the array. The mutex is held.
func (a *Array) scopeOf() *Scope { return newer(a.in, a.st.scope) }

// scopeNow is scopeOf for callers that do not hold the mutex.
func (a *Array) scopeNow() *Scope {
	defer a.lock().mu.Unlock()
	return a.scopeOf()
}

// acquire stores the array, and returns the view of its elements. The memory is pinned until release is called.
func (a *Array) acquire() (v device.View, release func(), err error) {
	s := a.lock()
	defer s.mu.Unlock()
	u := &use{}
	err = s.ready(func() error {
		v, err = u.find(a, recordingOn(a.stream))
		return err
	})
	if err != nil {
		return v, nil, err
	}
	u.begin()
	return v, func() { s.release(u) }, nil
}

// start stores the array unless it carries an error.
func (a *Array) start() error {
	if err := a.check(); err != nil {
		return err
	}
	s := a.lock()
	defer s.mu.Unlock()
	rec := recordingOn(a.stream)
	if c, err := a.contents(rec); err == nil && c.mem == nil && c.node.state == pending { // the usual case, without a use
		if err := s.prepare(&unready{node: c.node}); err != nil {
			return err
		}
	}
	if a.stored(nil) {
		return nil
	}
	u := &use{}
	return s.ready(func() error {
		_, err := u.find(a, rec)
		return err
	})
}

// stored reports whether the array is stored, can be read now, and has a memory that satisfies a condition; nil is
// none. The mutex is held.
func (a *Array) stored(and func(*memory) bool) bool {
	c, err := a.contents(recordingOn(a.stream))
	if err != nil || c.mem == nil || c.mem.busy || c.err() != nil || c.version != c.mem.version && c.lost(&device.View{DType: a.dt, Layout: a.lay}) {
		return false
	}
	return and == nil || and(c.mem)
}

// fix stores the array, fixes its memory and calls use with the buffer while the mutex is held. On the CPU, memory
// that is not lent is moved out of the pool first, because a slice over it may outlive the array.
func (a *Array) fix(c call, lent bool, use func(*device.Buffer)) error {
	if err := a.check(); err != nil {
		return c.wrap(err, a)
	}
	s := a.lock()
	defer s.mu.Unlock()
	return c.wrap(s.ready(func() error {
		if a.st.writing {
			return &unready{}
		}
		c, err := a.contents(recordingOn(a.stream))
		if err == nil {
			err = c.err()
		}
		if err == nil {
			err = c.missing()
		}
		if err != nil {
			return err
		}
		m := c.mem
		switch {
		case m.busy:
			return &unready{}
		case !lent && a.on().Kind() == device.CPU && !a.st.fixed() && !deviceapi.Exposable(m.buf):
			return &unready{alloc: func() error { return s.expose(a.st, c) }}
		}
		use(m.buf)
		a.st.holds++
		owning.Lock()
		defer owning.Unlock()
		own(m.buf, a.st)
		return nil
	}), a)
}

// expose moves the contents of a storage to memory outside the pool, to which a slice may
// refer. The mutex is not held.
func (s *scheduler) expose(st *storage, c *contents) error {
	m := c.mem
	buf, err := deviceapi.AllocExposed(s.dev, m.buf.Size())
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if st.cur != c || m.busy || st.fixed() {
		buf.Free()
		return nil // a write was faster: the caller looks again
	}
	m.pins++
	s.mu.Unlock()
	err = s.dev.Copy(buf, 0, m.buf, 0, m.buf.Size(), nil)
	s.mu.Lock()
	m.unpin()
	if err != nil || st.cur != c || st.writing || st.fixed() { // a bridge may have fixed it during the copy
		buf.Free()
		return err
	}
	st.cur = &contents{mem: newMemory(buf, m.Layout, m.DType), node: c.node, origin: c.origin, scope: c.scope}
	st.scope.claim(st.cur.mem)
	c.supersede()
	return nil
}

// owner refers to the storage of a buffer, so that several arrays made from the buffer share it.
type owner struct{ st weak.Pointer[storage] }

// owning guards the owners of all buffers. It is locked after a scheduler's mutex.
var owning sync.Mutex

// own records st as the storage of the buffer. owning is held.
func own(buf *device.Buffer, st *storage) { buf.State().SetOwner(owner{weak.Make(st)}) }

// FromBuffer returns an array over existing memory: the dense elements of shape at the
// beginning of buf. Nothing is copied. Packages under interop use it to share foreign
// memory. Arrays over one buffer are views of each other.
func FromBuffer(buf *device.Buffer, dt dtype.DType, shape ...int) *Array {
	_, err := bytesIn(buf, dt, shape)
	return over(call{"FromBuffer", here()}, buf, dt, layout.Dense(slices.Clone(shape)), err)
}

// FromOwnBuffer is FromBuffer for memory that becomes the array's own, as if gpk had
// allocated it for the array: Free gives it back, and a write may replace it. The buffer
// must have exactly the bytes of the elements, else that is ErrShape, and no other owner: a
// buffer that an array already has is ErrUnsupported. The caller must not use it
// afterwards, unless the array carries an error.
func FromOwnBuffer(buf *device.Buffer, dt dtype.DType, shape ...int) *Array {
	c := call{"FromOwnBuffer", here()}
	n, err := bytesIn(buf, dt, shape)
	switch {
	case buf.Device() == nil || !dt.Valid():
		err = errNoBuffer
	case err == nil && n != buf.Size():
		err = layout.Errorf("%v %v takes %d bytes, the buffer has %d", shape, dt, n, buf.Size())
	case err == nil && buf.State().Owner() != nil:
		err = fmt.Errorf("%w: another array already uses the buffer", expr.ErrUnsupported)
	}
	if err != nil {
		return c.failed(err, shaped(dt, slices.Clone(shape)))
	}
	return storedArray(buf, dt, slices.Clone(shape), buf.Device().DefaultStream(), c, "memory handed over")
}

// bytesIn returns the number of bytes of the elements. It is an error if the buffer has fewer.
func bytesIn(buf *device.Buffer, dt dtype.DType, shape []int) (int64, error) {
	n, err := layout.Size(shape)
	bytes := int64(n) * int64(dt.Size())
	if err == nil && dt.Valid() && bytes > buf.Size() {
		err = layout.Errorf("%v %v takes %d bytes, the buffer has %d", shape, dt, bytes, buf.Size())
	}
	return bytes, err
}

var errNoBuffer = fmt.Errorf("%w: no buffer or no element type", dtype.ErrDType)

// FromLayout is FromBuffer for elements with layout lay. A layout that reaches outside the
// buffer is ErrShape. Two indices must not name the same element, except along a broadcast
// axis (stride 0): gpk does not check this, and the result of a write to such a layout is
// undefined.
func FromLayout(buf *device.Buffer, dt dtype.DType, lay layout.Layout) *Array {
	lay = layout.Layout{Shape: slices.Clone(lay.Shape), Strides: slices.Clone(lay.Strides), Offset: lay.Offset}
	return over(call{"FromLayout", here()}, buf, dt, lay, lay.Within(int(buf.Size()/int64(max(dt.Size(), 1)))))
}

// over returns an array of elements in buf with layout lay. If err is not nil, the array carries it.
func over(c call, buf *device.Buffer, dt dtype.DType, lay layout.Layout, err error) *Array {
	if buf.Device() == nil || !dt.Valid() {
		err = errNoBuffer
	}
	if err != nil {
		return c.failed(err, shaped(dt, lay.Shape))
	}
	owning.Lock()
	defer owning.Unlock()
	s := buf.Device().DefaultStream()
	if o, ok := buf.State().Owner().(owner); ok {
		if st := o.st.Value(); st != nil {
			return &Array{st: st, lay: lay, dt: dt, stream: s}
		}
	}
	whole := layout.Dense([]int{int(buf.Size() / int64(dt.Size()))})
	st := &storage{cur: storedContents(buf, whole, dt, c, "memory from outside"), holds: 1}
	own(buf, st)
	return &Array{st: st, lay: lay, dt: dt, stream: s}
}

// Buffer stores the array and returns the memory that holds it. Strides and Offset locate
// the elements in it. The memory is fixed from then on: every write goes to this buffer.
// Pending arrays that read the array do not see writes to the buffer from outside: Eval
// them before such a write.
func (a *Array) Buffer() (buf *device.Buffer, err error) {
	err = a.fix(call{"Buffer", here()}, false, func(b *device.Buffer) {
		b.Expose()
		buf = b
	})
	return buf, err
}

// Lend is Buffer for memory that another library uses for a limited time. The caller calls
// release once, from any goroutine, when the library no longer uses the memory. Until then
// the memory is fixed, and Free of the array does not free it. Afterwards buf must not be
// used: a write may move the array to other memory, and Free returns the memory to its pool,
// which memory returned by Buffer never does.
func (a *Array) Lend() (buf *device.Buffer, release func(), err error) {
	err = a.fix(call{"Lend", here()}, true, func(b *device.Buffer) {
		st, end := a.st, deviceapi.Hold(b)
		buf, release = b, func() { // without the mutex, which its caller may hold
			st.repaid.Add(1)
			end()
		}
	})
	return buf, release, err
}

// ownedBy gives a new, stored array to a scope.
func (a *Array) ownedBy(s *Scope) {
	if s == nil || a.err != nil || recordingOn(a.stream) != nil {
		return
	}
	defer a.lock().mu.Unlock()
	a.st.scope = s
	s.claim(a.st.cur.mem)
}
