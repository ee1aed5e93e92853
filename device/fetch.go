package device

import (
	"context"
	"sync"
	"unsafe"
)

// mostFetch is how many bytes a Fetch brings without its maker's waiting.
const mostFetch = 16 << 10

// Fetch is a few bytes on their way from a device to the host.
type Fetch struct {
	dev  *Device
	slot *slot
	data []byte
	once sync.Once // Free
}

// fetches is the pinned memory that fetches use one after the other.
type fetches struct {
	mu   sync.Mutex
	idle []*slot
}

// Fetch starts to copy n bytes of src, off bytes from its beginning, in the order of s
// (nil: the default stream). Unlike CopyToHost it does not wait for them, unless they
// are more than 16 KiB. Free ends the Fetch.
func (d *Device) Fetch(src *Buffer, off int64, n int, s *Stream) (*Fetch, error) {
	if err := d.bounds(src, off, int64(n)); err != nil {
		return nil, err
	}
	f := &Fetch{dev: d}
	if d.info.Kind == CPU || n == 0 || n > mostFetch {
		f.data = make([]byte, n)
		return f, d.CopyToHost(f.data, src, off, s)
	}
	var err error
	if f.slot, err = d.fetchSlot(); err != nil {
		return nil, err
	}
	f.data = unsafe.Slice((*byte)(f.slot.p), mostFetch)[:n:n]
	err = d.transfer(s, []*Buffer{src}, nil, false, func(s *Stream) error {
		f.slot.busy = true
		return d.backend.copyOut(f.slot.p, src.a.mem, off, int64(n), s.handle, f.slot.event)
	})
	if err != nil {
		f.Free()
		return nil, err
	}
	return f, nil
}

// fetchSlot returns memory that no copy writes to.
func (d *Device) fetchSlot() (s *slot, err error) {
	l := &d.fetches
	l.mu.Lock()
	if n := len(l.idle); n > 0 {
		s, l.idle = l.idle[n-1], l.idle[:n-1]
	}
	l.mu.Unlock()
	keep := func(err error) (*slot, error) {
		l.mu.Lock()
		l.idle = append(l.idle, s)
		l.mu.Unlock()
		return nil, err
	}
	if s == nil {
		s = &slot{}
	}
	if s.event == 0 {
		if s.event, err = d.backend.newEvent(eventOrder); err != nil {
			return keep(err)
		}
	}
	if s.p == nil {
		if s.p, err = d.backend.allocHost(mostFetch); err != nil {
			return keep(err)
		}
	}
	if s.busy { // freed before the copy was over
		if err := d.backend.syncEvent(s.event); err != nil {
			return keep(err)
		}
		s.busy = false
	}
	return s, nil
}

// Wait waits until the bytes are there, or ctx ends, and returns them. They are valid
// until Free.
func (f *Fetch) Wait(ctx context.Context) ([]byte, error) {
	if f.slot == nil {
		return f.data, ctx.Err()
	}
	d := f.dev
	var err error
	if ctx.Done() == nil {
		err = d.backend.syncEvent(f.slot.event)
	} else {
		err = d.pollEvent(ctx, f.slot.event)
	}
	if err != nil {
		return nil, err
	}
	f.slot.busy = false
	return f.data, nil
}

// Free gives the memory back, also where the bytes are still on their way.
func (f *Fetch) Free() {
	f.once.Do(func() {
		if f.slot == nil {
			return
		}
		l := &f.dev.fetches
		l.mu.Lock()
		l.idle = append(l.idle, f.slot)
		l.mu.Unlock()
	})
}
