package device

import (
	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/internal/submit"
)

// Queued is Work that the device's queue can start. Its launches go through Submitted and
// Function.Enqueue, and may reach the driver only after LaunchWork has returned. An error
// of such a launch is returned by the next boundary that reads the work's outputs.
type Queued interface {
	Work
	// Enqueue is Start through the queue. If it cannot use the queue, it does nothing and
	// returns false.
	Enqueue(ordinal int, stream uint64) (done bool, err error)
}

// queueBackend is a backend with a queue for calls.
type queueBackend interface {
	// queue returns the queue, or nil if there is none. Every other method that puts work
	// on a stream, or waits for one, drains the queue first.
	queue() *submit.Queue
	// launchError returns the error of a queued function; false for other calls.
	launchError(function uintptr, code int) (error, bool)
	// enqueueFunction is launchFunction through the queue.
	enqueueFunction(function, stream uint64, l Launch, params []byte)
}

// submission is the state of a device's queue and of its failures. Guarded by the device's
// mutex.
type submission struct {
	queue    *submit.Queue // nil: callers start work directly
	library  *cutlass.Submitted
	unspoken error // the error of a queued call that has not been returned yet; the caller that started the work may ignore its error
}

// initSubmission finds the backend's queue.
func (d *Device) initSubmission() {
	b, ok := d.backend.(queueBackend)
	if !ok || b.queue() == nil {
		return
	}
	d.submission.queue = b.queue()
	if d.library != nil {
		d.submission.library = d.library.Submit(d.submission.queue, d.unmade)
	}
}

// Submitted returns the entry points of the kernel library that use the queue. Only
// Queued.Enqueue may call them.
func (d *Device) Submitted() *cutlass.Submitted {
	if d == nil {
		return nil
	}
	return d.submission.library
}

// Enqueue is Start for Queued.Enqueue.
func (f *Function) Enqueue(stream uint64, l Launch, params []byte) error {
	if f == nil || f.dev == nil {
		return errNoFunction
	}
	if f.dev.submission.queue == nil {
		return f.Start(stream, l, params)
	}
	if 8*maxParamWords < len(params) || f.started <= l.Shared {
		// Two kinds of launch are not queued: one whose parameters do not fit a record,
		// and the first launch with so much shared memory, so that its caller gets the
		// driver's error.
		f.dev.submission.queue.Drain()
		err := f.dev.unmade()
		if err == nil {
			err = f.Start(stream, l, params)
		}
		if err == nil {
			f.started = max(f.started, l.Shared+1)
		}
		return err
	}
	f.dev.backend.(queueBackend).enqueueFunction(f.handle, stream, l, params)
	return nil
}

// maxParamWords is the number of words of parameters in a record, besides the launch
// configuration.
const maxParamWords = submit.Words - functionWords

// functionWords counts context, function, stream, grid, block, shared memory combined with
// Dependent, and the size of the parameters.
const functionWords = 11

// start starts work on s, through the queue if possible; mu is held.
func (d *Device) start(m *Measurement, s *Stream, w Work) error {
	if m != nil {
		return d.startMeasured(m, s, w)
	}
	q := d.submission.queue
	if q == nil {
		return w.Start(d.info.Index, s.handle)
	}
	qw, ok := w.(Queued)
	if ok && s.capture == nil && !s.exposed {
		if q.Ready() {
			q.Stream, q.Seq = s.id, s.seq
			if done, err := qw.Enqueue(d.info.Index, s.handle); done {
				return err
			}
		}
		q.Flush()
	} else {
		q.Drain()
	}
	if err := d.unmade(); err != nil { // queued work may have failed since the check in launch
		return err
	}
	return w.Start(d.info.Index, s.handle)
}

// startMeasured is start between two events, which bypasses the queue; mu is held.
func (d *Device) startMeasured(m *Measurement, s *Stream, w Work) error {
	d.submission.queue.Drain()
	if err := d.unmade(); err != nil { // queued work may have failed since the check in launch
		return err
	}
	m.start(s)
	defer m.stop(s)
	return w.Start(d.info.Index, s.handle)
}

// unmade returns the error of queued work, if any. Work that bypasses the queue may read
// buffers that the failed work did not write. mu is held.
func (d *Device) unmade() error {
	if !d.submission.queue.Failed() {
		return nil
	}
	d.takeFailure()
	return d.submission.unspoken
}

// caughtUp waits until the driver has accepted all queued work, and marks the buffers that
// a failed launch did not write; mu is held.
func (d *Device) caughtUp() {
	if q := d.submission.queue; q != nil {
		q.Drain()
		if q.Failed() {
			d.takeFailure()
		}
	}
}

// takeFailure marks every buffer whose queued write did not run with the failure; mu is
// held. After a failed call the queue makes no further call, on any stream.
func (d *Device) takeFailure() {
	f := d.submission.queue.Take()
	if f == nil {
		return
	}
	err, ok := d.backend.(queueBackend).launchError(f.Function, f.Code)
	if !ok {
		err = d.submission.library.Failure(f.Function, f.Code)
	}
	err = &submit.Error{Err: err}
	for a := d.live.first; a != nil; a = a.next {
		if s := a.write.stream; s != nil {
			if first, ok := f.First[s.id]; ok && a.write.seq >= first {
				a.state.Fail(err)
			}
		}
	}
	d.submission.unspoken = err
}

// tell records that err is being returned to the program.
func (q *submission) tell(err error) {
	if q.unspoken != nil && err == q.unspoken {
		q.unspoken = nil
	}
}

// spoken returns the queue's last failure to Synchronize, once.
func (d *Device) spoken() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.caughtUp()
	err := d.submission.unspoken
	d.submission.unspoken = nil
	return err
}
