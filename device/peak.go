package device

import "slices"

// poolWatch records, between its start and Stop, the maximum number of bytes that a
// device's pool has in use, and the maximum that it holds.
type poolWatch struct {
	dev                  *Device
	startInUse, maxInUse int64 // bytes in use
	startHeld, maxHeld   int64 // bytes in use or kept for reuse
	ceiling              int64 // bound on held bytes; 0: none
}

// watch starts a poolWatch. Allocations of all goroutines count. Until Stop it costs one
// comparison per allocation.
func (d *Device) watch() *poolWatch { return d.watchWithin(0) }

// watchWithin is watch with a ceiling on the bytes that the pool holds: the bytes that it
// holds now plus the given number. Until Stop the pool returns idle blocks to the driver
// rather than exceed the ceiling. Bytes in use may exceed it.
func (d *Device) watchWithin(bytes int64) *poolWatch {
	w := &poolWatch{dev: d}
	if d.Err() != nil {
		return w
	}
	d.drain()
	d.mu.Lock()
	defer d.mu.Unlock()
	w.startInUse, w.maxInUse = d.pool.stats.InUse, d.pool.stats.InUse
	w.startHeld = w.startInUse + d.pool.stats.Cached
	w.maxHeld = w.startHeld
	if bytes > 0 {
		w.ceiling = w.startHeld + bytes
	}
	d.pool.watches = append(d.pool.watches, w)
	return w
}

// Stop ends the watch and returns the maximum number of bytes in use, relative to its
// start. Further calls return the same.
func (w *poolWatch) Stop() int64 {
	if w == nil || w.dev.Err() != nil {
		return 0
	}
	d := w.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := slices.Index(d.pool.watches, w); i >= 0 {
		d.pool.watches = slices.Delete(d.pool.watches, i, i+1)
	}
	return w.maxInUse - w.startInUse
}

// Held returns the maximum number of bytes that the pool held, relative to the watch's
// start. It includes memory kept for reuse, which earlier work may still use.
func (w *poolWatch) Held() int64 {
	if w == nil || w.dev.Err() != nil {
		return 0
	}
	d := w.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	return w.maxHeld - w.startHeld
}
