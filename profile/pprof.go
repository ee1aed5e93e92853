package profile

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// pprofBuilder makes a pprof profile.
type pprofBuilder struct {
	out       *profile.Profile
	spans     map[int]*Region
	functions map[[2]string]*profile.Function // by name and file
	locations map[locationKey]*profile.Location
	samples   map[string]*profile.Sample
}

type locationKey struct {
	function *profile.Function
	line     int64
}

// WritePprof writes the profile in pprof's format, which `go tool pprof` opens. The values
// of a sample are the number of runs of an operation, the host's time and the device's time.
// Its stack is the operation, the line of the program, and the enclosing spans, the
// innermost first. Device and type are labels. An operation whose time on the device is not
// known counts 0 there.
func (r *Report) WritePprof(w io.Writer) error {
	if err := writable("WritePprof", r != nil, w); err != nil {
		return err
	}
	b := &pprofBuilder{
		out: &profile.Profile{
			SampleType:        []*profile.ValueType{{Type: "operations", Unit: "count"}, {Type: "host", Unit: "nanoseconds"}, {Type: "device", Unit: "nanoseconds"}},
			DefaultSampleType: "device",
			PeriodType:        &profile.ValueType{Type: "operations", Unit: "count"}, Period: 1,
			TimeNanos: r.Started.UnixNano(), DurationNanos: int64(r.Duration),
		},
		spans: map[int]*Region{}, functions: map[[2]string]*profile.Function{}, locations: map[locationKey]*profile.Location{},
		samples: map[string]*profile.Sample{},
	}
	for i := range r.Spans {
		b.spans[r.Spans[i].ID] = &r.Spans[i]
	}
	for i := range r.Operations {
		o := &r.Operations[i]
		b.add(o.Name, o.Site, o.Span, map[string][]string{"device": {o.Device}, "dtype": {o.DType}}, o.Host, o.Time)
	}
	for i := range r.Transfers {
		t := &r.Transfers[i]
		b.add("copy "+string(t.Kind), "", t.Span, map[string][]string{"device": {t.Device}}, t.Host, t.Time)
	}
	if err := b.out.CheckValid(); err != nil {
		return fmt.Errorf("profile: WritePprof: %w", err)
	}
	if err := b.out.Write(w); err != nil {
		return fmt.Errorf("profile: writing for pprof: %w", err)
	}
	return nil
}

// add counts an operation in the sample of its stack and labels.
func (b *pprofBuilder) add(name, site string, span int, labels map[string][]string, host time.Duration, device *time.Duration) {
	file, number, _ := strings.Cut(site, ":")
	line, _ := strconv.ParseInt(number, 10, 64)
	stack := []*profile.Location{b.location(name, file, line)}
	if site != "" {
		stack = append(stack, b.location(site, file, line))
	}
	for depth := 0; depth < maxSpanDepth; depth++ {
		s := b.spans[span]
		if s == nil {
			break
		}
		stack = append(stack, b.location(s.Name, "", 0))
		span = s.Parent
	}
	for k, v := range labels {
		if v[0] == "" {
			delete(labels, k)
		}
	}
	var key strings.Builder
	for _, l := range stack {
		fmt.Fprintf(&key, "%d ", l.ID)
	}
	fmt.Fprint(&key, labels) // maps are printed in the order of their keys
	s := b.samples[key.String()]
	if s == nil {
		s = &profile.Sample{Location: stack, Value: make([]int64, 3), Label: labels}
		b.samples[key.String()] = s
		b.out.Sample = append(b.out.Sample, s)
	}
	s.Value[0]++
	s.Value[1] += int64(host)
	if device != nil {
		s.Value[2] += int64(*device)
	}
}

// maxSpanDepth ends the walk from a span to its parents, because a report that was not
// recorded may contain a cycle.
const maxSpanDepth = 256

// location returns the location of a function and line.
func (b *pprofBuilder) location(name, file string, line int64) *profile.Location {
	f := b.functions[[2]string{name, file}]
	if f == nil {
		f = &profile.Function{ID: uint64(len(b.out.Function) + 1), Name: name, SystemName: name, Filename: file, StartLine: line}
		b.functions[[2]string{name, file}] = f
		b.out.Function = append(b.out.Function, f)
	}
	l := b.locations[locationKey{f, line}]
	if l == nil {
		l = &profile.Location{ID: uint64(len(b.out.Location) + 1), Line: []profile.Line{{Function: f, Line: line}}}
		b.locations[locationKey{f, line}] = l
		b.out.Location = append(b.out.Location, l)
	}
	return l
}
