package device

import (
	"context"
	"runtime"
	"time"
)

// Event marks a point in a stream's work. Other streams can wait for it, and two events
// measure the time between them.
type Event struct {
	dev    *Device
	handle uint64
	among  *siblings
	number int // index in among

	// Guarded by dev.mu.
	recorded bool
	records  uint64   // number of recordings
	on       use      // the work that precedes it
	capture  *capture // the capture in which it was recorded
	waiters  int      // calls that wait for the handle without holding the mutex, and keep it valid
}

// moment is one recording of an event. The next recording replaces it.
type moment struct {
	event   *Event // nil: none
	records uint64 // the event's records at that time
}

// stands reports whether the event still represents that recording: it was neither freed
// nor recorded again. The device's mutex is held.
func (m moment) stands() bool {
	return m.event != nil && m.event.handle != 0 && m.event.records == m.records
}

// siblings holds the handles of events that were made together. The garbage collector frees
// them together. Guarded by the device's mutex while the events are reachable.
type siblings struct {
	dev     *Device
	handles []uint64 // 0: freed
	live    int
	cleanup runtime.Cleanup
}

// NewEvent makes an event that measures time. It is returned to the driver when the program
// drops it.
func (d *Device) NewEvent() (*Event, error) {
	list, err := d.newEvents(1)
	if err != nil {
		return nil, err
	}
	return &list[0], nil
}

// maxEvents is the maximum number of events that are made together.
const maxEvents = 1 << 16

// newEvents makes n events, 65,536 at most, at little more than the cost of one. Each can
// be freed separately. Dropped events are returned to the driver when all n are
// unreachable.
func (d *Device) newEvents(n int) ([]Event, error) {
	if err := d.Err(); err != nil {
		return nil, err
	}
	if n < 0 || n > maxEvents {
		return nil, errorf("cannot make %d events at once", n)
	}
	if n == 0 {
		return nil, nil
	}
	g := &siblings{dev: d, handles: make([]uint64, n), live: n}
	d.idleEvents(g.handles)
	for i, h := range g.handles {
		if h != 0 {
			continue
		}
		var err error
		if g.handles[i], err = d.backend.newEvent(eventTiming); err != nil {
			g.drop()
			return nil, err
		}
	}
	list := make([]Event, n)
	for i := range list {
		list[i] = Event{dev: d, handle: g.handles[i], among: g, number: i}
	}
	g.cleanup = runtime.AddCleanup(&list[0], (*siblings).drop, g)
	return list, nil
}

// drop is the cleanup of events. It returns the events that were not freed to the driver.
func (g *siblings) drop() {
	for _, h := range g.handles {
		if h != 0 {
			g.dev.dropped.pushEvent(h)
		}
	}
}

// maxIdleEvents is the number of freed events that are kept for NewEvent. The driver takes
// one to two microseconds to make one.
const maxIdleEvents = 64

// idleEvents fills handles with freed events until either list ends.
func (d *Device) idleEvents(handles []uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range handles {
		n := len(d.events)
		if n == 0 {
			return
		}
		handles[i], d.events = d.events[n-1], d.events[:n-1]
	}
}

// owner returns the event's device, or the reason why the event cannot be used.
func (e *Event) owner() (*Device, error) {
	if e == nil || e.dev == nil {
		return nil, errNoEvent
	}
	return e.dev, e.dev.Err()
}

// Free returns e to the device for reuse by NewEvent. e must not be used afterwards.
// Freeing twice, or freeing nil, does nothing.
func (e *Event) Free() {
	d, err := e.owner()
	if err != nil {
		return
	}
	defer runtime.KeepAlive(e)
	d.mu.Lock()
	defer d.mu.Unlock()
	h := e.handle
	if h == 0 {
		return
	}
	e.handle, e.recorded = 0, false
	e.records++ // invalidates earlier moments
	e.among.handles[e.number] = 0
	if e.among.live--; e.among.live == 0 {
		e.among.cleanup.Stop()
	}
	if e.waiters == 0 {
		e.giveBack(h)
	}
}

// giveBack keeps the handle of a freed event for reuse, or closes it; dev.mu is held.
func (e *Event) giveBack(h uint64) {
	d := e.dev
	if e.capture == nil && len(d.events) < maxIdleEvents {
		d.events = append(d.events, h)
		return
	}
	_ = d.backend.closeEvent(h) // fails only if the driver is gone
}

// leave ends a wait for the event's handle h, and releases the handle if the event was
// freed meanwhile; dev.mu is held.
func (e *Event) leave(h uint64) {
	if e.waiters--; e.waiters == 0 && e.handle == 0 {
		e.giveBack(h)
	}
}

func (e *Event) check(d *Device) error {
	switch {
	case d.Err() != nil:
		return d.Err()
	case e == nil || e.dev != d:
		return errorf("the event is nil or of another device than %v", d)
	case e.handle == 0:
		return errorf("the event of %v was freed", d)
	}
	return nil
}

// Synchronize waits until the work before e is done, or ctx ends. It does not wait for an
// event that was never recorded.
func (e *Event) Synchronize(ctx context.Context) error {
	d, err := e.owner()
	if err != nil {
		return err
	}
	if ctx == nil {
		return errNoContext
	}
	d.mu.Lock()
	if !e.recorded || e.capture != nil {
		d.mu.Unlock()
		return ctx.Err()
	}
	h, m := e.handle, moment{e, e.records}
	e.waiters++
	d.mu.Unlock()

	err = d.syncEvent(ctx, h)

	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil && m.stands() { // otherwise the wait was for another recording
		e.on.complete()
	}
	e.leave(h)
	return err
}

// syncEvent waits for a driver's event until ctx ends.
func (d *Device) syncEvent(ctx context.Context, event uint64) error {
	if ctx.Done() == nil {
		return d.backend.syncEvent(event)
	}
	return d.pollEvent(ctx, event)
}

// mark registers that e was recorded on s; dev.mu is held.
func (e *Event) mark(s *Stream) {
	e.recorded, e.capture, e.on = true, s.capture, use{s, s.seq}
	e.records++
}

// complete registers that the work, and all before it on its stream, is done; the device's
// mutex is held.
func (u use) complete() {
	if u.stream != nil {
		u.stream.done = max(u.stream.done, u.seq)
	}
}

// over reports whether the work is known to be done; the device's mutex is held.
func (u use) over() bool {
	return u.stream != nil && u.seq <= u.stream.done // the work of a closed stream may have failed
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
		return 0, errorf("Elapsed: both events must have been recorded outside a capture")
	}
	defer runtime.KeepAlive(since)
	defer runtime.KeepAlive(e)
	if t, err := d.backend.elapsed(since.handle, e.handle); err == nil { // both have completed
		return t, nil
	}
	for _, x := range []*Event{since, e} {
		if err := d.backend.syncEvent(x.handle); err != nil {
			return 0, err
		}
	}
	return d.backend.elapsed(since.handle, e.handle)
}
