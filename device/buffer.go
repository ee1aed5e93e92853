package device

import (
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/gpk-go/gpk/internal/deferred"
)

// Buffer is a range of bytes on one device. Free releases it; a Buffer that becomes
// unreachable is released after a garbage collection.
type Buffer struct {
	a       *allocation
	cleanup runtime.Cleanup
}

// allocation is the state behind a Buffer. It outlives the Buffer until the memory is back
// in the pool.
type allocation struct {
	dev     *Device
	block   *block // nil for foreign memory and an empty buffer
	mem     memory
	size    int64
	release func() // releases foreign memory

	state deferred.State // state of the contents
	freed atomic.Bool
	// content is the lock between readers and writers of the contents on the CPU, where
	// work runs in the calling goroutine. Several allocations are locked in the order of
	// id.
	content sync.RWMutex
	touched atomic.Bool // on the CPU: work may have written the contents, or Ptr has given their address away
	id      uint64

	// Guarded by dev.mu.
	pins    int // calls in progress that use the memory without holding the mutex
	write   use
	reads   []use // one per stream, since the last write
	read1   [1]use
	capture *capture // the capture in which it was allocated
	exposed bool     // see Expose

	verified *verified // see CheckOnce; nil: nothing has been checked

	prev, next *allocation // neighbours in the list of live allocations
	dropped    *allocation // next in the list of dropped ones
}

// use identifies a piece of work: number seq on a stream.
type use struct {
	stream *Stream
	seq    uint64
}

// allocations is the list of a device's live allocations.
type allocations struct {
	first  *allocation
	lastID uint64
}

func (l *allocations) add(a *allocation) {
	l.lastID++
	a.id = l.lastID
	a.next = l.first
	if l.first != nil {
		l.first.prev = a
	}
	l.first = a
}

func (l *allocations) remove(a *allocation) {
	if a.prev != nil {
		a.prev.next = a.next
	} else {
		l.first = a.next
	}
	if a.next != nil {
		a.next.prev = a.prev
	}
	a.prev, a.next = nil, nil
}

func (d *Device) newBuffer(a *allocation) *Buffer {
	b := &Buffer{a: a}
	a.reads = a.read1[:0]
	d.mu.Lock()
	d.live.add(a)
	if a.block != nil {
		a.capture = a.block.home.capture
	}
	if a.block != nil && observed() {
		d.allocated(a, a.block.size)
	}
	d.mu.Unlock()
	b.cleanup = runtime.AddCleanup(b, dropAllocation, a)
	return b
}

// Wrap returns a buffer over n bytes of foreign memory at a device address. release (or
// nil) is called once, when the buffer has been freed or dropped and the work that uses it
// is done. The caller orders other libraries' work on the memory, by Stream.Wait or by
// using the same stream.
func Wrap(d *Device, addr uint64, n int64, release func()) (*Buffer, error) {
	if err := d.Err(); err != nil {
		return nil, err
	}
	if d.Kind() == CPU {
		return nil, errorf("Wrap needs a GPU; for host memory, use WrapHost")
	}
	return d.wrap(memory{addr: addr}, n, release)
}

// WrapHost is Wrap for n bytes of host memory at p and the CPU device d. The buffer keeps
// memory of Go's heap alive.
func WrapHost(d *Device, p unsafe.Pointer, n int64, release func()) (*Buffer, error) {
	if err := d.Err(); err != nil {
		return nil, err
	}
	if d.Kind() != CPU {
		return nil, errorf("WrapHost needs the CPU device, not %v", d)
	}
	return d.wrap(memory{addr: uint64(uintptr(p)), host: p}, n, release)
}

func (d *Device) wrap(m memory, n int64, release func()) (*Buffer, error) {
	if n < 0 || n > 0 && m.addr == 0 {
		return nil, errorf("cannot wrap %d bytes at address %#x", n, m.addr)
	}
	return d.newBuffer(&allocation{dev: d, mem: m, size: n, release: release}), nil
}

// none reports whether b is nil or a zero Buffer.
func (b *Buffer) none() bool { return b == nil || b.a == nil }

// Device returns the device that holds the bytes.
func (b *Buffer) Device() *Device {
	if b.none() {
		return nil
	}
	return b.a.dev
}

// Size returns the requested number of bytes.
func (b *Buffer) Size() int64 {
	if b.none() {
		return 0
	}
	return b.a.size
}

