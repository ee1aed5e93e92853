package device

import (
	"context"
	"runtime"
	"time"
)

// Event is a moment on a stream: others can wait for it, and two of them tell
// the time between.
type Event struct {
	dev     *Device
	handle  uint64
	cleanup runtime.Cleanup

	// Guarded by dev.mu.
	recorded bool
	capture  *capture // the sequence that it was recorded in
}

// NewEvent makes an event that tells the time. It goes back to the driver
// when the program drops it.
func (d *Device) NewEvent() (*Event, error) {
	if err := d.Err(); err != nil {
		return nil, err
	}
	h := d.idleEvent()
	if h == 0 {
		var err error
		if h, err = d.backend.newEvent(eventTiming); err != nil {
			return nil, err
		}
	}
	e := &Event{dev: d, handle: h}
	e.cleanup = runtime.AddCleanup(e, d.dropped.pushEvent, h)
	return e, nil
}

// mostIdleEvents is how many events are kept for NewEvent, which the driver makes in
// one to two microseconds.
const mostIdleEvents = 64

// idleEvent returns an event that was freed, or 0.
func (d *Device) idleEvent() (handle uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := len(d.events); n > 0 {
		handle, d.events = d.events[n-1], d.events[:n-1]
	}
	return handle
}

// owner returns the event's device, or why nothing can be done with the event.
func (e *Event) owner() (*Device, error) {
	if e == nil || e.dev == nil {
		return nil, errNoEvent
	}
	return e.dev, e.dev.Err()
}

// Free gives e back for the next NewEvent. It must not be used after; freeing it
// again, or nil, does nothing.
func (e *Event) Free() {
	d, err := e.owner()
	if err != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	h := e.handle
	if h == 0 {
		return
	}
	e.handle, e.recorded = 0, false
	e.cleanup.Stop()
	if e.capture == nil && len(d.events) < mostIdleEvents {
		d.events = append(d.events, h)
		return
	}
	_ = d.backend.closeEvent(h) // fails only where the driver is gone
}

func (e *Event) check(d *Device) error {
	switch {
	case d.Err() != nil:
		return d.Err()
	case e == nil || e.dev != d:
		return errorf("no event, or one of another device, used on %v", d)
	case e.handle == 0:
		return errorf("an event of %v that was freed", d)
	}
	return nil
}

// Synchronize waits until the work before e is done, or ctx ends. An event that
// was not recorded has nothing to wait for.
func (e *Event) Synchronize(ctx context.Context) error {
	d, err := e.owner()
	if err != nil {
		return err
	}
	if ctx == nil {
		return errNoContext
	}
	d.mu.Lock()
	ready := !e.recorded || e.capture != nil
	d.mu.Unlock()
	if ready {
		return ctx.Err()
	}
	defer runtime.KeepAlive(e)
	if ctx.Done() == nil {
		return d.backend.syncEvent(e.handle)
	}
	return d.pollEvent(ctx, e.handle)
}

// Elapsed waits for both events and returns the time from since to e.
func (e *Event) Elapsed(since *Event) (time.Duration, error) {
	d, err := e.owner()
	if err != nil {
		return 0, err
	}
	if err := since.check(d); err != nil {
		return 0, err
	}
	d.mu.Lock()
	ready := e.recorded && since.recorded && e.capture == nil && since.capture == nil
	d.mu.Unlock()
	if !ready {
		return 0, errorf("the time between events that were not both recorded, outside a capture")
	}
	defer runtime.KeepAlive(since)
	defer runtime.KeepAlive(e)
	if t, err := d.backend.elapsed(since.handle, e.handle); err == nil { // both are over
		return t, nil
	}
	for _, x := range []*Event{since, e} {
		if err := d.backend.syncEvent(x.handle); err != nil {
			return 0, err
		}
	}
	return d.backend.elapsed(since.handle, e.handle)
}
