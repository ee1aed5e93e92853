package worker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
)

// Policy says what happens to a message when the queue is full.
type Policy uint8

// The policies. If a message is dropped, Ask returns ErrDropped, and Send returns nil.
const (
	Block      Policy = iota // the sender waits for room, until its context ends
	Reject                   // the sender gets ErrQueueFull
	DropOldest               // the oldest message of the lowest band is dropped, which may be the new one
	DropNew                  // the new message is dropped
)

// defaultQueue is the default of Options.Queue.
const defaultQueue = 1024

// Options configure a Worker. The zero value is usable.
type Options struct {
	// Queue is the maximum number of waiting messages of all bands together. The default,
	// for 0 or less, is 1024.
	Queue int
	// Policy says what happens to a message when the queue is full.
	Policy Policy
	// Restarts is the maximum number of restarts after panics in the handler within the
	// time Within. One more panic makes the Worker Failed. With 0 or less, the first panic
	// does. A Within of 0 or less stands for the Worker's whole life.
	//
	// A restart frees the state on the device and calls Setup again. Waiting messages
	// remain in the queue.
	Restarts int
	Within   time.Duration
	// Device is the device of the Worker's stream; nil: device.Default() at Launch.
	Device *device.Device
	// Setup makes the state for the handler. It is called on the Worker's goroutine, by
	// Activate and after a restart. Its Context has the context of Activate. Activate
	// returns an error of Setup; after a restart, an error of Setup makes the Worker
	// Failed. It may be nil.
	Setup func(*Context) error
}

// Worker runs a handler on messages of type In, one at a time. The handler's answers have
// type Out. It is safe for use by many goroutines. It has a goroutine and a stream from
// Launch until it is Terminated or Failed.
type Worker[In, Out any] struct {
	core
	handle func(*Context, In) (Out, error)

	// Guarded by core.mu.
	queue   queue[message[In, Out]]
	blocked [bands]waiters[In, Out]

	now outcome[In, Out] // the message that is being handled; used only by the Worker's goroutine
}

// core is the part of a Worker that does not depend on its types.
type core struct {
	name string
	o    Options
	born time.Time
	turn chan struct{} // capacity 1: Launch, Activate and Deactivate run one after the other
	done chan struct{} // closed when everything was freed

	mu       sync.Mutex
	bell     sync.Cond // wakes the Worker's goroutine
	state    State
	cause    error // the reason why the Worker is Failed
	discard  bool  // waiting messages are dropped instead of handled
	why      error // the reason why they are dropped, if the Worker did not fail
	lost     int   // messages that Drain, Terminate or a failure dropped
	request  *request
	ended    bool                    // the contexts of messages are cancelled
	cancel   context.CancelCauseFunc // cancels the context of the message that is being handled
	running  bool                    // a message is being handled
	crashes  []time.Duration         // times of the restarts
	leftover error                   // error of freeing everything at the end
	counts   counters
}

// New returns a Worker in state Created. handle runs on the Worker's goroutine, one
// message at a time. Ask returns an error of handle to its caller; for Send it is only
// counted. A panic in handle is treated like an error. After it the Worker restarts if
// Options.Restarts allows.
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

// usable returns the reason why the Worker cannot be used, or nil.
func (w *Worker[In, Out]) usable() error {
	switch {
	case w == nil || w.handle == nil:
		return fmt.Errorf("%w: a Worker without a handler; New makes one", gpk.ErrUnsupported)
	case w.o.Policy > DropNew:
		return fmt.Errorf("worker %q: %w: Policy(%d)", w.name, gpk.ErrUnsupported, w.o.Policy)
	}
	return nil
}

// check returns the reason why a call with a context cannot be made, or nil.
func (w *Worker[In, Out]) check(ctx context.Context) error {
	err := w.usable()
	if err == nil && ctx == nil {
		err = fmt.Errorf("worker %q: %w: a nil context", w.name, gpk.ErrUnsupported)
	}
	return err
}

// checkLive is check, and also returns the error of a context that has ended.
func (w *Worker[In, Out]) checkLive(ctx context.Context) error {
	err := w.check(ctx)
	if err == nil && ctx.Err() != nil {
		err = fmt.Errorf("worker %q: %w", w.name, ctx.Err())
	}
	return err
}

// State returns the state. That of a nil Worker is Created.
func (w *Worker[In, Out]) State() State {
	if w == nil {
		return Created
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state
}

// age returns the time since New, which is used for all measurements.
func (c *core) age() time.Duration { return time.Since(c.born) }
