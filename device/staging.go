package device

import (
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// The staging memory: a GPU reads the memory of Go through pinned slots, which
// goroutines fill while the GPU empties others. One core copies 6 to 10 GB/s, the
// bus moves 55: hence several. Together at most 32.5 MiB a device, made when
// first used.
const (
	largeSlot  = 4 << 20
	largeSlots = 8
	smallSlot  = 64 << 10
	smallSlots = 8
)

// slot is a piece of staging memory.
type slot struct {
	p     unsafe.Pointer // nil: not made yet
	event uint64         // when the GPU is done with it
	busy  bool           // the GPU may not be done with it
}

// stager is the slots of a device, the least recently used first.
type stager struct {
	backend      backend
	small, large chan *slot
}

func newStager(b backend) *stager {
	st := &stager{backend: b, small: make(chan *slot, smallSlots), large: make(chan *slot, largeSlots)}
	for range smallSlots {
		st.small <- &slot{}
	}
	for range largeSlots {
		st.large <- &slot{}
	}
	return st
}

// with waits for a slot that holds n bytes and is free, and calls f with it.
// The GPU may be at work on it when f returns, up to its event.
func (st *stager) with(n int64, f func(*slot) error) error {
	slots, size, kind := st.large, largeSlot, eventBlocking
	if n <= smallSlot {
		slots, size, kind = st.small, smallSlot, eventOrder
	}
	s := <-slots
	defer func() { slots <- s }()
	if s.event == 0 {
		e, err := st.backend.newEvent(kind)
		if err != nil {
			return err
		}
		s.event = e
	}
	if s.p == nil {
		p, err := st.backend.allocHost(size)
		if err != nil {
			return err
		}
		s.p = p
	}
	if s.busy {
		if err := st.backend.syncEvent(s.event); err != nil {
			return err
		}
		s.busy = false
	}
	return f(s)
}

// copyIn copies src to the device. src is no longer needed when it returns;
// what follows on the stream finds the bytes there.
func (st *stager) copyIn(m memory, off int64, src []byte, stream uint64) error {
	return pieces(src, func(at int64, piece []byte) error {
		return st.with(int64(len(piece)), func(s *slot) error {
			copy(unsafe.Slice((*byte)(s.p), len(piece)), piece)
			s.busy = true
			return st.backend.copyIn(m, off+at, s.p, int64(len(piece)), stream, s.event)
		})
	})
}

// copyOut copies from the device to dst and waits for it.
func (st *stager) copyOut(dst []byte, m memory, off int64, stream uint64) error {
	return pieces(dst, func(at int64, piece []byte) error {
		return st.with(int64(len(piece)), func(s *slot) error {
			s.busy = true
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

// pieces cuts b so that a few goroutines can share it, and returns when f was
// called with every piece, or with the first error.
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
				next.Store(count) // no more
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
