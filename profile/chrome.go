package profile

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"
)

// traceEvent is an event of the Trace Event Format, which chrome://tracing and
// https://ui.perfetto.dev read. Times are in microseconds.
// (https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU)
type traceEvent struct {
	Name     string         `json:"name"`
	Phase    string         `json:"ph"` // X: a slice, M: metadata, C: a counter, s and f: the ends of an arrow
	Category string         `json:"cat,omitempty"`
	Process  int            `json:"pid"`
	Thread   int            `json:"tid"`
	At       float64        `json:"ts"`
	Duration *float64       `json:"dur,omitempty"`
	ID       int            `json:"id,omitempty"`
	Bind     string         `json:"bp,omitempty"`
	Args     map[string]any `json:"args,omitempty"`
}

// The process of the trace that represents the host. Devices are the next ones.
const hostProcess = 1

// chrome collects the events of a trace.
type chrome struct {
	r      *Report
	events []traceEvent
	tracks map[trackKey]*traceTrack
	order  []trackKey // keys of the tracks, in order
	arrows int
}

type trackKey struct {
	process int
	id      uint64 // ID of the goroutine or stream
}

// traceTrack holds the slices of a goroutine, which nest, or of a stream, which do not.
type traceTrack struct {
	name   string
	slices []slice
}

// slice is an interval on a track.
type slice struct {
	name, category string
	begin, took    time.Duration
	args           map[string]any
	arrow          int // number of the arrow from the host's slice to the device's; 0: none
}

// WriteChromeTrace writes the profile as JSON that chrome://tracing and Perfetto
// (https://ui.perfetto.dev) open. The host has a track for each goroutine, with spans and
// the calls that start work; a device has one for each stream. Arrows lead from a call to
// its work on a GPU. If slices of a track would overlap, for example those of goroutines
// that compute concurrently on the CPU's stream, the track is split into several.
func (r *Report) WriteChromeTrace(w io.Writer) error {
	if err := writable("WriteChromeTrace", r != nil, w); err != nil {
		return err
	}
	c := &chrome{r: r, tracks: map[trackKey]*traceTrack{}}
	c.spans()
	c.operations()
	c.transfers()
	c.lay()
	c.memory()
	return c.write(w)
}

// process returns the number of a device's process.
func (c *chrome) process(device string) int {
	return hostProcess + 1 + slices.IndexFunc(c.r.Devices, func(d Device) bool { return d.Name == device })
}

// add puts a slice on a track.
func (c *chrome) add(k trackKey, s slice) {
	t := c.tracks[k]
	if t == nil {
		t = &traceTrack{name: fmt.Sprintf("stream %d", k.id)}
		if k.process == hostProcess {
			t.name = fmt.Sprintf("goroutine %d", k.id)
		}
		c.tracks[k] = t
		c.order = append(c.order, k)
	}
	t.slices = append(t.slices, s)
}

// work adds a piece of work to the track of its goroutine and, if its time on the stream
// is known, to that of its stream.
func (c *chrome) work(goroutine uint64, device string, stream uint64, host, onDevice slice, known bool) {
	if known && device != "cpu" {
		c.arrows++
		host.arrow, onDevice.arrow = c.arrows, c.arrows
	}
	c.add(trackKey{hostProcess, goroutine}, host)
	if known {
		c.add(trackKey{c.process(device), stream}, onDevice)
	}
}

func (c *chrome) spans() {
	for _, s := range c.r.Spans {
		c.add(trackKey{hostProcess, s.Goroutine}, slice{name: s.Name, category: "span", begin: s.Start, took: s.Duration})
	}
}

func (c *chrome) operations() {
	for _, o := range c.r.Operations {
		args := map[string]any{}
		for name, value := range map[string]string{"kernel": o.Kernel, "site": o.Site, "dtype": o.DType} {
			if value != "" {
				args[name] = value
			}
		}
		for name, value := range map[string]int64{"bytes": o.Bytes, "flops": o.Flops, "span": int64(o.Span)} {
			if value != 0 {
				args[name] = value
			}
		}
		if o.Shape != nil {
			args["shape"] = fmt.Sprint(o.Shape)
		}
		if o.Failed {
			args["failed"] = true
		}
		host := slice{name: o.Name, category: "call", begin: o.Start, took: o.Host, args: args}
		there := slice{name: o.Name, category: "operation", args: args}
		known := o.OnDevice != nil && o.Time != nil
		if known {
			there.begin, there.took = *o.OnDevice, *o.Time
		}
		c.work(o.Goroutine, o.Device, o.Stream, host, there, known)
	}
}

