package profile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Limits of the page's timeline. The page states what it leaves out.
const (
	maxDrawn         = 100_000 // maximum number of drawn events, the longest ones: about 3 MB of the page
	maxHostTracks    = 32      // maximum number of goroutines, those with the most events
	maxStreamTracks  = 64
	maxNestedSpans   = 8 // maximum number of rows of spans of a goroutine
	maxDrawnNameSize = 200
)

// timeline holds the data of the page's timeline. Times are nanoseconds from the profile's
// start.
type timeline struct {
	End    int64    `json:"end"`
	Labels []label  `json:"labels"`
	Kinds  []string `json:"kinds"` // texts of timelineKinds
	Tracks []track  `json:"tracks"`
	Events int      `json:"events"`
	// LeftOut is the number of events beyond the limits.
	LeftOut int `json:"leftOut"`

	labelAt map[label]int
}

// label is the text of an event and further information about it.
type label struct {
	Name   string `json:"name"`
	Detail string `json:"detail"`
}

// track is a goroutine or a stream. Events of one row do not overlap if the report is
// correct.
type track struct {
	Name string `json:"name"`
	Rows []row  `json:"rows"`
}

// row holds events as columns, sorted by start.
type row struct {
	Start    []int64 `json:"start"`
	Duration []int64 `json:"duration"`
	Label    []int   `json:"label"` // index of timeline.Labels
	Kind     []int   `json:"kind"`  // index of timeline.Kinds
}

// timelineKinds are the kinds of events; the style sheet has a colour for each.
var timelineKinds = []string{"span", "call", "operation", "h2d", "d2h", "d2d", "failed"}

// drawnEvent is an event before it is put into a row.
type drawnEvent struct {
	start, duration time.Duration
	label, kind     int
}

// hostTrack collects the events of a goroutine.
type hostTrack struct {
	goroutine    uint64
	spans, calls []drawnEvent
}

func (h *hostTrack) count() int { return len(h.spans) + len(h.calls) }

// timeline arranges the report's events on tracks: goroutines, then streams.
func (r *Report) timeline() *timeline {
	t := &timeline{End: int64(r.Duration), Labels: []label{}, Kinds: timelineKinds, Tracks: []track{}, labelAt: map[label]int{}}
	shortest := r.shortestDrawn()
	hosts := map[uint64]*hostTrack{}
	host := func(id uint64) *hostTrack {
		h := hosts[id]
		if h == nil {
			h = &hostTrack{goroutine: id}
			hosts[id] = h
		}
		return h
	}
	streams := map[streamKey][]drawnEvent{}
	keep := func(to *[]drawnEvent, kind string, l label, start, duration time.Duration) {
		if duration < shortest {
			t.LeftOut++
			return
		}
		*to = append(*to, drawnEvent{max(start, 0), duration, t.label(l), slices.Index(timelineKinds, kind)})
	}
	for i := range r.Spans {
		s := &r.Spans[i]
		keep(&host(s.Goroutine).spans, "span", label{s.Name, "span"}, s.Start, s.Duration)
	}
	for i := range r.Operations {
		o := &r.Operations[i]
		l, kind := label{o.Name, operationDetail(o)}, "operation"
		keep(&host(o.Goroutine).calls, kindOf(o, "call"), l, o.Start, o.Host)
		if o.OnDevice != nil && o.Time != nil {
			k := streamKey{o.Device, o.Stream}
			e := streams[k]
			keep(&e, kindOf(o, kind), l, *o.OnDevice, *o.Time)
			streams[k] = e
		}
	}
	for i := range r.Transfers {
		x := &r.Transfers[i]
		l := label{string(x.Kind) + " " + bytesText(x.Bytes), x.Device}
		keep(&host(x.Goroutine).calls, string(x.Kind), l, x.Start, x.Host)
		if x.OnDevice != nil && x.Time != nil {
			k := streamKey{x.Device, x.Stream}
			e := streams[k]
			keep(&e, string(x.Kind), l, *x.OnDevice, *x.Time)
			streams[k] = e
		}
	}
	t.addHosts(hosts)
	t.addStreams(streams)
	return t
}

func kindOf(o *Operation, kind string) string {
	if o.Failed {
		return "failed"
	}
	return kind
}

func operationDetail(o *Operation) string {
	parts := []string{strings.TrimSpace(o.DType + " " + shapeText(o.Shape)), o.Kernel, o.Site}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return strings.Join(parts, ", ")
}

