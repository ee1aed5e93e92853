package nccl

import (
	"errors"
	"sync"
	"time"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/submit"
)

// ID identifies a communicator that is being made.
type ID [128]byte

// Context is the primary context of a GPU, by which NCCL finds its device. With 0 the thread's context is not changed;
// this is for tests.
type Context uintptr

// ContextOf returns the context of a device.
func ContextOf(d *device.Device) (Context, error) {
	c, err := library.Context(d.Info().Index)
	return Context(c), err
}

// ErrAborted is the error of calls of a communicator that has ended.
var ErrAborted = errors.New("the communicator has ended")

// Comm is a blocking communicator: an ncclComm_t with the context of its GPU. A call returns when its
// work is enqueued. Abort may be called while another call runs.
type Comm struct {
	context Context
	handle  uintptr

	mu      sync.Mutex
	ended   bool
	running int           // calls of Run and Split
	idle    chan struct{} // closed by the last of them, if Abort waits

	queued  queuedCalls
	failure error // the failure of queued, once the communicator has ended
}

func newComm(context Context, handle uintptr) *Comm {
	return &Comm{context: context, handle: handle, queued: newQueuedCalls(context, handle)}
}

// Init makes a communicator of the given number of ranks. It waits until all of them call it, each in a
// thread or process of its own. Nothing ends the wait earlier, so the ranks must agree to call it.
func Init(context Context, ranks int, id ID, rank int) (*Comm, error) {
	handle, err := initRank(context, ranks, id, rank)
	if err != nil {
		return nil, err
	}
	return newComm(context, handle), nil
}

// Split makes a communicator of the ranks with the same color, in the order of key, or returns nil
// for a negative color. It waits until all ranks call it.
func (c *Comm) Split(color, key int) (*Comm, error) {
	if err := c.enter(); err != nil {
		return nil, err
	}
	defer c.leave()
	handle, err := c.split(max(color, -1), key)
	if err != nil || color < 0 {
		return nil, err
	}
	return newComm(c.context, handle), nil
}

// Run enqueues a call. All ranks that the call concerns make it, in the same order. The first calls
// connect the ranks, and wait for each other.
func (c *Comm) Run(k *Call) error {
	if err := c.enter(); err != nil {
		return err
	}
	defer c.leave()
	return c.run(k)
}

// errSkipped is the failure of a communicator if the queue has skipped one of its calls.
var errSkipped = errors.New("a call was not made, because work before it could not be started")

// Enqueue makes the thread of a launch queue execute Run, and returns before that. The caller must be allowed to write
// to the queue. If the call cannot be queued, Enqueue does nothing and reports false. If a call fails, or if the queue
// skips it, the Comm has a Failure, and later calls are not made. The call should not wait for other ranks, as it does
// if it has to connect them, because meanwhile the queue makes no other call.
func (c *Comm) Enqueue(q *submit.Queue, k *Call) bool {
	r := q.Next() // may wait
	c.mu.Lock()
	written := !c.ended && c.queued.write(r, k)
	c.mu.Unlock()
	if written {
		q.Push() // without the mutex, because Push makes the call itself if no thread can be started
	}
	return written
}

// Failure returns the error of a call of Enqueue that failed, if any, once the queue has reached the call.
func (c *Comm) Failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return c.failure
	}
	return c.queued.failure()
}

// enter begins a call of NCCL, which leave ends.
func (c *Comm) enter() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return ErrAborted
	}
	c.running++
	return nil
}

func (c *Comm) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running--; c.running == 0 && c.idle != nil {
		close(c.idle)
		c.idle = nil
	}
}

// callTime is longer than a call of NCCL that does not wait for another rank.
const callTime = 50 * time.Millisecond

// awaitCalls waits up to callTime for running calls to return, because an abort frees the memory that they use. A call
// that takes longer waits for another rank, and only the abort ends it.
func (c *Comm) awaitCalls() {
	limit := time.After(callTime)
	for begun := time.Now(); c.queued.running() && time.Since(begun) < callTime; {
		time.Sleep(callTime / 1000)
	}
	c.mu.Lock()
	if c.running == 0 {
		c.mu.Unlock()
		return
	}
	idle := make(chan struct{})
	c.idle = idle
	c.mu.Unlock()
	select {
	case <-idle:
	case <-limit:
	}
}

// end marks the communicator as ended, and reports whether it was open before.
func (c *Comm) end() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return false
	}
	c.queued.end()
	c.ended, c.failure = true, c.queued.failure()
	return true
}

// AsyncError returns Failure, or an error that NCCL found after a call had returned.
func (c *Comm) AsyncError() error {
	c.mu.Lock() // another goroutine must not end it meanwhile
	defer c.mu.Unlock()
	if c.ended {
		return nil
	}
	if err := c.queued.failure(); err != nil {
		return err
	}
	return c.asyncError()
}

// Abort ends a communicator without the other ranks. Work that waits for them on the GPU ends with
// undefined results, and calls that wait return.
func (c *Comm) Abort() error {
	if !c.end() {
		return nil
	}
	c.awaitCalls()
	defer c.queued.release()
	return c.abort()
}

// Destroy ends a communicator. Its work must be done, and the queue must have no call of it. All ranks must call Destroy
// at the same time.
func (c *Comm) Destroy() error {
	if !c.end() {
		return nil
	}
	defer c.queued.release()
	return c.destroy()
}
