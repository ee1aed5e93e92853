package profile

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"
)

func TestTimeline(t *testing.T) {
	d := durations(10, 40, 5, 7)
	early := time.Duration(-3)
	r := &Report{
		Duration: 100,
		Spans: []Region{
			{ID: 1, Name: "outer", Goroutine: 9, Start: 0, Duration: 50},
			{ID: 2, Name: "inner", Goroutine: 9, Start: 10, Duration: 20},
			{ID: 3, Name: "next", Goroutine: 9, Start: 50, Duration: 5},
		},
		Operations: []Operation{
			{Name: "late", Goroutine: 9, Device: "cuda:0", Start: 30, Host: 1, OnDevice: d[1], Time: d[0]},
			{Name: "early", Goroutine: 9, Device: "cuda:0", Start: 20, Host: 1, OnDevice: &early, Time: d[2], Failed: true},
			{Name: "host", Goroutine: 2, Device: "cpu", Start: 95, Host: 15},
		},
		Transfers: []Transfer{{Kind: HostToDevice, Bytes: 1024, Goroutine: 2, Device: "cuda:0", Stream: 4, Start: 1, Host: 2, OnDevice: d[2], Time: d[3]}},
	}
	line := r.timeline()
	var got []string
	for _, tr := range line.Tracks {
		for _, row := range tr.Rows {
			s := tr.Name + ":"
			for i := range row.Start {
				s += fmt.Sprintf(" %s/%s@%d+%d", line.Labels[row.Label[i]].Name, line.Kinds[row.Kind[i]], row.Start[i], row.Duration[i])
			}
			got = append(got, s)
		}
	}
	want := []string{
		"goroutine 2: h2d 1 KiB/h2d@1+2 host/call@95+15",
		"goroutine 9: outer/span@0+50 next/span@50+5",
		"goroutine 9: inner/span@10+20",
		"goroutine 9: early/failed@20+1 late/call@30+1",
		"cuda:0, stream 0: early/failed@0+5 late/operation@40+10",
		"cuda:0, stream 4: h2d 1 KiB/h2d@5+7",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if line.End != 110 || line.Events != 10 || line.LeftOut != 0 {
		t.Errorf("end %d, %d events, %d left out", line.End, line.Events, line.LeftOut)
	}
}

// TestTimelineLimits checks that the longest of too many events are drawn, and every
// event is drawn or counted as left out.
func TestTimelineLimits(t *testing.T) {
	random := newRandom(t, 31)
	r := &Report{}
	const n = 150_000
	longest := time.Duration(0)
	for i := range n {
		took := time.Duration(random.Int64N(1 << 40))
		longest = max(longest, took)
		r.Operations = append(r.Operations, Operation{Name: "x", Goroutine: uint64(i % 3), Host: took})
	}
	line := r.timeline()
	if line.Events > maxDrawn || line.Events < maxDrawn-100 || line.Events+line.LeftOut != n {
		t.Errorf("%d drawn, %d left out of %d", line.Events, line.LeftOut, n)
	}
	found := false
	for _, tr := range line.Tracks {
		for _, took := range tr.Rows[0].Duration {
			found = found || took == int64(longest)
		}
	}
	if !found {
		t.Error("the longest is not drawn")
	}
	r = &Report{}
	for i := range 200 {
		at := time.Duration(i)
		for range 1 + i%2 {
			r.Operations = append(r.Operations, Operation{Name: "x", Goroutine: uint64(i), Device: "cuda:0", Stream: uint64(i), OnDevice: &at, Time: &at})
		}
	}
	line = r.timeline()
	if len(line.Tracks) != maxHostTracks+maxStreamTracks || line.Events+line.LeftOut != 600 {
		t.Errorf("%d tracks, %d drawn, %d left out", len(line.Tracks), line.Events, line.LeftOut)
	}
	r = &Report{}
	for i := range 50 {
		r.Spans = append(r.Spans, Region{ID: i + 1, Parent: i, Name: "deep", Start: time.Duration(i), Duration: 1000})
	}
	if line := r.timeline(); len(line.Tracks[0].Rows) != maxNestedSpans || line.Events != 50 {
		t.Errorf("%d rows, %d events", len(line.Tracks[0].Rows), line.Events)
	}
}

// TestMemoryChart: a peak of one sample among many is drawn at the top.
func TestMemoryChart(t *testing.T) {
	r := &Report{Duration: 1 << 20, Devices: []Device{{Name: "cuda:0", MemoryBytes: 8 << 30}}}
	for i := range 50_000 {
		use := MemoryUse{"cuda:0", time.Duration(1000 + i), 1 << 20, 2 << 20}
		if i == 33_333 {
			use.InUse = 4 << 20
		}
		r.Memory = append(r.Memory, use)
	}
	r.Memory = append(r.Memory, MemoryUse{Device: "cpu", InUse: 5})
	charts := r.memoryCharts()
	if len(charts) != 2 || charts[0].Device != "cpu" || charts[0].PeakInUse != "5 B" {
		t.Fatalf("%+v", charts)
	}
	c := charts[1]
	if c.PeakInUse != "4 MiB" || c.PeakHeld != "2 MiB" || c.Top != "4 MiB" || c.Memory != "8 GiB" || c.Samples != 50_000 {
		t.Errorf("%+v", c)
	}
	heights := regexp.MustCompile(`[V ]([0-9.]+)`).FindAllStringSubmatch(c.InUse, -1)
	if len(heights) > 2*chartWidth {
		t.Errorf("%d points", len(heights))
	}
	top := false
	for _, h := range heights {
		y, err := strconv.ParseFloat(h[1], 64)
		if err != nil || y < 0 || y > chartHeight {
			t.Errorf("%q: %v", h[0], err)
		}
		top = top || y == 0
	}
	if !top || !regexp.MustCompile(`^M0 120\.0H.*V160H0Z$`).MatchString(c.InUse) {
		t.Errorf("path %s", c.InUse)
	}
}
