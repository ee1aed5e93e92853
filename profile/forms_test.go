package profile_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
	"github.com/gpk-go/gpk/internal/testrand"
	"github.com/gpk-go/gpk/profile"
)

func pointer[T any](v T) *T { return &v }

// sample returns a report of two devices, four goroutines and spans, with seeded times.
func sample(t *testing.T) *profile.Report {
	rng := testrand.New(t)
	r := &profile.Report{
		Format: profile.Format, Started: time.Unix(1e9, 5), Duration: time.Second,
		Devices: []profile.Device{{Name: "cpu", Model: "EPYC"}, {Name: "cuda:0", Model: "H200"}},
		Memory:  []profile.MemoryUse{{Device: "cuda:0", At: 5, InUse: 100, Held: 300}},
	}
	for g := range uint64(4) {
		at := time.Duration(rng.IntN(1000))
		for range 3 {
			outer := profile.Region{ID: len(r.Spans) + 1, Name: fmt.Sprintf("outer %d", g), Goroutine: g, Start: at, Duration: 10_000}
			inner := profile.Region{ID: outer.ID + 1, Parent: outer.ID, Name: "inner", Goroutine: g, Start: at + 100, Duration: 5000}
			r.Spans = append(r.Spans, outer, inner)
			for i := range time.Duration(4) {
				device, stream := "cpu", uint64(1)
				if g%2 == 1 {
					device, stream = "cuda:0", g
				}
				o := profile.Operation{
					Name: []string{"MatMul", "Exp.Sum"}[i%2], Kernel: "kernel", Site: "dir/file.go:12", DType: "float32", Shape: []int{2, 3}, Device: device,
					Stream: stream, Goroutine: g, Span: inner.ID, Start: inner.Start + 1000*i, Host: time.Duration(500 + rng.IntN(400)), Bytes: 10, Flops: 20,
				}
				if rng.IntN(5) > 0 {
					o.OnDevice, o.Time = pointer(o.Start+time.Duration(rng.IntN(500))), pointer(time.Duration(rng.IntN(3000)))
				}
				r.Operations = append(r.Operations, o)
			}
			r.Transfers = append(r.Transfers, profile.Transfer{
				Kind: profile.HostToDevice, Device: "cuda:0", Stream: 3, Goroutine: g, Span: outer.ID, Bytes: 1 << 20, Start: at + 6000, Host: 900,
				OnDevice: pointer(at + 6100), Time: pointer(time.Duration(700)),
			})
			at += 12_000
		}
	}
	return r
}

type traced struct {
	Name, Ph, Cat string
	Pid, Tid, ID  int
	Ts, Dur       float64
	Args          map[string]any
}

// TestChromeTrace: the trace is JSON with a track for each goroutine and stream, on which
// slices follow one another or nest, and with arrows from calls to work on a GPU.
func TestChromeTrace(t *testing.T) {
	r := sample(t)
	var b bytes.Buffer
	if err := r.WriteChromeTrace(&b); err != nil {
		t.Fatal(err)
	}
	var trace struct{ TraceEvents []traced }
	if err := json.Unmarshal(b.Bytes(), &trace); err != nil {
		t.Fatal(err)
	}
	type key struct{ pid, tid int }
	processes, tracks := map[int]string{}, map[key]string{}
	open := map[key][]traced{}
	slicesBy, ends := map[string]int{}, map[int]map[string]traced{}
	last := map[key]float64{}
	for _, e := range trace.TraceEvents {
		k := key{e.Pid, e.Tid}
		switch e.Ph {
		case "M":
			name, _ := e.Args["name"].(string)
			if e.Name == "process_name" {
				processes[e.Pid] = name
			} else if e.Name == "thread_name" {
				tracks[k] = name
			}
		case "X":
			if tracks[k] == "" {
				t.Fatalf("a slice on a track without a name: %+v", e)
			}
			if e.Ts < last[k] || e.Dur < 0 {
				t.Errorf("%+v goes back in time", e)
			}
			last[k] = e.Ts
			const grain = 1e-6 // times are decimal fractions
			stack := open[k]
			for len(stack) > 0 && stack[len(stack)-1].Ts+stack[len(stack)-1].Dur <= e.Ts+grain {
				stack = stack[:len(stack)-1]
			}
			if n := len(stack); n > 0 && (processes[e.Pid] != "host" || e.Ts+e.Dur > stack[n-1].Ts+stack[n-1].Dur+grain) {
				t.Errorf("%+v overlaps %+v on %s", e, stack[n-1], tracks[k])
			}
			open[k] = append(stack, e)
			slicesBy[processes[e.Pid]]++
		case "s", "f":
			if ends[e.ID] == nil {
				ends[e.ID] = map[string]traced{}
			}
			ends[e.ID][e.Ph] = e
			if at := open[k][len(open[k])-1]; at.Ts != e.Ts {
				t.Errorf("the arrow %+v is not at the slice %+v", e, at)
			}
		case "C":
			if e.Args["in use"] != 100.0 || e.Args["kept"] != 200.0 || processes[e.Pid] != "cuda:0 (H200)" {
				t.Errorf("%+v", e)
			}
		}
	}
	var names []string
	for k, name := range tracks {
		if !strings.Contains(name, "(") { // further lanes
			names = append(names, processes[k.pid]+": "+name)
		}
	}
	slices.Sort(names)
	want := []string{
		"cpu (EPYC): stream 1", "cuda:0 (H200): stream 1", "cuda:0 (H200): stream 3",
		"host: goroutine 0", "host: goroutine 1", "host: goroutine 2", "host: goroutine 3",
	}
	if !slices.Equal(names, want) {
		t.Errorf("tracks %q, want %q", names, want)
	}
	measured, onGPU := map[string]int{}, 0
	for _, o := range r.Operations {
		if o.Time != nil {
			measured[o.Device]++
		}
	}
	onGPU = measured["cuda:0"] + len(r.Transfers)
	if n := len(r.Spans) + len(r.Operations) + len(r.Transfers); slicesBy["host"] != n || slicesBy["cpu (EPYC)"] != measured["cpu"] || slicesBy["cuda:0 (H200)"] != onGPU {
		t.Errorf("slices %v", slicesBy)
	}
	if len(ends) != onGPU {
		t.Errorf("%d arrows, want %d", len(ends), onGPU)
	}
	for id, e := range ends {
		if len(e) != 2 || processes[e["s"].Pid] != "host" || processes[e["f"].Pid] == "host" || e["f"].Ts < e["s"].Ts {
			t.Errorf("arrow %d: %+v", id, e)
		}
	}
}

