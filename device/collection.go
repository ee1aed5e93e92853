package device

// collection decides when a device requests a garbage collection.
//
//   - It requests one when the bytes that were allocated since the last collection and
//     not freed exceed a threshold: the larger of the bytes that survived it and the
//     pool's floor (64 MiB on the CPU, 1/64 of a GPU's memory), but no more than half of
//     the room below the limit.
//   - These collections take at most a tenth of the time (collector.due). Only a request
//     that would otherwise fail collects regardless of that (Device.block). Collecting
//     earlier took a fifth of the time with little room below the limit and 400 MB of
//     pointers to scan.
//   - Beyond one and a half times the threshold a request for new memory waits for the
//     collection in progress. So the memory in use stays below 2.5 times the surviving
//     memory, or 96 MiB more than it. If the one-tenth rule has postponed the collection,
//     there is nothing to wait for, and the pool grows, up to the limit.
//
// Guarded by the device's mutex.
type collection struct {
	running int           // collections in progress
	done    chan struct{} // closed when the background collection ends; nil: none

	// young counts the bytes in use that were allocated after the last collection began.
	// While a collection runs, middle counts those that were allocated between the
	// beginnings of the previous one and of this one. Only middle may shrink by the running
	// collection.
	young, middle int64
	// epoch counts the collections that have begun. A block records the epoch of its
	// allocation, so that freeing it is subtracted from the right counter.
	epoch uint32
}

// since returns the bytes in use that were allocated since the beginning of the last
// complete collection.
func (c *collection) since() int64 { return c.young + c.middle }

// add counts bytes that come into use. Its result is passed to remove.
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

// threshold returns the number of bytes allocated since the last collection beyond which
// the pool requests another one.
func (p *pool) threshold() int64 {
	left := p.stats.InUse - p.collect.since()
	return max(p.floor, min(left, (p.stats.Limit-left)/2))
}

// collectLater starts a background collection if size more bytes exceed the threshold. If a
// request for new memory should wait, it returns the channel to wait for, otherwise nil. mu
// is held.
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
		if !d.collector.due() {
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

// awaitCollection waits for a collection that collectLater returned, and reclaims the
// memory that it found. mu is held, but released during the wait.
func (d *Device) awaitCollection(collection <-chan struct{}) {
	d.pool.stats.Waits++
	d.mu.Unlock()
	<-collection
	d.drain()
	d.mu.Lock()
}

// collectInBackground runs a collection for collectLater.
func (d *Device) collectInBackground(done chan struct{}) {
	d.collector.run(laterCleanupTime)
	g := d.reclaim()
	d.mu.Lock()
	d.pool.collect.end()
	d.pool.collect.done = nil
	d.pool.stats.Collections++
	d.mu.Unlock()
	// Waiting goroutines may hold a lock that a release function of foreign memory needs.
	close(done)
	d.dispose(g)
}

// collectNow runs a collection, waits for it, reclaims the memory that it found, and
// reports whether it found any. mu is not held.
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
