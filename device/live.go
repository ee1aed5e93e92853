package device

import "sync"

// LiveBuffer is one live buffer, as OutOfMemoryError.Live and LiveBuffers list it.
type LiveBuffer struct {
	Bytes  int64
	Label  string // what the buffer holds, and the operation that made it
	Origin string // the operation that made it, such as "Add at main/main.go:17"; "" if unknown
}

// liveEntry is the copy of a live allocation that is made under the device's mutex. Its
// label is computed after the mutex is released.
type liveEntry struct {
	bytes int64
	label func() (what, origin string)
}

func (e liveEntry) describe() LiveBuffer {
	l := LiveBuffer{Bytes: e.bytes}
	if e.label == nil {
		return l
	}
	l.Label, l.Origin = e.label()
	if l.Origin != "" {
		l.Label += " of " + l.Origin
	}
	return l
}

// Buffers returns the number of buffers that have been made on the device so far. It is a
// mark for LiveBuffers.
func (d *Device) Buffers() uint64 {
	if d.Err() != nil {
		return 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.live.lastID
}

// LiveBuffers lists the live buffers made after the first `after` ones, the youngest first.
// With a mark from Buffers, these are the buffers that were made since then and not freed.
// Memory from outside the pool is included. Arrays below 64 KiB have a label only if they
// were made while TraceAllocations was active.
func (d *Device) LiveBuffers(after uint64) []LiveBuffer {
	if d.Err() != nil {
		return nil
	}
	d.drain()
	var entries []liveEntry
	d.mu.Lock()
	for a := d.live.first; a != nil && a.id > after; a = a.next { // the youngest first
		entries = append(entries, liveEntry{a.size, a.state.Label()})
	}
	d.mu.Unlock()
	out := make([]LiveBuffer, len(entries))
	for i, e := range entries {
		out[i] = e.describe()
	}
	return out
}

// TraceAllocations makes arrays of every size carry a label until stop is called. Otherwise
// those of less than 64 KiB carry none, to save time. Several traces may be active at once.
// stop may be called more than once.
func (d *Device) TraceAllocations() (stop func()) {
	if d.Err() != nil {
		return func() {}
	}
	d.tracers.Add(1)
	return sync.OnceFunc(func() { d.tracers.Add(-1) })
}

// labelledBytes is the size from which arrays always have a label: only large ones can be
// among those that OutOfMemoryError lists.
const labelledBytes = 64 << 10

// WantsLabel reports whether a label of the buffer is worth its cost.
func (b *Buffer) WantsLabel() bool {
	return !b.none() && (b.a.size >= labelledBytes || b.a.dev.tracers.Load() > 0)
}

// collectDropped runs a garbage collection and returns the unreachable buffers to the pool.
// It waits for the collection, and then at most a second for the buffers.
func (d *Device) collectDropped() {
	if d.Err() == nil {
		d.collectNow()
	}
}
