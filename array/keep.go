package array

import "github.com/gpk-go/gpk/device"

// saveFirst returns the step that must come before a write to a place whose storage shows the newest version of
// its memory: running readers must end, and memory for the saved elements must be allocated. own of the readers
// belong to the write.
func (p *place) saveFirst(own int, stream *device.Stream) error {
	m := p.old.mem
	if m.inUse() {
		return &unready{}
	}
	kept := p.kept
	if !m.needs(p.old, own, &p.Part) {
		kept.Free()
		p.kept = nil
		return nil
	}
	k := m.log.Keep(p.Part, m.Part, m.buf)
	if kept != nil && kept.Memory == m.buf && kept.Whole == k.Whole {
		return nil
	}
	kept.Free()
	p.kept = nil
	if n := m.sched.cheaperReader(p.old, own, 2*k.NBytes()); n != nil {
		return &unready{node: n}
	}
	return &unready{alloc: func() (err error) {
		if k.Buffer, err = alloc(stream.Device(), k.NBytes(), stream); err == nil {
			p.kept = k
		}
		return err
	}}
}

// cheaperReader returns a pending node that is the only reader of c beside the write's own readers, and that
// moves fewer bytes than saving c would. Running it makes saving unnecessary. It returns nil if there is no such
// node.
func (s *scheduler) cheaperReader(c *contents, own int, bytes int64) *node {
	if len(c.mem.olds) > 0 || c.readers.Len() != own+1 {
		return nil
	}
	for _, n := range s.pending.Waiting() {
		moved, reads := int64(n.lay.Size())*int64(n.dt.Size()), false
		for i := range n.n {
			in := n.operand(i)
			reads = reads || in.of == c
			moved += int64(in.view.Layout.Size()) * int64(in.view.DType.Size())
		}
		if reads && !n.fuses() && moved <= bytes {
			return n
		}
	}
	return nil
}
