package device

// collection decides when a device asks for a garbage collection.
//
//   - It asks when the bytes that were allocated since the last collection, and
//     not freed, exceed the larger of the bytes that it left alive and the pool's
//     floor: 64 MiB on the CPU, 1/64 of a GPU's memory. Where that is more than
//     half of the room below the limit, the half counts instead.
//   - Collections take a tenth of the time at most (collector.due), unless memory
//     is short: less than an eighth of the limit is left.
//   - A request past one and a half times that threshold that needs new memory waits
//     for the collection under way: what is in use stays below 2.5 times what was
//     alive, or 96 MiB more. Where the one-tenth rule has put the collection off,
//     there is nothing to wait for, and the pool grows until memory is short.
//
// Guarded by the device's mutex.
type collection struct {
	running int           // collections under way
	done    chan struct{} // closed when the one in the background ends; nil: none

	// Bytes in use that were allocated after the last collection had begun, and,
	// while one runs, those allocated between the one before it and its beginning.
	// The collection that runs may free the latter only.
	young, middle int64
	// epoch counts the beginnings of collections: blocks carry the epoch in which
	// they were taken, so that what is freed is subtracted from the right sum.
	epoch uint32
}

// since returns the bytes in use that were allocated since the last complete
// collection began.
func (c *collection) since() int64 { return c.young + c.middle }

// add counts bytes that come into use. The result is for remove.
func (c *collection) add(size int64) (epoch uint32) {
	c.young += size
	return c.epoch
}

// remove counts bytes that are no longer in use.
func (c *collection) remove(size int64, epoch uint32) {
	switch {
	case epoch == c.epoch:
		c.young -= size
	case epoch == c.epoch-1 && c.running > 0:
		c.middle -= size
	}
}

func (c *collection) begin() {
	if c.running++; c.running == 1 {
		c.epoch++
		c.young, c.middle = 0, c.young
	}
}

func (c *collection) end() {
	if c.running--; c.running == 0 {
		c.middle = 0
	}
}

// threshold returns the bytes allocated since the last collection beyond which
// the pool asks for another one.
func (p *pool) threshold() int64 {
	left := p.stats.InUse - p.collect.since()
	return max(p.floor, min(left, (p.stats.Limit-left)/2))
}

// short reports whether, with size bytes more, less than an eighth of the limit is left.
func (p *pool) short(size int64) bool {
	return p.stats.InUse+size > p.stats.Limit-p.stats.Limit/8
}

// collectLater starts a collection in the background where size bytes more call
// for one. It returns a channel where a request that needs new memory waits until
// it is closed, else nil. mu is held.
func (d *Device) collectLater(size int64) (wait <-chan struct{}) {
	p := &d.pool
	c := &p.collect
	since := c.since() + size
	if since <= p.floor || p.stats.InUse+size > p.stats.Limit { // block and reserveOutside collect
		return nil
	}
	threshold := p.threshold()
	if since <= threshold {
		return nil
	}
	if c.done == nil {
		if !p.short(size) && !d.collector.due() {
			return nil
		}
		c.done = make(chan struct{})
		c.begin()
		go d.collectInBackground(c.done)
	}
	if since > threshold+threshold/2 {
		return c.done
	}
	return nil
}

// awaitCollection waits for a collection that collectLater has named, and gives back what it
// found. mu is held, and free while it waits.
func (d *Device) awaitCollection(collection <-chan struct{}) {
	d.pool.stats.Waits++
	d.mu.Unlock()
	<-collection
	d.drain()
	d.mu.Lock()
}

// collectInBackground runs the collection that collectLater has begun.
func (d *Device) collectInBackground(done chan struct{}) {
	d.collector.run(laterCleanupTime)
	g := d.reclaim()
	d.mu.Lock()
	d.pool.collect.end()
	d.pool.collect.done = nil
	d.pool.stats.Collections++
	d.mu.Unlock()
	// Those who wait may hold what a release function of foreign memory needs.
	close(done)
	d.dispose(g)
}

// collectNow runs a collection, waits for it, gives back what it found, and
// reports whether that was anything. mu is not held.
func (d *Device) collectNow() (freed bool) {
	d.mu.Lock()
	before := d.pool.stats.InUse
	d.pool.collect.begin()
	d.mu.Unlock()
	d.collector.run(cleanupTime)
	d.drain()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pool.collect.end()
	d.pool.stats.Collections++
	return d.pool.stats.InUse < before
}
