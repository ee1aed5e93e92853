package array

import (
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// keep is what a write in place is about to save: the elements of its part, or a
// copy of the whole memory once the saved elements would be more than that.
type keep struct {
	mem *memory
	part
	whole bool
	buf   *device.Buffer
}

// keeping says what a write to a part must save.
func (m *memory) keeping(p part) keep {
	n := int64(p.lay.Size()) * int64(p.dt.Size())
	return keep{mem: m, part: p, whole: m.logged+n > m.bytes()}
}

func (m *memory) bytes() int64 { return int64(m.lay.Size()) * int64(m.dt.Size()) }

// alloc gets the memory. The mutex is not held.
func (k *keep) alloc(s *device.Stream) (err error) {
	n := int64(k.lay.Size()) * int64(k.dt.Size())
	if k.whole {
		n = k.mem.bytes()
	}
	k.buf, err = alloc(s.Device(), n, s)
	return err
}

// save copies the elements. The mutex is not held.
func (k *keep) save(s *device.Stream) error {
	from := device.View{Buffer: k.mem.buf, DType: k.dt, Layout: k.lay}
	if k.whole {
		from.DType, from.Layout = k.mem.dt, k.mem.lay
	}
	to := device.View{Buffer: k.buf, DType: from.DType, Layout: layout.Dense(from.Layout.Shape)}
	return ops.Cast(s, to, from)
}

// saveFirst says what must happen before a write in place to a part of a memory,
// whose newest version c shows. It fills in what the write is to save; nil for
// nothing.
func (s *scheduler) saveFirst(c *contents, own int, p part, kept **keep, stream *device.Stream) error {
	m := c.mem
	if !m.needs(c, own, &p) {
		if *kept != nil {
			(*kept).buf.Free()
			*kept = nil
		}
		return nil
	}
	k := m.keeping(p)
	if old := *kept; old != nil {
		if old.mem == m && old.whole == k.whole {
			return nil
		}
		old.buf.Free()
		*kept = nil
	}
	if n := s.cheaperReader(c, own, k.cost()); n != nil {
		return &unready{node: n}
	}
	return &unready{alloc: func() error {
		if err := k.alloc(stream); err != nil {
			return err
		}
		*kept = &k
		return nil
	}}
}

// cost is the number of bytes that saving moves.
func (k *keep) cost() int64 {
	if k.whole {
		return 2 * k.mem.bytes()
	}
	return 2 * int64(k.lay.Size()) * int64(k.dt.Size())
}

// cheaperReader returns a pending node whose run makes saving unnecessary, and moves
// fewer bytes: the only reader of c beside the write's own. It returns nil where
// there is none.
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
