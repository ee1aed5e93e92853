package array

import (
	"weak"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/readers"
	"github.com/gpk-go/gpk/layout"
)

// contents are the elements of an array between two writes: a node that has not run, or one version of a memory. Its
// elements never change.
//
// Invariant: it has a memory exactly when it is stored, and counts as readers at least the pending and running nodes
// that refer to it.
//
// The scheduler's mutex guards it.
type contents struct {
	node *node // the operation that computes it; nil for data from elsewhere
	mem  *memory
	// version is the version of mem that has these contents.
	version int

	origin *origin // the origin of data that no node computes

	superseded bool   // its storage shows other contents by now
	scope      *Scope // its memory is freed with this scope

	readers readers.Count[readerScope]
}

// readerScope is the scope of a reader, zero for none.
type readerScope struct{ *Scope }

// Ended implements readers.Scope.
func (s readerScope) Ended() bool { return s.isClosed() }

// origin describes contents that no node computed: the call that stored them, and the text that Explain prints.
type origin struct {
	call
	how string
}

// state returns the state of the node. Contents without a node are stored.
func (c *contents) state() state {
	if c.node != nil {
		return c.node.state
	}
	return stored
}

// dropReader removes a reader whose node was stored, has failed or was freed. It frees memory that nothing needs any more.
func (c *contents) dropReader(s *Scope) {
	c.readers.Drop(readerScope{s})
	if c.mem != nil && !c.needed(0) {
		c.mem.tidy()
	}
}

// needed reports whether the contents have more than own readers. Nodes of a closed scope do not count.
func (c *contents) needed(own int) bool { return c.readers.Len() > own }

// err returns the reason why the contents cannot be read, as far as it is known without waiting.
func (c *contents) err() error {
	if n := c.node; n != nil && n.state >= failed {
		return n.err
	}
	if c.mem == nil {
		return nil
	}
	return c.mem.err()
}

// missing returns the step that must come first if the contents have no memory yet, and nil if they have one.
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

// storedContents returns the contents of a buffer whose elements are already there.
func storedContents(buf *device.Buffer, lay layout.Layout, dt dtype.DType, by call, how string) *contents {
	return &contents{mem: newMemory(buf, lay, dt), origin: &origin{by, how}}
}

// Version identifies the contents of an array. Two Versions of one array are equal if
// nothing was written to the array between them. A Version keeps no memory alive.
type Version struct{ of weak.Pointer[contents] }

// Version identifies the array's current contents. It is the zero Version if the array carries an error.
func (a *Array) Version() Version {
	if a.check() != nil {
		return Version{}
	}
	defer a.lock().mu.Unlock()
	return Version{weak.Make(a.st.cur)}
}
