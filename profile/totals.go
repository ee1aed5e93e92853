package profile

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Clock is the kind of time that a figure uses.
type Clock string

// The clocks of a figure.
const (
	DeviceClock Clock = "device" // Operation.Time: how long the device computed, measured by events
	HostClock   Clock = "host"   // Operation.Host: how long the host's call took
)

// Total sums the calls of one operation: those with the same name, site, type and shape.
type Total struct {
	Name    string   `json:"name"`
	Site    string   `json:"site,omitempty"`
	DType   string   `json:"dtype,omitempty"`
	Shape   []int    `json:"shape,omitempty"`
	Kernel  string   `json:"kernel,omitempty"` // empty if it differs between calls
	Devices []string `json:"devices"`          // sorted names
	Calls   int      `json:"calls"`
	Failed  int      `json:"failed,omitempty"` // number of failed calls among Calls
	// Host is the time of the host's calls.
	Host time.Duration `json:"host_ns"`
	// Device is the time of the devices, or nil if no call was measured by events.
	Device *time.Duration `json:"device_ns,omitempty"`
	// Clock is DeviceClock if a call was measured by events, otherwise HostClock. Median
	// and Share use this clock.
	Clock Clock `json:"clock"`
	// Median is the median time of the measured calls that did not fail.
	Median time.Duration `json:"median_ns"`
	// Share is the operation's fraction of the time of all operations, from 0 to 1.
	Share float64 `json:"share"`
	Bytes int64   `json:"bytes,omitempty"` // minimum number of bytes read and written
	Flops int64   `json:"flops,omitempty"` // for products
	// GBPerSecond and TFlops are Bytes and Flops of the calls measured by events,
	// divided by Device, in 1e9 bytes and 1e12 operations a second.
	GBPerSecond *float64 `json:"gb_per_s,omitempty"`
	TFlops      *float64 `json:"tflops,omitempty"`
}

// Time returns the total time of all calls, measured by Clock.
func (t *Total) Time() time.Duration {
	switch {
	case t == nil:
		return 0
	case t.Device != nil:
		return *t.Device
	}
	return t.Host
}

// operationKey identifies the operations that one Total sums.
type operationKey struct{ name, site, dtype, shape string }

func keyOf(o *Operation) operationKey {
	return operationKey{o.Name, o.Site, o.DType, shapeText(o.Shape)}
}

// shapeText formats a shape as 2x3. It returns "" for a scalar.
func shapeText(shape []int) string {
	var b strings.Builder
	for i, n := range shape {
		if i > 0 {
			b.WriteByte('x')
		}
		b.WriteString(strconv.Itoa(n))
	}
	return b.String()
}

// group holds the operations with one key.
type group struct {
	key   operationKey
	calls []*Operation
}

// groups groups operations by key, in the order in which the keys first appear.
func (r *Report) groups() []group {
	var gs []group
	at := map[operationKey]int{}
	for i := range r.Operations {
		o := &r.Operations[i]
		k := keyOf(o)
		n, ok := at[k]
		if !ok {
			n = len(gs)
			at[k] = n
			gs = append(gs, group{key: k})
		}
		gs[n].calls = append(gs[n].calls, o)
	}
	return gs
}

// Totals sums the operations by name, site, type and shape, the longest first.
func (r *Report) Totals() []Total {
	gs := r.orEmpty().groups()
	totals := make([]Total, len(gs))
	var all float64
	for i, g := range gs {
		totals[i] = g.total()
		all += float64(totals[i].Time())
	}
	for i := range totals {
		if t := float64(totals[i].Time()); t > 0 {
			totals[i].Share = t / all
		}
	}
	slices.SortStableFunc(totals, func(a, b Total) int {
		return cmp.Or(cmp.Compare(b.Time(), a.Time()), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Site, b.Site))
	})
	return totals
}

func (g *group) total() Total {
	first := g.calls[0]
	t := Total{
		Name: first.Name, Site: first.Site, DType: first.DType, Shape: slices.Clone(first.Shape),
		Kernel: first.Kernel, Calls: len(g.calls), Clock: g.clock(),
	}
	var measured deviceWork
	for _, o := range g.calls {
		if o.Failed {
			t.Failed++
		}
		if o.Kernel != t.Kernel {
			t.Kernel = ""
		}
		if at, found := slices.BinarySearch(t.Devices, o.Device); !found {
			t.Devices = slices.Insert(t.Devices, at, o.Device)
		}
		t.Host = addUp(t.Host, o.Host)
		t.Bytes, t.Flops = addUp(t.Bytes, o.Bytes), addUp(t.Flops, o.Flops)
		measured.add(o)
	}
	if measured.calls > 0 {
		t.Device = &measured.time
	}
	t.GBPerSecond, t.TFlops = measured.rates()
	t.Median = median(g.times(t.Clock))
	return t
}

// clock returns DeviceClock if a call was measured by events, otherwise HostClock.
func (g *group) clock() Clock {
	for _, o := range g.calls {
		if o.Time != nil {
			return DeviceClock
		}
	}
	return HostClock
}

// times returns the times of the calls that did not fail and were measured by a clock.
func (g *group) times(c Clock) []time.Duration {
	ts := make([]time.Duration, 0, len(g.calls))
	for _, o := range g.calls {
		switch {
		case o.Failed:
		case c == HostClock:
			ts = append(ts, o.Host)
		case o.Time != nil:
			ts = append(ts, *o.Time)
		}
	}
	return ts
}

// deviceWork sums the operations that were measured by events.
type deviceWork struct {
	calls        int
	time         time.Duration
	bytes, flops int64
}

func (w *deviceWork) add(o *Operation) {
	if o.Time == nil {
		return
	}
	w.calls++
	w.time = addUp(w.time, *o.Time)
	w.bytes, w.flops = addUp(w.bytes, o.Bytes), addUp(w.flops, o.Flops)
}

// rates returns 1e9 bytes and 1e12 operations a second, or nil if unknown.
func (w *deviceWork) rates() (gb, tflops *float64) {
	return perSecond(w.bytes, w.time, 1e9), perSecond(w.flops, w.time, 1e12)
}

// perSecond returns n per second in multiples of unit, or nil if n or the time is 0.
func perSecond(n int64, d time.Duration, unit float64) *float64 {
	if n <= 0 || d <= 0 {
		return nil
	}
	v := float64(n) / d.Seconds() / unit
	return &v
}

// median returns the median of times, or 0 if there are none. It sorts them.
func median(ts []time.Duration) time.Duration {
	n := len(ts)
	if n == 0 {
		return 0
	}
	slices.Sort(ts)
	low, high := ts[(n-1)/2], ts[n/2]
	return low + (high-low)/2
}

// addUp returns the sum of two numbers, or the largest int64 if it overflows.
func addUp[T ~int64](a, b T) T {
	if a > 0 && b > math.MaxInt64-a {
		return math.MaxInt64
	}
	return a + b
}
