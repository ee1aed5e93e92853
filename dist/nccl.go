package dist

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dist/internal/control"
	"github.com/gpk-go/gpk/internal/deferred"
	"github.com/gpk-go/gpk/internal/deviceapi"
	"github.com/gpk-go/gpk/internal/nccl"
)

// gpuComm is the NCCL communicator of a Comm. The ranks compare their calls while the work runs.
//
// A call returns when its work is enqueued; its result is not complete then. When a rank is lost or calls
// differ, watch aborts the communicator: the work ends, and results that were not complete or not compared
// carry the RankError as a deferred error.
type gpuComm struct {
	comm *nccl.Comm
	node *control.Node

	mu      sync.Mutex
	failure error          // why the communicator was aborted
	stream  *device.Stream // stream of the work that was enqueued last; nil: none was
	last    uint64         // number of that work on the stream
	current *batch         // the batch of the next results; nil: a new one
	open    map[*batch]bool
	compare *comparison // the comparison of the Comm that uses it

	connected map[nccl.Class]struct{} // the classes of calls that no longer wait for other ranks

	own *device.Stream // stream of the arrays that Comm.Beside returns; nil: none yet

	graphs

	leave   chan struct{} // closed by end
	once    sync.Once
	stopped chan struct{} // closed when watch has returned
}

// batch holds the results that were enqueued since the program last waited for one. They share one deferred error, so
// that a chain of many collective calls depends on only one.
type batch struct {
	err     *deferred.Error
	failure error

	compare *comparison // the comparison of their calls
	calls   int         // number of calls up to the last one of the batch
}

// asyncPause is the interval at which watch asks NCCL whether a connection has failed.
const asyncPause = time.Second

func newGPUComm(comm *nccl.Comm, node *control.Node) *gpuComm {
	g := &gpuComm{comm: comm, node: node, open: map[*batch]bool{}, connected: map[nccl.Class]struct{}{}, leave: make(chan struct{}), stopped: make(chan struct{})}
	go g.watch()
	return g
}

// watch aborts the communicator when the group fails.
func (g *gpuComm) watch() {
	defer close(g.stopped)
	ticker := time.NewTicker(asyncPause)
	defer ticker.Stop()
	for {
		select {
		case <-g.leave:
			return
		case <-g.node.Done():
			g.abort(asRankError(g.node.Err()))
			return
		case <-ticker.C:
			if err := g.comm.AsyncError(); err != nil {
				_ = g.fail(err) // the next round returns the group's error
			}
		}
	}
}

// complete reports whether all work that was enqueued is done.
func (g *gpuComm) complete() bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	return g.waitLast(ctx) == nil
}

// waitLast waits for all enqueued work, and for other work that is on its stream by now.
func (g *gpuComm) waitLast(ctx context.Context) error {
	g.mu.Lock()
	stream, last := g.stream, g.last
	g.mu.Unlock()
	if stream == nil {
		return nil
	}
	return deviceapi.WaitSequence(ctx, stream, last)
}

// markTime is how long abort waits for locks before it aborts. A launch holds the device's lock while the stream's
// queue is full of work that waits for another rank, which only the abort ends.
const markTime = 200 * time.Millisecond

// abort ends the communicator, and fails the results that are not complete.
func (g *gpuComm) abort(err error) {
	var aborted atomic.Bool
	marked := make(chan struct{})
	go func() {
		defer close(marked)
		g.markFailed(err, &aborted)
	}()
	select {
	case <-marked:
	case <-time.After(markTime):
	}
	aborted.Store(true)
	// A Replay may wait for work that Abort ends, and Abort waits until graphs are freed.
	var freed sync.WaitGroup
	freed.Go(g.graphs.free)
	_ = g.comm.Abort() // the group has already failed, and its first error counts
	freed.Wait()
	<-marked
}

// markFailed fails the results that are not complete. For work that is enqueued at the same time there are two cases:
// if note was called before failure was set, complete waits for the work; otherwise note fails it. After an abort,
// work that is complete may have been aborted.
func (g *gpuComm) markFailed(err error, aborted *atomic.Bool) {
	g.mu.Lock()
	g.failure = err
	g.mu.Unlock()
	if complete := g.complete(); !complete || aborted.Load() {
		g.failOpen(err)
	}
}

// failOpen sets the error of the results that nobody has waited for.
func (g *gpuComm) failOpen(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for b := range g.open {
		b.failure = err
	}
}

func (g *gpuComm) err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.failure
}

// comparedBy sets the comparison for later calls.
func (g *gpuComm) comparedBy(p *comparison) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.compare, g.current = p, nil
}

// follow makes a stream wait for the work that was enqueued last, if that is on another stream.
func (g *gpuComm) follow(s *device.Stream) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.failure != nil {
		return g.failure
	}
	if err := g.comm.Failure(); err != nil { //nolint:staticcheck // a build without cgo has no communicator
		return fmt.Errorf("%w: %w", errEngine, err)
	}
	if g.stream == nil || g.stream == s {
		return nil
	}
	return deviceapi.Follow(s, g.stream, g.last)
}