// Addr returns the address of the first byte on the device (on the CPU, in the host's
// memory), and 0 for an empty buffer.
func (b *Buffer) Addr() uint64 {
	if b.none() {
		return 0
	}
	return b.a.mem.addr
}

// Ptr returns the address of the first byte on the CPU device, and nil on other devices and
// for an empty buffer. It is valid as long as the Buffer is kept alive and not freed. After
// that the memory may be reused or unmapped, so that an access may crash the program. See
// Expose.
func (b *Buffer) Ptr() unsafe.Pointer {
	if b.none() || b.a.dev.info.Kind != CPU {
		return nil
	}
	b.a.touch()
	return b.a.mem.host
}

// touch records that the contents may have been written. It stores only after a load, so
// that goroutines that ask for the pointer do not move the cache line between their
// processors.
func (a *allocation) touch() {
	if !a.touched.Load() {
		a.touched.Store(true)
	}
}

// Err returns the error of the contents, or the known errors that they depend on.
func (b *Buffer) Err() error {
	if b.none() {
		return errNoBuffer
	}
	return b.a.state.Err()
}

// Freed reports whether Free was called.
func (b *Buffer) Freed() bool { return !b.none() && b.a.freed.Load() }

// Free releases the memory after the work on it that has been started. It does not wait,
// except for foreign memory: its owner must not reuse it while work uses it. Freeing twice,
// or freeing nil, does nothing.
func (b *Buffer) Free() {
	if handOver := b.free(); handOver != nil {
		handOver()
	}
}

// free is Free without the part that may wait. For foreign memory it returns that part as a
// function, otherwise nil. The function waits for the work on the memory and calls the
// owner's release, which may take locks or use the device, so the caller must hold no
// mutex.
func (b *Buffer) free() (handOver func()) {
	if b.none() {
		return nil
	}
	a := b.a
	d := a.dev
	d.mu.Lock()
	if a.freed.Load() {
		d.mu.Unlock()
		return nil
	}
	a.freed.Store(true)
	var g garbage
	if a.pins == 0 {
		d.giveBack(a, &g)
	}
	d.mu.Unlock()
	b.cleanup.Stop()
	runtime.KeepAlive(b)
	d.dispose(garbage{blocks: g.blocks})
	if g.foreign == nil {
		return nil
	}
	foreign := g.foreign // a copy: if the closure referred to g, g would be allocated in Go's heap at every call
	return func() { d.dispose(garbage{foreign: foreign}) }
}

// garbage is memory and handles to release after the mutex is unlocked.
type garbage struct {
	blocks  []*block
	foreign []*allocation
}

// giveBack moves a freed allocation's memory to the pool or to g; mu is held.
func (d *Device) giveBack(a *allocation, g *garbage) {
	d.live.remove(a)
	b := a.block
	switch {
	case b == nil && a.release != nil:
		g.foreign = append(g.foreign, a)
	case b == nil:
	case a.exposed:
		d.pool.abandon(b)
	case a.capture != nil && a.capture == b.home.capture:
		a.capture.put(a) // the graph under construction uses it
	default:
		if b.home.closed {
			b.home = d.main
		}
		b.uses = a.pending(b.uses[:0])
		g.blocks = append(g.blocks, d.pool.put(b)...)
	}
	if b != nil && observed() {
		d.freed(a, b.size)
	}
}

// pending appends the uses that are not ordered before the home stream's work.
func (a *allocation) pending(to []use) []use {
	home := a.block.home
	if u := a.write; home.behind(u) {
		to = append(to, u)
	}
	for _, u := range a.reads {
		if home.behind(u) {
			to = append(to, u)
		}
	}
	return to
}

// dispose releases what the pool does not keep. mu is not held.
func (d *Device) dispose(g garbage) {
	// A failure to free is not reported here: the stream is then broken, and its next
	// Synchronize returns the error.
	if d.info.Kind == CPU && totalSize(g.blocks) >= unmapBytes && d.unmapping.CompareAndSwap(false, true) {
		go func() {
			_ = d.freeBlocks(g.blocks)
			d.unmapping.Store(false)
		}()
	} else {
		_ = d.freeBlocks(g.blocks)
	}
	for _, a := range g.foreign {
		d.settle(a)
		a.release()
	}
}
