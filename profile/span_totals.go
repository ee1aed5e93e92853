package profile

import (
	"cmp"
	"slices"
	"time"
)

// SpanTotal sums the spans with one name and the same parents.
type SpanTotal struct {
	Name   string        `json:"name"`
	Depth  int           `json:"depth"` // 0: it has no parent
	Calls  int           `json:"calls"`
	Host   time.Duration `json:"host_ns"`   // total of all calls
	Median time.Duration `json:"median_ns"` // median of a call
	// Operations and Transfers count the events started within the span or its
	// descendants.
	Operations int `json:"operations"`
	Transfers  int `json:"transfers,omitempty"`
	// Device is the time of these events on their devices, or nil if none was measured.
	Device *time.Duration `json:"device_ns,omitempty"`

	parent int // index of the parent's total while totals are summed; -1: none
	times  []time.Duration
}

// SpanTotals sums the spans by name and parents. Each total is followed by those below
// it, the longest first. Events whose span is not in the report are ignored.
func (r *Report) SpanTotals() []SpanTotal {
	r = r.orEmpty()
	spans := slices.Clone(r.Spans)
	slices.SortFunc(spans, func(a, b Region) int { return cmp.Compare(a.ID, b.ID) })
	var totals []SpanTotal
	type place struct {
		parent int
		name   string
	}
	at := map[place]int{}
	of := make(map[int]int, len(spans)) // maps Region.ID to an index into totals
	for _, s := range spans {
		parent, depth := -1, 0
		if p, ok := of[s.Parent]; ok && s.Parent < s.ID { // a parent starts before its children
			parent, depth = p, totals[p].Depth+1
		}
		k := place{parent, s.Name}
		n, ok := at[k]
		if !ok {
			n = len(totals)
			at[k] = n
			totals = append(totals, SpanTotal{Name: s.Name, Depth: depth, parent: parent})
		}
		of[s.ID] = n
		t := &totals[n]
		t.Calls++
		t.Host = addUp(t.Host, s.Duration)
		t.times = append(t.times, s.Duration)
	}
	r.addEvents(totals, of)
	for i := len(totals) - 1; i >= 0; i-- { // a parent's index is less than its children's
		t := &totals[i]
		t.Median, t.times = median(t.times), nil
		if t.parent >= 0 {
			p := &totals[t.parent]
			p.Operations += t.Operations
			p.Transfers += t.Transfers
			p.addDevice(t.Device)
		}
	}
	return inTreeOrder(totals)
}

// addEvents adds operations and transfers to the totals of their spans.
func (r *Report) addEvents(totals []SpanTotal, of map[int]int) {
	for i := range r.Operations {
		o := &r.Operations[i]
		if n, ok := of[o.Span]; ok {
			totals[n].Operations++
			totals[n].addDevice(o.Time)
		}
	}
	for i := range r.Transfers {
		x := &r.Transfers[i]
		if n, ok := of[x.Span]; ok {
			totals[n].Transfers++
			totals[n].addDevice(x.Time)
		}
	}
}

func (t *SpanTotal) addDevice(d *time.Duration) {
	if d == nil {
		return
	}
	sum := *d
	if t.Device != nil {
		sum = addUp(sum, *t.Device)
	}
	t.Device = &sum
}

// inTreeOrder puts each total before those below it. Siblings are sorted by time.
func inTreeOrder(totals []SpanTotal) []SpanTotal {
	children := make(map[int][]int, len(totals))
	for i := range totals {
		children[totals[i].parent] = append(children[totals[i].parent], i)
	}
	for _, c := range children {
		slices.SortStableFunc(c, func(a, b int) int { // ascending, because the last is taken first below
			return cmp.Or(cmp.Compare(totals[a].Host, totals[b].Host), cmp.Compare(totals[b].Name, totals[a].Name))
		})
	}
	out := make([]SpanTotal, 0, len(totals))
	stack := slices.Clone(children[-1])
	for len(stack) > 0 {
		i := stack[len(stack)-1]
		stack = append(stack[:len(stack)-1], children[i]...)
		out = append(out, totals[i])
	}
	return out
}
