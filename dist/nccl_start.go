package dist

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/deviceapi"
	"github.com/gpk-go/gpk/internal/nccl"
	"github.com/gpk-go/gpk/internal/submit"
)

// use is a launch that registers the use of buffers. It contains the call of NCCL if the device's queue makes that
// call, and no work otherwise.
type use struct {
	reads, writes [1]*device.Buffer
	stream        uint64 // the driver's number

	comm   *nccl.Comm
	queue  *submit.Queue // nil: the call does not go through the queue
	call   nccl.Call
	queued bool // the queue makes the call
}

// uses is a pool of use, because a short call takes no longer than a few allocations.
var uses = sync.Pool{New: func() any { return new(use) }}

// Start implements device.Work. The queue is empty when it is called.
func (w *use) Start(_ int, stream uint64) error {
	w.stream = stream
	if err := w.comm.Failure(); err != nil { //nolint:staticcheck // a build without cgo has no communicator
		return fmt.Errorf("%w: %w", errEngine, err)
	}
	return nil
}

// Enqueue implements device.Queued.
func (w *use) Enqueue(_ int, stream uint64) (done bool, err error) {
	if w.queue == nil {
		return false, nil
	}
	w.call.Stream = stream
	w.queued = w.comm.Enqueue(w.queue, &w.call)
	return w.queued, nil
}

func (w *use) put() {
	*w = use{}
	uses.Put(w)
}

// start enqueues a call that reads src and writes dst on a stream. Either may have no buffer.
//
// NCCL's first calls wait for the other ranks, so NCCL is called without the device's mutex. A launch
// of no work before the call orders the stream after earlier uses of the buffers, and a launch of no
// work after it records this use. Nothing else uses the buffers between the two launches: src is lent
// while it is read, and nothing else knows dst. A call for which
// queues reports true is one launch.
func (g *gpuComm) start(s *device.Stream, src, dst device.View, k nccl.Call) error {
	captured := s.Capturing()
	if !captured {
		if err := g.settle(src.Buffer); err != nil {
			return err
		}
		if err := g.follow(s); err != nil {
			return err
		}
	}
	d, w := s.Device(), uses.Get().(*use)
	defer w.put()
	w.reads[0], w.writes[0] = src.Buffer, dst.Buffer
	if src.Buffer != nil {
		k.Send = src.Addr()
	}
	if dst.Buffer != nil {
		k.Recv = dst.Addr()
	}
	w.comm, w.call = g.comm, k
	if g.queues(k.Class()) {
		w.queue = deviceapi.Queue(d)
	}
	if err := d.LaunchWork(s, w.reads[:], w.writes[:], w); err != nil {
		return err
	}
	if !w.queued {
		if err := g.direct(s, w, k); err != nil {
			return err
		}
	}
	if captured {
		return nil // a Replay records it
	}
	return g.note(s, dst.Buffer)
}

// direct calls NCCL between two launches.
func (g *gpuComm) direct(s *device.Stream, w *use, k nccl.Call) error {
	k.Stream, w.queue = w.stream, nil
	if err := g.comm.Run(&k); err != nil { //nolint:staticcheck // in a build without cgo it always fails
		return fmt.Errorf("%w: %w", errEngine, err)
	}
	g.connect(k.Class())
	if err := s.Device().LaunchWork(s, w.reads[:], w.writes[:], w); err != nil {
		return errors.Join(err, s.Synchronize(context.Background())) // no launch has recorded the use of the buffers, so the call must be complete here
	}
	return nil
}

// connect records that a call of a class was made.
func (g *gpuComm) connect(c nccl.Class) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.connected[c] = struct{}{}
}

// queues reports whether the device's queue may make a call of a class: such calls were made before, and this process
// has no other rank. If another rank were in this process, the driver could wait in it for a kernel that waits for the
// queued call.
func (g *gpuComm) queues(c nccl.Class) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, ok := g.connected[c]
	return ok && g.compare != nil && g.compare.c.r.beside == nil
}
