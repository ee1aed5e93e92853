package array

import "github.com/gpk-go/gpk/device"

// use is the set of memories that a piece of work reads. Nothing writes to them until the work has been started.
type use struct {
	pins []*memory
	room [4]*memory // the first elements of pins, to save an allocation
}

// take adds the memory of c, and sets the buffer of v to it. It reports false, and does
// nothing, if the elements cannot be read yet.
func (u *use) take(c *contents, v *device.View) bool {
	m := c.mem
	if m == nil || m.busy || c.err() != nil || c.lost(v) {
		return false
	}
	v.Buffer = m.buf
	if u.pins == nil {
		u.pins = u.room[:0]
	}
	u.pins = append(u.pins, m)
	return true
}

// locate returns the view of an operand's elements in memory, and adds that memory.
func (u *use) locate(n *node, in *operand) (device.View, error) {
	v, c := in.view, in.of
	if u.take(c, &v) {
		return v, nil
	}
	if err := c.err(); err != nil {
		return v, c.blame(err)
	}
	switch m := c.mem; {
	case m == nil:
		return v, &unready{node: c.node}
	case m.busy:
		return v, &unready{}
	}
	return v, &unready{in: in, owner: n}
}

// find is locate for the elements that an array shows, within or outside of a capture.
func (u *use) find(a *Array, rec *recording) (device.View, error) {
	v := device.View{DType: a.dt, Layout: a.lay}
	c, err := a.contents(rec)
	if err == nil {
		err = c.missing()
	}
	if err != nil || u.take(c, &v) {
		return v, err
	}
	return u.locate(nil, &operand{of: c, view: v})
}

// begin pins the memories. The mutex is held.
func (u *use) begin() {
	for _, m := range u.pins {
		m.pins++
	}
}

// end unpins the memories. The mutex is held.
func (u *use) end() {
	for _, m := range u.pins {
		m.unpin()
	}
}

// release unpins the memories and wakes the goroutines that wait for them. The mutex is not held.
func (s *scheduler) release(u *use) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u.end()
	s.changed.Broadcast()
}
