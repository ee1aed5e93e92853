package device

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"
)

// Stream is a queue of work on a device. It is safe for use by many
// goroutines. On the CPU, work is done when the call that starts it returns.
type Stream struct {
	dev     *Device
	handle  uint64
	id      uint64 // unique on the device, unlike handles, which the driver reuses
	foreign bool   // the handle belongs to another library

	// Guarded by dev.mu.
	seq     uint64             // pieces of work put on it
	done    uint64             // how many of these are known to be complete
	mark    uint64             // an event for other streams to wait for; 0: none yet
	marked  uint64             // the seq that mark covers
	passed  map[*Stream]uint64 // the seq of other streams that this one waits for already
	capture *capture           // what is being recorded instead of run
	closing bool               // accepts no more work; ended mirrors it
	closed  bool               // all of its work is done, or has failed
	failure error              // of the wait before closed
	exposed bool               // other libraries put work on it too: its launches bypass the queue
	waiters int                // calls that use the handle without the mutex, and keep it valid

	ended atomic.Bool
}

// NewStream makes a stream whose work runs beside that of other streams. Close
// it when it is no longer needed.
func (d *Device) NewStream() (*Stream, error) {
	if err := d.Err(); err != nil {
		return nil, err
	}
	h, err := d.backend.newStream()
	if err != nil {
		return nil, err
	}
	return d.addStream(&Stream{dev: d, handle: h}), nil
}

// WrapStream returns a stream over another library's handle (a CUstream),
// which must live until Close. Close does not destroy it. Work that others put
// on it is ordered with that of gpk only on this stream itself.
func (d *Device) WrapStream(handle uint64) (*Stream, error) {
	if err := d.Err(); err != nil {
		return nil, err
	}
	return d.addStream(&Stream{dev: d, handle: handle, foreign: true, exposed: true}), nil
}

func (d *Device) addStream(s *Stream) *Stream {
	d.mu.Lock()
	d.lastStream++
	s.id = d.lastStream
	d.streams = append(d.streams, s)
	d.mu.Unlock()
	return s
}

// Device returns the stream's device.
func (s *Stream) Device() *Device {
	if s == nil {
		return nil
	}
	return s.dev
}

// ID returns a number that no other stream of the device ever has; 0 for nil.
func (s *Stream) ID() uint64 {
	if s == nil {
		return 0
	}
	return s.id
}

// owner returns the stream's device, or why nothing can be done with the stream.
func (s *Stream) owner() (*Device, error) {
	if s == nil || s.dev == nil {
		return nil, errNoStream
	}
	return s.dev, s.dev.Err()
}

// Handle returns the driver's handle: a CUstream, or a number on the CPU. Work that other
// libraries put on it runs after the work that is on the stream when Handle returns.
func (s *Stream) Handle() uint64 {
	d, err := s.owner()
	if d == nil {
		return 0
	}
	if err == nil {
		d.mu.Lock()
		if !s.exposed && !s.closing && s.capture == nil && s.seq > s.done {
			// Later no event is recorded on an exposed stream for other streams, so record
			// now the one that they wait for.
			_ = s.markUpTo(s.seq)
		}
		s.exposed = true
		d.caughtUp()
		d.mu.Unlock()
	}
	return s.handle
}

// check says why nothing can be put on the stream; dev.mu is held.
func (s *Stream) check() error {
	if s.closing {
		return errorf("a stream of %v that is closed", s.dev)
	}
	return nil
}

// Record has e take place when the work that is on the stream now is done.
func (s *Stream) Record(e *Event) error {
	d, err := s.owner()
	if err != nil {
		return err
	}
	if err := e.check(d); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := s.check(); err != nil {
		return err
	}
	if err := d.backend.record(e.handle, s.handle); err != nil {
		return err
	}
	e.mark(s)
	return nil
}

// Wait has the work that follows on the stream wait for e, not the caller. An
// event that was never recorded is ErrDevice.
func (s *Stream) Wait(e *Event) error {
	d, err := s.owner()
	if err != nil {
		return err
	}
	if err := e.check(d); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch err := s.check(); {
	case err != nil:
		return err
	case !e.recorded:
		return errorf("waiting for an event that was not recorded")
	case e.capture != s.capture:
		return errorf("an event of a captured sequence used outside it, or the other way round")
	}
	return d.backend.wait(s.handle, e.handle)
}

