package profile

import (
	"cmp"
	"slices"
	"time"

	"github.com/gpk-go/gpk/device"
)

// builder makes the report of a stopped profile.
type builder struct {
	p       *Profile
	took    time.Duration
	devices map[*device.Device]map[*device.Stream][]workTime
}

// workTime is an interval in which a stream was working.
type workTime struct{ begin, end time.Duration }

// report returns the report of the profile. mu is held.
func (p *Profile) report(took time.Duration) *Report {
	b := &builder{p: p, took: took, devices: map[*device.Device]map[*device.Stream][]workTime{}}
	r := &Report{
		Format: Format, Name: p.options.Name, Started: p.started, Duration: took, Host: host(),
		Memory: p.uses(), Allocations: p.allocations(), Dropped: p.dropped,
	}
	for _, op := range p.operations {
		r.Operations = append(r.Operations, b.operation(op))
	}
	for _, t := range p.transfers {
		r.Transfers = append(r.Transfers, b.transfer(t))
	}
	for _, s := range p.spans {
		r.Spans = append(r.Spans, b.span(s))
	}
	slices.SortStableFunc(r.Operations, func(x, y Operation) int { return cmp.Compare(x.Start, y.Start) })
	slices.SortStableFunc(r.Transfers, func(x, y Transfer) int { return cmp.Compare(x.Start, y.Start) })
	r.Devices = b.list()
	if p.graphs != (Graphs{}) {
		r.Graphs = &p.graphs
	}
	if p.compiled != (Kernels{}) {
		r.Kernels = &p.compiled
	}
	return r
}

func (b *builder) operation(o *operation) Operation {
	out := Operation{
		Name: o.Name, Kernel: o.kernel, Site: o.line, DType: o.DType, Shape: slices.Clone(o.Shape),
		Device: o.Stream.Device().String(), Stream: o.Stream.ID(), Goroutine: o.goroutine, Span: o.span,
		Start: b.p.since(o.Begin), Host: o.End.Sub(o.Begin), Bytes: o.Bytes, Flops: o.Flops, Failed: o.Err != nil,
	}
	if o.Whole {
		began, took := out.Start, out.Host
		out.OnDevice, out.Time = &began, &took
		b.busy(o.Stream, began, took)
		return out
	}
	if len(o.work) > 0 { // the device and stream on which it ran
		s := o.work[0].Stream
		out.Device, out.Stream = s.Device().String(), s.ID()
	}
	out.OnDevice, out.Time = b.times(o.work)
	return out
}

// times returns the beginning of the first piece of work and the total time of all pieces.
// Each is nil unless it is known for every piece.
func (b *builder) times(work []*device.Measurement) (began, took *time.Duration) {
	for _, m := range work {
		if m.Kind == device.Replaying {
			b.p.graphs.Replays++
		}
	}
	var sum time.Duration
	for i, m := range work {
		if !m.Measured {
			return nil, nil
		}
		at := b.p.since(m.Started)
		if i == 0 || at < *began {
			began = &at
		}
		sum += m.Time
		took = &sum
	}
	for _, m := range work {
		b.busy(m.Stream, b.p.since(m.Started), m.Time)
	}
	return began, took
}

func (b *builder) transfer(t *transfer) Transfer {
	kinds := map[device.WorkKind]TransferKind{
		device.HostToDevice: HostToDevice, device.DeviceToHost: DeviceToHost, device.DeviceToDevice: DeviceToDevice,
	}
	out := Transfer{
		Kind: kinds[t.Kind], Device: t.Stream.Device().String(), Stream: t.Stream.ID(), Goroutine: t.goroutine, Span: t.span,
		Bytes: t.Bytes, Start: b.p.since(t.Begin), Host: t.End.Sub(t.Begin),
	}
	out.OnDevice, out.Time = b.times([]*device.Measurement{t.Measurement})
	return out
}

func (b *builder) span(s *span) Region {
	out := Region{ID: s.id, Parent: s.parent, Name: s.name, Goroutine: s.goroutine, Start: b.p.since(s.begin)}
	out.Duration = b.took - out.Start
	if s.closed {
		out.Duration = s.end.Sub(s.begin)
	}
	return out
}

// busy records that a stream was working.
func (b *builder) busy(s *device.Stream, begin, took time.Duration) {
	streams := b.devices[s.Device()]
	if streams == nil {
		streams = map[*device.Stream][]workTime{}
		b.devices[s.Device()] = streams
	}
	streams[s] = append(streams[s], workTime{begin, begin + took})
}

// list returns the devices that worked or allocated memory, by name.
func (b *builder) list() []Device {
	for d := range b.p.memory {
		if b.devices[d] == nil {
			b.devices[d] = map[*device.Stream][]workTime{}
		}
	}
	out := []Device{}
	for d, streams := range b.devices {
		info := d.Info()
		x := Device{Name: d.String(), Model: info.Name, Driver: info.Driver, MemoryBytes: info.TotalMemory}
		if u := b.p.memory[d]; u != nil {
			peak := u.peak
			x.PeakBytes = &peak
		}
		for s, list := range streams {
			share := min(1, float64(busyTime(list))/float64(max(1, b.took)))
			x.Streams = append(x.Streams, Stream{ID: s.ID(), Busy: &share})
		}
		slices.SortFunc(x.Streams, func(x, y Stream) int { return cmp.Compare(x.ID, y.ID) })
		out = append(out, x)
	}
	slices.SortFunc(out, func(x, y Device) int { return cmp.Compare(x.Name, y.Name) })
	return out
}

// busyTime returns the time in which a stream was working. Overlapping work counts once.
func busyTime(list []workTime) (sum time.Duration) {
	slices.SortFunc(list, func(x, y workTime) int { return cmp.Compare(x.begin, y.begin) })
	var end time.Duration
	for i, x := range list {
		if i == 0 || x.begin > end {
			end = x.begin
		}
		if x.end > end {
			sum += x.end - end
			end = x.end
		}
	}
	return sum
}
