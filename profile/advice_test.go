package profile

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// rules lists the rules that spoke.
func rules(r *Report) (out []string) {
	for _, a := range r.Advice() {
		out = append(out, a.Rule)
	}
	slices.Sort(out)
	return out
}

func TestAdvice(t *testing.T) {
	const ms = time.Millisecond
	d := func(v time.Duration) *time.Duration { return &v }
	// A single operation dominates nothing.
	compute := func(half time.Duration) []Operation {
		return []Operation{{Name: "A", Device: "cuda:0", Time: d(half)}, {Name: "A", Device: "cuda:0", Time: d(half)}}
	}
	many := func(n int, host, device *time.Duration, name string) (ops []Operation) {
		for range n {
			ops = append(ops, Operation{Name: "A", Device: name, Host: *host, Time: device})
		}
		return ops
	}
	copies := func(kind TransferKind, bytes int64, took time.Duration) []Transfer {
		return []Transfer{{Kind: kind, Bytes: bytes, Time: d(took)}}
	}
	peak := func(p int64) []Device { return []Device{{Name: "cuda:0", MemoryBytes: 1000, PeakBytes: &p}} }
	busy := func(device string, shares ...float64) []Device {
		dev := Device{Name: device}
		for i, s := range shares {
			dev.Streams = append(dev.Streams, Stream{ID: uint64(i), Busy: &s})
		}
		return []Device{dev}
	}
	for _, c := range []struct {
		name string
		r    Report
		want string // rules, sorted
		says string
	}{
		{"empty", Report{}, "", ""},
		{"copies take 20 %", Report{Operations: compute(40 * ms), Transfers: copies(HostToDevice, 1<<30, 20*ms)}, "transfers", "20.0%"},
		{"copies take 19 %", Report{Operations: compute(43 * ms), Transfers: copies(HostToDevice, 1<<30, 20*ms)}, "", ""},
		{"copies without times", Report{Operations: compute(ms), Transfers: []Transfer{{Kind: HostToDevice, Bytes: 1 << 30}}}, "", ""},
		{"copies, and operations without times", Report{Operations: []Operation{{Name: "A", Host: 1}}, Transfers: copies(HostToDevice, 1<<40, 20*ms)}, "", ""},
		{"slow large copies", Report{Operations: compute(1000 * ms), Transfers: copies(DeviceToHost, 90_000_000, 10*ms)}, "pinned", "9 GB/s"},
		{"fast large copies", Report{Operations: compute(1000 * ms), Transfers: copies(DeviceToHost, 110_000_000, 10*ms)}, "", ""},
		{"slow small copies", Report{Operations: compute(1000 * ms), Transfers: copies(DeviceToHost, 1000, 10*ms)}, "", ""},
		{"slow copies between devices", Report{Operations: compute(1000 * ms), Transfers: copies(DeviceToDevice, 50_000_000, 10*ms)}, "", ""},
		{"slow copies alone", Report{Transfers: copies(DeviceToHost, 50_000_000, 10*ms)}, "pinned", "Pinned"},
		{"tiny operations", Report{Operations: many(100, d(20), d(10), "cuda:0")}, "launches", "gpk.Capture"},
		{"few tiny operations", Report{Operations: many(99, d(20), d(10), "cuda:0")}, "", ""},
		{"large operations", Report{Operations: many(100, d(10), d(10), "cuda:0")}, "", ""},
		{"tiny operations of the CPU", Report{Operations: many(100, d(20), d(10), "cpu")}, "", ""},
		{"a busy and an idle stream", Report{Duration: ms, Devices: busy("cuda:0", 0.1, 0.5)}, "", ""},
		{"idle streams", Report{Duration: ms, Devices: busy("cuda:0", 0.1, 0.49)}, "idle", "51.0%"},
		{"an idle CPU", Report{Duration: ms, Devices: busy("cpu", 0.1)}, "", ""},
		{"one of two dominates", Report{Operations: []Operation{{Name: "A", Site: "a.go:7", Host: 50}, {Name: "B", Host: 50}}}, "dominant", "A at a.go:7 takes 50.0%"},
		{"one alone", Report{Operations: []Operation{{Name: "A", Host: 50}}}, "", ""},
		{"none dominates", Report{Operations: []Operation{{Name: "A", Host: 49}, {Name: "B", Host: 26}, {Name: "C", Host: 25}}}, "", ""},
		{"compiling", Report{Duration: 100 * ms, Kernels: &Kernels{Compiled: 3, Time: 5 * ms}}, "compiling", "compiled 3"},
		{"compiling little", Report{Duration: 100 * ms, Kernels: &Kernels{Compiled: 3, Time: 4 * ms}}, "", ""},
		{"full memory", Report{Devices: peak(900), Allocations: []Allocation{{Name: "w", Device: "cuda:1", Peak: 9}, {Name: "MatMul", Site: "a.go:3", Device: "cuda:0", Peak: 512}}}, "memory", "most by MatMul at a.go:3, its peak 512 B"},
		{"memory to spare", Report{Devices: peak(899)}, "", ""},
		{"memory not known", Report{Devices: []Device{{Name: "cuda:0", MemoryBytes: 1000}, {Name: "cpu", PeakBytes: new(int64)}}}, "", ""},
		{"churn", Report{Allocations: []Allocation{{Name: "Exp", Site: "a.go:5", Count: 1000, Bytes: 100, Peak: 10}, {Name: "Log", Site: "a.go:6", Count: 2000, Bytes: 90, Peak: 2}}}, "allocations", "Exp at a.go:5"},
		{"few buffers", Report{Allocations: []Allocation{{Name: "Exp", Count: 999, Bytes: 100, Peak: 10}}}, "", ""},
		{"buffers that stay", Report{Allocations: []Allocation{{Name: "Exp", Count: 1000, Bytes: 99, Peak: 10}}}, "", ""},
	} {
		got := strings.Join(rules(&c.r), " ")
		if got != c.want {
			t.Errorf("%s: %q, want %q: %v", c.name, got, c.want, c.r.Advice())
			continue
		}
		for _, a := range c.r.Advice() {
			if !strings.Contains(a.String(), c.says) || len(a.Figures) == 0 || a.Share < 0 || a.Share > 1 {
				t.Errorf("%s: %v lacks %q", c.name, a, c.says)
			}
		}
	}
}

