package device

import (
	"fmt"
	"sync"
	"time"
	"unsafe"
)

// hostBackend is the CPU as a device: memory of the system or of Go, and streams on which
// every call runs to completion. The zero value is ready for use.
type hostBackend struct {
	mu     sync.Mutex
	last   uint64 // handle
	events map[uint64]time.Time
}

// hostAlign is the alignment of every allocation: a cache line, and the widest vector
// register.
const hostAlign = 64

// largePages is the size from which memory is requested in large pages, as in NumPy, if the
// system provides them on request.
const largePages = 4 << 20

// mapFrom is the size from which a block comes from the system and not from Go's heap. Go's
// collector counts every block in its heap, including idle ones, waits for the heap to
// double before it runs by itself, and returns the pages of a block that the pool still
// wants. For a smaller block the heap costs less than a mapping.
const mapFrom = 256 << 10

func (*hostBackend) close() {}

// hostRoom returns ErrOutOfMemory if n bytes exceed the machine's memory or its container's
// limit. Go terminates a program that requests more memory than exists, so sizes that come
// from a caller are checked before memory in Go's heap is allocated.
func hostRoom(n int64) error {
	if n >= 0 && n < largeRequest {
		return nil
	}
	_, total := hostMemory()
	if total == 0 {
		total = maxHost
	}
	if n < 0 || n > total {
		return fmt.Errorf("%w: %d bytes of host memory; the machine has %d", ErrOutOfMemory, n, total)
	}
	return nil
}

const (
	largeRequest = 64 << 20 // smaller requests are not checked
	maxHost      = 1 << 46  // the largest Go allocation; the limit if the system does not report its memory
)

func (*hostBackend) memory() (free, total int64, err error) {
	free, total = hostMemory()
	return free, total, nil
}

func (*hostBackend) alloc(n int64) (memory, error) {
	if canMap && n >= mapFrom {
		return mapMemory(n)
	}
	return heapMemory(n)
}

// free unmaps system memory, and leaves memory of Go's heap to the collector.
func (*hostBackend) free(m memory) error {
	if m.mapped == 0 {
		return nil
	}
	return unmapMemory(m)
}

// heapMemory returns memory of Go's heap. The pointer in it keeps it alive.
func heapMemory(n int64) (m memory, err error) {
	defer func() {
		if recover() != nil { // exceeds the address space
			err = fmt.Errorf("%w: %d bytes of host memory", ErrOutOfMemory, n)
		}
	}()
	b := make([]byte, n+hostAlign-1)
	if n >= largePages {
		adviseLargePages(b)
	}
	p := unsafe.Pointer(unsafe.SliceData(b))
	p = unsafe.Add(p, -uintptr(p)&(hostAlign-1))
	return memory{addr: uint64(uintptr(p)), host: p}, nil
}

// allocHost returns memory of Go's heap, because a caller may use the slice after freeing
// it.
func (*hostBackend) allocHost(n int) (unsafe.Pointer, error) {
	m, err := heapMemory(int64(n))
	return m.host, err
}

func (*hostBackend) freeHost(unsafe.Pointer) error { return nil }

func (h *hostBackend) handle() uint64 {
	h.last++
	return h.last
}

func (h *hostBackend) newStream() (uint64, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.handle(), nil
}

func (*hostBackend) closeStream(uint64) error { return nil }
func (*hostBackend) syncStream(uint64) error  { return nil }

func (h *hostBackend) newEvent(eventKind) (uint64, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.events == nil {
		h.events = map[uint64]time.Time{}
	}
	e := h.handle()
	h.events[e] = time.Time{}
	return e, nil
}

func (h *hostBackend) closeEvent(event uint64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.events, event)
	return nil
}

func (h *hostBackend) record(event, _ uint64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events[event] = time.Now()
	return nil
}

func (*hostBackend) wait(uint64, uint64) error      { return nil }
func (*hostBackend) eventDone(uint64) (bool, error) { return true, nil }
func (*hostBackend) syncEvent(uint64) error         { return nil }

func (h *hostBackend) elapsed(start, end uint64) (time.Duration, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.events[end].Sub(h.events[start]), nil
}

func part(p unsafe.Pointer, off, n int64) []byte { return unsafe.Slice((*byte)(unsafe.Add(p, off)), n) }

func (h *hostBackend) copyIn(m memory, off int64, src unsafe.Pointer, n int64, stream, event uint64) error {
	copy(part(m.host, off, n), part(src, 0, n))
	return h.behind(event, stream)
}

func (h *hostBackend) copyOut(dst unsafe.Pointer, m memory, off, n int64, stream, event uint64) error {
	copy(part(dst, 0, n), part(m.host, off, n))
	return h.behind(event, stream)
}

// behind records an event unless it is 0.
func (h *hostBackend) behind(event, stream uint64) error {
	if event == 0 {
		return nil
	}
	return h.record(event, stream)
}

func (h *hostBackend) syncCopyOut(dst unsafe.Pointer, m memory, off, n int64, stream uint64) error {
	return h.copyOut(dst, m, off, n, stream, 0)
}

func (*hostBackend) copyWithin(dst memory, dstOff int64, src memory, srcOff, n int64, _ uint64) error {
	copy(part(dst.host, dstOff, n), part(src.host, srcOff, n))
	return nil
}

func (h *hostBackend) copyPeer(dst memory, dstOff int64, _ backend, src memory, srcOff, n int64, stream uint64) error {
	return h.copyWithin(dst, dstOff, src, srcOff, n, stream)
}

// The device itself records and replays sequences on the CPU: see capture.steps.

func (*hostBackend) beginCapture(uint64) error         { return nil }
func (*hostBackend) endCapture(uint64) (uint64, error) { return 0, nil }
func (*hostBackend) newExec(uint64) (uint64, error)    { return 0, nil }
func (*hostBackend) updateExec(uint64, uint64) error   { return nil }
func (*hostBackend) launchExec(uint64, uint64) error   { return nil }
func (*hostBackend) closeExec(uint64) error            { return nil }
func (*hostBackend) closeGraph(uint64) error           { return nil }
