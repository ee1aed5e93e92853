package unified

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"unsafe"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/deviceapi"
)

// Options are the options of a Buffer.
type Options struct {
	// Pinned allocates the host's side in memory that a GPU reads and writes at the full
	// speed of the bus. The system has little of it, and allocating it takes long. On the
	// CPU it is ordinary memory.
	Pinned bool
}

// Buffer is n elements with a side on the host and one on a device. It is safe for use by
// many goroutines: one mutex is held during every call, callbacks included, so that the
// calls run one after another. The arrays that Device returned are used without it.
//
// A call in a callback of the same Buffer is ErrInCallback, except for State, Transfers and
// Len. A callback must not wait for another goroutine that uses the Buffer. Callbacks of two
// Buffers, one within the other, are safe if all goroutines nest them in one order.
type Buffer[T gpk.Elem] struct {
	lock lock
	dev  *device.Device
	n    int

	// Guarded by lock.
	host     []T
	unpin    func() // releases the host's side; nil for memory of Go's heap
	cleanup  runtime.Cleanup
	arr      *gpk.Array    // the device's side; nil until the first call of Device
	version  array.Version // version of arr when state was set
	state    State
	up, down int
	closed   bool
}

// The errors that errors.Is finds.
var (
	// ErrClosed is the error of using a Buffer after Close. It is gpk.ErrFreed too.
	ErrClosed = fmt.Errorf("%w: the unified buffer is closed", gpk.ErrFreed)
	// ErrInCallback is the error of using a Buffer in one of its own callbacks.
	ErrInCallback = errors.New("a unified buffer is used in a callback of its own; return from it first")
	// ErrConflict is the error of an array that was written after HostWrite and before
	// Device: each side has a change that the other lacks. Device(Write) resolves the
	// conflict.
	ErrConflict = errors.New("both sides of a unified buffer were written; call Device after HostWrite, before the array is written")
)

// New returns a Buffer of n elements, all zero, for device d; nil is the default device. A
// negative n is ErrShape. Memory of the device is allocated when Device is first called. On
// the CPU both sides are in the host's memory.
func New[T gpk.Elem](n int, d *device.Device, o Options) (*Buffer[T], error) {
	if d == nil {
		d = device.Default()
	}
	if err := d.Err(); err != nil {
		return nil, fmt.Errorf("unified.New: %w", err)
	}
	var zero T
	size := int(unsafe.Sizeof(zero))
	if n < 0 || int64(n) > maxBytes/int64(size) {
		return nil, fmt.Errorf("unified.New: %w: %d elements; the number must not be negative", gpk.ErrShape, n)
	}
	b := &Buffer[T]{dev: d, n: n}
	if !o.Pinned {
		if err := deviceapi.HostRoom(int64(n) * int64(size)); err != nil {
			return nil, fmt.Errorf("unified.New: %w", err)
		}
		b.host = make([]T, n)
		return b, nil
	}
	bytes, unpin, err := d.AllocPinned(n * size)
	if err != nil {
		return nil, fmt.Errorf("unified.New: %d bytes of pinned memory: %w", n*size, err)
	}
	clear(bytes)
	b.host, b.unpin = unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(bytes))), n), unpin
	b.cleanup = runtime.AddCleanup(b, func(unpin func()) { unpin() }, unpin) // for a buffer that the program drops
	return b, nil
}

// maxBytes is the maximum number of bytes of a buffer, so that it fits an int.
const maxBytes = min(1<<46, math.MaxInt)

// Len returns the number of elements.
func (b *Buffer[T]) Len() int { return b.n }

// HostRead calls f with the elements, which f must not write. If the device's side is newer,
// it is downloaded first. The slice, and slices of it, must not be used after f has
// returned. HostRead returns the error of the download or of f.
func (b *Buffer[T]) HostRead(f func([]T) error) error {
	return b.onHost("HostRead", f, func() {})
}

