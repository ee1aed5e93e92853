package array

import (
	"errors"
	"fmt"
)

// Free says that the program no longer needs the array and its views, and gives the memory
// back to the pool. Pending arrays that read it are computed first. Any later use of the
// array is ErrFreed. So is a read of an array that was computed from this one only as a
// step of another array, because it was never stored.
func (a *Array) Free() {
	switch {
	case a == nil || a.stream == nil:
	case a.packed != nil:
		a.packed.free()
	default:
		if handOver := schedulerOf(a.on()).free(a.st, &call{"Free", here()}); handOver != nil {
			handOver()
		}
	}
}

// free frees a storage. It returns the call that hands foreign memory to its owner, or nil.
// The caller does not hold the mutex.
func (s *scheduler) free(st *storage, by *call) (handOver func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for st.ended == nil {
		c := st.cur
		m := c.mem
		if s.startReader(c, m) {
			continue
		}
		if st.writing || m == nil && c.node.state == running || m != nil && (m.pins > 0 || m.busy) {
			s.wait()
			continue
		}
		st.ended = by
		if m == nil && c.node.state == pending {
			s.end(c.node, freed, nil, by)
		}
		if m != nil && (st.rec == nil || !st.rec.ended) { // a graph keeps its memory
			handOver = m.free(by)
		}
	}
	s.changed.Broadcast()
	return handOver
}

// errNotComputed is the cause if a reader of freed memory could not be computed first.
var errNotComputed = errors.New("what it reads was freed before it could be computed")

// startReader stores one pending node that reads contents, or any contents in a memory,
// before they are lost. It reports false if there is no such node.
func (s *scheduler) startReader(c *contents, m *memory) bool {
	for _, n := range append(s.waiting(s.outdated), s.waiting(s.pending)...) {
		if n.out != c && n.refersTo(func(x *contents) bool { return x == c || m != nil && x.mem == m }) > 0 {
			if err := s.start(n); err != nil && n.state == pending {
				// Not %w: with the next try there may be memory, and n stays failed.
				s.end(n, failed, n.fail(fmt.Errorf("%w: %v", errNotComputed, err)), nil)
			}
			return true
		}
	}
	return false
}
