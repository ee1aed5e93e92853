package profile

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Clock says which time of an operation a figure is of.
type Clock string

// The clocks of a figure.
const (
	DeviceClock Clock = "device" // Operation.Time: how long the device computed, by events
	HostClock   Clock = "host"   // Operation.Host: how long the host's call took
)

// Total adds up the calls of one operation: those of one name, site, type and shape.
type Total struct {
	Name    string   `json:"name"`
	Site    string   `json:"site,omitempty"`
	DType   string   `json:"dtype,omitempty"`
	Shape   []int    `json:"shape,omitempty"`
	Kernel  string   `json:"kernel,omitempty"` // empty where calls differ
	Devices []string `json:"devices"`          // names, in order
	Calls   int      `json:"calls"`
	Failed  int      `json:"failed,omitempty"` // of Calls
	// Host is the time of the host's calls.
	Host time.Duration `json:"host_ns"`
	// Device is the time of the devices; nil where no call was measured by events.
	Device *time.Duration `json:"device_ns,omitempty"`
	// Clock is DeviceClock where a call was measured by events, else HostClock.
	// Median and Share are of this clock.
	Clock Clock `json:"clock"`
	// Median is the median time of the calls that did not fail, of those measured.
	Median time.Duration `json:"median_ns"`
	// Share is the operation's part of the time of all operations, 0 to 1.
	Share float64 `json:"share"`
	Bytes int64   `json:"bytes,omitempty"` // read and written at least
	Flops int64   `json:"flops,omitempty"` // of products
	// GBPerSecond and TFlops are Bytes and Flops of the calls measured by events,
	// divided by Device, in 1e9 bytes and 1e12 operations a second.
	GBPerSecond *float64 `json:"gb_per_s,omitempty"`
	TFlops      *float64 `json:"tflops,omitempty"`
}

// Time is the time of all calls, by Clock.
func (t *Total) Time() time.Duration {
	switch {
	case t == nil:
		return 0
	case t.Device != nil:
		return *t.Device
	}
	return t.Host
}

// operationKey names the operations that one Total adds up.
type operationKey struct{ name, site, dtype, shape string }

func keyOf(o *Operation) operationKey {
	return operationKey{o.Name, o.Site, o.DType, shapeText(o.Shape)}
}

// shapeText writes a shape as 2x3; that of a scalar is empty.
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

// group is the operations that have one key.
type group struct {
	key   operationKey
	calls []*Operation
}

// groups sorts operations by key, in the order in which keys first appear.
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

// Totals adds up the operations by name, site, type and shape, the most time first.
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

// clock is DeviceClock where a call was measured by events.
func (g *group) clock() Clock {
	for _, o := range g.calls {
		if o.Time != nil {
			return DeviceClock
		}
	}
	return HostClock
}

// times lists the times of the calls that did not fail and were measured by a clock.
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

// deviceWork is what operations that were measured by events did.
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

// rates returns 1e9 bytes and 1e12 operations a second; nil is not known.
func (w *deviceWork) rates() (gb, tflops *float64) {
	return perSecond(w.bytes, w.time, 1e9), perSecond(w.flops, w.time, 1e12)
}

// perSecond is n per second in multiples of unit; nil where n or the time is 0.
func perSecond(n int64, d time.Duration, unit float64) *float64 {
	if n <= 0 || d <= 0 {
		return nil
	}
	v := float64(n) / d.Seconds() / unit
	return &v
}

// median of times; 0 of none. It sorts them.
func median(ts []time.Duration) time.Duration {
	n := len(ts)
	if n == 0 {
		return 0
	}
	slices.Sort(ts)
	low, high := ts[(n-1)/2], ts[n/2]
	return low + (high-low)/2
}

// addUp adds two numbers; a sum above the largest int64 is that.
func addUp[T ~int64](a, b T) T {
	if a > 0 && b > math.MaxInt64-a {
		return math.MaxInt64
	}
	return a + b
}