// TestPprof checks that pprof's own package reads the output, and that it contains all of
// the time.
func TestPprof(t *testing.T) {
	r := sample(t)
	var b bytes.Buffer
	if err := r.WritePprof(&b); err != nil {
		t.Fatal(err)
	}
	p, err := pprof.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, s := range p.SampleType {
		types = append(types, s.Type+" "+s.Unit)
	}
	if want := []string{"operations count", "host nanoseconds", "device nanoseconds"}; !slices.Equal(types, want) {
		t.Errorf("%q, want %q", types, want)
	}
	if p.DurationNanos != int64(r.Duration) || p.TimeNanos != r.Started.UnixNano() {
		t.Errorf("%d for %d", p.TimeNanos, p.DurationNanos)
	}
	var want, got [3]int64
	for _, o := range r.Operations {
		want[0]++
		want[1] += int64(o.Host)
		if o.Time != nil {
			want[2] += int64(*o.Time)
		}
	}
	for _, x := range r.Transfers {
		want[0]++
		want[1] += int64(x.Host)
		want[2] += int64(*x.Time)
	}
	for _, s := range p.Sample {
		for i := range got {
			got[i] += s.Value[i]
		}
		var stack []string
		for _, l := range s.Location {
			stack = append(stack, fmt.Sprint(l.Line[0].Function.Name, " ", l.Line[0].Line))
		}
		if strings.HasPrefix(stack[0], "copy") {
			if len(stack) != 2 || !strings.HasPrefix(stack[1], "outer") {
				t.Errorf("%q", stack)
			}
			continue
		}
		if len(stack) != 4 || stack[1] != "dir/file.go:12 12" || stack[2] != "inner 0" || !strings.HasPrefix(stack[3], "outer") || s.Label["dtype"][0] != "float32" {
			t.Errorf("%q %v", stack, s.Label)
		}
	}
	if got != want {
		t.Errorf("%d, want %d", got, want)
	}
	if n := len(p.Sample); n != 4*2+4 { // one sample for each goroutine and name; an outer span is named after its goroutine
		t.Errorf("%d samples", n)
	}
}

// failing is a writer that is full.
type failing struct{ room int }

func (f *failing) Write(b []byte) (int, error) {
	if f.room -= len(b); f.room < 0 {
		return 0, errFull
	}
	return len(b), nil
}

var errFull = fmt.Errorf("the disk is full")

// TestWriteErrors: an error of the writer is returned.
func TestWriteErrors(t *testing.T) {
	r := sample(t)
	for what, write := range map[string]func(w *failing) error{
		"trace": func(w *failing) error { return r.WriteChromeTrace(w) },
		"pprof": func(w *failing) error { return r.WritePprof(w) },
	} {
		if err := write(&failing{room: 5}); err == nil || !strings.Contains(err.Error(), errFull.Error()) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
