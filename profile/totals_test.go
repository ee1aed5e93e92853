package profile

import (
	"math"
	"slices"
	"testing"
	"time"
)

func durations(ds ...int) (out []*time.Duration) {
	for _, d := range ds {
		t := time.Duration(d)
		out = append(out, &t)
	}
	return out
}

func TestTotals(t *testing.T) {
	d := durations(10, 30, 20, 40)
	r := &Report{Operations: []Operation{
		{Name: "Exp", Site: "a.go:1", DType: "float32", Shape: []int{2}, Device: "cuda:1", Host: 5, Time: d[0], Bytes: 100},
		{Name: "Exp", Site: "a.go:1", DType: "float32", Shape: []int{2}, Device: "cuda:0", Host: 5, Time: d[1], Bytes: 300, Kernel: "k"},
		{Name: "Exp", Site: "a.go:1", DType: "float32", Shape: []int{2}, Device: "cuda:0", Host: 50, Failed: true},
		{Name: "Exp", Site: "a.go:1", DType: "float32", Shape: []int{3}, Device: "cuda:0", Host: 5, Time: d[2], Kernel: "k"},
		{Name: "Exp", Site: "a.go:2", DType: "float32", Shape: []int{2}, Device: "cpu", Host: 140},
		{Name: "MatMul", Site: "a.go:3", Device: "cuda:0", Host: 5, Time: d[3], Flops: 4000},
	}}
	got := r.Totals()
	if len(got) != 4 {
		t.Fatalf("%d totals: %+v", len(got), got)
	}
	host, product, two, three := got[0], got[1], got[2], got[3] // 140, 40, 40 and 20 ns; names break the tie
	if host.Clock != HostClock || host.Device != nil || host.Median != 140 || host.GBPerSecond != nil {
		t.Errorf("without events: %+v", host)
	}
	if product.Name == "Exp" {
		product, two = two, product
	}
	if two.Calls != 3 || two.Failed != 1 || two.Host != 60 || *two.Device != 40 || two.Median != 20 || two.Clock != DeviceClock || two.Kernel != "" {
		t.Errorf("float32 2: %+v", two)
	}
	if !slices.Equal(two.Devices, []string{"cuda:0", "cuda:1"}) || *two.GBPerSecond != 10 || two.TFlops != nil {
		t.Errorf("float32 2: %v %v", two.Devices, two.GBPerSecond)
	}
	if math.Abs(*product.TFlops-0.1) > 1e-15 || three.Calls != 1 || three.Kernel != "k" {
		t.Errorf("%v TFLOP/s, %+v", *product.TFlops, three)
	}
	if math.Abs(two.Share-40.0/240) > 1e-15 {
		t.Errorf("share %v", two.Share)
	}
}

// TestTotalsRandom adds up by a scan for each operation.
func TestTotalsRandom(t *testing.T) {
	r := makeReport(newRandom(t, 3), generated{steps: 21, devices: 2})
	share := 0.0
	last := time.Duration(math.MaxInt64)
	for _, got := range r.Totals() {
		var want Total
		var times []float64
		var device time.Duration
		for _, o := range r.Operations {
			if o.Name != got.Name || o.Site != got.Site || o.DType != got.DType || !slices.Equal(o.Shape, got.Shape) {
				continue
			}
			want.Calls++
			want.Host += o.Host
			want.Bytes += o.Bytes
			want.Flops += o.Flops
			device += *o.Time
			times = append(times, float64(*o.Time))
		}
		slices.Sort(times)
		n := len(times)
		median := (times[(n-1)/2] + times[n/2]) / 2
		if got.Calls != want.Calls || got.Host != want.Host || got.Bytes != want.Bytes || got.Flops != want.Flops || *got.Device != device || math.Abs(float64(got.Median)-median) > 0.5 {
			t.Errorf("%s: %+v, want %+v, device %v, median %v", got.Name, got, want, device, median)
		}
		if got.Time() > last {
			t.Errorf("%s after one with less time", got.Name)
		}
		last = got.Time()
		share += got.Share
	}
	if math.Abs(share-1) > 1e-12 {
		t.Errorf("shares add up to %v", share)
	}
}

