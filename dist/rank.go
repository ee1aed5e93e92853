package dist

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dist/internal/control"
)

// rank is a rank that this process holds.
type rank struct {
	node   *control.Node
	device *device.Device
	move   mover
	gpu    *gpuComm // nil: arrays are copied through the host
	engine string
	beside *beside // state that it shares with the other ranks of the process; nil: there are none

	background sync.WaitGroup // goroutines of this Run

	mu          sync.Mutex
	splits      map[string]mover // movers of the Comms that Split made in this Run, by name
	gpus        []*gpuComm       // communicators of the same Comms, in the order in which all ranks made them
	comparisons []*comparison    // comparisons of all Comms of this Run
}

// beside is the state that the ranks of one process share.
type beside struct {
	ranks []int
	meetings
}

// holds reports whether the process of r holds another rank.
func (r *rank) holds(another int) bool {
	return another == r.node.Rank() || r.beside != nil && slices.Contains(r.beside.ranks, another)
}

// keepGPU records a communicator that Split made, to be freed when all ranks are done.
func (r *rank) keepGPU(g *gpuComm) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gpus = append(r.gpus, g)
}

// leaveTime is how long the GPU's work may continue after the context of Run has ended.
const leaveTime = time.Second

// leaveGPUs fails the group if the rank's GPU is still working some time after the context has ended: the
// program may wait for this work, and the work for another rank.
func (r *rank) leaveGPUs(ctx context.Context, finished chan struct{}) {
	ticker := time.NewTicker(leaveTime)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			for _, g := range r.communicators() {
				if !g.complete() {
					_ = r.fail(context.Cause(ctx))
					return
				}
			}
		case <-finished:
			return
		case <-r.node.Done():
			return
		}
	}
}

// communicators returns the communicators of the rank.
func (r *rank) communicators() []*gpuComm {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := slices.Clone(r.gpus)
	if r.gpu != nil {
		all = append(all, r.gpu)
	}
	return all
}

// settle waits for work on the rank's GPU that needs other ranks, because these may exit once Run has
// returned.
func (r *rank) settle(ctx context.Context) error {
	for _, g := range r.communicators() {
		if err := g.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// keep records a mover that Split made, to be freed when all ranks are done.
func (r *rank) keep(name string, m mover) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.splits == nil {
		r.splits = map[string]mover{}
	}
	r.splits[name] = m
}

// free frees the movers that Split made, in an order that is the same in all ranks.
func (r *rank) free() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, g := range r.gpus {
		errs = append(errs, g.free())
	}
	r.gpus = nil
	for _, name := range slices.Sorted(maps.Keys(r.splits)) {
		errs = append(errs, r.splits[name].free())
	}
	clear(r.splits)
	return errors.Join(errs...)
}

// run calls f for a rank, and then waits for the other ranks.
func (r *rank) run(ctx context.Context, name string, f func(context.Context, *Comm) error) error {
	if err := r.node.Err(); err != nil {
		return err
	}
	inner, cancel := context.WithCancelCause(ctx)
	finished := make(chan struct{})
	defer func() {
		cancel(nil)
		close(finished)
		r.background.Wait()
	}()
	r.background.Go(func() {
		select {
		case <-r.node.Done():
			cancel(asRankError(r.node.Err()))
		case <-ctx.Done():
			r.leaveGPUs(ctx, finished)
		case <-finished:
		}
	})
	c := newComm(inner, r, name)
	if err := f(inner, c); err != nil {
		return r.fail(err)
	}
	if err := r.settle(inner); err != nil {
		return r.fail(err)
	}
	// This detects ranks that return too early, or that make more calls than the others.
	err := r.endCalls(inner, c)
	for _, g := range r.communicators() {
		g.graphs.free()
	}
	if _, ok := r.move.(relay); err == nil && !ok {
		// The watch uses this too: a rank that exits after this has not failed.
		_, err = r.node.Gather(inner, name+"/end", r.node.Rank(), r.node.Size(), nil)
	}
	if err == nil {
		err = r.free()
	}
	if err != nil {
		return r.fail(err)
	}
	return nil
}

// compare starts a comparison of this Run.
func (r *rank) compare(ctx context.Context, p *comparison) {
	r.mu.Lock()
	r.comparisons = append(r.comparisons, p)
	r.mu.Unlock()
	if !p.alone {
		r.background.Go(func() { p.run(ctx) })
	}
}

// endCalls waits until the ranks have compared all calls, including those of Comms that Split made, and
// agree that no more follow.
func (r *rank) endCalls(ctx context.Context, c *Comm) error {
	end := heading{Call: "the end of Run"}
	r.mu.Lock()
	list := r.comparisons
	r.comparisons = nil
	r.mu.Unlock()
	if len(list) == 0 {
		return c.agree(ctx, c.next(), end)
	}
	waits := make([]func() error, len(list))
	for i, p := range list {
		waits[i] = p.begin(ctx, &end)
	}
	for _, wait := range waits {
		if err := wait(); err != nil {
			return err
		}
	}
	return nil
}

// fail ends the group with an error of this rank, unless it has already failed. It returns the group's
// first error, or this one if a rank had closed the group. An error that already names a rank, such as
// the error of an array, is attributed to that rank.
func (r *rank) fail(err error) error {
	me := r.node.Rank()
	f := &control.Failure{Rank: me, Host: r.node.Host(me), Err: asRankError(err)}
	var e *RankError
	if errors.As(f.Err, &e) {
		f.Rank, f.Host = e.Rank, e.Host
		if f.Err == error(e) {
			f.Err = e.Err
		}
	}
	r.node.Blame(f)
	if first := r.node.Err(); !errors.Is(first, control.ErrClosed) {
		return first
	}
	return f
}
