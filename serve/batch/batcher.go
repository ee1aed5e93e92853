package batch

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/operror"
)

// defaultItems is the default of Options.MaxItems.
const defaultItems = 64

// Options say when a batch starts, and how many items may wait for one.
type Options struct {
	// MaxItems is the maximum number of items of a batch. The default, for 0 or less, is 64.
	MaxItems int
	// Linger is how long the first item of a batch waits for others. With 0 or less, a batch
	// consists of the items that have arrived while the previous one ran.
	Linger time.Duration
	// MaxQueue is the maximum number of items that wait for their batch to start. With 0 or
	// less there is no limit.
	MaxQueue int
}

// Batcher gathers the items of many callers into batches. It is safe for use by many
// goroutines. It has a goroutine only while items wait or run.
type Batcher[In, Out any] struct {
	f func(context.Context, []In) ([]Out, error)
	o Options

	mu      sync.Mutex
	queue   list.List // holds *item, in the order of arrival
	batch   *running  // nil if none runs
	serving bool      // the goroutine is running
	closed  bool
	wake    chan struct{} // capacity 1: wakes the goroutine when a batch may be able to start
	idle    chan struct{} // closed once the goroutine has ended after Close
	counted Stats         // all fields except Queued
}

// item is one caller's item.
type item[In, Out any] struct {
	in      In
	out     Out
	err     error
	at      time.Time     // time of arrival
	place   *list.Element // nil once the batch has started or the item was removed
	batch   *running      // the batch that contains the item
	settled chan struct{} // closed once out and err are set
}

// running is a batch whose function has been called.
type running struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	waiting int // number of callers that still wait for it
	began   time.Time
}

// New returns a Batcher that computes batches with f. f gets 1 to MaxItems items in the
// order of their arrival and returns an output for each, in the same order.
//
//   - An error of f is every item's error. One of type Errors gives each item its own.
//   - Another number of outputs than of items is ErrOutputs for every item.
//   - A panic in f is a *PanicError for every item. The Batcher goes on.
//
// The context of f ends when no caller waits for the batch any more, or when Close gives
// up. It has no deadline and no values of a caller's.
func New[In, Out any](f func(context.Context, []In) ([]Out, error), o Options) *Batcher[In, Out] {
	if o.MaxItems <= 0 {
		o.MaxItems = defaultItems
	}
	return &Batcher[In, Out]{f: f, o: o, wake: make(chan struct{}, 1), counted: newStats(o.MaxItems)}
}

// usable returns an error if b is nil or zero, or ctx is nil.
func (b *Batcher[In, Out]) usable(ctx context.Context) error {
	switch {
	case b == nil || b.f == nil:
		return fmt.Errorf("%w: a Batcher without a function; New makes one", gpk.ErrUnsupported)
	case ctx == nil:
		return fmt.Errorf("%w: a nil context", gpk.ErrUnsupported)
	}
	return nil
}

// called wraps err in an OpError with the name of a method of Batcher and the line outside this package that called it.
func called(method string, err error) error {
	return operror.Outside("github.com/gpk-go/gpk/serve/batch", method, err)
}

// Do computes in as part of a batch, waits, and returns its output.
//
// If ctx ends first, Do returns its error at once. If the item's batch has not started, the
// item is removed from the queue. ErrQueueFull and ErrClosed mean that the item was not
// accepted; New lists the other errors.
func (b *Batcher[In, Out]) Do(ctx context.Context, in In) (Out, error) {
	var none Out
	err := b.usable(ctx)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return none, called("Do", err)
	}
	it := &item[In, Out]{in: in, settled: make(chan struct{})}
	if err := b.enqueue(it); err != nil {
		return none, called("Do", err)
	}
	select {
	case <-it.settled:
	case <-ctx.Done():
		if when := b.leave(it); when != "" {
			return none, called("Do", fmt.Errorf("the caller left %s: %w", when, ctx.Err()))
		}
	}
	if it.err == errDropped { //nolint:errorlint // not that of another Batcher, which the function has called
		return none, called("Do", it.err)
	}
	return it.out, it.err
}

// enqueue accepts an item.
func (b *Batcher[In, Out]) enqueue(it *item[In, Out]) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
		return ErrClosed
	case b.o.MaxQueue > 0 && b.queue.Len() >= b.o.MaxQueue:
		b.counted.Rejected++
		return fmt.Errorf("%w: %d items wait, MaxQueue is %d", ErrQueueFull, b.queue.Len(), b.o.MaxQueue)
	}
	b.counted.Accepted++
	it.at = time.Now()
	it.place = b.queue.PushBack(it)
	switch {
	case !b.serving:
		b.serving = true
		go b.serve()
	case b.queue.Len() == b.o.MaxItems:
		b.wakeUp()
	}
	return nil
}

// wakeUp makes the goroutine check the queue again.
func (b *Batcher[In, Out]) wakeUp() {
	select {
	case b.wake <- struct{}{}:
	default: // a wake-up is already pending
	}
}

