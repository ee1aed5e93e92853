package device

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"
)

// Stream is a queue of work on a device. It is safe for use by many goroutines. On the CPU,
// a call returns when its work is done.
type Stream struct {
	dev     *Device
	handle  uint64
	id      uint64 // unique on the device, unlike handles, which the driver reuses
	foreign bool   // the handle belongs to another library

	// Guarded by dev.mu.
	seq     uint64             // number of pieces of work put on the stream
	done    uint64             // number of these that are known to be complete
	mark    uint64             // event for other streams to wait for; 0: none yet
	marked  uint64             // the seq up to which mark covers the work
	passed  map[*Stream]uint64 // for each other stream, the seq up to which this stream is ordered after it
	capture *capture           // the capture in progress
	closing bool               // refuses more work; ended mirrors it
	closed  bool               // all of its work is done, or has failed
	failure error              // error of the wait before the stream was closed
	exposed bool               // other libraries also use it: its launches bypass the queue
	waiters int                // calls that use the handle without the mutex, and keep it valid

	ended atomic.Bool
}

// NewStream makes a stream whose work runs concurrently with that of other streams. Close
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

// WrapStream returns a stream over another library's handle (a CUstream), which must remain
// valid until Close. Close does not destroy it. Other libraries' work on it is ordered with
// gpk's work only on this stream itself.
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

// ID returns a number that is unique among the device's streams; 0 for nil.
func (s *Stream) ID() uint64 {
	if s == nil {
		return 0
	}
	return s.id
}

// owner returns the stream's device, or the reason why the stream cannot be used.
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
			// After this no event is recorded on the stream for other streams, because it is
			// exposed. So record the one that they wait for now.
			_ = s.markUpTo(s.seq)
		}
		s.exposed = true
		d.caughtUp()
		d.mu.Unlock()
	}
	return s.handle
}

// check returns the reason why the stream accepts no work, or nil; dev.mu is held.
func (s *Stream) check() error {
	if s.closing {
		return errorf("the stream of %v is closed", s.dev)
	}
	return nil
}

// lockWith locks the device of the stream and of e, unless one of them cannot be used.
func (s *Stream) lockWith(e *Event) (*Device, error) {
	d, err := s.owner()
	if err != nil {
		return nil, err
	}
	if err := e.check(d); err != nil {
		return nil, err
	}
	d.mu.Lock()
	if err := s.check(); err != nil {
		d.mu.Unlock()
		return nil, err
	}
	return d, nil
}

// Record records e after the work that is on the stream now.
func (s *Stream) Record(e *Event) error {
	d, err := s.lockWith(e)
	if err != nil {
		return err
	}
	defer d.mu.Unlock()
	if err := d.backend.record(e.handle, s.handle); err != nil {
		return err
	}
	e.mark(s)
	return nil
}

// Wait makes later work on the stream, but not the caller, wait for e. If e was never
// recorded, the error is ErrDevice.
func (s *Stream) Wait(e *Event) error {
	d, err := s.lockWith(e)
	if err != nil {
		return err
	}
	defer d.mu.Unlock()
	switch {
	case !e.recorded:
		return errorf("Wait: the event was never recorded")
	case e.capture != s.capture:
		return errorf("Wait: the stream and the event do not belong to the same capture")
	}
	return d.backend.wait(s.handle, e.handle)
}

// Synchronize waits until all work on the stream is done, or until ctx ends. It returns the
// errors of that work.
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
		err = errorf("cannot wait for a stream that is being captured; call EndCapture first")
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

// Close waits for the stream's work, and for calls in progress that use it, and releases
// the stream. Closing it twice does nothing. The default stream cannot be closed.
func (s *Stream) Close() error {
	d, err := s.owner()
	if err != nil || s == d.main {
		return err
	}
	d.mu.Lock()
	capturing, again := s.capture != nil, s.closing
	s.closing = again || !capturing
	s.ended.Store(s.closing)
	for !capturing && !again && s.waiters > 0 { // waiters may still put work on it
		d.left.Wait()
	}
	d.mu.Unlock()
	switch {
	case capturing:
		return errorf("cannot close a stream that is being captured; call EndCapture first")
	case again:
		return nil
	}
	err = d.waitFor(context.Background(), s)
	d.mu.Lock()
	defer d.mu.Unlock()
	s.closed, s.failure = true, err
	d.forget(s)
	if s.waiters > 0 {
		return err // the last waiter destroys it
	}
	if e := s.destroy(); err == nil {
		err = e
	}
	return err
}

// isClosed reports whether Close was called.
func (s *Stream) isClosed() bool { return s != nil && s.ended.Load() }

// forget removes a closed stream from the device; mu is held.
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

// destroy releases the driver's handles; dev.mu is held.
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

// waitFor waits for the work that is on s now. mu is not held. For a closed stream it does
// not wait; for a stream that is being captured it waits for the work before the capture.
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
	return s.endWait(seq, err)
}

// endWait ends a wait for the first seq pieces of work, whose error is err. dev.mu is not held.
func (s *Stream) endWait(seq uint64, err error) error {
	s.dev.mu.Lock()
	defer s.dev.mu.Unlock()
	if err == nil {
		s.done = max(s.done, seq)
	}
	if e := s.leave(); err == nil {
		err = e
	}
	return err
}

// leave ends a use of the handle without the mutex; dev.mu is held.
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

// poll waits for s until ctx ends, without a goroutine that could outlive the call.
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

// The pauses of a wait with a cancellable context. The system wakes a sleeping thread about 60
// us late. So the wait polls continuously at first. After shortWork it polls with pauses that
// are short compared with the time waited so far.
const (
	shortWork    = time.Millisecond
	pauseShare   = 64                   // a pause is this fraction of the time waited
	longestPause = 5 * time.Millisecond // reached after a third of a second
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
		case waited < shortWork: // a query also costs the driver, which other threads use
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