// shortestDrawn returns the minimum time of drawn events such that at most maxDrawn are
// drawn.
func (r *Report) shortestDrawn() time.Duration {
	if len(r.Spans)+2*len(r.Operations)+2*len(r.Transfers) <= maxDrawn {
		return 0
	}
	var all []time.Duration
	for i := range r.Spans {
		all = append(all, r.Spans[i].Duration)
	}
	add := func(host time.Duration, onDevice, took *time.Duration) {
		all = append(all, host)
		if onDevice != nil && took != nil {
			all = append(all, *took)
		}
	}
	for i := range r.Operations {
		add(r.Operations[i].Host, r.Operations[i].OnDevice, r.Operations[i].Time)
	}
	for i := range r.Transfers {
		add(r.Transfers[i].Host, r.Transfers[i].OnDevice, r.Transfers[i].Time)
	}
	if len(all) <= maxDrawn {
		return 0
	}
	slices.Sort(all)
	return all[len(all)-maxDrawn-1] + 1 // either all events of one length are drawn, or none
}

// label returns the index of a text, which it truncates to the maximum length.
func (t *timeline) label(l label) int {
	l.Name, l.Detail = cut(l.Name), cut(l.Detail)
	i, ok := t.labelAt[l]
	if !ok {
		i = len(t.Labels)
		t.labelAt[l] = i
		t.Labels = append(t.Labels, l)
	}
	return i
}

func cut(s string) string {
	if len(s) <= maxDrawnNameSize {
		return s
	}
	return strings.ToValidUTF8(s[:maxDrawnNameSize], "") + "…"
}

func (t *timeline) addHosts(hosts map[uint64]*hostTrack) {
	var list []*hostTrack
	for _, h := range hosts {
		if h.count() > 0 {
			list = append(list, h)
		}
	}
	slices.SortFunc(list, func(a, b *hostTrack) int {
		return cmp.Or(cmp.Compare(b.count(), a.count()), cmp.Compare(a.goroutine, b.goroutine))
	})
	for i := maxHostTracks; i < len(list); i++ {
		t.LeftOut += list[i].count()
	}
	list = list[:min(len(list), maxHostTracks)]
	slices.SortFunc(list, func(a, b *hostTrack) int { return cmp.Compare(a.goroutine, b.goroutine) })
	for _, h := range list {
		rows := nest(h.spans)
		if len(h.calls) > 0 {
			rows = append(rows, h.calls)
		}
		t.add(fmt.Sprintf("goroutine %d", h.goroutine), rows)
	}
}

// nest puts each span that is within another one into the row below it.
func nest(spans []drawnEvent) [][]drawnEvent {
	slices.SortFunc(spans, func(a, b drawnEvent) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.duration, a.duration))
	})
	var rows [][]drawnEvent
	var open []time.Duration // ends of the open spans
	for _, s := range spans {
		for len(open) > 0 && open[len(open)-1] <= s.start {
			open = open[:len(open)-1]
		}
		depth := min(len(open), maxNestedSpans-1)
		open = append(open, addUp(s.start, s.duration))
		if depth == len(rows) {
			rows = append(rows, nil)
		}
		rows[depth] = append(rows[depth], s)
	}
	return rows
}

func (t *timeline) addStreams(streams map[streamKey][]drawnEvent) {
	var keys []streamKey
	for k, e := range streams {
		if len(e) > 0 {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b streamKey) int {
		return cmp.Or(cmp.Compare(a.device, b.device), cmp.Compare(a.stream, b.stream))
	})
	for i, k := range keys {
		if i >= maxStreamTracks {
			t.LeftOut += len(streams[k])
			continue
		}
		t.add(fmt.Sprintf("%s, stream %d", cut(k.device), k.stream), [][]drawnEvent{streams[k]})
	}
}

func (t *timeline) add(name string, rows [][]drawnEvent) {
	out := track{Name: name}
	for _, events := range rows {
		slices.SortStableFunc(events, func(a, b drawnEvent) int { return cmp.Compare(a.start, b.start) })
		var columns row
		for _, e := range events {
			columns.Start = append(columns.Start, int64(e.start))
			columns.Duration = append(columns.Duration, int64(e.duration))
			columns.Label = append(columns.Label, e.label)
			columns.Kind = append(columns.Kind, e.kind)
			t.End = max(t.End, int64(addUp(e.start, e.duration)))
		}
		t.Events += len(events)
		out.Rows = append(out.Rows, columns)
	}
	t.Tracks = append(t.Tracks, out)
}
