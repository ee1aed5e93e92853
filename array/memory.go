package array

import (
	"fmt"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/deviceapi"
	"github.com/gpk-go/gpk/internal/undo"
	"github.com/gpk-go/gpk/internal/weaklist"
	"github.com/gpk-go/gpk/layout"
)

// memory is a buffer, with the data from which older versions of it can be rebuilt. Each
// write in place makes a version. To rebuild the contents of an older version, gpk copies
// the buffer and puts the saved elements back, the newest first.
//
// Invariant: log is ordered by version, holds no more bytes than the buffer, and is empty
// if no older contents are needed.
//
// The scheduler's mutex guards it.
type memory struct {
	sched     *scheduler
	buf       *device.Buffer
	undo.Part // all elements, dense

	version int
	current bool // a storage shows the newest version
	pins    int  // number of running jobs that read the buffer
	busy    bool // a write in place is under way
	log     undo.Log
	olds    weaklist.List[contents] // contents of older versions
	scope   *Scope                  // it is freed with this scope
	ended   *call                   // the call that freed it
	dropped *call                   // the call that frees it once its pending readers have ended
	rec     *recording              // the capture that allocated the buffer, or for which this is a second memory over the buffer
}

// captured reports whether the buffer belongs to a graph, which uses it at every Replay and frees it.
func (m *memory) captured() bool { return m.rec != nil && m.rec.ended }

// inUse reports whether a job reads the buffer or a write in place is under way.
func (m *memory) inUse() bool { return m.pins > 0 || m.busy }

func newMemory(buf *device.Buffer, lay layout.Layout, dt dtype.DType) *memory {
	return &memory{sched: schedulerOf(buf.Device()), buf: buf, Part: undo.Part{Layout: lay, DType: dt}, current: true}
}

// lost reports whether a write has overwritten an element of c that v reads.
func (c *contents) lost(v *device.View) bool {
	m := c.mem
	return c.version != m.version && m.log.Lost(c.version, undo.PartOf(v), &m.Layout)
}

// err returns the reason why the buffer cannot be read, as far as it is known.
func (m *memory) err() error {
	switch {
	case m.ended != nil:
		return freedBy(m.ended)
	case m.buf.Freed():
		return fmt.Errorf("%w", device.ErrFreed)
	}
	return m.buf.Err()
}

// prune removes older contents that were garbage collected or that no node needs.
func (m *memory) prune() {
	m.olds.Keep(func(c *contents) bool { return c.mem == m && c.needed(0) })
}

// tidy frees memory that nothing needs: the saved elements if no older contents are needed, and then the buffer too if no storage shows it.
func (m *memory) tidy() {
	if m.inUse() {
		return
	}
	if len(m.olds) > 0 {
		m.prune()
	}
	if len(m.olds) > 0 || m.captured() {
		return
	}
	m.log.Drop()
	if !m.current {
		if m.ended == nil {
			m.ended = m.dropped
		}
		if handOver := deviceapi.Free(m.buf); handOver != nil {
			go handOver()
		}
	}
}

// free gives the memory back even if contents still need it. Nothing may be reading it. For foreign memory it returns
// the call that hands it to its owner, else nil. That call may wait, and the owner may use arrays or wait for
// somebody who does: the mutex must not be held.
func (m *memory) free(by *call) (handOver func()) {
	m.ended, m.current, m.olds = by, false, nil
	if m.captured() {
		return nil
	}
	m.log.Drop()
	return deviceapi.Free(m.buf)
}

// unpin ends a use of the memory.
func (m *memory) unpin() {
	m.pins--
	if m.pins == 0 && (!m.current || len(m.olds) > 0) {
		m.tidy()
	}
}

// needs reports whether a write to part p of the memory must save the elements that it overwrites. c are the memory's
// newest contents, and own of c's readers belong to the write.
func (m *memory) needs(c *contents, own int, p *undo.Part) bool {
	if c.needed(own) && c.readers.Read(p, &m.Layout) {
		return true
	}
	m.prune()
	for old := range m.olds.All() {
		if old.readers.Read(p, &m.Layout) {
			return true
		}
	}
	return false
}

// commit makes the next version of the memory, whose newest contents were c. k holds the saved elements, nil for none.
func (m *memory) commit(c *contents, k *undo.Keep) {
	m.remember(c)
	m.prune() // contents for which elements were saved may have been garbage collected
	switch {
	case len(m.olds) == 0:
		k.Free()
		m.log.Drop()
	case k == nil:
	case k.Whole:
		// The copy is the version that c shows. Older versions are rebuilt from it.
		copied := &memory{sched: m.sched, buf: k.Buffer, Part: m.Part, version: m.version, log: m.log, scope: m.scope, olds: m.olds, rec: m.rec}
		for old := range m.olds.All() {
			old.mem = copied
		}
		m.olds, m.log = nil, undo.Log{}
	default:
		m.log.Add(k.Part, m.version, k.Buffer)
	}
	if k != nil {
		m.sched.copied += k.Buffer.Size()
	}
	m.version++
}

// remember adds c, which is about to become an older version, to the list of older contents.
func (m *memory) remember(c *contents) {
	if !c.needed(0) {
		return
	}
	m.olds.Add(c)
	for s := range c.readers.Scopes() {
		s.register(m) // closing the scope may make saved elements unnecessary
	}
}

// supersede records that the storage of c shows other contents from now on.
func (c *contents) supersede() {
	c.superseded = true
	if m := c.mem; m != nil {
		m.current = false
		m.remember(c)
		m.tidy()
	}
}
