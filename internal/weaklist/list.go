// Package weaklist has lists that do not keep their items alive.
//
// What belongs here: lists of weak pointers, and the order of waiting items. What does not:
// the decision whether an item has ended, and locking (package array).
package weaklist

import (
	"iter"
	"slices"
	"weak"
)

// List is a list of items, oldest first, some of which may have been garbage collected. Its
// length counts these too. It is not safe for use by many goroutines.
type List[T any] []weak.Pointer[T]

// Add appends an item.
func (l *List[T]) Add(x *T) { *l = append(*l, weak.Make(x)) }

// Keep removes the items for which keep is false, and those that were garbage collected.
func (l *List[T]) Keep(keep func(x *T) bool) {
	*l = slices.DeleteFunc(*l, func(p weak.Pointer[T]) bool {
		x := p.Value()
		return x == nil || !keep(x)
	})
}

// All returns the items that were not garbage collected.
func (l List[T]) All() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for _, p := range l {
			if x := p.Value(); x != nil && !yield(x) {
				return
			}
		}
	}
}
