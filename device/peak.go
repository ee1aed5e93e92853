package device

import "slices"

// poolWatch records the most bytes that a device's pool has in use and that it holds, from
// its beginning to its end.
type poolWatch struct {
	dev         *Device
	begin, most int64 // in use
	held, full  int64 // in use or kept for reuse
	ceiling     int64 // of these; 0: none
}

// watch begins to record. The use of all goroutines counts. Watching costs a
// comparison an allocation, until Stop.
func (d *Device) watch() *poolWatch { return d.watchWithin(0) }

// watchWithin is watch, and until Stop the pool gives idle blocks back before it holds
// more than so many bytes beyond what it holds now. What is in use may still grow
// beyond that.
func (d *Device) watchWithin(bytes int64) *poolWatch {
	w := &poolWatch{dev: d}
	if d.Err() != nil {
		return w
	}
	d.drain()
	d.mu.Lock()
	defer d.mu.Unlock()
	w.begin, w.most = d.pool.stats.InUse, d.pool.stats.InUse
	w.held = w.begin + d.pool.stats.Cached
	w.full = w.held
	if bytes > 0 {
		w.ceiling = w.held + bytes
	}
	d.pool.watches = append(d.pool.watches, w)
	return w
}

// Stop ends the watch and returns how many bytes more than at its beginning
// were in use at most. Once is enough; again it returns the same.
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
	return w.most - w.begin
}

// Held returns how many bytes more than at the watch's beginning the pool held at
// most: memory that is kept for reuse counts, which work that was started may still
// use.
func (w *poolWatch) Held() int64 {
	if w == nil || w.dev.Err() != nil {
		return 0
	}
	d := w.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	return w.full - w.held
}
