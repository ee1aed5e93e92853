package profile

import (
	"cmp"
	"slices"
	"time"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/goroutine"
)

// memoryUse holds samples of a device's memory, at most maxSamples. Each is the largest of
// an interval. If there are too many samples, the length of the intervals is doubled.
type memoryUse struct {
	every   time.Duration
	samples []MemoryUse
	last    MemoryUse
	peak    int64
}

const (
	maxSamples  = 2048
	firstSample = 10 * time.Microsecond // the initial length of an interval
)

// allocationKey is the key by which buffers are counted.
type allocationKey struct {
	dev  *device.Device
	name string
	site string
}

// buffer is a buffer that was allocated and not freed yet.
type buffer struct {
	of    *Allocation
	bytes int64
}

type bufferKey struct {
	dev *device.Device
	id  uint64
}

// Allocated implements observe.Observer. The buffer belongs to the operation that is open in
// the goroutine.
func (o observer) Allocated(b device.BufferUse) {
	p, id := o.p, goroutine.ID()
	p.mu.Lock()
	op := p.goroutines[id].operation()
	p.mu.Unlock()
	k := allocationKey{dev: b.Device}
	if op == nil {
		at := calling()
		k.name, k.site = at.name, at.line
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return
	}
	if op != nil {
		k.name, k.site = op.Name, p.site(op.Site)
	}
	a := p.allocated[k]
	if a == nil {
		a = &Allocation{Name: k.name, Site: k.site, Device: b.Device.String()}
		p.allocated[k] = a
	}
	a.Count++
	a.Bytes += b.Bytes
	a.InUse += b.Bytes
	a.Peak = max(a.Peak, a.InUse)
	p.buffers[bufferKey{b.Device, b.ID}] = buffer{a, b.Bytes}
	p.sample(b)
}

// Freed implements observe.Observer.
func (o observer) Freed(b device.BufferUse) {
	p := o.p
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return
	}
	k := bufferKey{b.Device, b.ID}
	if was, ok := p.buffers[k]; ok {
		was.of.InUse -= was.bytes
		delete(p.buffers, k)
	}
	p.sample(b)
}

// sample records the memory of a device. mu is held.
func (p *Profile) sample(b device.BufferUse) {
	u := p.memory[b.Device]
	if u == nil {
		u = &memoryUse{every: firstSample}
		p.memory[b.Device] = u
	}
	u.add(MemoryUse{Device: b.Device.String(), At: time.Since(p.started), InUse: b.InUse, Held: b.Held})
}

// add records a sample.
func (u *memoryUse) add(m MemoryUse) {
	u.last = m
	u.peak = max(u.peak, m.InUse)
	if len(u.samples) == maxSamples {
		u.thin()
	}
	u.samples = u.put(u.samples, m)
}

// put appends a sample, or replaces a smaller one of the same interval.
func (u *memoryUse) put(list []MemoryUse, m MemoryUse) []MemoryUse {
	n := len(list)
	switch {
	case n == 0 || list[n-1].At/u.every != m.At/u.every:
		return append(list, m)
	case m.InUse > list[n-1].InUse:
		list[n-1] = m
	}
	return list
}

// thin doubles the intervals until at most half of the samples remain.
func (u *memoryUse) thin() {
	for len(u.samples) > maxSamples/2 {
		u.every *= 2
		kept := u.samples[:0]
		for _, m := range u.samples {
			kept = u.put(kept, m)
		}
		u.samples = kept
	}
}

// uses returns the samples of all devices, including the last one of each, by time.
func (p *Profile) uses() (list []MemoryUse) {
	for _, u := range p.memory {
		list = append(list, u.samples...)
		if n := len(u.samples); u.samples[n-1] != u.last {
			list = append(list, u.last)
		}
	}
	slices.SortStableFunc(list, func(a, b MemoryUse) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Device, b.Device))
	})
	return list
}

// allocations returns the buffers by name and site, those with the largest peak first.
func (p *Profile) allocations() (list []Allocation) {
	for _, a := range p.allocated {
		list = append(list, *a)
	}
	slices.SortFunc(list, func(a, b Allocation) int {
		return cmp.Or(cmp.Compare(b.Peak, a.Peak), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Site, b.Site), cmp.Compare(a.Device, b.Device))
	})
	return list
}
