// Package deviceapi has the functions of package device that only gpk's own packages
// call. Each is documented where it is defined, under the same name in lower case.
package deviceapi

import (
	"context"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/deferred"
	"github.com/gpk-go/gpk/internal/hook"
	"github.com/gpk-go/gpk/internal/submit"
)

// HostRoom returns ErrOutOfMemory if n bytes are more than the memory of the machine or
// of its container.
func HostRoom(n int64) error { return hostRoom(n) }

// BlockSize returns the size of the pool's block that serves n bytes.
func BlockSize(n int64) int64 { return blockSize(n) }

// AllocMapped is Device.Alloc for the CPU, with memory that the system maps.
func AllocMapped(d *device.Device, n int64) (*device.Buffer, error) { return allocMapped(d, n) }

// AllocExposed is Device.Alloc for the CPU, with memory that is safe to hand to code that
// does not keep the Buffer.
func AllocExposed(d *device.Device, n int64) (*device.Buffer, error) { return allocExposed(d, n) }

// Hold keeps the memory of a buffer from being released until release is called, even if Free was called
// before. release may be called once.
func Hold(b *device.Buffer) (release func()) { return hold(b) }

// Free is Buffer.Free without the part that may wait. For foreign memory it returns that part as a function,
// which must be called without holding a mutex; otherwise it returns nil.
func Free(b *device.Buffer) (handOver func()) { return free(b) }

// Exposable reports whether Buffer.Expose may be called: the memory is the buffer's own.
func Exposable(b *device.Buffer) bool { return exposable(b) }

// Fresh reports whether nothing has been written to the buffer yet, so that a failure of work on it destroys no
// contents.
func Fresh(b *device.Buffer) bool { return fresh(b) }

// CheckOnce starts a check of the buffer's contents, unless one with the same key was
// started for the same contents before and has not failed. start launches the check and
// returns its error. If nothing is started, the error is that of the earlier check, or nil
// if that has found nothing. key is comparable.
func CheckOnce(b *device.Buffer, key any, start func() (*deferred.Error, error)) (e *deferred.Error, started bool, err error) {
	return checkOnce(b, key, start)
}

// Closed reports whether the stream was closed.
func Closed(s *device.Stream) bool { return closed(s) }

// Call runs f, which may wait for the device, as a piece of work on s that uses the buffers, with the
// ordering of Device.Launch and without the device's mutex. f is given the driver's number of the
// stream.
func Call(d *device.Device, s *device.Stream, reads, writes []*device.Buffer, f func(stream uint64) error) error {
	return call(d, s, reads, writes, f)
}

// Queue returns the device's launch queue, or nil if it has none. Only device.Queued's Enqueue may write to it.
func Queue(d *device.Device) *submit.Queue { return queue(d) }

// Sequence returns the number of pieces of work that have been put on a stream of a GPU.
func Sequence(s *device.Stream) uint64 { return sequence(s) }

// WaitSequence waits until the first seq pieces of work on a stream are done, or until ctx ends.
func WaitSequence(ctx context.Context, s *device.Stream, seq uint64) error {
	return waitSequence(s, ctx, seq)
}

// Follow makes later work on s wait for the first seq pieces of work on another stream of its device.
func Follow(s, other *device.Stream, seq uint64) error { return follow(s, other, seq) }

// Collect runs a garbage collection and returns the buffers that it found dropped to the
// pool.
func Collect(d *device.Device) { collect(d) }

// NewEvents returns n events that are allocated together.
func NewEvents(d *device.Device, n int) ([]device.Event, error) { return newEvents(d, n) }

// CopyFromHostUntil is Device.CopyFromHost, followed by a recording of e unless it is nil.
func CopyFromHostUntil(d *device.Device, dst *device.Buffer, off int64, src []byte, s *device.Stream, e *device.Event) error {
	return copyFromHostUntil(d, dst, off, src, s, e)
}

// Fetch is a copy of a few bytes from a device to the host that may be in progress.
type Fetch struct {
	wait func(context.Context) ([]byte, error)
	free func()
}

// FetchUntil starts to copy n bytes of src at offset off, and then records e unless it is nil.
func FetchUntil(d *device.Device, src *device.Buffer, off int64, n int, s *device.Stream, e *device.Event) (*Fetch, error) {
	wait, free, err := fetchUntil(d, src, off, n, s, e)
	if err != nil {
		return nil, err
	}
	return &Fetch{wait, free}, nil
}

