package dist

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

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

	mu     sync.Mutex
	splits map[string]mover // those of the Comms that Split made in this Run, by name
	gpus   []*gpuComm       // those of the same Comms, in the order in which all ranks made them
}

// keepGPU records a communicator that Split made, to be freed when all ranks are done.
func (r *rank) keepGPU(g *gpuComm) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gpus = append(r.gpus, g)
}

// settle waits for the work on the rank's GPU that needs other ranks, which may exit once Run has returned.
func (r *rank) settle(ctx context.Context) error {
	r.mu.Lock()
	all := slices.Clone(r.gpus)
	r.mu.Unlock()
	if r.gpu != nil {
		all = append(all, r.gpu)
	}
	for _, g := range all {
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

// run calls f for a rank, and waits for the others.
func (r *rank) run(ctx context.Context, name string, f func(context.Context, *Comm) error) error {
	if err := r.node.Err(); err != nil {
		return err
	}
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	finished := make(chan struct{})
	defer close(finished)
	go func() {
		select {
		case <-r.node.Done():
			cancel(named(r.node.Err()))
		case <-finished:
		}
	}()
	c := newComm(inner, r, name)
	if err := f(inner, c); err != nil {
		return r.fail(err)
	}
	if err := r.settle(inner); err != nil {
		return r.fail(err)
	}
	// Ranks that return too early, or make more calls than the others, are found here.
	err := c.agree(inner, c.next(), heading{Call: "the end of Run"})
	if _, ok := r.move.(relay); err == nil && !ok {
		// This tells the watch too: a rank that exits from here on has not failed.
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

// fail ends the group with an error of this rank, unless it has already failed. It returns the group's
// first error, or this one if a rank had closed the group. An error that already names a rank, such as
// the error of an array, is attributed to that rank.
func (r *rank) fail(err error) error {
	me := r.node.Rank()
	f := &control.Failure{Rank: me, Host: r.node.Host(me), Err: named(err)}
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
