package device

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/internal/deferred"
)

// Device is one device: its memory, its streams, and the order of the work on
// them. It is safe for use by many goroutines and lives as long as the program.
type Device struct {
	name    string
	info    Info
	caps    Capabilities
	err     error // the reason why the device cannot be used
	backend backend
	library *cutlass.Library
	pinned  *ranges
	stager  *stager
	fetches fetches
	codes   *codes
	main    *Stream // the default stream

	dropped   reclaimer
	collector *collector
	unmapping atomic.Bool  // a background goroutine is unmapping idle blocks
	tracers   atomic.Int32 // active calls of TraceAllocations

	mu         sync.Mutex // guards the following fields and the state of streams and allocations
	pool       pool
	live       allocations
	streams    []*Stream
	lastStream uint64                         // the id of the newest stream
	left       sync.Cond                      // signalled when a stream's last waiter leaves
	unresolved []weak.Pointer[deferred.Error] // errors that nobody has waited for yet
	events     []uint64                       // freed timing events
	submission submission
	asked      answer
	refuse     func() error // set by failLaunches; nil: none
}

// newDevice makes a working device with a memory limit in bytes (0: all its memory). If it
// fails, it closes b.
func newDevice(info Info, b backend, lib *cutlass.Library, pinned *ranges, c *collector, limit int64) (*Device, error) {
	d := &Device{name: info.label(), info: info, caps: info.capabilities(), backend: b, library: lib, pinned: pinned, collector: c}
	d.left.L = &d.mu
	d.stager = newStager(d)
	d.codes = &codes{dev: d, folder: kernelCache()}
	d.pool.init(info, limit)
	d.initSubmission()
	var err error
	if d.main, err = d.NewStream(); err != nil {
		b.close()
		return nil, err
	}
	return d, nil
}

// brokenDevice makes a device whose methods all return err.
func brokenDevice(name string, err error) *Device {
	d := &Device{name: name, info: Info{Name: "unusable"}, err: err}
	d.main = &Stream{dev: d}
	return d
}

// String returns the device's name, as Open accepts it.
func (d *Device) String() string {
	if d == nil {
		return "no device"
	}
	return d.name
}

// Err returns the reason why the device cannot be used, or nil.
func (d *Device) Err() error {
	if d == nil || d.err == nil && d.backend == nil {
		return errNoDevice
	}
	return d.err
}

// Info describes the device.
func (d *Device) Info() Info {
	if d == nil {
		return Info{}
	}
	return d.info
}

// Kind returns Info().Kind.
func (d *Device) Kind() Kind {
	if d == nil {
		return CPU
	}
	return d.info.Kind
}

// Capabilities returns the features that kernels can use; the zero value for the CPU.
func (d *Device) Capabilities() Capabilities {
	if d == nil {
		return Capabilities{}
	}
	return d.caps
}

// Library returns the kernels of a GPU; nil for the CPU.
func (d *Device) Library() *cutlass.Library {
	if d == nil {
		return nil
	}
	return d.library
}

// DefaultStream returns the stream for work that names no other.
func (d *Device) DefaultStream() *Stream {
	if d == nil {
		return nil
	}
	return d.main
}

// Memory returns the free and the total bytes that the device reports for all programs.
// Memory that the pool keeps is not free.
func (d *Device) Memory() (free, total int64, err error) {
	if err := d.Err(); err != nil {
		return 0, 0, err
	}
	d.drain()
	return d.backend.memory()
}

// Synchronize waits for all work that was started on any stream of the device, or until ctx
// ends. It does not wait for streams that are being captured. It returns the first error of
// this work that has not been returned yet.
func (d *Device) Synchronize(ctx context.Context) error {
	if err := d.Err(); err != nil {
		return err
	}
	if ctx == nil {
		return errNoContext
	}
	d.mu.Lock()
	streams := slices.Clone(d.streams)
	d.mu.Unlock()
	for _, s := range streams {
		if err := d.waitFor(ctx, s); err != nil {
			return err
		}
	}
	if err := d.resolveAll(); err != nil {
		return err
	}
	return d.spoken()
}

// own returns s, or the default stream if s is nil. It returns an error if that stream
// accepts no work.
func (d *Device) own(s *Stream) (*Stream, error) {
	switch err := d.Err(); {
	case err != nil:
		return nil, err
	case s == nil:
		return d.main, nil
	case s.dev != d:
		return nil, errorf("a stream of %v cannot be used on %v", s.dev, d)
	}
	return s, nil
}
