package worker

import (
	"context"
	"fmt"

	"github.com/gpk-go/gpk/device"
)

// request is a request to the Worker's goroutine for a transition between Idle and Active.
type request struct {
	ctx  context.Context
	to   State
	done chan error // capacity 1
}

// illegal returns the error of a transition that the state does not allow. The mutex is
// held.
func (c *core) illegal(to State) error {
	return &StateError{Worker: c.name, From: c.state, To: to, Cause: c.cause}
}

// take waits until no other call is changing the state. give lets the next call proceed.
func (c *core) take(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("worker %q: another transition is under way: %w", c.name, ctx.Err())
	}
}

func (c *core) give() { <-c.turn }

// takeLive is take, but first checks whether the call is allowed.
func (w *Worker[In, Out]) takeLive(ctx context.Context) error {
	if err := w.checkLive(ctx); err != nil {
		return err
	}
	return w.take(ctx)
}

// Launch makes the Worker's stream and starts its goroutine; the state changes from Created
// to Idle. Errors are those of the device.
func (w *Worker[In, Out]) Launch(ctx context.Context) error {
	if err := w.takeLive(ctx); err != nil {
		return err
	}
	defer w.give()
	w.mu.Lock()
	if w.state != Created {
		defer w.mu.Unlock()
		return w.illegal(Idle)
	}
	w.mu.Unlock()
	dev := w.o.Device
	if dev == nil {
		dev = device.Default()
	}
	stream, err := dev.NewStream()
	if err != nil {
		return fmt.Errorf("worker %q: Launch: %w", w.name, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state != Created { // it was terminated meanwhile
		_ = stream.Close()
		return w.illegal(Idle)
	}
	w.state = Idle
	go w.run(&Context{core: &w.core, stream: stream})
	return nil
}

// Activate calls Options.Setup and starts the handling of messages; the state changes from
// Idle to Active. If Setup fails, the Worker stays Idle, and Activate returns the error.
// Setup should return when its context ends.
func (w *Worker[In, Out]) Activate(ctx context.Context) error { return w.ask(ctx, Active) }

// Deactivate waits until the current message is handled, and frees the state on the device;
// the Worker's state changes from Active to Idle. Waiting messages remain for the next
// Activate. If ctx ends while a message is being handled, the Worker stays Active. Errors
// of Cleanup functions are returned, but the Worker is Idle nevertheless.
func (w *Worker[In, Out]) Deactivate(ctx context.Context) error { return w.ask(ctx, Idle) }

// ask makes the Worker's goroutine perform a transition, and waits for it.
func (w *Worker[In, Out]) ask(ctx context.Context, to State) error {
	if err := w.takeLive(ctx); err != nil {
		return err
	}
	defer w.give()
	r := &request{ctx: ctx, to: to, done: make(chan error, 1)}
	w.mu.Lock()
	if !w.state.precedes(to) || w.state == Created {
		defer w.mu.Unlock()
		return w.illegal(to)
	}
	w.request = r
	w.bell.Signal()
	w.mu.Unlock()
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
	}
	w.mu.Lock()
	if w.request == r { // the goroutine has not begun the transition
		defer w.mu.Unlock()
		w.request = nil
		return fmt.Errorf("worker %q: a message is being handled: %w", w.name, ctx.Err())
	}
	w.mu.Unlock()
	return <-r.done
}

// Drain rejects new messages, handles the waiting ones, frees everything and ends the
// Worker; the state changes from Active to Draining, and then to Terminated. An Idle Worker
// drops the waiting messages, because it handles none.
//
// If messages are dropped, Drain returns a *StopError with their number. If ctx ends first,
// Drain drops the waiting messages, cancels the context of the current message, and returns
// a *StopError at once. Errors of Cleanup functions are returned.
func (w *Worker[In, Out]) Drain(ctx context.Context) error {
	if err := w.check(ctx); err != nil {
		return err
	}
	w.mu.Lock()
	if !w.state.precedes(Draining) {
		defer w.mu.Unlock()
		return w.illegal(Draining)
	}
	if w.state == Idle {
		w.stop(errIdle)
	} else {
		w.state = Draining
		w.turnAway()
		w.bell.Signal()
	}
	w.mu.Unlock()
	select {
	case <-w.done:
		return w.ending()
	case <-ctx.Done():
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.state == Draining {
			w.stop(ctx.Err())
		}
		return &StopError{Worker: w.name, Dropped: w.lost, Running: w.running, Cause: ctx.Err()}
	}
}

// ending returns the result of Drain for a Worker that has ended.
func (w *Worker[In, Out]) ending() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	why := w.cause
	if why == nil {
		why = w.why
	}
	if w.lost > 0 || w.cause != nil {
		return &StopError{Worker: w.name, Dropped: w.lost, Cause: why}
	}
	return w.leftover
}

// stop ends the Worker without handling the waiting messages. The mutex is held.
func (w *Worker[In, Out]) stop(why error) {
	w.state, w.discard, w.ended = Draining, true, true
	if w.why == nil {
		w.why = why
	}
	if w.cancel != nil {
		w.cancel(why)
	}
	w.drop(why)
	w.bell.Signal()
}

// Terminate drops the waiting messages, cancels the context of the current message, waits
// for it, and frees everything. It is allowed in every state. If ctx ends while a message
// is still being handled, it returns a *StopError, and the Worker ends after that message.
func (w *Worker[In, Out]) Terminate(ctx context.Context) error {
	if err := w.check(ctx); err != nil {
		return err
	}
	w.mu.Lock()
	switch w.state {
	case Created:
		w.state = Terminated
		close(w.done)
	case Failed:
		w.state = Terminated
	case Terminated:
	default:
		w.stop(errTerminated)
	}
	w.mu.Unlock()
	select {
	case <-w.done:
		return nil
	case <-ctx.Done():
		w.mu.Lock()
		defer w.mu.Unlock()
		return &StopError{Worker: w.name, Dropped: w.lost, Running: w.running, Cause: ctx.Err()}
	}
}
