package main

import (
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// fakeWatch lets every call take a given time, without waiting for it.
type fakeWatch struct {
	each     time.Duration
	graphs   bool
	made     int // calls of what is measured
	recorded int
	replays  int
	released bool
	cold     int // calls that need new memory; negative: all
}

func (f *fakeWatch) blocks() uint64 {
	if f.cold < 0 {
		return uint64(f.made)
	}
	return uint64(min(f.made, f.cold))
}

func (f *fakeWatch) lap(n int, call func() error) (time.Duration, error) {
	for range n {
		if err := call(); err != nil {
			return 0, err
		}
	}
	return time.Duration(n) * f.each, nil
}

func (f *fakeWatch) record(n int, call func() error) (func() error, func(), error) {
	if !f.graphs {
		return nil, nil, errNoGraph
	}
	for range n {
		if err := call(); err != nil {
			return nil, nil, err
		}
	}
	f.recorded = n
	f.each *= time.Duration(n) // from now on a lap is of replays
	return func() error { f.replays++; return nil }, func() { f.released = true }, nil
}

func TestMeasure(t *testing.T) {
	for _, c := range []struct {
		what   string
		each   time.Duration
		graphs bool
		o      options
		calls  int // timed
		graph  bool
	}{
		{"long calls are sampled seven times", time.Second, true, options{warmup: 3}, 7, false},
		{"short calls fill the budget", time.Millisecond, true, options{warmup: 3}, 7 * 35, false},
		{"very short calls go into a graph", 10 * time.Microsecond, true, options{warmup: 3}, 7 * 74 * 48, true},
		{"unless the device has none", 10 * time.Microsecond, false, options{warmup: 3}, 7 * 2000, false},
		{"-iterations says how many", time.Millisecond, true, options{iterations: 5}, 35, false},
		{"in graphs, at least so many", 10 * time.Microsecond, true, options{iterations: 50}, 7 * 2 * 48, true},
	} {
		w := &fakeWatch{each: c.each, graphs: c.graphs}
		got, err := measure(w, c.o, func() error { w.made++; return nil })
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		if math.Abs(got.seconds/c.each.Seconds()-1) > 1e-9 || got.calls != c.calls || (w.recorded > 0) != c.graph || w.released != c.graph || got.note != "" {
			t.Errorf("%s: %+v with %+v", c.what, got, w)
		}
		if !c.graph && w.made != c.o.warmup+1+c.calls {
			t.Errorf("%s: %d calls for %d timed ones", c.what, w.made, c.calls)
		}
	}
}

// TestWarmUp checks that the warm-up ends with the first call that needs no new memory,
// but not before the requested number of calls. If all calls need new memory, it ends
// after patience.
func TestWarmUp(t *testing.T) {
	for _, c := range []struct {
		n, cold int
		each    time.Duration // time of one call, which sleeps that long
		want    int
	}{
		{3, 0, 0, 3},
		{3, 2, 0, 3},
		{3, 3, 0, 4},
		{3, 10, 0, 11},
		{0, 10, 0, 0},
		{1, 10, 0, 11},
		{3, 0, budget, 1},
		{3, 1, budget, 2},
		{3, -1, patience / 2, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := &fakeWatch{cold: c.cold}
			if err := warmUp(w, c.n, func() error { w.made++; time.Sleep(c.each); return nil }); err != nil || w.made != c.want {
				t.Errorf("%+v: %d calls, %v", c, w.made, err)
			}
		})
	}
}

var errCall = errors.New("the call failed")

func TestMeasureError(t *testing.T) {
	for _, after := range []int{0, 1, 3, 4, 20} {
		made := 0
		_, err := measure(&fakeWatch{each: time.Millisecond}, options{warmup: 3}, func() error {
			made++
			if made > after {
				return errCall
			}
			return nil
		})
		if !errors.Is(err, errCall) {
			t.Errorf("an error after %d calls: %v", after, err)
		}
	}
}

// refusing is a device that cannot record this call.
type refusing struct{ fakeWatch }

func (*refusing) record(int, func() error) (func() error, func(), error) {
	return nil, nil, errCall
}

// TestMeasureSaysSo checks that a call that cannot be captured is timed with its
// launches, and that the line notes it.
func TestMeasureSaysSo(t *testing.T) {
	got, err := measure(&refusing{fakeWatch{each: 10 * time.Microsecond}}, options{}, func() error { return nil })
	if err != nil || got.note == "" || got.seconds != 10e-6 {
		t.Errorf("%+v, %v", got, err)
	}
}
