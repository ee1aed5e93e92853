package worker

import (
	"context"
	"fmt"

	"github.com/gpk-go/gpk/device"
)

// request asks the Worker's goroutine for a transition between Idle and Active.
type request struct {
	ctx  context.Context
	to   State
	done chan error // one place
}

// illegal is the error of a transition that the state does not allow. The mutex is held.
func (c *core) illegal(to State) error {
	return &StateError{Worker: c.name, From: c.state, To: to, Cause: c.cause}
}

// take waits for the turn to change the state; give passes it on.
func (c *core) take(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("worker %q: another transition is under way: %w", c.name, ctx.Err())
	}
}

func (c *core) give() { <-c.turn }

// takeLive is take, and returns why a call cannot be made.
func (w *Worker[In, Out]) takeLive(ctx context.Context) error {
	if err := w.checkLive(ctx); err != nil {
		return err
	}
	return w.take(ctx)
}

// Launch makes the Worker's stream and starts its goroutine: Created to Idle. Errors are
// those of the device.
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
	if w.state != Created { // terminated meanwhile
		_ = stream.Close()
		return w.illegal(Idle)
	}
	w.state = Idle
	go w.run(&Context{core: &w.core, stream: stream})
	return nil
}

// Activate calls Options.Setup and has messages handled: Idle to Active. Where Setup fails
// the Worker stays Idle and Activate returns the error. Setup has to heed its context.
func (w *Worker[In, Out]) Activate(ctx context.Context) error { return w.ask(ctx, Active) }

// Deactivate waits until the message that is being handled is done, and frees the state on
// the device: Active to Idle. Messages that wait stay for the next Activate. Where ctx ends
// while a message is handled the Worker stays Active. Errors of Cleanup functions are
// returned; the Worker is Idle all the same.
func (w *Worker[In, Out]) Deactivate(ctx context.Context) error { return w.ask(ctx, Idle) }

// ask has the Worker's goroutine do a transition, and waits for it.
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
	if w.request == r { // the goroutine has not begun
		defer w.mu.Unlock()
		w.request = nil
		return fmt.Errorf("worker %q: a message is being handled: %w", w.name, ctx.Err())
	}
	w.mu.Unlock()
	return <-r.done
}

// Drain accepts no more messages, handles those that wait, frees everything and ends the
// Worker: Active to Draining to Terminated. An Idle Worker, which handles none, drops them.
//
// Where messages are dropped Drain returns a *StopError with their number. That is so too
// where ctx ends first: Drain then drops what waits, cancels the context of the message
// that is being handled, and returns at once. Errors of Cleanup functions are returned.
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

// ending is what Drain returns of a Worker that has ended.
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

// stop ends the Worker without handling the messages that wait. The mutex is held.
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

// Terminate drops what waits, cancels the context of the message that is being handled,
// waits for it, and frees everything. It is legal in every state, and returns a *StopError
// where ctx ends while a message is still being handled: the Worker then ends after it.
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
