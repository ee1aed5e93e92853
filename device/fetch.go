package device

import (
	"context"
	"runtime"
	"sync"
	"unsafe"
)

// Limits of fetches that do not wait.
const (
	maxFetch   = 16 << 10 // bytes per copy
	maxFetches = 64       // fetches that are not freed; their pinned memory is at most 1 MiB per device
)

// hostCopy is a small copy from a device to the host that may be in progress.
type hostCopy struct {
	dev     *Device
	data    []byte
	cleanup runtime.Cleanup

	mu   sync.Mutex
	slot *slot // nil: data is memory of Go, or the slot was returned
	done bool  // Free has been called

	posted // the copy
}

// fetches holds the pinned memory that fetches reuse.
type fetches struct {
	mu   sync.Mutex
	idle []*slot
	made int // number of slots, including those in use
}

// fetch starts a copy of n bytes of src, from offset off, in the order of s (nil: the
// default stream). Unlike CopyToHost it does not wait, unless n exceeds 16 KiB, or 64 other
// fetches are neither freed nor dropped. Free ends the copy; one that is dropped ends after
// a garbage collection.
func (d *Device) fetch(src *Buffer, off int64, n int, s *Stream) (*hostCopy, error) {
	return d.fetchUntil(src, off, n, s, nil)
}

// fetchUntil is fetch, followed by a recording of e unless it is nil. Usually this needs no
// additional driver call.
func (d *Device) fetchUntil(src *Buffer, off int64, n int, s *Stream, e *Event) (*hostCopy, error) {
	if e != nil {
		if err := e.check(d); err != nil {
			return nil, err
		}
	}
	s, err := d.own(s)
	if err != nil {
		return nil, err
	}
	if err := d.bounds(src, off, int64(n)); err != nil {
		return nil, err
	}
	f := &hostCopy{dev: d}
	var got *slot
	if d.info.Kind != CPU && n > 0 && n <= maxFetch {
		var err error
		if got, err = d.fetchSlot(); err != nil {
			return nil, err
		}
	}
	if got == nil {
		f.data = make([]byte, n)
		if err := d.CopyToHost(f.data, src, off, s); err != nil {
			return nil, err
		}
		if e != nil {
			err = s.Record(e)
		}
		return f, err
	}
	f.data = unsafe.Slice((*byte)(got.p), maxFetch)[:n:n]
	reads := []*Buffer{src}
	m := d.observe(DeviceToHost, s, int64(n))
	if err = resolveOf(reads); err == nil {
		err = d.post(m, s, reads, nil, got, e, func(event uint64) error {
			return d.backend.copyOut(got.p, src.a.mem, off, int64(n), s.handle, event)
		})
	}
	m.done(err)
	runtime.KeepAlive(src)
	if err != nil {
		d.fetches.put(got)
		return nil, err
	}
	f.slot, f.posted = got, got.posted
	f.cleanup = runtime.AddCleanup(f, d.fetches.put, got)
	return f, nil
}

// put returns a slot to the list even if a copy still writes to it. It is also the cleanup
// of a hostCopy.
func (l *fetches) put(s *slot) {
	l.mu.Lock()
	l.idle = append(l.idle, s)
	l.mu.Unlock()
}

// take returns an idle slot or a new one, or nil if the limit is reached.
func (l *fetches) take() *slot {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.idle); n > 0 {
		s := l.idle[n-1]
		l.idle = l.idle[:n-1]
		return s
	}
	if l.made == maxFetches {
		return nil
	}
	l.made++
	return &slot{}
}

// fetchSlot returns memory to which no copy writes, or nil if the limit is reached.
func (d *Device) fetchSlot() (*slot, error) {
	s := d.fetches.take()
	if s == nil {
		return nil, nil
	}
	if err := d.ready(s, maxFetch, eventOrder); err != nil {
		d.fetches.put(s)
		return nil, err
	}
	return s, nil
}

// Wait waits until the bytes have arrived, or ctx ends, and returns them. They are valid
// until Free, or until the hostCopy is dropped; after Free the error is ErrFreed.
func (f *hostCopy) Wait(ctx context.Context) ([]byte, error) {
	if f == nil || f.dev == nil {
		return nil, errNoFetch
	}
	if ctx == nil {
		return nil, errNoContext
	}
	f.mu.Lock()
	s, done := f.slot, f.done
	f.mu.Unlock()
	switch {
	case done:
		return nil, ErrFreed
	case s == nil:
		return f.data, ctx.Err()
	}
	if err := f.dev.await(ctx, s, f.posted); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.done { // freed during the wait
		return nil, ErrFreed
	}
	s.busy, s.posted = false, posted{}
	return f.data, nil
}

// Free releases the memory, even if the copy is still in progress. Freeing twice, or
// freeing nil, does nothing.
func (f *hostCopy) Free() {
	if f == nil {
		return
	}
	f.mu.Lock()
	s := f.slot
	f.slot, f.done = nil, true
	f.mu.Unlock()
	if s != nil {
		f.cleanup.Stop()
		f.dev.fetches.put(s)
	}
}
