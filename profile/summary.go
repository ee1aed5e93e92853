package profile

import (
	"cmp"
	"slices"
	"time"
)

// Summary holds the figures of a whole report. A figure that was not measured is nil.
type Summary struct {
	// Launches is the number of operations and chains that ran. Replays of graphs are not
	// counted.
	Launches int `json:"launches"`
	Failed   int `json:"failed,omitempty"`
	// HostTime is the time of the host's calls of operations. Calls of several goroutines
	// overlap.
	HostTime time.Duration `json:"host_ns"`
	// DeviceTime is the time of operations and TransferTime that of copies, both measured
	// by events.
	DeviceTime   *time.Duration  `json:"device_ns,omitempty"`
	TransferTime *time.Duration  `json:"transfer_ns,omitempty"`
	Transfers    []TransferTotal `json:"transfers,omitempty"`

	// GraphReplays is the number of replays, and GraphHitRate their fraction of captures
	// and replays together.
	GraphReplays *int64   `json:"graph_replays,omitempty"`
	GraphHitRate *float64 `json:"graph_hit_rate,omitempty"`
	// KernelHitRate is the fraction of the requested kernels that were already compiled.
	KernelHitRate *float64 `json:"kernel_hit_rate,omitempty"`

	Streams []StreamBusy `json:"streams,omitempty"`
	// PeakBytes is the largest of the devices' peaks.
	PeakBytes *int64 `json:"peak_bytes,omitempty"`

	// LaunchesPerSecond is Launches divided by the profile's duration.
	LaunchesPerSecond *float64 `json:"launches_per_s,omitempty"`
	// GBPerSecond and TFlops are the bytes of all operations and the flops of products
	// divided by DeviceTime, in 1e9 and 1e12 a second.
	GBPerSecond *float64 `json:"gb_per_s,omitempty"`
	TFlops      *float64 `json:"tflops,omitempty"`
}

// StreamBusy is the fraction of the profile's duration in which a stream computed or
// copied.
type StreamBusy struct {
	Device string  `json:"device"`
	Stream uint64  `json:"stream"`
	Busy   float64 `json:"busy"` // 0 to 1
}

// Summary computes the figures of the whole report.
func (r *Report) Summary() Summary {
	r = r.orEmpty()
	s := Summary{Transfers: r.TransferTotals(), Streams: r.StreamsBusy()}
	var measured deviceWork
	for i := range r.Operations {
		o := &r.Operations[i]
		if o.Failed {
			s.Failed++
		} else {
			s.Launches++
		}
		s.HostTime = addUp(s.HostTime, o.Host)
		measured.add(o)
	}
	if measured.calls > 0 {
		s.DeviceTime = &measured.time
	}
	s.GBPerSecond, s.TFlops = measured.rates()
	s.LaunchesPerSecond = perSecond(int64(s.Launches), r.Duration, 1)
	for i := range s.Transfers {
		if d := s.Transfers[i].Device; d != nil {
			sum := *d
			if s.TransferTime != nil {
				sum = addUp(sum, *s.TransferTime)
			}
			s.TransferTime = &sum
		}
	}
	if g := r.Graphs; g != nil {
		replays := g.Replays
		s.GraphReplays = &replays
		s.GraphHitRate = rate(g.Replays, g.Captures)
	}
	if k := r.Kernels; k != nil {
		s.KernelHitRate = rate(k.Hits, k.Compiled)
	}
	for i := range r.Devices {
		if p := r.Devices[i].PeakBytes; p != nil && (s.PeakBytes == nil || *p > *s.PeakBytes) {
			peak := *p
			s.PeakBytes = &peak
		}
	}
	return s
}

// rate returns hits / (hits + misses), or nil if both are 0.
func rate(hits, misses int64) *float64 {
	all := float64(hits) + float64(misses)
	if all <= 0 {
		return nil
	}
	v := float64(hits) / all
	return &v
}

// StreamsBusy returns the busy share of the streams, by device and number. It is
// Stream.Busy or, if that is nil, computed from the stream's events. A stream with neither
// is left out.
func (r *Report) StreamsBusy() []StreamBusy {
	r = r.orEmpty()
	busy := r.busyFromEvents()
	for i := range r.Devices {
		d := &r.Devices[i]
		for _, s := range d.Streams {
			if s.Busy != nil {
				busy[streamKey{d.Name, s.ID}] = min(*s.Busy, 1)
			}
		}
	}
	var out []StreamBusy
	for k, b := range busy {
		out = append(out, StreamBusy{Device: k.device, Stream: k.stream, Busy: b})
	}
	slices.SortFunc(out, func(a, b StreamBusy) int {
		return cmp.Or(cmp.Compare(a.Device, b.Device), cmp.Compare(a.Stream, b.Stream))
	})
	return out
}

type streamKey struct {
	device string
	stream uint64
}

// interval is an interval in which a stream was busy.
type interval struct{ from, to time.Duration }

// busyFromEvents returns the fraction of Duration that the events of each stream cover.
func (r *Report) busyFromEvents() map[streamKey]float64 {
	events := map[streamKey][]interval{}
	note := func(device string, stream uint64, from, took *time.Duration) {
		if from != nil && took != nil {
			k := streamKey{device, stream}
			// An event may end after the profile, because Stop waits for it.
			events[k] = append(events[k], interval{max(*from, 0), min(addUp(*from, *took), r.Duration)})
		}
	}
	for i := range r.Operations {
		o := &r.Operations[i]
		note(o.Device, o.Stream, o.OnDevice, o.Time)
	}
	for i := range r.Transfers {
		x := &r.Transfers[i]
		note(x.Device, x.Stream, x.OnDevice, x.Time)
	}
	busy := make(map[streamKey]float64, len(events))
	if r.Duration <= 0 {
		return busy
	}
	for k, e := range events {
		busy[k] = float64(covered(e)) / float64(r.Duration)
	}
	return busy
}

// covered returns the time that the intervals cover together. It sorts them.
func covered(of []interval) (sum time.Duration) {
	slices.SortFunc(of, func(a, b interval) int { return cmp.Compare(a.from, b.from) })
	var end time.Duration
	for _, i := range of {
		if from := max(i.from, end); i.to > from {
			sum = addUp(sum, i.to-from)
			end = i.to
		}
	}
	return sum
}
