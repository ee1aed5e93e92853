package worker

import (
	"container/list"
	"context"
	"fmt"
	"time"
)

// message is a message in the queue.
type message[In, Out any] struct {
	in    In
	ctx   context.Context
	reply *reply[Out] // nil for messages of Send
	at    time.Duration
}

// reply passes an answer to an asker.
type reply[Out any] struct {
	out  Out
	err  error
	done chan struct{} // capacity 1: out and err are set
}

func (m *message[In, Out]) answer(out Out, err error) {
	if m.reply != nil {
		m.reply.out, m.reply.err = out, err
		m.reply.done <- struct{}{}
	}
}

// fail answers a message with an error.
func (m *message[In, Out]) fail(err error) {
	var none Out
	m.answer(none, err)
}

// waiter is a sender that waits for room in the queue.
type waiter[In, Out any] struct {
	m       message[In, Out]
	settled chan error    // capacity 1: nil once the message is in the queue
	place   *list.Element // nil once settled
}

// waiters is the list of waiters of a band, of type *waiter, in the order of arrival.
type waiters[In, Out any] struct{ list.List }

// Send puts a message into the queue. The priorities from System, from High and from Normal
// on are separate bands, and all lower priorities are one band. A message overtakes those
// of lower bands.
//
// If the queue is full, the Policy applies; a message that it drops is not an error of
// Send. The message's context, Context.Context, has the values of ctx, but does not end
// with it. ErrNotAccepting means that the Worker is neither Idle nor Active.
func (w *Worker[In, Out]) Send(ctx context.Context, in In, priority uint8) error {
	if err := w.checkLive(ctx); err != nil {
		return err
	}
	return w.post(message[In, Out]{in: in, ctx: ctx}, bandOf(priority))
}

// Ask sends a message of priority Normal, waits, and returns the handler's result. If ctx
// ends first, Ask returns its error, and a message that is still waiting is not handled.
// ctx is the handler's Context.Context. If the Policy drops the message, the error is
// ErrDropped.
func (w *Worker[In, Out]) Ask(ctx context.Context, in In) (Out, error) {
	var none Out
	if err := w.checkLive(ctx); err != nil {
		return none, err
	}
	r := &reply[Out]{done: make(chan struct{}, 1)}
	if err := w.post(message[In, Out]{in: in, ctx: ctx, reply: r}, bandOf(Normal)); err != nil {
		return none, err
	}
	select {
	case <-r.done:
		return r.out, r.err
	case <-ctx.Done():
		if w.State() == Idle {
			return none, fmt.Errorf("worker %q: Ask: the worker is idle; it handles messages after Activate: %w", w.name, ctx.Err())
		}
		return none, fmt.Errorf("worker %q: Ask: %w", w.name, ctx.Err())
	}
}

// post puts a message into the queue, subject to the policy.
func (w *Worker[In, Out]) post(m message[In, Out], band int) error {
	w.mu.Lock()
	if !w.state.accepts() {
		defer w.mu.Unlock()
		return w.refusal()
	}
	w.counts.received++
	m.at = w.age()
	if w.queue.n >= w.o.Queue {
		return w.full(m, band)
	}
	w.queue.push(band, m)
	w.bell.Signal()
	w.mu.Unlock()
	return nil
}

// refusal returns the error of a message that is not accepted. The mutex is held.
func (w *Worker[In, Out]) refusal() error {
	if w.cause != nil {
		return fmt.Errorf("worker %q: %w: it is %v; %s: %w", w.name, ErrNotAccepting, w.state, remedies[w.state], w.cause)
	}
	return fmt.Errorf("worker %q: %w: it is %v; %s", w.name, ErrNotAccepting, w.state, remedies[w.state])
}

// full applies the policy to a message for which there is no room. It unlocks the mutex.
func (w *Worker[In, Out]) full(m message[In, Out], band int) error {
	policy := w.o.Policy
	if policy == Block {
		return w.wait(m, band)
	}
	defer w.mu.Unlock()
	switch {
	case policy == Reject:
		w.counts.dropped.Rejected++
		return fmt.Errorf("worker %q: %w: %d messages wait", w.name, ErrQueueFull, w.queue.n)
	case policy == DropNew || band < w.queue.lowest():
		w.counts.dropped.New++
		m.fail(w.dropped("the queue is full"))
	default:
		w.counts.dropped.Oldest++
		old := w.queue.popLowest()
		old.fail(w.dropped("a newer message took its place"))
		w.queue.push(band, m)
	}
	return nil
}

// dropped returns the error of an Ask whose message is dropped.
func (c *core) dropped(why any) error {
	return fmt.Errorf("worker %q: %w: %v", c.name, ErrDropped, why)
}

// wait blocks the sender until its message is in the queue. It unlocks the mutex.
func (w *Worker[In, Out]) wait(m message[In, Out], band int) error {
	b := &waiter[In, Out]{m: m, settled: make(chan error, 1)}
	b.place = w.blocked[band].PushBack(b)
	w.mu.Unlock()
	select {
	case err := <-b.settled:
		return err
	case <-m.ctx.Done():
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if b.place == nil {
		return <-b.settled
	}
	w.blocked[band].Remove(b.place)
	w.counts.dropped.Canceled++
	return fmt.Errorf("worker %q: the queue is full: %w", w.name, m.ctx.Err())
}

// admit puts messages of blocked senders into the queue while there is room. Those of the
// highest band come first. The mutex is held.
func (w *Worker[In, Out]) admit() {
	for band := bands - 1; band >= 0; band-- {
		for w.queue.n < w.o.Queue && w.blocked[band].Len() > 0 {
			b := w.unblock(band, nil)
			w.queue.push(band, b.m)
		}
	}
}

// unblock removes the first blocked sender of a band and settles it. The mutex is held.
func (w *Worker[In, Out]) unblock(band int, err error) *waiter[In, Out] {
	b := w.blocked[band].Remove(w.blocked[band].Front()).(*waiter[In, Out])
	b.place = nil
	b.settled <- err
	return b
}

// drop answers all waiting messages with ErrDropped, and blocked senders with
// ErrNotAccepting. The mutex is held, and the Worker is already in its new state.
func (w *Worker[In, Out]) drop(why error) {
	for w.queue.n > 0 {
		m := w.queue.pop()
		m.fail(fmt.Errorf("worker %q: %w: %w", w.name, ErrDropped, why))
		w.lost++
		w.counts.dropped.Stopped++
	}
	w.turnAway()
}

// turnAway answers blocked senders with ErrNotAccepting. The mutex is held.
func (w *Worker[In, Out]) turnAway() {
	for band := range w.blocked {
		for w.blocked[band].Len() > 0 {
			w.unblock(band, w.refusal())
			w.counts.dropped.Stopped++
		}
	}
}
