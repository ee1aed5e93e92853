package array

import (
	"slices"
	"weak"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/undo"
	"github.com/gpk-go/gpk/layout"
)

// contents is what an array shows from one write to the next: a node that has not run, or
// one version of a memory. Its elements never change.
//
// Invariant: it has a memory exactly when it is stored, and readers is at least the number
// of pending and running nodes that refer to it.
//
// The scheduler's mutex guards it.
type contents struct {
	node *node // the operation that computes it; nil for data from elsewhere
	mem  *memory
	// version is the version of mem that it shows.
	version int

	origin *origin // of contents without a node

	superseded bool   // its storage shows other contents by now
	scope      *Scope // its memory is freed with this scope

	readers int       // number of readers that belong to no scope
	all     bool      // a reader reads all elements
	more    *readings // readers that belong to scopes, and the parts that readers read
}

// origin describes contents that no node computed: the call that stored them, and the text
// that Explain prints.
type origin struct {
	call
	how string
}

// readings records which scopes the readers of contents belong to, and which parts they
// read.
type readings struct {
	scoped []scopedReaders
	parts  []undo.Part
}

// scopedReaders counts the readers that belong to a scope and end with it.
type scopedReaders struct {
	scope *Scope
	n     int
}

// state returns the state of the node. Contents without a node are stored.
func (c *contents) state() state {
	if c.node != nil {
		return c.node.state
	}
	return stored
}

// addReader counts a reader: a node of scope s that reads the elements of a layout.
func (c *contents) addReader(s *Scope, lay *layout.Layout, dt dtype.DType) {
	if c.count() == 0 {
		c.all = false
		if c.more != nil {
			c.more.parts = c.more.parts[:0]
		}
	}
	c.addPart(lay, dt)
	*c.readersIn(s)++
}

// readersIn returns the counter of the readers that belong to a scope, or to none if s is
// nil.
func (c *contents) readersIn(s *Scope) *int {
	if s == nil {
		return &c.readers
	}
	m := c.readings()
	for i := range m.scoped {
		if m.scoped[i].scope == s {
			return &m.scoped[i].n
		}
	}
	m.scoped = append(m.scoped, scopedReaders{scope: s})
	return &m.scoped[len(m.scoped)-1].n
}

func (c *contents) readings() *readings {
	if c.more == nil {
		c.more = &readings{}
	}
	return c.more
}

// dropReader removes a reader whose node was stored, has failed or was freed. It frees
// memory that nothing needs any more.
func (c *contents) dropReader(s *Scope) {
	if !s.isClosed() { // readers of a closed scope are not counted
		*c.readersIn(s)--
	}
	if c.mem != nil && !c.needed(0) {
		c.mem.tidy()
	}
}

// needed reports whether more than own nodes may still read the contents. Nodes of
// a closed scope cannot.
func (c *contents) needed(own int) bool { return c.count() > own }

// count returns the number of nodes that may still read the contents.
func (c *contents) count() int {
	n := c.readers
	if m := c.more; m != nil && len(m.scoped) > 0 {
		m.scoped = slices.DeleteFunc(m.scoped, func(r scopedReaders) bool { return r.n == 0 || r.scope.isClosed() })
		for _, r := range m.scoped {
			n += r.n
		}
	}
	return n
}

// err returns the reason why the contents cannot be read, as far as it is known without
// waiting.
func (c *contents) err() error {
	if n := c.node; n != nil && n.state >= failed {
		return n.err
	}
	if c.mem == nil {
		return nil
	}
	return c.mem.err()
}

// missing returns the step that must come first if the contents have no memory yet, and nil
// if they have one.
func (c *contents) missing() error {
	if c.mem != nil {
		return nil
	}
	if err := c.err(); err != nil {
		return err
	}
	return &unready{node: c.node}
}

// writer returns the call that wrote the elements or computes them.
func (c *contents) writer() *call {
	if c.node != nil {
		return &c.node.call
	}
	return &c.origin.call
}

// maxParts is the largest number of parts that are tracked separately.
const maxParts = 8

// addPart records that a reader reads the elements of a layout.
func (c *contents) addPart(lay *layout.Layout, dt dtype.DType) {
	if c.all {
		return
	}
	if lay.Offset == 0 && lay.IsDense() {
		c.all = true
		return
	}
	m := c.readings()
	if slices.ContainsFunc(m.parts, func(p undo.Part) bool { return p.DType == dt && p.Layout.Equal(lay) }) {
		return
	}
	if len(m.parts) == maxParts {
		c.all = true
		return
	}
	m.parts = append(m.parts, undo.Part{Layout: *lay, DType: dt})
}

// readersMeet reports whether a reader may read an element of a part. A write to a part
// that no reader reads saves nothing.
func (c *contents) readersMeet(p *undo.Part, whole *layout.Layout) bool {
	return c.all || c.more != nil && slices.ContainsFunc(c.more.parts, func(q undo.Part) bool { return q.Meets(p, whole) })
}

// storedContents returns the contents of a buffer whose elements are already there.
func storedContents(buf *device.Buffer, lay layout.Layout, dt dtype.DType, by call, how string) *contents {
	return &contents{mem: newMemory(buf, lay, dt), origin: &origin{by, how}}
}

// Version identifies the contents of an array. Two Versions of one array are equal if
// nothing was written to the array between them. A Version keeps no memory alive.
type Version struct{ of weak.Pointer[contents] }

// Version identifies the contents that the array shows now. It is the zero Version if the
// array carries an error.
func (a *Array) Version() Version {
	if a.check() != nil {
		return Version{}
	}
	s := schedulerOf(a.on())
	s.mu.Lock()
	defer s.mu.Unlock()
	return Version{weak.Make(a.st.cur)}
}
