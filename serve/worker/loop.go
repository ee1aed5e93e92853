package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"
)

// outcome is a message with the result of the handler.
type outcome[In, Out any] struct {
	m        message[In, Out]
	begun    time.Duration
	out      Out
	err      error
	panicked bool
}

// run is the Worker's goroutine.
func (w *Worker[In, Out]) run(c *Context) {
	returned := false
	var r *request
	defer func() {
		if !returned { // the handler called runtime.Goexit, which cannot be stopped
			w.exit(r)
		}
		w.finish(c)
	}()
	for {
		var handle bool
		r, handle = w.next()
		switch {
		case r != nil:
			w.change(c, r)
		case handle:
			w.process(c)
		default:
			returned = true
			return
		}
	}
}

// next settles the handled message, and waits for a request, for a message, or for the end.
// A message is in w.now, and handle is true.
func (w *Worker[In, Out]) next() (r *request, handle bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := w.age()
	w.settle(at)
	for {
		switch {
		case w.request != nil:
			r, w.request = w.request, nil
			if w.state.precedes(r.to) {
				return r, false
			}
			r.done <- w.illegal(r.to)
		case w.state.holds() && !w.discard && w.queue.n > 0:
			if w.pop(at) {
				return nil, true
			}
		case w.state.accepts():
			w.bell.Wait()
			at = w.age()
		default:
			return nil, false
		}
	}
}

// pop moves the first message of the queue to w.now. It reports false if the asker no
// longer waits. The mutex is held.
func (w *Worker[In, Out]) pop(at time.Duration) bool {
	m := w.queue.pop()
	w.admit()
	if m.reply != nil && m.ctx.Err() != nil {
		w.counts.dropped.Canceled++
		m.fail(m.ctx.Err())
		return false
	}
	w.counts.waiting.add(at - m.at)
	w.now.m, w.now.begun, w.running = m, at, true
	return true
}

// settle counts and answers the message of w.now, if there is one. The mutex is held.
func (w *Worker[In, Out]) settle(at time.Duration) {
	if !w.running {
		return
	}
	o := &w.now
	w.running = false
	w.counts.handling.add(at - o.begun)
	switch {
	case o.panicked:
		w.counts.panicked++
		w.crashed(at, o.err)
	case o.err != nil:
		w.counts.failed++
	default:
		w.counts.handled++
	}
	o.m.answer(o.out, o.err)
	*o = outcome[In, Out]{}
}

// process calls the handler on the message of w.now.
func (w *Worker[In, Out]) process(c *Context) {
	o := &w.now
	c.begin(o.m.ctx, o.m.reply != nil)
	o.panicked, o.err = w.protect(func() (err error) {
		o.out, err = w.handle(c, o.m.in)
		return err
	})
	if err := c.end(); err != nil {
		o.err = errors.Join(o.err, err)
	}
	if o.panicked {
		w.restart(c)
	}
}

// protect calls f. If f panics, panicked is true and err is a *PanicError.
func (c *core) protect(f func() error) (panicked bool, err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if r := recover(); r != nil {
			panicked, err = true, &PanicError{Worker: c.name, Value: r, Stack: debug.Stack()}
		}
	}()
	err = f()
	returned = true
	return false, err
}

// crashed decides after a panic whether the Worker restarts or fails. If the Worker was
// already ending, it ends. The mutex is held.
func (w *Worker[In, Out]) crashed(at time.Duration, cause error) {
	if w.discard {
		return
	}
	if w.o.Within > 0 {
		w.crashes = slices.DeleteFunc(w.crashes, func(t time.Duration) bool { return at-t >= w.o.Within })
	}
	if len(w.crashes) >= w.o.Restarts {
		w.fail(cause)
		return
	}
	w.crashes = append(w.crashes, at)
	w.counts.restarts++
}

// fail makes the Worker Failed. The mutex is held.
func (w *Worker[In, Out]) fail(cause error) {
	if !w.state.precedes(Failed) {
		return
	}
	w.state, w.cause, w.discard = Failed, cause, true
	w.drop(cause)
}

// restart settles the message that panicked. It sets the Worker up again, unless there were
// too many panics.
func (w *Worker[In, Out]) restart(c *Context) {
	w.mu.Lock()
	w.settle(w.age())
	ends := w.discard
	w.mu.Unlock()
	if ends {
		return
	}
	err := c.free()
	if again := c.setup(context.Background()); again != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.fail(fmt.Errorf("worker %q: Setup after a panic: %w", w.name, errors.Join(again, err)))
	}
}

// change performs the transition that a request asks for.
func (w *Worker[In, Out]) change(c *Context, r *request) {
	var err error
	if r.to == Active {
		err = c.setup(r.ctx)
	} else {
		err = c.free()
	}
	w.mu.Lock()
	switch {
	case r.to == Active && err != nil:
	case w.state.precedes(r.to):
		w.state = r.to
	case r.to == Active:
		err = w.illegal(Active)
	default: // without its state the Worker cannot handle the waiting messages
		w.stop(errIdle)
	}
	w.mu.Unlock()
	if r.to == Active && err != nil {
		err = errors.Join(err, c.free())
	}
	r.done <- err
}

// exit settles the request and the message that were in progress when runtime.Goexit was
// called.
func (w *Worker[In, Out]) exit(r *request) {
	err := error(&PanicError{Worker: w.name})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fail(err)
	w.now.err, w.now.panicked = err, true
	w.settle(w.age())
	if r != nil {
		select {
		case r.done <- err:
		default: // it was already answered
		}
	}
}

// finish frees everything. It is the last call of the Worker's goroutine.
func (w *Worker[In, Out]) finish(c *Context) {
	var err error
	defer func() { // even if a Cleanup function calls runtime.Goexit
		err = errors.Join(err, c.stream.Close())
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.state == Draining {
			w.state = Terminated
		}
		if r := w.request; r != nil {
			w.request = nil
			r.done <- w.illegal(r.to)
		}
		w.leftover = err
		close(w.done)
	}()
	_ = c.end()
	err = c.free()
}
