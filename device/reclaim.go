package device

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
)

// reclaimer lists objects that the garbage collector found unreachable. Its push
// functions run in the collector's goroutine, so they only append to lists.
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

// drain returns dropped buffers, events and graphs to the device. mu is not held.
func (d *Device) drain() {
	if d.dropped.any.Load() {
		d.dispose(d.reclaim())
	}
}

// reclaim releases the unreachable objects. The caller disposes of the garbage. mu is not
// held.
func (d *Device) reclaim() (g garbage) {
	r := &d.dropped
	r.mu.Lock()
	first, events, graphs := r.first, r.events, r.graphs
	r.first, r.events, r.graphs = nil, nil, nil
	r.any.Store(false)
	r.mu.Unlock()

	d.mu.Lock()
	defer d.mu.Unlock()
	for _, a := range byAge(first) {
		a.freed.Store(true)
		d.giveBack(a, &g)
	}
	for _, e := range events { // under the mutex, because no call waits for any of them
		_ = d.backend.closeEvent(e)
	}
	for _, x := range graphs {
		_ = d.release(x)
	}
	return g
}

// byAge returns the allocations of a list, the oldest first. So the youngest block, which
// is the most likely to be in a cache, is on top of its shelf.
func byAge(first *allocation) (list []*allocation) {
	for a := first; a != nil; a = a.dropped {
		list = append(list, a)
	}
	slices.SortFunc(list, func(a, b *allocation) int { return cmp.Compare(a.id, b.id) })
	return list
}
