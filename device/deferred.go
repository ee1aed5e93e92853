package device

import (
	"slices"
	"unsafe"
	"weak"

	"github.com/gpk-go/gpk/internal/deferred"
)

// maxDeferred is the number of deferred errors that a buffer can carry. Work that would add
// another one waits.
const maxDeferred = 32

// NewDeferredError returns an error for work that is about to be put on s (nil: the default
// stream), and a buffer of two int64 flags that the work writes. judge maps the flags to an
// error, or to nil. State.Attach makes contents depend on the error.
//
// judge must not refer to a buffer. The device keeps the state of allocated memory, which holds the errors that its contents
// depend on. If judge referred to the buffer of that memory, the buffer would not be freed when the program drops it.
func (d *Device) NewDeferredError(s *Stream, judge func(flags [2]int64) error) (*deferred.Error, *Buffer, error) {
	s, err := d.own(s)
	if err != nil {
		return nil, nil, err
	}
	if judge == nil {
		return nil, nil, errorf("a deferred error that no function checks")
	}
	buf, err := d.Alloc(int64(unsafe.Sizeof([2]int64{})), s)
	if err != nil {
		return nil, nil, err
	}
	resolve := func() (found, failed error) {
		on := s
		d.mu.Lock()
		if on.closing || on.capture != nil {
			on = nil
		}
		d.mu.Unlock()
		var flags [2]int64
		if err := d.CopyToHost(unsafe.Slice((*byte)(unsafe.Pointer(&flags)), unsafe.Sizeof(flags)), buf, 0, on); err != nil {
			return nil, err
		}
		buf.Free()
		return judge(flags), nil
	}
	return deferred.New(resolve, d.unresolve), buf, nil
}

// unresolve registers an error for Synchronize to resolve.
func (d *Device) unresolve(e *deferred.Error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.unresolved) == cap(d.unresolved) { // it would grow: remove resolved ones first
		d.unresolved = slices.DeleteFunc(d.unresolved, func(p weak.Pointer[deferred.Error]) bool {
			q := p.Value()
			return q == nil || q.Known()
		})
	}
	d.unresolved = append(d.unresolved, weak.Make(e))
}

// resolveAll waits for the deferred errors that are still reachable, and returns the first
// one that occurred. mu is not held.
func (d *Device) resolveAll() error {
	d.mu.Lock()
	list := d.unresolved
	d.unresolved = nil
	d.mu.Unlock()
	var first error
	for _, p := range list {
		if e := p.Value(); e != nil && !e.Known() {
			if err := e.Wait(); err != nil && first == nil {
				first = err
			}
		}
	}
	return first
}

// State returns the state of the buffer's contents: their error and their owner. It is for
// gpk's own packages.
func (b *Buffer) State() *deferred.State {
	if b.none() {
		return nil
	}
	return &b.a.state
}

// isFresh reports whether nothing has been written to the buffer yet, so that a failure of
// work on it destroys no contents.
func (b *Buffer) isFresh() bool {
	if b.none() {
		return false
	}
	d := b.a.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	return b.a.fresh()
}

// fresh is Buffer.isFresh for callers that hold dev.mu. On the CPU, memory that work is writing, and memory whose
// address Ptr has returned, is not fresh.
func (a *allocation) fresh() bool {
	return a.block != nil && a.write.stream == nil && !a.touched.Load() && !a.exposed
}

// resolveOf waits for the deferred errors of all buffers.
func resolveOf(buffers []*Buffer) error {
	for _, b := range buffers {
		if !b.none() {
			if err := b.a.state.Resolve(); err != nil {
				return err
			}
		}
	}
	return nil
}

// inherit returns the deferred errors that the writes of work on s inherit from its reads. If a write would destroy
// contents that do not depend on these errors, or if s is being captured, it waits for the errors instead. mu is not
// held.
func (d *Device) inherit(s *Stream, reads, writes []*Buffer) (deferred.List, error) {
	var list deferred.List
	for _, b := range reads {
		if !b.none() {
			if more := b.a.state.Deferred(); more != nil {
				list = list.Union(more)
			}
		}
	}
	if len(list) == 0 {
		return nil, nil
	}
	wait := len(list) > maxDeferred
	d.mu.Lock()
	wait = wait || s.capture != nil
	for _, b := range writes {
		wait = wait || !b.none() && !b.a.fresh() && !b.a.state.DependsOn(list)
	}
	d.mu.Unlock()
	if wait {
		return nil, resolveOf(reads)
	}
	return list, nil
}
