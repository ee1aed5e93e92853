package device

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// The staging memory: memory of Go is copied to a GPU through pinned slots. Goroutines fill
// slots while the GPU reads others. There are several slots because one core copies 6 to 10
// GB/s, and the bus moves 55 GB/s. All slots together are at most 32.5 MiB per device,
// allocated on first use.
const (
	largeSlot  = 4 << 20
	largeSlots = 8
	smallSlot  = 64 << 10
	smallSlots = 8
)

// slot is a piece of staging memory.
type slot struct {
	p      unsafe.Pointer // nil: not allocated yet
	event  uint64         // recorded after the GPU's last use
	busy   bool           // the GPU may still be using it
	marked bool           // event was recorded after the use in progress
	posted
}

// posted is a copy that was started without other work.
type posted struct {
	on    use    // the copy's work; zero if it is not a single piece
	until moment // a recording of another event right after the copy
}

// stager manages the slots of a device, the least recently used first.
type stager struct {
	dev          *Device
	backend      backend
	small, large chan *slot
}

func newStager(d *Device) *stager {
	st := &stager{dev: d, backend: d.backend, small: make(chan *slot, smallSlots), large: make(chan *slot, largeSlots)}
	for range smallSlots {
		st.small <- &slot{}
	}
	for range largeSlots {
		st.large <- &slot{}
	}
	return st
}

// with waits for a free slot that holds n bytes, and calls f with it. When f returns, the
// GPU may still use the slot, until its event.
func (st *stager) with(n int64, f func(*slot) error) error {
	slots, size, kind := st.large, largeSlot, eventBlocking
	if n <= smallSlot {
		slots, size, kind = st.small, smallSlot, eventOrder
	}
	s := <-slots
	defer func() { slots <- s }()
	if err := st.dev.ready(s, size, kind); err != nil {
		return err
	}
	return f(s)
}

// ready allocates the missing parts of a slot, and waits until the GPU no longer uses it.
func (d *Device) ready(s *slot, size int, kind eventKind) (err error) {
	if s.event == 0 {
		if s.event, err = d.backend.newEvent(kind); err != nil {
			return err
		}
	}
	if s.p == nil {
		if s.p, err = d.backend.allocHost(size); err != nil {
			return err
		}
	}
	if !s.busy {
		return nil
	}
	if err = d.await(context.Background(), s, s.posted); err == nil {
		s.busy, s.posted = false, posted{}
	}
	return err
}

// await waits until a copy from or to a slot is done, or ctx ends. p identifies the copy,
// because the slot may since have been reused, which happens only after the copy is done.
func (d *Device) await(ctx context.Context, s *slot, p posted) error {
	for {
		d.mu.Lock()
		w, err := d.end(s, p)
		d.mu.Unlock()
		if err != nil || w.event == 0 {
			return err
		}
		err = d.syncEvent(ctx, w.event)
		d.mu.Lock()
		over := err == nil
		switch {
		case w.until: // the wait may have been for a later recording
			over = over && p.until.stands()
			p.until.event.leave(w.event)
		case w.mark:
			if e := p.on.stream.leave(); err == nil {
				err = e
			}
		}
		if over {
			p.on.complete()
		}
		d.mu.Unlock()
		if over || err != nil {
			return err
		}
	}
}

// ending is the driver's event after a copy. It is kept while a call waits for it.
type ending struct {
	event uint64 // 0: the copy is known to be done
	until bool   // it is the event of p.until
	mark  bool   // it is the stream's mark
}

// end returns the event after a copy. If none was recorded, it records one, which covers
// all other work on the stream so far. dev.mu is held.
func (d *Device) end(s *slot, p posted) (ending, error) {
	on, until := p.on, p.until
	t := on.stream
	switch {
	case on.over():
		return ending{}, nil
	case s.marked:
	case until.stands():
		until.event.waiters++
		return ending{event: until.event.handle, until: true}, nil
	case t.closed: // the stream's work is not known to be done, and never will be
		return ending{}, t.failure
	case on.seq <= t.marked: // also during a capture, where a new event would become part of the sequence
		t.waiters++
		return ending{event: t.mark, mark: true}, nil
	default:
		if err := d.backend.record(s.event, t.handle); err != nil {
			return ending{}, err
		}
		s.marked = true
	}
	return ending{event: s.event}, nil
}

// send copies a few bytes to a device, and then records e unless it is nil.
func (st *stager) send(m *Measurement, dst *Buffer, off int64, src []byte, s *Stream, e *Event) error {
	s, err := st.dev.own(s)
	if err != nil {
		return err
	}
	err = st.with(int64(len(src)), func(slot *slot) error {
		copy(unsafe.Slice((*byte)(slot.p), len(src)), src)
		return st.dev.post(m, s, nil, []*Buffer{dst}, slot, e, func(event uint64) error {
			return st.backend.copyIn(dst.a.mem, off, slot.p, int64(len(src)), s.handle, event)
		})
	})
	runtime.KeepAlive(dst)
	return err
}

// copyIn copies src to the device. The caller may reuse src afterwards; later work on the
// stream sees the bytes.
func (st *stager) copyIn(m memory, off int64, src []byte, stream uint64) error {
	return pieces(src, func(at int64, piece []byte) error {
		return st.with(int64(len(piece)), func(s *slot) error {
			copy(unsafe.Slice((*byte)(s.p), len(piece)), piece)
			s.busy, s.posted, s.marked = true, posted{}, true
			return st.backend.copyIn(m, off+at, s.p, int64(len(piece)), stream, s.event)
		})
	})
}

// copyOut copies from the device to dst and waits for it.
func (st *stager) copyOut(dst []byte, m memory, off int64, stream uint64) error {
	return pieces(dst, func(at int64, piece []byte) error {
		return st.with(int64(len(piece)), func(s *slot) error {
			s.busy, s.posted, s.marked = true, posted{}, true
			if err := st.backend.copyOut(s.p, m, off+at, int64(len(piece)), stream, s.event); err != nil {
				return err
			}
			if err := st.backend.syncEvent(s.event); err != nil {
				return err
			}
			s.busy = false
			copy(piece, unsafe.Slice((*byte)(s.p), len(piece)))
			return nil
		})
	})
}

// pieces divides b among a few goroutines, and returns when f has been called with every
// piece, or with the first error.
func pieces(b []byte, f func(at int64, piece []byte) error) error {
	n := int64(len(b))
	if n <= smallSlot {
		return f(0, b)
	}
	workers := int64(min(runtime.GOMAXPROCS(0), largeSlots))
	const grain = 256 << 10
	size := min(largeSlot, ((n+workers-1)/workers+grain-1)/grain*grain)
	count := (n + size - 1) / size
	var (
		next  atomic.Int64
		mu    sync.Mutex
		first error
		group sync.WaitGroup
	)
	work := func() {
		for i := next.Add(1) - 1; i < count; i = next.Add(1) - 1 {
			if err := f(i*size, b[i*size:min((i+1)*size, n)]); err != nil {
				mu.Lock()
				if first == nil {
					first = err
				}
				mu.Unlock()
				next.Store(count) // ends the other goroutines
			}
		}
	}
	for range min(workers, count) - 1 {
		group.Go(work)
	}
	work()
	group.Wait()
	return first
}
