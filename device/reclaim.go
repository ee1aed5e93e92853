package device

import (
	"sync"
	"sync/atomic"
)

// reclaimer is what the garbage collector found dropped. Its functions run in
// the collector's goroutine, so they do no more than put things on a list.
type reclaimer struct {
	any    atomic.Bool
	mu     sync.Mutex
	first  *allocation
	events []uint64
	graphs []*graphState
}

// dropAllocation is the cleanup of a Buffer that was not freed.
func dropAllocation(a *allocation) {
	if a.freed.Load() {
		return
	}
	r := &a.dev.dropped
	r.mu.Lock()
	a.dropped, r.first = r.first, a
	r.any.Store(true)
	r.mu.Unlock()
}

// pushEvent is the cleanup of an Event.
func (r *reclaimer) pushEvent(handle uint64) {
	r.mu.Lock()
	r.events = append(r.events, handle)
	r.any.Store(true)
	r.mu.Unlock()
}

// pushGraph is the cleanup of a Graph.
func (r *reclaimer) pushGraph(g *graphState) {
	r.mu.Lock()
	r.graphs = append(r.graphs, g)
	r.any.Store(true)
	r.mu.Unlock()
}

// drain gives back what was dropped. mu is not held.
func (d *Device) drain() {
	r := &d.dropped
	if !r.any.Load() {
		return
	}
	r.mu.Lock()
	first, events, graphs := r.first, r.events, r.graphs
	r.first, r.events, r.graphs = nil, nil, nil
	r.any.Store(false)
	r.mu.Unlock()

	var g garbage
	d.mu.Lock()
	for a := first; a != nil; a = a.dropped {
		a.freed.Store(true)
		d.giveBack(a, &g)
	}
	for _, e := range events { // under the mutex: nobody waits for one of them
		_ = d.backend.closeEvent(e)
	}
	for _, x := range graphs {
		_ = d.release(x)
	}
	d.mu.Unlock()
	d.dispose(g)
}
