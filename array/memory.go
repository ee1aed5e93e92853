package array

import (
	"fmt"
	"slices"
	"weak"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// memory is a buffer and what is needed to read older versions of it. Each write in
// place makes a version. Contents of an older version are rebuilt: the buffer, with
// the saved elements put back, the newest first.
//
// Invariant: log is ordered by version, holds no more bytes than the buffer, and is
// empty where no older contents is needed.
//
// The scheduler's mutex guards it.
type memory struct {
	sched *scheduler
	buf   *device.Buffer
	lay   layout.Layout // dense, of all of it
	dt    dtype.DType

	version int
	current bool // a storage shows the newest version
	pins    int  // running work that reads the buffer
	busy    bool // a write in place is under way
	log     []saved
	logged  int64                    // bytes in log
	olds    []weak.Pointer[contents] // of older versions
	scope   *Scope                   // it is freed with this scope
	ended   *call                    // the call that freed it
}

// saved is the elements that the write which ended a version has overwritten.
type saved struct {
	part
	version int
	buf     *device.Buffer // dense
}

func newMemory(buf *device.Buffer, lay layout.Layout, dt dtype.DType) *memory {
	return &memory{sched: schedulerOf(buf.Device()), buf: buf, lay: lay, dt: dt, current: true}
}

// err is why the buffer cannot be read, as far as it is known.
func (m *memory) err() error {
	switch {
	case m.ended != nil:
		return freedBy(m.ended)
	case m.buf.Freed():
		return fmt.Errorf("%w", device.ErrFreed)
	}
	return m.buf.Err()
}

// lost reports whether some of the elements of a part have been overwritten since a
// version.
func (m *memory) lost(version int, p *part) bool {
	from, _ := slices.BinarySearchFunc(m.log, version, func(s saved, v int) int { return s.version - v })
	return slices.ContainsFunc(m.log[from:], func(s saved) bool { return s.meets(p, &m.lay) })
}

// prune forgets older contents that are gone or not needed.
func (m *memory) prune() {
	m.olds = slices.DeleteFunc(m.olds, func(p weak.Pointer[contents]) bool {
		c := p.Value()
		return c == nil || c.mem != m || !c.needed(0)
	})
}

// tidy frees what nobody needs: what was saved, where no older contents is needed,
// and the buffer, where no storage shows it either.
func (m *memory) tidy() {
	if m.pins > 0 || m.busy {
		return
	}
	if len(m.olds) > 0 {
		m.prune()
	}
	if len(m.olds) > 0 {
		return
	}
	m.dropLog()
	if !m.current {
		m.buf.Free()
	}
}

func (m *memory) dropLog() {
	for _, s := range m.log {
		s.buf.Free()
	}
	m.log, m.logged = nil, 0
}

// free gives the memory back, whoever needs it. Nobody may be reading it.
func (m *memory) free(by *call) {
	m.ended, m.current, m.olds = by, false, nil
	m.dropLog()
	m.buf.Free()
}

// unpin ends a use of the memory.
func (m *memory) unpin() {
	m.pins--
	if m.pins == 0 && (!m.current || len(m.olds) > 0) {
		m.tidy()
	}
}

// needs reports whether a write to a part of the memory, which shows c, must save
// what it overwrites. own is the number of readers that belong to the write.
func (m *memory) needs(c *contents, own int, p *part) bool {
	if c.needed(own) && c.readersMeet(p, &m.lay) {
		return true
	}
	m.prune()
	for _, w := range m.olds {
		if old := w.Value(); old != nil && old.readersMeet(p, &m.lay) {
			return true
		}
	}
	return false
}

// commit makes the next version of the memory, which showed c. k is nil where
// nothing was saved.
func (m *memory) commit(c *contents, k *keep) {
	m.remember(c)
	m.prune() // the collector may have taken who needed what was saved
	switch {
	case len(m.olds) == 0:
		if k != nil {
			k.buf.Free()
		}
		m.dropLog()
	case k == nil:
	case k.whole:
		// The copy is the version that c shows: what is older is rebuilt from it.
		copied := &memory{sched: m.sched, buf: k.buf, lay: m.lay, dt: m.dt, version: m.version, log: m.log, logged: m.logged, scope: m.scope, olds: m.olds}
		for _, w := range m.olds {
			if old := w.Value(); old != nil {
				old.mem = copied
			}
		}
		m.olds, m.log, m.logged = nil, nil, 0
	default:
		m.log = append(m.log, saved{k.part, m.version, k.buf})
		m.logged += k.buf.Size()
	}
	if k != nil {
		m.sched.copied += k.buf.Size()
	}
	m.version++
}

// remember lists c, which is about to be of an older version.
func (m *memory) remember(c *contents) {
	if !c.needed(0) {
		return
	}
	m.olds = append(m.olds, weak.Make(c))
	if c.more != nil {
		for _, r := range c.more.scoped {
			r.scope.register(m) // it may be tidied when the scope is closed
		}
	}
}

// supersede notes that the storage of c shows other contents from now on.
func (c *contents) supersede() {
	c.superseded = true
	if m := c.mem; m != nil {
		m.current = false
		m.remember(c)
		m.tidy()
	}
}

// rebuilding is the part of older contents that one operand reads.
type rebuilding struct {
	mem       *memory
	log       []saved
	low, high int // bytes of the memory
	whole     bool
}

// alignment is that of rebuilt memory to the original, so that the same kernels
// are chosen for it.
const alignment = 256

// rebuildingFor says what to rebuild for a reader of a part.
func (c *contents) rebuildingFor(p *part) rebuilding {
	m := c.mem
	r := rebuilding{mem: m}
	r.low, r.high = p.bytes()
	r.low -= r.low % alignment
	r.whole = r.low == 0 && r.high == int(m.bytes())
	for i := range m.log {
		if s := &m.log[i]; s.version >= c.version && s.meets(p, &m.lay) {
			r.whole = r.whole || !s.lay.IsDense() // only runs of elements are clipped
			r.log = append(r.log, *s)
		}
	}
	if r.whole { // it serves every reader
		r.low, r.high, r.log = 0, int(m.bytes()), nil
		for _, s := range m.log {
			if s.version >= c.version {
				r.log = append(r.log, s)
			}
		}
	}
	return r
}

// run makes a buffer of the elements as they were. The mutex is not held, and the
// memory is pinned.
func (r *rebuilding) run(s *device.Stream) (*device.Buffer, error) {
	d := s.Device()
	buf, err := alloc(d, int64(r.high-r.low), s)
	if err != nil {
		return nil, err
	}
	err = d.Copy(buf, 0, r.mem.buf, int64(r.low), int64(r.high-r.low), s)
	for i := len(r.log) - 1; i >= 0 && err == nil; i-- {
		p := &r.log[i]
		if !p.lay.IsDense() {
			to := device.View{Buffer: buf, DType: p.dt, Layout: p.lay}
			err = ops.Cast(s, to, device.View{Buffer: p.buf, DType: p.dt, Layout: layout.Dense(p.lay.Shape)})
			continue
		}
		low, high := p.bytes()
		from, to := max(low, r.low), min(high, r.high)
		err = d.Copy(buf, int64(from-r.low), p.buf, int64(from-low), int64(to-from), s)
	}
	if err != nil {
		buf.Free()
		return nil, err
	}
	return buf, nil
}
