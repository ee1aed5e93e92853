package device

import (
	"slices"
	"unsafe"
	"weak"

	"github.com/gpk-go/gpk/internal/deferred"
)

// maxDeferred is how many deferred errors a buffer carries; beyond, the work that would
// add one waits.
const maxDeferred = 32

// NewDeferredError returns an error of work that is about to be put on s (nil: the default
// stream), and the two int64 that the work writes, which nobody has written yet. judge
// says what they mean, nil that all is well. State.Attach makes contents depend on it.
func (d *Device) NewDeferredError(s *Stream, judge func(flags [2]int64) error) (*deferred.Error, *Buffer, error) {
	s, err := d.own(s)
	if err != nil {
		return nil, nil, err
	}
	if judge == nil {
		return nil, nil, errorf("a deferred error that nobody judges")
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

// unresolve notes an error that Synchronize resolves.
func (d *Device) unresolve(e *deferred.Error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.unresolved) == cap(d.unresolved) { // it would grow
		d.unresolved = slices.DeleteFunc(d.unresolved, func(p weak.Pointer[deferred.Error]) bool {
			q := p.Value()
			return q == nil || q.Known()
		})
	}
	d.unresolved = append(d.unresolved, weak.Make(e))
}

// resolveAll waits for the deferred errors that somebody may still ask about, and returns
// the first that was found. mu is not held.
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

// State returns what is known of the buffer's contents: their error, and who manages them.
// It is for gpk's own packages.
func (b *Buffer) State() *deferred.State {
	if b.none() {
		return nil
	}
	return &b.a.state
}

// isFresh reports whether nothing has been written to the buffer yet, so that nothing is
// lost where work on it fails.
func (b *Buffer) isFresh() bool {
	if b.none() {
		return false
	}
	d := b.a.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	return b.a.fresh()
}

// fresh is Buffer.isFresh; dev.mu is held.
func (a *allocation) fresh() bool { return a.block != nil && a.write.stream == nil }

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

// inherit returns the deferred errors that the writes of work on s take over from its
// reads. Where a write would destroy contents that do not depend on them, and where s is
// being captured, it waits for them instead. mu is not held.
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
