package array

import "slices"

// Free says that the program no longer needs the array and its views, and gives the memory
// back to the pool. Pending arrays that read it are computed first. If there is no memory for
// one of them, it stays pending, and the memory that it reads is given back once it is computed.
// Any later use of the freed array is ErrFreed. So is a read of an array that was computed from
// this one only as a step of another array, because it was never stored.
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
		// Wait first: a reader that cannot start wakes all who wait, and two calls that start
		// readers after each wait would wake each other without end.
		if st.inUse() {
			s.changed.Wait()
			continue
		}
		c := st.cur
		left := s.startReaders(c, c.mem)
		if st.cur != c || st.ended != nil || st.inUse() { // another goroutine has changed it meanwhile
			continue
		}
		m := c.mem
		st.ended = by
		switch {
		case len(left) > 0:
			if c.superseded = m == nil; m != nil {
				m.outlive(left, by)
			}
			gone := newNode(*by) // so that the array does not keep the memory alive
			gone.state, gone.err = freed, freedBy(by)
			st.cur = gone.out
		case m == nil && c.node.state == pending:
			s.end(c.node, freed, nil, by)
		case m != nil && (st.rec == nil || !st.rec.ended): // unless a graph owns the memory
			handOver = m.free(by)
		}
	}
	s.changed.Broadcast()
	return handOver
}

// inUse reports whether a goroutine writes the storage, computes its contents, or reads them.
func (st *storage) inUse() bool {
	c := st.cur
	return st.writing || c.mem == nil && c.node.state == running || c.mem != nil && c.mem.inUse()
}

// startReaders stores the pending nodes that read contents, or any contents in a memory, before
// the program frees these. It returns the nodes that are still pending, because there was no
// memory for them or the device refused the work.
func (s *scheduler) startReaders(c *contents, m *memory) (left []*node) {
	if c != nil && !c.needed(0) && (m == nil || len(m.olds) == 0 && m == c.mem) {
		return nil // no pending node reads c, and no older contents share its memory
	}
	for {
		n := s.readerExcept(left, c, m)
		if n == nil {
			return slices.DeleteFunc(left, func(n *node) bool { return n.state != pending })
		}
		if s.start(n) != nil {
			left = append(left, n)
		}
	}
}

// readerExcept returns a pending node that reads contents, or any contents in a memory, and is
// not in a list; nil if there is none.
func (s *scheduler) readerExcept(list []*node, c *contents, m *memory) *node {
	for _, n := range s.pending.All() {
		if n.out != c && !slices.Contains(list, n) && n.refersTo(func(x *contents) bool { return x == c || m != nil && x.mem == m }) > 0 {
			return n
		}
	}
	return nil
}

// outlive keeps a memory, whose storage a call has freed, for pending nodes that read it. It is
// freed with the last of them.
func (m *memory) outlive(readers []*node, by *call) {
	m.current, m.dropped = false, by
	for _, n := range readers {
		n.refersTo(func(c *contents) bool {
			if c.mem == m && c.version == m.version && !c.superseded {
				c.supersede()
			}
			return false
		})
	}
}