func (c *chrome) transfers() {
	for _, t := range c.r.Transfers {
		args := map[string]any{"bytes": t.Bytes}
		name := "copy " + string(t.Kind)
		host := slice{name: name, category: "call", begin: t.Start, took: t.Host, args: args}
		there := slice{name: name, category: "copy", args: args}
		known := t.OnDevice != nil && t.Time != nil
		if known {
			there.begin, there.took = *t.OnDevice, *t.Time
			if there.took > 0 {
				there.args = map[string]any{"bytes": t.Bytes, "GB/s": float64(t.Bytes) / float64(there.took)}
			}
		}
		c.work(t.Goroutine, t.Device, t.Stream, host, there, known)
	}
}

// micros converts a time to the format's microseconds.
func micros(d time.Duration) float64 { return float64(d) / 1e3 }

func (c *chrome) metadata(kind string, process, thread int, args map[string]any) {
	c.events = append(c.events, traceEvent{Name: kind, Phase: "M", Process: process, Thread: thread, Args: args})
}

// lay converts the tracks to threads of the trace.
func (c *chrome) lay() {
	c.metadata("process_name", hostProcess, 0, map[string]any{"name": "host"})
	for i, d := range c.r.Devices {
		name := d.Name
		if d.Model != "" {
			name += " (" + d.Model + ")"
		}
		c.metadata("process_name", hostProcess+1+i, 0, map[string]any{"name": name})
	}
	slices.SortFunc(c.order, func(a, b trackKey) int {
		return cmp.Or(cmp.Compare(a.process, b.process), cmp.Compare(a.id, b.id))
	})
	thread := 0
	for _, k := range c.order {
		t := c.tracks[k]
		for i, lane := range t.lanes(k.process == hostProcess) {
			thread++
			name := t.name
			if i > 0 {
				name = fmt.Sprintf("%s (%d)", t.name, i+1)
			}
			c.metadata("thread_name", k.process, thread, map[string]any{"name": name})
			c.metadata("thread_sort_index", k.process, thread, map[string]any{"sort_index": thread})
			for _, s := range lane {
				c.slice(k.process, thread, &s)
			}
		}
	}
}

// slice adds the event of a slice, and of its end of an arrow.
func (c *chrome) slice(process, thread int, s *slice) {
	took := micros(s.took)
	c.events = append(c.events, traceEvent{
		Name: s.name, Phase: "X", Category: s.category, Process: process, Thread: thread, At: micros(s.begin), Duration: &took, Args: s.args,
	})
	if s.arrow == 0 {
		return
	}
	e := traceEvent{Name: "starts", Phase: "s", Category: "starts", Process: process, Thread: thread, At: micros(s.begin), ID: s.arrow}
	if process != hostProcess {
		e.Phase, e.Bind = "f", "e"
	}
	c.events = append(c.events, e)
}

// lanes distributes the slices of a track, sorted by time, over the fewest lanes on which
// none overlap. With nest, a slice may be within another one.
func (t *traceTrack) lanes(nest bool) (lanes [][]slice) {
	slices.SortStableFunc(t.slices, func(a, b slice) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(b.took, a.took))
	})
	var open [][]time.Duration // for each lane the ends of the open slices, the innermost last
	for _, s := range t.slices {
		end := s.begin + s.took
		fits := func(i int) bool {
			for len(open[i]) > 0 && open[i][len(open[i])-1] <= s.begin {
				open[i] = open[i][:len(open[i])-1]
			}
			n := len(open[i])
			return n == 0 || nest && end <= open[i][n-1]
		}
		i := 0
		for i < len(lanes) && !fits(i) {
			i++
		}
		if i == len(lanes) {
			lanes, open = append(lanes, nil), append(open, nil)
		}
		lanes[i], open[i] = append(lanes[i], s), append(open[i], end)
	}
	return lanes
}

func (c *chrome) memory() {
	for _, m := range c.r.Memory {
		c.events = append(c.events, traceEvent{
			Name: "memory", Phase: "C", Process: c.process(m.Device), At: micros(m.At),
			Args: map[string]any{"in use": m.InUse, "kept": m.Held - m.InUse},
		})
	}
}

// write writes the events, one a line.
func (c *chrome) write(w io.Writer) error {
	out := bufio.NewWriter(w)
	_, _ = out.WriteString(`{"displayTimeUnit":"ns","traceEvents":[`) // Flush returns the first error
	for i := range c.events {
		b, err := json.Marshal(&c.events[i])
		if err != nil {
			return fmt.Errorf("profile: writing a trace: %w", err)
		}
		if i > 0 {
			_ = out.WriteByte(',')
		}
		_ = out.WriteByte('\n')
		_, _ = out.Write(b)
	}
	_, _ = out.WriteString("\n]}\n")
	if err := out.Flush(); err != nil {
		return fmt.Errorf("profile: writing a trace: %w", err)
	}
	return nil
}