// note marks the enqueued work as the last one, and attaches the batch's deferred error to its results. It records no
// event, because that is a call of the driver; waitLast records one.
func (g *gpuComm) note(s *device.Stream, results ...*device.Buffer) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.failure != nil {
		g.current = nil // the batch was complete, so it may not have failed
	}
	g.stream, g.last = s, deviceapi.Sequence(s)
	if g.current == nil {
		b := &batch{failure: g.failure} // the communicator may have been aborted meanwhile
		b.err = deferred.New(func() (found, failed error) { return g.resolve(b) }, func(*deferred.Error) {})
		g.current = b
		g.open[b] = true
	}
	if g.compare != nil {
		g.current.compare, g.current.calls = g.compare, g.compare.number()
	}
	for _, b := range results {
		b.State().Attach(g.current.err)
	}
	return nil
}

// resolve waits for the results of a batch, and until the ranks have compared their calls: if calls differ, results
// may be wrong.
func (g *gpuComm) resolve(b *batch) (found, failed error) {
	g.mu.Lock()
	if g.current == b {
		g.current = nil // later results belong to another batch
	}
	g.mu.Unlock()
	if err := g.waitLast(context.Background()); err != nil {
		return nil, err
	}
	g.mu.Lock()
	compare, calls := b.compare, b.calls
	g.mu.Unlock()
	broken := g.broken()
	if compare != nil && broken == nil {
		found = compare.reach(calls)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.open, b)
	if b.failure == nil {
		b.failure = broken
	}
	if b.failure != nil {
		found = b.failure
	}
	return found, nil
}

// broken fails the group, and returns its error, if a call of the device's queue has failed or was left out.
func (g *gpuComm) broken() error {
	if err := g.comm.Failure(); err != nil { //nolint:staticcheck // a build without cgo has no communicator
		return g.fail(err)
	}
	return nil
}

// fail ends the group because of an error of NCCL, and returns the group's error. The cause may be the loss of another
// rank. So fail waits up to patience for the error of another rank, which then becomes the group's error.
func (g *gpuComm) fail(err error) error {
	select {
	case <-g.node.Done():
	case <-time.After(patience):
		g.node.Fail(fmt.Errorf("%w: %w", errEngine, err))
	}
	return asRankError(g.node.Err())
}

// wait waits for all work that was enqueued.
func (g *gpuComm) wait(ctx context.Context) error {
	if err := g.waitLast(ctx); err != nil {
		return err
	}
	if err := g.err(); err != nil {
		return err
	}
	return g.broken()
}

// split makes the communicator of the ranks with the same color, as mover.split does.
func (g *gpuComm) split(ctx context.Context, color, key int) (*gpuComm, error) {
	if err := g.wait(ctx); err != nil { // NCCL splits only communicators without pending work
		return nil, err
	}
	c, err := await(ctx, g.node, func() (*nccl.Comm, error) { return g.comm.Split(color, key) })
	if err != nil || c == nil {
		return nil, err
	}
	return newGPUComm(c, g.node), nil
}

// await runs f, a call of NCCL that waits for other ranks and cannot be cancelled. If the group fails or ctx ends,
// await returns at once, and f continues in its goroutine until NCCL returns.
func await(ctx context.Context, node *control.Node, f func() (*nccl.Comm, error)) (*nccl.Comm, error) {
	type result struct {
		comm *nccl.Comm
		err  error
	}
	done, abandoned := make(chan result), make(chan struct{})
	defer close(abandoned)
	go func() {
		c, err := f()
		if err != nil {
			err = fmt.Errorf("%w: %w", errEngine, err)
		}
		select {
		case done <- result{c, err}:
		case <-abandoned:
			if c != nil {
				_ = c.Abort() // nobody else has it
			}
		}
	}()
	select {
	case r := <-done:
		return r.comm, r.err
	case <-node.Done():
		return nil, node.Err()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// ownStream returns the stream of Comm.Beside.
func (g *gpuComm) ownStream(d *device.Device) (*device.Stream, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.own == nil {
		s, err := d.NewStream()
		if err != nil {
			return nil, err
		}
		g.own = s
	}
	return g.own, nil
}

// closeStream closes the stream of Comm.Beside, whose work is done. Its arrays then use the default stream.
func (g *gpuComm) closeStream() error {
	g.mu.Lock()
	s := g.own
	g.own = nil
	g.mu.Unlock()
	if s == nil {
		return nil
	}
	return s.Close()
}

// free ends the communicator. All of its ranks call it; their work is done.
func (g *gpuComm) free() error {
	g.once.Do(func() { close(g.leave) })
	<-g.stopped
	g.graphs.free()
	if err := g.err(); err != nil {
		_ = g.closeStream() // the communicator was aborted, and its error counts
		return nil
	}
	return errors.Join(g.comm.Destroy(), g.closeStream())
}

// abortLimit is how long Close waits for NCCL to abort.
const abortLimit = 5 * time.Second

// leaveFailed waits until the communicator of a group that has failed is aborted.
func (g *gpuComm) leaveFailed() {
	select {
	case <-g.stopped:
		_ = g.closeStream() // the group's error counts
	case <-time.After(abortLimit):
	}
}
