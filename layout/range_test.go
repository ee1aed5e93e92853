package layout

import (
	"math"
	"slices"
	"testing"

	"github.com/gpk-go/gpk/internal/testrand"
)

// pythonRange lists the indices that Python's slice(start, stop, step) selects, by the rules
// of its language reference (3.3.7, "Emulating container types", and slice.indices), one
// element at a time. ok tells which ends are given.
func pythonRange(start, stop, step, n int, hasStop bool) []int {
	place := func(i int) int { // beyond the axis by at most one
		if i < 0 {
			i += n
		}
		return max(-1, min(i, n))
	}
	at, end := place(start), n
	if step < 0 {
		at, end = min(at, n-1), -1
	} else {
		at = max(at, 0)
	}
	if hasStop {
		end = place(stop)
	}
	var list []int
	for i := 0; i < n; i++ { // at most n
		if step > 0 && at >= end || step < 0 && at <= end || at < 0 || at >= n {
			break
		}
		list = append(list, at)
		if step > n || step < -n {
			break
		}
		at += step
	}
	return list
}

// TestRange compares ranges with Python's. Some ends are far outside the axis, and steps have
// any size.
func TestRange(t *testing.T) {
	rng := testrand.New(t)
	number := func(n int) int {
		switch rng.IntN(12) {
		case 0:
			return math.MinInt
		case 1:
			return math.MaxInt - 1
		case 2:
			return 1 << 30
		}
		return rng.IntN(4*n+8) - 2*n - 4
	}
	for range 20000 {
		n := rng.IntN(9)
		r := Range{number(n), number(n), number(n)}
		if r.Step == 0 {
			continue
		}
		hasStop := rng.IntN(3) > 0
		if !hasStop {
			r.Stop = End
		}
		want := pythonRange(r.Start, r.Stop, r.Step, n, hasStop)
		first, count := r.Over(n)
		var got []int
		for i := range count {
			got = append(got, first+i*r.Step)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%v of %d: %v, want %v", r, n, got, want)
		}
		l, err := Layout{Shape: []int{2, n}, Strides: []int{-n, 1}, Offset: n}.Indexed(1, r)
		if err != nil || l.Shape[0] != 2 || l.Shape[1] != len(want) || l.Strides[0] != -n {
			t.Fatalf("%v of axis 1: %v (%v)", r, l, err)
		}
		for i, w := range want {
			if got := l.Offset + i*l.Strides[1]; got != n+w {
				t.Fatalf("%v of %d: element %d lies at %d, want %d", r, n, i, got, n+w)
			}
		}
	}
	if _, err := Dense([]int{3}).Indexed(0, Range{0, 3, 0}); err == nil {
		t.Error("a step of 0 is accepted")
	}
	if first, count := (Range{End, End, -1}).Over(4); first != 3 || count != 4 {
		t.Errorf("an axis backwards begins at %d and has %d elements", first, count)
	}
}
