package device

import "slices"

// Watch notes the most bytes that a device's pool has in use, from its
// beginning to its end.
type Watch struct {
	dev   *Device
	begin int64
	most  int64
}

// Watch begins to note. The use of all goroutines counts. Watching costs a
// comparison an allocation, until Stop.
func (d *Device) Watch() *Watch {
	w := &Watch{dev: d}
	if d.err != nil {
		return w
	}
	d.drain()
	d.mu.Lock()
	defer d.mu.Unlock()
	w.begin, w.most = d.pool.stats.InUse, d.pool.stats.InUse
	d.pool.watches = append(d.pool.watches, w)
	return w
}

// Stop ends the watch and returns how many bytes more than at its beginning
// were in use at most. Once is enough; again it returns the same.
func (w *Watch) Stop() int64 {
	d := w.dev
	if d.err != nil {
		return 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := slices.Index(d.pool.watches, w); i >= 0 {
		d.pool.watches = slices.Delete(d.pool.watches, i, i+1)
	}
	return w.most - w.begin
}