// HostWrite calls f with the elements, which f may change. If the device's side is newer, it
// is downloaded first. The slice, and slices of it, must not be used after f has returned.
// Afterwards the host's side is the newer one, even if f fails. HostWrite returns the error
// of the download or of f.
func (b *Buffer[T]) HostWrite(f func([]T) error) error {
	return b.onHost("HostWrite", f, func() { b.state = Host })
}

// onHost calls f with the newest elements; written is called first.
func (b *Buffer[T]) onHost(name string, f func([]T) error, written func()) error {
	if f == nil {
		return fmt.Errorf("unified.%s: %w: a nil function", name, gpk.ErrUnsupported)
	}
	if err := b.begin(); err != nil {
		return fmt.Errorf("unified.%s: %w", name, err)
	}
	defer b.lock.leave()
	if err := b.toHost(); err != nil {
		return fmt.Errorf("unified.%s: %w", name, err)
	}
	written()
	return b.lock.during(func() error { return f(b.host) })
}

// Device returns the device's side: an array of n elements, which belongs to the Buffer and
// is freed with it. It is always the same array, unless the program frees it or its
// computation fails. If the host's side is newer and access is Read or ReadWrite, it is
// uploaded first.
//
// With Write and ReadWrite the device's side is the newer one from this call on; the program
// writes the array, with gpk.Into, AddInPlace or a graph. Later writes need no further call
// of Device while the device's side is the newer one or both sides are the same: at its next
// call the Buffer detects that the array, or a view of it, was written, whatever the access
// was. After HostWrite the array does not have the newest elements until the next call of
// Device; writing it before that is ErrConflict. Writes to the memory of the array through
// (*gpk.Array).Buffer are not detected: call Device(Write) before them.
func (b *Buffer[T]) Device(access Access) (*gpk.Array, error) {
	fail := func(err error) (*gpk.Array, error) {
		return nil, fmt.Errorf("unified.Device(%v): %w", access, err)
	}
	if access > ReadWrite {
		return fail(fmt.Errorf("%w: access is Read, Write or ReadWrite", gpk.ErrUnsupported))
	}
	if err := b.begin(); err != nil {
		return fail(err)
	}
	defer b.lock.leave()
	// With Write, a conflict does not matter, because the program writes the whole array.
	if err := b.seeWrites(); err != nil && access != Write {
		return fail(err)
	}
	if err := b.toDevice(access); err != nil {
		return fail(err)
	}
	if access != Read {
		b.state = Device
	}
	b.version = b.arr.Version()
	return b.arr, nil
}

// State returns which sides hold the contents. After Close it is Empty.
func (b *Buffer[T]) State() (s State) {
	b.look(func() {
		_ = b.seeWrites() // a conflict is reported to calls that need the contents
		s = b.state
	})
	return s
}

// Transfers returns the numbers of uploads and downloads so far. On the CPU both are 0: both
// sides are in the host's memory, and a copy between them does not count.
func (b *Buffer[T]) Transfers() (up, down int) {
	b.look(func() { up, down = b.up, b.down })
	return up, down
}

// Close frees both sides, including the array. Using the Buffer afterwards is ErrClosed;
// closing it again does nothing. In a callback of the Buffer, Close is ErrInCallback.
func (b *Buffer[T]) Close() error {
	if !b.lock.enter() {
		return fmt.Errorf("unified.Close: %w", ErrInCallback)
	}
	defer b.lock.leave()
	if b.closed {
		return nil
	}
	b.closed, b.state = true, Empty
	b.arr.Free()
	if b.unpin != nil {
		b.cleanup.Stop()
		b.unpin()
	}
	b.host, b.arr, b.unpin = nil, nil, nil
	return nil
}

// begin locks the mutex. If the buffer cannot be used, it returns the reason instead.
func (b *Buffer[T]) begin() error {
	if !b.lock.enter() {
		return ErrInCallback
	}
	if b.closed {
		b.lock.leave()
		return ErrClosed
	}
	return nil
}

// look calls f with the mutex held. It is also allowed in a callback.
func (b *Buffer[T]) look(f func()) {
	if b.lock.enter() {
		defer b.lock.leave()
	}
	f()
}
