package weaklist

import "slices"

// Item is a piece of work that waits until its result is needed.
type Item[T any] interface {
	*T
	// Waits reports whether the item must still be started.
	Waits() bool
	// Deferred reports whether starting the item needs other work first. It then waits until it
	// is needed, and does not count as one of the items of a Queue.
	Deferred() bool
}

// Max is the largest number of items that a Queue lists.
const Max = 64

// Queue lists the items that wait, oldest first. The newest item has a strong reference,
// because most items are used by the next call and then need no weak pointer. Items that the
// program drops are not started. Items that have ended stay in the list until it is full. At
// most Max weak pointers keep no memory alive, and cost less than a search whenever an item
// ends.
type Queue[T any, P Item[T]] struct {
	newest   P
	items    List[T]
	deferred List[T]
	room     int // deferred is pruned once it is longer
}

// Add adds an item. If there are too many, it returns the oldest, which the caller should
// start, else nil.
func (q *Queue[T, P]) Add(x P) (oldest P) {
	q.Loosen()
	q.newest = x
	if len(q.items) < Max {
		return nil
	}
	q.items.Keep(func(x *T) bool {
		switch p := P(x); {
		case !p.Waits():
			return false
		case p.Deferred():
			q.deferred.Add(x)
			return false
		case oldest == nil:
			oldest = p
		}
		return true
	})
	if len(q.deferred) > q.room {
		q.deferred.Keep(func(x *T) bool { return P(x).Waits() })
		q.room = 2*len(q.deferred) + Max
	}
	if len(q.items) < Max {
		return nil
	}
	return oldest
}

// Loosen makes the reference to the newest item weak, like the others. It reports whether
// there was a newest item.
func (q *Queue[T, P]) Loosen() bool {
	x := q.newest
	q.newest = nil
	if x == nil || !x.Waits() {
		return false
	}
	q.items.Add(x)
	return true
}

// Restore lists an item that could not run, and that may have been removed meanwhile.
func (q *Queue[T, P]) Restore(x P) {
	if x.Waits() && !slices.Contains(q.Waiting(), x) {
		q.items.Add(x)
	}
}

// Ended drops the reference to an item that has ended.
func (q *Queue[T, P]) Ended(x P) {
	if q.newest == x {
		q.newest = nil
	}
}

// Waiting returns the items that wait, without those that were Deferred when the list was
// full.
func (q *Queue[T, P]) Waiting() []P { return q.waiting(q.items) }

// All returns the items that wait, the Deferred ones first.
func (q *Queue[T, P]) All() []P { return q.waiting(q.deferred, q.items) }

func (q *Queue[T, P]) waiting(lists ...List[T]) (out []P) {
	for _, l := range lists {
		for x := range l.All() {
			if P(x).Waits() {
				out = append(out, P(x))
			}
		}
	}
	if x := q.newest; x != nil && x.Waits() {
		out = append(out, x)
	}
	return out
}
