package worker

import (
	"testing"

	"github.com/gpk-go/gpk/internal/testrand"
)

// TestQueue compares a queue with lists, one per band, and checks that it keeps no
// references to removed messages.
func TestQueue(t *testing.T) {
	rng := testrand.New(t)
	var q queue[*int]
	var lists [bands][]*int
	n := 0
	for step := range 20_000 {
		highest, lowest := -1, -1
		for band, l := range lists {
			if len(l) > 0 {
				highest = band
				if lowest < 0 {
					lowest = band
				}
			}
		}
		grow := step/500%2 == 0
		switch {
		case highest < 0 || rng.IntN(3) == 0 != grow:
			band := rng.IntN(bands)
			v := new(int)
			q.push(band, v)
			lists[band] = append(lists[band], v)
			n++
		case rng.IntN(4) == 0:
			if got := q.lowest(); got != lowest {
				t.Fatalf("step %d: the lowest band is %d, want %d", step, got, lowest)
			}
			if q.popLowest() != lists[lowest][0] {
				t.Fatalf("step %d: not the oldest of band %d", step, lowest)
			}
			lists[lowest] = lists[lowest][1:]
			n--
		default:
			if q.pop() != lists[highest][0] {
				t.Fatalf("step %d: not the oldest of band %d", step, highest)
			}
			lists[highest] = lists[highest][1:]
			n--
		}
		if q.n != n {
			t.Fatalf("step %d: %d elements, want %d", step, q.n, n)
		}
	}
	held := 0
	for _, r := range q.rings {
		for _, v := range r.slots {
			if v != nil {
				held++
			}
		}
	}
	if held != n {
		t.Errorf("%d elements are held, %d are in the queue", held, n)
	}
}