func TestSpanTotals(t *testing.T) {
	d := durations(7, 8, 9)
	r := &Report{
		Spans: []Region{
			{ID: 4, Parent: 1, Name: "b", Duration: 40}, // in no order
			{ID: 1, Name: "a", Duration: 100},
			{ID: 2, Parent: 1, Name: "b", Duration: 10},
			{ID: 3, Name: "a", Duration: 200},
			{ID: 5, Parent: 3, Name: "b", Duration: 20},
			{ID: 6, Parent: 99, Name: "lost parent", Duration: 1000},
			{ID: 7, Parent: 8, Name: "parent is later", Duration: 1},
			{ID: 8, Parent: 5, Name: "c", Duration: 5},
		},
		Operations: []Operation{{Name: "x", Span: 2, Time: d[0]}, {Name: "x", Span: 8, Time: d[1]}, {Name: "x", Span: 1}, {Name: "x", Span: 77}, {Name: "x"}},
		Transfers:  []Transfer{{Span: 3, Time: d[2]}},
	}
	type want struct {
		name                  string
		depth, calls          int
		host, median          time.Duration
		operations, transfers int
		device                time.Duration
		deviceMeasured        bool
	}
	wants := []want{
		{name: "lost parent", calls: 1, host: 1000, median: 1000},
		{name: "a", calls: 2, host: 300, median: 150, operations: 3, transfers: 1, device: 24, deviceMeasured: true},
		{name: "b", depth: 1, calls: 3, host: 70, median: 20, operations: 2, device: 15, deviceMeasured: true},
		{name: "c", depth: 2, calls: 1, host: 5, median: 5, operations: 1, device: 8, deviceMeasured: true},
		{name: "parent is later", calls: 1, host: 1, median: 1},
	}
	got := r.SpanTotals()
	if len(got) != len(wants) {
		t.Fatalf("%d totals: %+v", len(got), got)
	}
	for i, w := range wants {
		g := got[i]
		if g.Name != w.name || g.Depth != w.depth || g.Calls != w.calls || g.Host != w.host || g.Median != w.median || g.Operations != w.operations || g.Transfers != w.transfers {
			t.Errorf("%d: %+v, want %+v", i, g, w)
		}
		if (g.Device != nil) != w.deviceMeasured || g.Device != nil && *g.Device != w.device {
			t.Errorf("%s: device %v, want %v", w.name, g.Device, w.device)
		}
	}
}

func TestTransferTotals(t *testing.T) {
	d := durations(100, 300)
	r := &Report{Transfers: []Transfer{
		{Kind: DeviceToHost, Bytes: 50, Host: 3},
		{Kind: HostToDevice, Bytes: 1000, Host: 1, Time: d[0]},
		{Kind: HostToDevice, Bytes: 3000, Host: 1, Time: d[1]},
		{Kind: HostToDevice, Bytes: 500, Host: 1}, // not measured: not in the rate
	}}
	got := r.TransferTotals()
	if len(got) != 2 || got[0].Kind != HostToDevice || got[1].Kind != DeviceToHost {
		t.Fatalf("%+v", got)
	}
	if h := got[0]; h.Calls != 3 || h.Bytes != 4500 || h.Host != 3 || *h.Device != 400 || *h.GBPerSecond != 10 {
		t.Errorf("%+v, %v, %v GB/s", h, *h.Device, *h.GBPerSecond)
	}
	if h := got[1]; h.Device != nil || h.GBPerSecond != nil || h.Bytes != 50 {
		t.Errorf("%+v", h)
	}
}

