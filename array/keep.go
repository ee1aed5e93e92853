package array

import (
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/undo"
)

// keep holds the elements that a write in place must save first: those of the written part,
// or a copy of the whole memory if that is smaller than all saved elements together.
type keep struct {
	mem *memory
	undo.Part
	whole bool
	buf   *device.Buffer
}

// keeping returns the elements that a write to a part must save.
func (m *memory) keeping(p undo.Part) *keep {
	k := &keep{mem: m, Part: p, whole: m.log.NBytes+p.NBytes() > m.NBytes()}
	if k.whole {
		k.Part = m.Part
	}
	return k
}

// save copies the elements. A nil keep saves nothing. The mutex is not held.
func (k *keep) save(s *device.Stream) error {
	if k == nil {
		return nil
	}
	return k.Save(s, k.buf, k.mem.buf)
}

// saveFirst returns the step that must come before a write to a place whose storage shows
// the newest version of its memory: running readers must end, and memory for the saved
// elements must be allocated. own is the number of the write's own readers.
func (p *place) saveFirst(own int, stream *device.Stream) error {
	m := p.old.mem
	if m.inUse() {
		return &unready{}
	}
	var k *keep
	if m.needs(p.old, own, &p.Part) {
		k = m.keeping(p.Part)
	}
	if old := p.kept; old != nil {
		if k != nil && old.mem == m && old.whole == k.whole {
			return nil
		}
		old.buf.Free()
		p.kept = nil
	}
	if k == nil {
		return nil
	}
	if n := m.sched.cheaperReader(p.old, own, 2*k.NBytes()); n != nil {
		return &unready{node: n}
	}
	return &unready{alloc: func() (err error) {
		if k.buf, err = alloc(stream.Device(), k.NBytes(), stream); err == nil {
			p.kept = k
		}
		return err
	}}
}

// cheaperReader returns a pending node that is the only reader of c beside the write's own
// readers and that moves fewer bytes than saving would: running it makes saving
// unnecessary. It returns nil if there is no such node.
func (s *scheduler) cheaperReader(c *contents, own int, bytes int64) *node {
	if len(c.mem.olds) > 0 || c.count() != own+1 {
		return nil
	}
	for _, n := range s.waiting(s.pending) {
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