// Wait waits for the bytes, which are valid until Free, or until ctx ends.
func (f *Fetch) Wait(ctx context.Context) ([]byte, error) { return f.wait(ctx) }

// Free ends the Fetch.
func (f *Fetch) Free() { f.free() }

// CompileImage compiles for a compute capability (90 is 9.0) and returns a cubin. It
// needs the compiler but no GPU.
func CompileImage(sm int, code device.Code) ([]byte, error) { return compileImage(sm, code) }

// RuntimeCompiler returns the file and the version of NVRTC, or the reason why there is none.
func RuntimeCompiler() (path, version string, err error) { return runtimeCompiler() }

// Compilation is code that is being compiled.
type Compilation = interface {
	// Function returns the function without waiting. ready reports whether it is available, and err why it
	// never will be.
	Function() (f *device.Function, ready bool, err error)
	// Now waits for the function, or until ctx ends. Code that is still queued is compiled
	// here.
	Now(ctx context.Context) (*device.Function, error)
	// Again reports whether a function that could not be loaded, for example for lack of memory, should be
	// tried again.
	Again() bool
}

// CompileLater starts to compile a kernel in the background. The same code gives the same
// Compilation.
func CompileLater(d *device.Device, code device.Code) Compilation { return compileLater(d, code) }

// CompilerVersion returns the version of the compiler that serves the device, 13000 for
// 13.0.
func CompilerVersion(d *device.Device) (int, error) { return compilerVersion(d) }

// A Watch records the most bytes that a device's pool has in use and holds.
type Watch struct{ stop, held func() int64 }

// WatchWithin begins a Watch. Until Stop the pool returns idle blocks rather than hold more than `bytes` bytes
// beyond those that it holds now. 0 is no limit.
func WatchWithin(d *device.Device, bytes int64) *Watch {
	stop, held := watchWithin(d, bytes)
	return &Watch{stop, held}
}

// Stop ends the Watch and returns the largest number of bytes in use above its beginning.
func (w *Watch) Stop() int64 { return w.stop() }

// Held returns the largest number of bytes that the pool held above the beginning.
func (w *Watch) Held() int64 { return w.held() }

var (
	hostRoom          = hook.HostRoom.(func(int64) error)
	blockSize         = hook.BlockSize.(func(int64) int64)
	allocMapped       = hook.AllocMapped.(func(*device.Device, int64) (*device.Buffer, error))
	hold              = hook.Hold.(func(*device.Buffer) func())
	free              = hook.Free.(func(*device.Buffer) func())
	allocExposed      = hook.AllocExposed.(func(*device.Device, int64) (*device.Buffer, error))
	exposable         = hook.Exposable.(func(*device.Buffer) bool)
	fresh             = hook.Fresh.(func(*device.Buffer) bool)
	checkOnce         = hook.CheckOnce.(func(*device.Buffer, any, func() (*deferred.Error, error)) (*deferred.Error, bool, error))
	call              = hook.Call.(func(*device.Device, *device.Stream, []*device.Buffer, []*device.Buffer, func(uint64) error) error)
	queue             = hook.Queue.(func(*device.Device) *submit.Queue)
	sequence          = hook.Sequence.(func(*device.Stream) uint64)
	waitSequence      = hook.WaitSequence.(func(*device.Stream, context.Context, uint64) error)
	follow            = hook.Follow.(func(*device.Stream, *device.Stream, uint64) error)
	closed            = hook.Closed.(func(*device.Stream) bool)
	collect           = hook.Collect.(func(*device.Device))
	newEvents         = hook.NewEvents.(func(*device.Device, int) ([]device.Event, error))
	copyFromHostUntil = hook.CopyFromHostUntil.(func(*device.Device, *device.Buffer, int64, []byte, *device.Stream, *device.Event) error)
	fetchUntil        = hook.FetchUntil.(func(*device.Device, *device.Buffer, int64, int, *device.Stream, *device.Event) (func(context.Context) ([]byte, error), func(), error))
	compileImage      = hook.CompileImage.(func(int, device.Code) ([]byte, error))
	runtimeCompiler   = hook.RuntimeCompiler.(func() (string, string, error))
	compileLater      = hook.CompileLater.(func(*device.Device, device.Code) Compilation)
	compilerVersion   = hook.CompilerVersion.(func(*device.Device) (int, error))
	watchWithin       = hook.WatchWithin.(func(*device.Device, int64) (stop, held func() int64))
)
