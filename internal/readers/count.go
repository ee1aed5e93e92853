// Package readers counts who may still read some elements, and which of them.
//
// What belongs here: the number of readers, and the parts that they read. What does not: the
// readers themselves, the decision that one has ended, and locking (package array).
package readers

import (
	"iter"
	"slices"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/undo"
	"github.com/gpk-go/gpk/layout"
)

// Scope is a set of readers that end together. The zero value stands for none.
type Scope interface {
	comparable
	// Ended reports whether the readers of the scope have ended.
	Ended() bool
}

// Count holds an upper bound of the number of readers of some elements, and the parts that
// they read. Readers of a scope that has ended do not count. The zero value has no readers.
type Count[S Scope] struct {
	n      int // in no scope
	scoped []scoped[S]
	parts  undo.Parts
}

// scoped is the number of readers in a scope.
type scoped[S Scope] struct {
	scope S
	n     int
}

// Add counts a reader of the elements of a layout.
func (c *Count[S]) Add(s S, lay *layout.Layout, dt dtype.DType) {
	if c.Len() == 0 {
		c.parts.Clear()
	}
	c.parts.Add(lay, dt)
	*c.in(s)++
}

// Drop removes a reader.
func (c *Count[S]) Drop(s S) {
	if !s.Ended() {
		*c.in(s)--
	}
}

// In returns the number of readers that belong to a scope.
func (c *Count[S]) In(s S) int { return *c.in(s) }

func (c *Count[S]) in(s S) *int {
	var none S
	if s == none {
		return &c.n
	}
	for i := range c.scoped {
		if c.scoped[i].scope == s {
			return &c.scoped[i].n
		}
	}
	c.scoped = append(c.scoped, scoped[S]{scope: s})
	return &c.scoped[len(c.scoped)-1].n
}

// Len returns the number of readers.
func (c *Count[S]) Len() int {
	n := c.n
	if len(c.scoped) > 0 {
		c.scoped = slices.DeleteFunc(c.scoped, func(r scoped[S]) bool { return r.n == 0 || r.scope.Ended() })
		for _, r := range c.scoped {
			n += r.n
		}
	}
	return n
}

// Scopes returns the scopes that have readers.
func (c *Count[S]) Scopes() iter.Seq[S] {
	return func(yield func(S) bool) {
		for _, r := range c.scoped {
			if r.n != 0 && !r.scope.Ended() && !yield(r.scope) {
				return
			}
		}
	}
}

// Read reports whether readers may read some of the elements of a part. whole is the dense
// layout of the whole memory.
func (c *Count[S]) Read(p *undo.Part, whole *layout.Layout) bool { return c.parts.Meet(p, whole) }