// Synchronize waits until everything that was put on the stream is done, or
// until ctx ends. It returns the errors of that work.
func (s *Stream) Synchronize(ctx context.Context) error {
	d, err := s.owner()
	if err != nil {
		return err
	}
	if ctx == nil {
		return errNoContext
	}
	d.mu.Lock()
	err = s.check()
	if err == nil && s.capture != nil {
		err = errorf("waiting for a stream that is being captured")
	}
	d.mu.Unlock()
	if err == nil {
		err = d.waitFor(ctx, s)
	}
	if err != nil {
		return err
	}
	return d.spoken()
}

// Close waits for the stream's work, and for calls under way that use it, and gives
// the stream back. Closing it twice does nothing. The default stream cannot be closed.
func (s *Stream) Close() error {
	d, err := s.owner()
	if err != nil || s == d.main {
		return err
	}
	d.mu.Lock()
	capturing, again := s.capture != nil, s.closing
	s.closing = again || !capturing
	s.ended.Store(s.closing)
	for !capturing && !again && s.waiters > 0 { // they may still put something on it
		d.left.Wait()
	}
	d.mu.Unlock()
	switch {
	case capturing:
		return errorf("closing a stream that is being captured")
	case again:
		return nil
	}
	err = d.waitFor(context.Background(), s)
	d.mu.Lock()
	defer d.mu.Unlock()
	s.closed, s.failure = true, err
	d.forget(s)
	if s.waiters > 0 {
		return err // the last of them destroys it
	}
	if e := s.destroy(); err == nil {
		err = e
	}
	return err
}

// isClosed reports whether Close was called.
func (s *Stream) isClosed() bool { return s != nil && s.ended.Load() }

// forget takes a closed stream out of the device; mu is held.
func (d *Device) forget(s *Stream) {
	for i, t := range d.streams {
		if t == s {
			d.streams = append(d.streams[:i], d.streams[i+1:]...)
			break
		}
	}
	for _, t := range d.streams {
		delete(t.passed, s)
	}
	d.pool.adopt(s, d.main)
}

// destroy gives the driver's handles back; dev.mu is held.
func (s *Stream) destroy() error {
	b := s.dev.backend
	var err error
	if s.mark != 0 {
		err = b.closeEvent(s.mark)
	}
	if !s.foreign {
		if e := b.closeStream(s.handle); err == nil {
			err = e
		}
	}
	return err
}

// waitFor waits for what is on s now. mu is not held. Closed streams have nothing to
// wait for, ones that are being captured what was put on them before.
func (d *Device) waitFor(ctx context.Context, s *Stream) error {
	d.mu.Lock()
	captured := s.capture != nil
	if s.closed || captured && s.mark == 0 {
		d.mu.Unlock()
		return nil
	}
	s.waiters++
	seq, mark := s.seq, s.mark
	d.mu.Unlock()

	var err error
	switch {
	case captured && ctx.Done() == nil:
		err = d.backend.syncEvent(mark)
	case captured:
		err = d.pollEvent(ctx, mark)
	case ctx.Done() == nil:
		err = d.backend.syncStream(s.handle)
	default:
		err = d.poll(ctx, s)
	}

	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		s.done = max(s.done, seq)
	}
	if e := s.leave(); err == nil {
		err = e
	}
	return err
}

// leave ends the use of the handle without the mutex; dev.mu is held.
func (s *Stream) leave() error {
	if s.waiters--; s.waiters > 0 {
		return nil
	}
	s.dev.left.Broadcast()
	if s.closed {
		return s.destroy()
	}
	return nil
}

// poll waits for s until ctx ends, without a goroutine that would outlive it.
func (d *Device) poll(ctx context.Context, s *Stream) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	event, err := d.backend.newEvent(eventOrder)
	if err != nil {
		return err
	}
	defer func() { _ = d.backend.closeEvent(event) }()
	if err := d.backend.record(event, s.handle); err != nil {
		return err
	}
	return d.pollEvent(ctx, event)
}

// How a caller waits whose context may end. The system wakes him some 60 us late: so
// he looks at short work again and again, and at other work after pauses that are
// short beside what he has waited.
const (
	shortWork    = time.Millisecond
	pauseShare   = 64                   // of what was waited
	longestPause = 5 * time.Millisecond // of a wait of a third of a second and more
)

// pollEvent waits for an event until ctx ends.
func (d *Device) pollEvent(ctx context.Context, event uint64) error {
	begin := time.Now()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if done, err := d.backend.eventDone(event); done || err != nil {
			return err
		}
		waited := time.Since(begin)
		next := min(waited/pauseShare, longestPause)
		switch {
		case waited < shortWork: // looking costs the driver, whom others call too
			for again := true; again; again = time.Since(begin) < waited+next {
				runtime.Gosched()
			}
		case next < time.Millisecond:
			pause(next)
		default:
			select {
			case <-ctx.Done():
			case <-time.After(next):
			}
		}
	}
}