// leave removes an item whose caller no longer waits from the queue, or from the count of
// callers that wait for its batch. It returns words for an error message that say which, or
// "" if the item is settled.
func (b *Batcher[In, Out]) leave(it *item[In, Out]) (when string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case it.place != nil:
		first := b.queue.Front() == it.place
		b.queue.Remove(it.place)
		it.place = nil
		b.counted.Left++
		if first {
			b.wakeUp() // the remaining linger time depends on the first item
		}
		return "before its batch started"
	case it.batch != nil:
		if it.batch.waiting--; it.batch.waiting == 0 {
			it.batch.cancel(context.Canceled)
		}
		return "while its batch ran"
	}
	<-it.settled
	return ""
}

// serve runs batches until the queue is empty. It is the Batcher's goroutine.
func (b *Batcher[In, Out]) serve() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		items, wait, ended := b.next()
		switch {
		case ended:
			return
		case items != nil:
			b.run(items)
		default:
			timer.Reset(wait)
			select {
			case <-timer.C:
			case <-b.wake:
			}
		}
	}
}

// next removes the items of the next batch from the queue and returns them. If no batch can
// start yet, it returns how long to wait for more items. If the queue is empty, ended is
// true, and the goroutine must end.
func (b *Batcher[In, Out]) next() (items []*item[In, Out], wait time.Duration, ended bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.queue.Len() == 0 {
		b.serving = false
		if b.idle != nil {
			close(b.idle)
			b.idle = nil
		}
		return nil, 0, true
	}
	if !b.closed && b.queue.Len() < b.o.MaxItems {
		wait = b.o.Linger - time.Since(b.queue.Front().Value.(*item[In, Out]).at)
		if wait > 0 {
			return nil, wait, false
		}
	}
	n, now := min(b.queue.Len(), b.o.MaxItems), time.Now()
	b.batch = &running{waiting: n, began: now}
	b.batch.ctx, b.batch.cancel = context.WithCancelCause(context.Background())
	for range n {
		it := b.queue.Remove(b.queue.Front()).(*item[In, Out])
		it.place, it.batch = nil, b.batch
		items = append(items, it)
		b.counted.Waiting.observe(now.Sub(it.at).Seconds())
	}
	b.counted.Running = n
	b.counted.Sizes.observe(float64(n))
	return items, 0, false
}

// run computes a batch and settles its items.
func (b *Batcher[In, Out]) run(items []*item[In, Out]) {
	batch := items[0].batch
	var outs []Out
	returned := false
	err := error(&PanicError{})
	defer func() {
		exits := false
		if !returned {
			if r := recover(); r != nil {
				err = &PanicError{Value: r, Stack: debug.Stack()}
			} else {
				exits = true
			}
		}
		b.settle(items, outs, err)
		batch.cancel(nil)
		if exits { // f has called runtime.Goexit, which ends this goroutine
			go b.serve()
		}
	}()
	ins := make([]In, len(items))
	for i, it := range items {
		ins[i] = it.in
	}
	outs, err = b.f(batch.ctx, ins)
	returned = true
}

// settle gives every item its output or error.
func (b *Batcher[In, Out]) settle(items []*item[In, Out], outs []Out, err error) {
	var each Errors
	switch {
	case err != nil && !errors.As(err, &each):
		outs = nil
	case each != nil && len(each) != len(items):
		err = fmt.Errorf("batch: %w: %d Errors for %d items; return one for each item: %w", ErrOutputs, len(each), len(items), err)
		each, outs = nil, nil
	case len(outs) != len(items):
		err = errors.Join(fmt.Errorf("batch: %w: %d for %d items; return one for each item", ErrOutputs, len(outs), len(items)), err)
		each, outs = nil, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counted.Computing.observe(time.Since(b.batch.began).Seconds())
	b.batch, b.counted.Running = nil, 0
	for i, it := range items {
		it.batch = nil
		switch {
		case each != nil:
			it.err = each[i]
		case outs == nil:
			it.err = err
		}
		if it.err == nil && outs != nil {
			it.out = outs[i]
		}
		if it.err == nil {
			b.counted.Done++
		} else {
			b.counted.Failed++
		}
		close(it.settled)
	}
}

// Close makes the Batcher reject new items, starts waiting items without lingering, and
// returns when all accepted items are settled. If ctx ends first, it returns a *CloseError
// at once: items whose batch has not started get ErrClosed, and the context of the running
// batch is cancelled. Its callers get the results of f. Close may be called again, to wait
// for that batch too.
func (b *Batcher[In, Out]) Close(ctx context.Context) error {
	if err := b.usable(ctx); err != nil {
		return called("Close", err)
	}
	b.mu.Lock()
	b.closed = true
	if !b.serving {
		b.mu.Unlock()
		return nil
	}
	if b.idle == nil {
		b.idle = make(chan struct{})
	}
	idle := b.idle
	b.wakeUp()
	b.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return b.drop(ctx.Err())
	}
}

// drop settles the queued items with ErrClosed and cancels the running batch.
func (b *Batcher[In, Out]) drop(cause error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := &CloseError{Dropped: b.queue.Len(), Cause: cause}
	b.counted.Dropped += uint64(e.Dropped)
	for b.queue.Len() > 0 {
		it := b.queue.Remove(b.queue.Front()).(*item[In, Out])
		it.place = nil
		it.err = errDropped
		close(it.settled)
	}
	b.wakeUp()
	if b.batch != nil {
		e.Running = b.batch.waiting
		b.batch.cancel(cause)
	}
	if e.Dropped+e.Running == 0 {
		return nil // all items were settled while the context ended
	}
	return e
}
