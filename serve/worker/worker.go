package worker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
)

// Policy says what happens to a message that finds the queue full.
type Policy uint8

// The policies. A message that is dropped is an error to its asker, ErrDropped; its Send
// returns nil.
const (
	Block      Policy = iota // the sender waits for room, until its context ends
	Reject                   // the sender gets ErrQueueFull
	DropOldest               // the oldest message of the lowest band goes, the new one among them
	DropNew                  // the new message goes
)

// defaultQueue is Options.Queue where none is given.
const defaultQueue = 1024

// Options configure a Worker. The zero value is usable.
type Options struct {
	// Queue is the most messages that wait, of all bands together; 0 or less: 1024.
	Queue int
	// Policy is what happens to messages beyond.
	Policy Policy
	// Restarts is how often the Worker starts anew after a panic in the handler, Within a
	// window of time; one panic more, and it is Failed. With 0 or less the first panic
	// fails it. A Within of 0 or less is the Worker's whole life.
	//
	// A restart frees the state on the device and calls Setup again. Messages that wait
	// stay.
	Restarts int
	Within   time.Duration
	// Device has the Worker's stream; nil: device.Default() at Launch.
	Device *device.Device
	// Setup makes the state that the handler uses, on the Worker's goroutine, in Activate
	// and after a restart. Its Context has the context that Activate was called with. An
	// error of Setup is Activate's; after a restart it fails the Worker. May be nil.
	Setup func(*Context) error
}

// Worker runs a handler on messages of type In, one at a time, which it answers with Out.
// It is safe for use by many goroutines. It has a goroutine and a stream from Launch until
// it is Terminated or Failed.
type Worker[In, Out any] struct {
	core
	handle func(*Context, In) (Out, error)

	// Guarded by core.mu.
	queue   queue[message[In, Out]]
	blocked [bands]waiters[In, Out]

	now outcome[In, Out] // of the message that is being handled; the Worker's goroutine alone
}

// core is what of a Worker does not depend on its types.
type core struct {
	name string
	o    Options
	born time.Time
	turn chan struct{} // one place: Launch, Activate and Deactivate go one after the other
	done chan struct{} // closed once nothing is left

	mu       sync.Mutex
	bell     sync.Cond // the Worker's goroutine waits on it for something to do
	state    State
	cause    error // why the Worker is Failed
	discard  bool  // what waits is dropped, not handled
	why      error // why it is dropped, where the Worker did not fail
	lost     int   // messages that Drain, Terminate or a failure dropped
	request  *request
	ended    bool                    // contexts of messages are cancelled
	cancel   context.CancelCauseFunc // of the context of the message that is being handled
	running  bool                    // a message is being handled
	crashes  []time.Duration         // when the Worker restarted
	leftover error                   // of freeing everything at the end
	counts   counters
}

// New returns a Worker that is Created. handle runs on the Worker's goroutine, one message
// at a time. An error that it returns goes to the asker; that of a message of Send is
// counted. So is a panic, after which the Worker restarts as Options say.
func New[In, Out any](name string, handle func(*Context, In) (Out, error), o Options) *Worker[In, Out] {
	if o.Queue <= 0 {
		o.Queue = defaultQueue
	}
	w := &Worker[In, Out]{handle: handle, core: core{
		name: name, o: o, born: time.Now(), turn: make(chan struct{}, 1), done: make(chan struct{}),
	}}
	w.bell.L = &w.mu
	return w
}

// usable is why nothing can be done with the Worker.
func (w *Worker[In, Out]) usable() error {
	switch {
	case w == nil || w.handle == nil:
		return fmt.Errorf("%w: a Worker without a handler; New makes one", gpk.ErrUnsupported)
	case w.o.Policy > DropNew:
		return fmt.Errorf("worker %q: %w: Policy(%d)", w.name, gpk.ErrUnsupported, w.o.Policy)
	}
	return nil
}

// check is why a call with a context cannot be made.
func (w *Worker[In, Out]) check(ctx context.Context) error {
	err := w.usable()
	if err == nil && ctx == nil {
		err = fmt.Errorf("worker %q: %w: a nil context", w.name, gpk.ErrUnsupported)
	}
	return err
}

// checkLive is check, and why a call is not made whose context has ended.
func (w *Worker[In, Out]) checkLive(ctx context.Context) error {
	err := w.check(ctx)
	if err == nil && ctx.Err() != nil {
		err = fmt.Errorf("worker %q: %w", w.name, ctx.Err())
	}
	return err
}

// State returns the state; that of a nil Worker is Created.
func (w *Worker[In, Out]) State() State {
	if w == nil {
		return Created
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state
}

// age is the time since New, by which everything is timed.
func (c *core) age() time.Duration { return time.Since(c.born) }
