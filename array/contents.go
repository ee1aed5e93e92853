package array

import (
	"slices"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/layout"
)

// contents is what an array shows from one write to the next. It is a node that
// has not run, or one version of a memory. What it shows never changes.
//
// Invariant: it has a memory exactly when it is stored, and readers is at least
// the number of pending and running nodes that refer to it.
//
// The scheduler's mutex guards it.
type contents struct {
	node *node // what computes it; nil for data from elsewhere
	mem  *memory
	// version is the version of mem that it shows.
	version int

	origin call   // of contents without a node: the call that stored it
	how    string // the same: what Explain says

	superseded bool   // its storage shows other contents by now
	scope      *Scope // its memory is freed with this scope

	readers int // outside of scopes
	scoped  []scopedReaders
	parts   readParts
}

// scopedReaders counts the readers that end with a scope.
type scopedReaders struct {
	scope *Scope
	n     int
}

// state is that of the node. Contents without a node are stored.
func (c *contents) state() state {
	if c.node != nil {
		return c.node.state
	}
	return stored
}

// addReader counts a node of a scope that refers to the elements of a layout.
func (c *contents) addReader(s *Scope, lay *layout.Layout, dt dtype.DType) {
	if !c.needed(0) {
		c.parts.reset()
	}
	c.parts.add(lay, dt)
	if s == nil {
		c.readers++
		return
	}
	for i := range c.scoped {
		if c.scoped[i].scope == s {
			c.scoped[i].n++
			return
		}
	}
	c.scoped = append(c.scoped, scopedReaders{s, 1})
}

// dropReader is called when such a node was stored, has failed or was freed. Memory
// that nobody needs any more is freed.
func (c *contents) dropReader(s *Scope) {
	if s == nil {
		c.readers--
	} else {
		for i := range c.scoped {
			if c.scoped[i].scope == s {
				c.scoped[i].n--
			}
		}
	}
	if c.mem != nil && !c.needed(0) {
		c.mem.tidy()
	}
}

// needed reports whether more than own nodes may still read the contents. Nodes of
// a closed scope cannot.
func (c *contents) needed(own int) bool { return c.count() > own }

// count is the number of nodes that may still read the contents.
func (c *contents) count() int {
	n := c.readers
	if len(c.scoped) > 0 {
		c.scoped = slices.DeleteFunc(c.scoped, func(r scopedReaders) bool { return r.n == 0 || r.scope.closed.Load() != nil })
		for _, r := range c.scoped {
			n += r.n
		}
	}
	return n
}

// err is why the contents cannot be read, as far as it is known without waiting.
func (c *contents) err() error {
	if c.node != nil {
		switch c.node.state {
		case failed:
			return c.node.err
		case freed:
			return c.node.freedErr()
		}
	}
	if c.mem == nil {
		return nil
	}
	return c.mem.err()
}

// writer is the call that wrote the elements, or computes them.
func (c *contents) writer() *call {
	if c.node != nil {
		return &c.node.call
	}
	return &c.origin
}

// readParts is which elements of contents its readers read: everything, or the
// elements of a few layouts. Writes to other elements save nothing.
type readParts struct {
	all  bool
	list []part
}

// part is some elements of a memory.
type part struct {
	lay layout.Layout
	dt  dtype.DType
}

// maxParts bounds a list of parts.
const maxParts = 8

func (r *readParts) reset() { r.all, r.list = false, r.list[:0] }

func (r *readParts) add(lay *layout.Layout, dt dtype.DType) {
	if r.all {
		return
	}
	for i := range r.list {
		if r.list[i].dt == dt && sameLayout(&r.list[i].lay, lay) {
			return
		}
	}
	if lay.IsDense() && lay.Offset == 0 || len(r.list) == maxParts {
		r.all, r.list = true, nil
		return
	}
	r.list = append(r.list, part{*lay, dt})
}

// meets reports whether one of the parts may have an element in common with p.
func (r *readParts) meets(p *part, whole *layout.Layout) bool {
	if r.all {
		return true
	}
	for i := range r.list {
		if r.list[i].meets(p, whole) {
			return true
		}
	}
	return false
}

// bytes is the range of bytes between the first and the last element.
func (p *part) bytes() (low, high int) {
	low, high = p.lay.Span()
	return low * p.dt.Size(), high * p.dt.Size()
}

// meets reports whether two parts of a memory may have an element in common. whole
// is the dense layout of all of it.
func (p *part) meets(q *part, whole *layout.Layout) bool {
	pl, ph := p.bytes()
	ql, qh := q.bytes()
	if pl >= qh || ql >= ph {
		return false
	}
	if p.dt != q.dt {
		return true
	}
	a, aOK := boxOf(&p.lay, whole)
	b, bOK := boxOf(&q.lay, whole)
	if !aOK || !bOK {
		return true
	}
	for d := range whole.Shape {
		if a.low[d] >= b.high[d] || b.low[d] >= a.high[d] {
			return false
		}
	}
	return true
}

// box is the range of indices along each axis that a view covers.
type box struct{ low, high [maxBox]int }

// maxBox is the number of axes up to which boxes are compared.
const maxBox = 8

// boxOf returns the box of a view of a dense layout. It reports false where an axis
// of the view does not step along one axis of the whole.
func boxOf(view, whole *layout.Layout) (b box, ok bool) {
	if len(whole.Shape) > maxBox || view.Offset < 0 {
		return b, false
	}
	rest := view.Offset
	for d, n := range whole.Shape {
		if n > 1 {
			b.low[d] = rest / whole.Strides[d]
			rest %= whole.Strides[d]
		}
		b.high[d] = b.low[d] + 1
	}
	for i, n := range view.Shape {
		if n <= 1 || view.Strides[i] == 0 {
			continue
		}
		d, k := stepAlong(*whole, view.Strides[i], n)
		if d < 0 {
			return b, false
		}
		b.low[d] += min(k*(n-1), 0)
		b.high[d] += max(k*(n-1), 0)
	}
	for d, n := range whole.Shape {
		if b.low[d] < 0 || b.high[d] > n {
			return b, false
		}
	}
	return b, true
}

// storedContents is the contents of a buffer whose elements are there.
func storedContents(buf *device.Buffer, lay layout.Layout, dt dtype.DType, origin call, how string) *contents {
	return &contents{mem: newMemory(buf, lay, dt), origin: origin, how: how}
}
