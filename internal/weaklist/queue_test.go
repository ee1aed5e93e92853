package weaklist

import (
	"runtime"
	"slices"
	"testing"
)

type item struct {
	n               int
	ended, deferred bool
	_               *int // no tiny allocation, which the collector frees as a group
}

func (x *item) Waits() bool    { return !x.ended }
func (x *item) Deferred() bool { return x.deferred }

// numbers returns the numbers of items.
func numbers(xs []*item) (out []int) {
	for _, x := range xs {
		out = append(out, x.n)
	}
	return out
}

// TestQueueIsBounded: a queue whose oldest item is started whenever it says so lists at most Max items.
func TestQueueIsBounded(t *testing.T) {
	var q Queue[item, *item]
	var kept []*item
	for i := range 5 * Max {
		x := &item{n: i}
		kept = append(kept, x)
		if oldest := q.Add(x); oldest != nil {
			oldest.ended = true
		}
		if len(q.items) > Max {
			t.Fatalf("%d items are listed after %d", len(q.items), i)
		}
	}
	runtime.KeepAlive(kept)
}

// TestQueue: a full queue names its oldest item that waits, does not count deferred ones, and
// lists those that were dropped no more.
func TestQueue(t *testing.T) {
	var q Queue[item, *item]
	var kept []*item
	for i := range Max + 1 {
		x := &item{n: i, deferred: i == 1}
		kept = append(kept, x)
		if oldest := q.Add(x); oldest != nil {
			t.Fatalf("item %d is to be started when %d is added", oldest.n, i)
		}
	}
	kept[0].ended = true
	kept = append(kept, &item{n: Max + 1}, &item{n: Max + 2})
	if oldest := q.Add(kept[Max+1]); oldest != nil { // the one that has ended makes room
		t.Fatalf("item %d is to be started", oldest.n)
	}
	if oldest := q.Add(kept[Max+2]); oldest != kept[2] {
		t.Fatalf("the oldest item is %v, want 2", oldest)
	}
	if got := numbers(q.All()); len(got) != Max+2 || got[0] != 1 || got[1] != 2 || got[Max+1] != Max+2 {
		t.Errorf("all: %v", got)
	}
	if got := numbers(q.Waiting()); slices.Contains(got, 1) || got[0] != 2 {
		t.Errorf("waiting: %v", got)
	}
	kept[5].ended = true
	q.Restore(kept[5])
	q.Restore(kept[6])
	if got := numbers(q.Waiting()); slices.Contains(got, 5) || len(got) != Max {
		t.Errorf("after Restore: %v", got)
	}
	q.Ended(kept[Max+2])
	if q.Loosen() {
		t.Error("an item that has ended is the newest")
	}
	runtime.KeepAlive(kept)
	clear(kept)
	runtime.GC()
	if got := q.All(); len(got) != 0 {
		t.Errorf("%v are kept alive", numbers(got))
	}
	q.Add(&item{n: 7})
	runtime.GC()
	if got := numbers(q.All()); !slices.Equal(got, []int{7}) {
		t.Errorf("%v, want the newest item alone", got)
	}
	if !q.Loosen() {
		t.Error("there is no newest item")
	}
	runtime.GC()
	if got := q.All(); len(got) != 0 {
		t.Errorf("%v are kept alive", numbers(got))
	}
}
