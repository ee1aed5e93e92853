package device

import (
	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/internal/submit"
)

// Queued is Work that can be started by the device's queue: what it launches
// then goes through Submitted and Function.Enqueue, and is on its way to the driver
// when LaunchWork returns. An error that comes of it shows at the next boundary
// that reads what the work writes.
type Queued interface {
	Work
	// Enqueue is Start, through the queue. It reports false, and has done nothing,
	// where it cannot.
	Enqueue(ordinal int, stream uint64) (done bool, err error)
}

// queueBackend is a backend that takes calls through a queue.
type queueBackend interface {
	// queue returns the queue, nil where there is none. Every other method that
	// puts something on a stream, or waits for one, drains it first.
	queue() *submit.Queue
	// launchError is the error of a queued function; false for other calls.
	launchError(function uintptr, code int) (error, bool)
	// enqueueFunction is launchFunction through the queue.
	enqueueFunction(function, stream uint64, l Launch, params []byte)
}

// submission is a device's queue and what comes of it. Guarded by the device's
// mutex.
type submission struct {
	queue    *submit.Queue // nil: work is started by its caller
	library  *cutlass.Submitted
	unspoken error // of a queued call, which no boundary has returned yet: who starts work may drop its error
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

// Submitted returns the entries of the kernel library that go through the queue. Only
// Queued.Enqueue may use them.
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
		// The first one is started at once: what the driver refuses is known to
		// the caller.
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

// maxParamWords is how many words of parameters a record holds, besides how the
// kernel starts.
const maxParamWords = submit.Words - functionWords

// functionWords is context, function, stream, grid, block, shared memory with
// whether the launch is Dependent, and the bytes of the parameters.
const functionWords = 11

// start starts work on s, through the queue where that serves; mu is held.
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
	if err := d.unmade(); err != nil { // since launch looked
		return err
	}
	return w.Start(d.info.Index, s.handle)
}

// startMeasured is start between two events, which cannot go through the queue; mu is held.
func (d *Device) startMeasured(m *Measurement, s *Stream, w Work) error {
	d.submission.queue.Drain()
	if err := d.unmade(); err != nil { // since launch looked
		return err
	}
	m.start(s)
	defer m.stop(s)
	return w.Start(d.info.Index, s.handle)
}

// unmade is the error of queued work, where there is one: what is about to be started
// beside the queue may read what was not made. mu is held.
func (d *Device) unmade() error {
	if !d.submission.queue.Failed() {
		return nil
	}
	d.takeFailure()
	return d.submission.unspoken
}

// caughtUp waits until the driver has all queued work, and marks the buffers that a failed
// launch did not write; mu is held.
func (d *Device) caughtUp() {
	if q := d.submission.queue; q != nil {
		q.Drain()
		if q.Failed() {
			d.takeFailure()
		}
	}
}

// takeFailure marks every buffer whose queued write did not run with the failure; mu is
// held. No call behind the failed one was started, on any stream.
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

// tell notes that a boundary returns err.
func (q *submission) tell(err error) {
	if q.unspoken != nil && err == q.unspoken {
		q.unspoken = nil
	}
}

// spoken returns what Synchronize says of the queue: the last failure, once.
func (d *Device) spoken() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.caughtUp()
	err := d.submission.unspoken
	d.submission.unspoken = nil
	return err
}
