package dist

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/dist/internal/control"
	"github.com/gpk-go/gpk/internal/devicetest"
)

// TestMeeting lets ranks meet many times. None leaves a gathering before all have come, also if some come so late that the
// others sleep.
func TestMeeting(t *testing.T) {
	const ranks, calls = 4, 2000
	nodes, err := control.Local(ranks, "h", control.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var list meetings
	var mu sync.Mutex
	come := make([]int, calls)
	var wg sync.WaitGroup
	for place := range ranks {
		wg.Go(func() {
			m := list.of("run1", ranks)
			for i := range calls {
				if i%500 == 100*place {
					time.Sleep(2 * time.Millisecond)
				}
				mu.Lock()
				come[i]++
				mu.Unlock()
				n, err := m.arrive(place, &heading{Call: strconv.Itoa(i)}, func([]*heading) error { return errHere })
				if err == nil {
					err = m.wait(t.Context(), nodes[place], n)
				}
				mu.Lock()
				if err != nil || come[i] != ranks {
					t.Errorf("call %d: %d ranks have come, %v", i, come[i], err)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(list.list) != 0 {
		t.Errorf("%d meetings are kept", len(list.list))
	}
}

// TestMeetingErrors has calls that differ, a rank that comes twice, and ranks that wait for one that does not come.
func TestMeetingErrors(t *testing.T) {
	nodes, err := control.Local(2, "h", control.Config{})
	if err != nil {
		t.Fatal(err)
	}
	call := func(axis int) *heading { return &heading{Call: "AllGather", Axis: axis} }
	failed := func(text string) *heading { return &heading{Call: "AllGather", Error: text} }
	for name, c := range map[string]struct {
		a, b *heading
		want error
	}{
		"equal":       {call(1), call(1), nil},
		"different":   {call(1), call(2), errHere},
		"one fails":   {call(1), failed("x"), errHere},
		"both fail":   {failed("x"), failed("y"), nil},
		"first fails": {failed("x"), call(1), errHere},
	} {
		var list meetings
		m, difference := list.of(name, 2), func([]*heading) error { return errHere }
		n, err := m.arrive(0, c.a, difference)
		if err != nil || n != 1 {
			t.Fatal(n, err)
		}
		if _, err := m.arrive(0, c.a, difference); !errors.Is(err, errTwice) {
			t.Errorf("%s: the same rank again: %v", name, err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		cancel(gone)
		if err := m.wait(ctx, nodes[0], n); !errors.Is(err, gone) {
			t.Errorf("%s: alone: %v", name, err)
		}
		if n, err = m.arrive(1, c.b, difference); err != nil {
			t.Fatal(err)
		}
		for i, node := range nodes {
			if err := m.wait(t.Context(), node, n); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("%s: rank %d: %v", name, i, err)
			}
		}
	}
	nodes[1].Fail(gpk.ErrUnsupported)
	var list meetings
	m := list.of("failed group", 2)
	n, err := m.arrive(0, call(1), nil)
	if err == nil {
		err = m.wait(t.Context(), nodes[0], n)
	}
	if !errors.Is(err, gpk.ErrUnsupported) {
		t.Errorf("a group that has failed: %v", err)
	}
}

// TestMeetingAllocations checks that a gathering of ranks that come at once allocates nothing.
func TestMeetingAllocations(t *testing.T) {
	var list meetings
	m, a, b := list.of("", 2), &heading{Call: "a", Shape: []int{2}}, &heading{Call: "a", Shape: []int{2}}
	got := devicetest.LeastAllocs(10, func() {
		_, errA := m.arrive(0, a, nil)
		n, errB := m.arrive(1, b, nil)
		if err := errors.Join(errA, errB, m.wait(t.Context(), nil, n)); err != nil {
			t.Fatal(err)
		}
	})
	if got != 0 {
		t.Errorf("%v allocations", got)
	}
}