// TestAdviceOrder: the largest share of time first.
func TestAdviceOrder(t *testing.T) {
	r := makeReport(newRandom(t, 29), generated{steps: 300, devices: 2})
	last := 1.0
	advice := r.Advice()
	if len(advice) < 2 {
		t.Fatalf("%v", advice)
	}
	for _, a := range advice {
		if a.Share > last {
			t.Errorf("%s, %v, follows %v", a.Rule, a.Share, last)
		}
		last = a.Share
	}
}

func TestBottlenecks(t *testing.T) {
	d := durations(400, 90)
	busy := 0.7
	r := &Report{
		Duration:   1000,
		Devices:    []Device{{Name: "cuda:0", Streams: []Stream{{ID: 4, Busy: &busy}}}, {Name: "cpu", Streams: []Stream{{Busy: new(float64)}}}},
		Operations: []Operation{{Name: "MatMul", Site: "a.go:1", Device: "cuda:0", Time: d[0], Host: 900}, {Name: "Exp", Device: "cpu", Host: 80}},
		Transfers:  []Transfer{{Kind: DeviceToHost, Bytes: 900, Time: d[1]}, {Kind: HostToDevice}},
		Kernels:    &Kernels{Compiled: 1, Time: 85},
	}
	var got []string
	for _, b := range r.Bottlenecks(10) {
		got = append(got, b.What+" "+timeText(b.Time)+" "+percentText(b.Share))
	}
	want := []string{"MatMul 400ns 40.0%", "cuda:0 without work 300ns 30.0%", "copies from devices 90ns 9.0%", "compiling kernels 85ns 8.5%", "Exp 80ns 8.0%"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if n := len(r.Bottlenecks(2)); n != 2 {
		t.Errorf("%d of 2", n)
	}
	if n := len(r.Bottlenecks(-1)) + len((&Report{}).Bottlenecks(5)); n != 0 {
		t.Errorf("%d of none", n)
	}
}
