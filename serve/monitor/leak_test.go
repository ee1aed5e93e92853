package monitor

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpk-go/gpk/device"
)

func TestLeaks(t *testing.T) {
	for _, c := range []struct {
		name     string
		from, to int64
		after    time.Duration
		options  Options
		want     bool
	}{
		{"21 %", 100, 121, 300 * time.Second, Options{}, true},
		{"20 %", 100, 120, 300 * time.Second, Options{}, false},
		{"19 %", 100, 119, 300 * time.Second, Options{}, false},
		{"from nothing", 0, 50, 300 * time.Second, Options{}, false},
		{"less", 100, 50, 300 * time.Second, Options{}, false},
		{"too early", 100, 200, 299 * time.Second, Options{}, false},
		{"later", 100, 200, 301 * time.Second, Options{}, true},
		{"a window of its own", 100, 140, time.Minute, Options{Window: time.Minute, Growth: 0.5}, false},
		{"a growth of its own", 100, 151, time.Minute, Options{Window: time.Minute, Growth: 0.5}, true},
	} {
		for _, steps := range []int64{1, 100} { // at once, and linear
			f, m := newFake(c.options)
			for i := range steps + 1 {
				f.memory.InUse = c.from + (c.to-c.from)*i/steps
				m.Snapshot()
				if i < steps {
					f.at = f.at.Add(c.after / time.Duration(steps))
				}
			}
			leaks := m.Leaks()
			if (len(leaks) == 1) != c.want || len(leaks) > 1 {
				t.Errorf("%s, in %d steps: %v", c.name, steps, leaks)
			}
			if c.want && (leaks[0].From.InUse != c.from || leaks[0].To.InUse != c.to || leaks[0].Growth != float64(c.to-c.from)/float64(c.from)) {
				t.Errorf("%s, in %d steps: %+v", c.name, steps, leaks[0])
			}
		}
	}
	_, m := newFake(Options{})
	if got := m.Leaks(); got != nil {
		t.Errorf("without snapshots: %v", got)
	}
}

// TestLeakEnds runs a program that grows and then stays constant.
func TestLeakEnds(t *testing.T) {
	f, m := newFake(Options{})
	for i := range 1000 {
		f.memory.InUse = 100 + int64(min(i, 60))
		m.Snapshot()
		// 160 is more than a fifth above the bytes in use until second 33. A window may
		// be up to 3 s too long.
		if found := len(m.Leaks()) == 1; found != (i >= 300 && i <= 333) && i != 334 && i != 335 {
			t.Fatalf("second %d: a leak %v", i, found)
		}
		f.at = f.at.Add(time.Second)
	}
}

// TestGarbage grows by dropped arrays, which a collection finds.
func TestGarbage(t *testing.T) {
	f, m := newFake(Options{})
	f.memory.InUse = 100
	m.Snapshot()
	f.at = f.at.Add(300 * time.Second)
	f.memory.InUse, f.garbage = 150, 40
	m.Snapshot()
	if leaks := m.Leaks(); leaks != nil || f.collects != 1 {
		t.Errorf("garbage is a leak: %v, after %d collections", leaks, f.collects)
	}
	if m.Leaks(); f.collects != 1 {
		t.Error("a collection without need")
	}
}

func TestSites(t *testing.T) {
	f, m := newFake(Options{})
	f.memory.InUse, f.buffers = 100, 7
	m.Snapshot()
	f.at = f.at.Add(300 * time.Second)
	f.memory.InUse, f.buffers = 121, 20
	f.live = map[uint64][]device.LiveBuffer{7: {
		{Bytes: 2, Label: "float32 [2] of Add at main/main.go:17", Origin: "Add at main/main.go:17"},
		{Bytes: 11},
		{Bytes: 5, Origin: "Exp at main/main.go:9"},
		{Bytes: 3, Label: "float32 [3] of Add at main/main.go:17", Origin: "Add at main/main.go:17"},
	}}
	m.Snapshot()
	leaks := m.Leaks()
	if len(leaks) != 1 {
		t.Fatal(leaks)
	}
	want := []Site{{"", 11, 1}, {"Add at main/main.go:17", 5, 2}, {"Exp at main/main.go:9", 5, 1}}
	if !slices.Equal(leaks[0].Sites, want) {
		t.Errorf("sites %v, want %v", leaks[0].Sites, want)
	}
	const text = "the bytes in use grew by 21 % in 5m0s, from 100 B to 121 B: 11 B in 1 buffers of unknown origin, " +
		"5 B in 2 buffers of Add at main/main.go:17, 5 B in 1 buffers of Exp at main/main.go:9"
	if got := leaks[0].String(); got != text {
		t.Errorf("got  %s\nwant %s", got, text)
	}
	if s := (Leak{}).String(); !strings.Contains(s, "0 %") {
		t.Error(s)
	}
}

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		free, total int64
		pool        device.PoolStats
		want        Memory
	}{
		{40, 100, device.PoolStats{Limit: 100, InUse: 20, Cached: 5}, Memory{100, 40, 20, 5}},
		{40, 100, device.PoolStats{Limit: 30, InUse: 10, Cached: 5, Exposed: 2}, Memory{30, 13, 10, 5}},
		{40, 100, device.PoolStats{Limit: 30, InUse: 50}, Memory{30, 0, 50, 0}}, // set below what is in use
		{0, 0, device.PoolStats{Limit: 30, InUse: 10}, Memory{30, 20, 10, 0}},   // the system does not say
	} {
		if got := within(c.free, c.total, c.pool); got != c.want {
			t.Errorf("%d of %d free, %+v: %+v, want %+v", c.free, c.total, c.pool, got, c.want)
		}
	}
}