// TestStreamsBusy counts the nanoseconds in which a stream works one by one.
func TestStreamsBusy(t *testing.T) {
	random := newRandom(t, 5)
	given := 0.25
	r := &Report{Duration: 1000, Devices: []Device{{Name: "cuda:0", Streams: []Stream{{ID: 7, Busy: &given}, {ID: 9}}}}}
	var works [1000]bool
	for i := range 40 {
		at, took := time.Duration(random.IntN(1050)-30), time.Duration(random.IntN(25))
		for n := max(at, 0); n < min(at+took, 1000); n++ {
			works[n] = true
		}
		if i%2 == 0 {
			r.Operations = append(r.Operations, Operation{Device: "cuda:0", Stream: 3, OnDevice: &at, Time: &took})
		} else {
			r.Transfers = append(r.Transfers, Transfer{Device: "cuda:0", Stream: 3, OnDevice: &at, Time: &took})
		}
	}
	late := time.Duration(1000)
	r.Operations = append(r.Operations, Operation{Device: "cuda:0", Stream: 7, OnDevice: new(time.Duration), Time: &late}, Operation{Device: "cuda:0", Stream: 8, Time: &late})
	busy := 0
	for _, w := range works {
		if w {
			busy++
		}
	}
	got := r.StreamsBusy()
	if len(got) != 2 || got[0].Stream != 3 || got[1] != (StreamBusy{"cuda:0", 7, 0.25}) {
		t.Fatalf("%+v", got)
	}
	if want := float64(busy) / 1000; got[0].Busy != want {
		t.Errorf("busy %v, want %v", got[0].Busy, want)
	}
}

func TestSummaryLeavesOutWhatWasNotMeasured(t *testing.T) {
	s := (&Report{Operations: []Operation{{Name: "Exp", Host: 10}, {Name: "Exp", Host: 5, Failed: true}}, Duration: time.Second}).Summary()
	if s.Launches != 1 || s.Failed != 1 || s.HostTime != 15 || *s.LaunchesPerSecond != 1 {
		t.Errorf("%+v", s)
	}
	if s.DeviceTime != nil || s.TransferTime != nil || s.GraphReplays != nil || s.GraphHitRate != nil || s.KernelHitRate != nil || s.PeakBytes != nil || s.TFlops != nil || s.GBPerSecond != nil || s.Streams != nil {
		t.Errorf("figures that were not measured: %+v", s)
	}
	peak := int64(5)
	s = (&Report{Graphs: &Graphs{Captures: 1, Replays: 3}, Kernels: &Kernels{Hits: 9, Compiled: 1}, Devices: []Device{{PeakBytes: &peak}, {}}}).Summary()
	if *s.GraphReplays != 3 || *s.GraphHitRate != 0.75 || *s.KernelHitRate != 0.9 || *s.PeakBytes != 5 {
		t.Errorf("%+v", s)
	}
}

// TestLargestNumbers adds up numbers whose sum is beyond int64.
func TestLargestNumbers(t *testing.T) {
	most := time.Duration(math.MaxInt64)
	r := &Report{Duration: most, Graphs: &Graphs{math.MaxInt64, math.MaxInt64}, Kernels: &Kernels{math.MaxInt64, math.MaxInt64, most}}
	for i := range 3 {
		r.Operations = append(r.Operations, Operation{Name: "x", Device: "cuda:0", Start: most, Host: most, OnDevice: &most, Time: &most, Bytes: math.MaxInt64, Flops: math.MaxInt64, Span: i + 1})
		r.Transfers = append(r.Transfers, Transfer{Kind: HostToDevice, Device: "cuda:0", Bytes: math.MaxInt64, Host: most, OnDevice: &most, Time: &most})
		r.Spans = append(r.Spans, Region{ID: i + 1, Parent: i, Name: "s", Start: most, Duration: most})
		r.Memory = append(r.Memory, MemoryUse{"cuda:0", most, math.MaxInt64, math.MaxInt64})
		r.Allocations = append(r.Allocations, Allocation{Name: "x", Device: "cuda:0", Count: math.MaxInt64, Bytes: math.MaxInt64, Peak: math.MaxInt64, InUse: math.MaxInt64})
	}
	if got := r.Totals()[0]; got.Host != most || *got.Device != most || got.Bytes != math.MaxInt64 || got.Share != 1 {
		t.Errorf("%+v", got)
	}
	writeAll(t, r)
}
