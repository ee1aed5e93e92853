package device

import (
	"sync"
	"sync/atomic"
	"time"
)

// Observer is notified of work, buffers and graphs of the devices; package internal/observe
// registers one. Its methods are called by many goroutines at once, sometimes with a
// device's lock held. A method must not call functions of this package, except
// Device.String and Stream's ID and Device.
type Observer interface {
	// BeginWork and EndWork bracket the call that starts a piece of work, in its goroutine.
	// Work that a stream records for a graph has no EndWork.
	BeginWork(m *Measurement)
	EndWork(m *Measurement)
	// Allocated and Freed report buffers of the pool.
	Allocated(b BufferUse)
	Freed(b BufferUse)
	// Captured reports that a sequence was recorded as a graph.
	Captured(d *Device)
	// KernelCompiled reports the duration of a compilation.
	KernelCompiled(d *Device, took time.Duration)
}

// BufferUse is a buffer that was allocated or freed, and the state of the pool afterwards.
type BufferUse struct {
	Device *Device
	ID     uint64 // unique on the device
	Bytes  int64  // size of its block
	InUse  int64  // PoolStats.InUse
	Held   int64  // PoolStats.InUse and Cached
}

// observerSession notifies an Observer until Stop.
type observerSession struct {
	observer Observer

	mu      sync.Mutex
	stopped bool
	timings map[*Device]*timing
}

// observation is the active session, or nil.
var observation atomic.Pointer[observerSession]

// observe starts to notify o of events on all devices. A second observe before Stop is an
// error.
func observe(o Observer) (*observerSession, error) {
	if o == nil {
		return nil, errorf("the Observer is nil")
	}
	x := &observerSession{observer: o, timings: map[*Device]*timing{}}
	if !observation.CompareAndSwap(nil, x) {
		return nil, errorf("the devices have an Observer already")
	}
	return x, nil
}

// observed reports whether there is an Observer. It costs one load.
func observed() bool { return observation.Load() != nil }

// Stop ends the session: it waits for the measured work, fills in the measurements, and
// releases the events. Calls in progress may still reach the observer. A second Stop does
// nothing.
func (x *observerSession) Stop() {
	if x == nil || !observation.CompareAndSwap(x, nil) {
		return
	}
	x.mu.Lock()
	x.stopped = true
	list := x.timings
	x.mu.Unlock()
	for _, t := range list {
		t.stop()
	}
}

// timing returns the timing of a GPU, or nil if the session has ended.
func (x *observerSession) timing(d *Device) *timing {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.stopped {
		return nil
	}
	t := x.timings[d]
	if t == nil {
		t = newTiming(d)
		x.timings[d] = t
	}
	return t
}

// compiled reports a compilation that began at since.
func (d *Device) compiled(since time.Time) {
	if x := observation.Load(); x != nil {
		x.observer.KernelCompiled(d, time.Since(since))
	}
}

// captured reports a new graph.
func (d *Device) captured() {
	if x := observation.Load(); x != nil {
		x.observer.Captured(d)
	}
}

// allocated reports a new buffer with the given block size; mu is held.
func (d *Device) allocated(a *allocation, bytes int64) {
	if x := observation.Load(); x != nil {
		x.observer.Allocated(d.bufferUse(a, bytes))
	}
}

// freed reports that a buffer was freed; mu is held.
func (d *Device) freed(a *allocation, bytes int64) {
	if x := observation.Load(); x != nil {
		x.observer.Freed(d.bufferUse(a, bytes))
	}
}

func (d *Device) bufferUse(a *allocation, bytes int64) BufferUse {
	s := &d.pool.stats
	return BufferUse{d, a.id, bytes, s.InUse, s.InUse + s.Cached}
}
