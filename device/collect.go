package device

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"time"
)

// collector runs Go's garbage collector, one collection at a time for all
// devices of a system: it cannot see device memory, so the pools tell it when.
type collector struct {
	gc   func() // a whole collection, and the cleanups of what it found
	mu   sync.Mutex
	runs uint64 // complete ones
	head sync.Mutex
}

func newCollector() *collector { return &collector{gc: collectGarbage} }

// run returns when a collection has run that began after the call.
func (c *collector) run() {
	c.head.Lock()
	asked := c.runs
	c.head.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	// The one that was under way when it was asked began too early; a second
	// one that others waited for serves.
	if c.runs >= asked+2 {
		return
	}
	c.gc()
	c.head.Lock()
	c.runs++
	c.head.Unlock()
}

// cleanupTime is how long a collection waits for cleanups at most: on a busy machine
// they take their time, and somebody else's may hang.
const cleanupTime = time.Second

// collectGarbage runs a collection and gives the cleanups that it queued time
// to run.
func collectGarbage() {
	runtime.GC()
	samples := []metrics.Sample{{Name: "/gc/cleanups/queued:cleanups"}, {Name: "/gc/cleanups/executed:cleanups"}}
	metrics.Read(samples)
	if samples[0].Value.Kind() != metrics.KindUint64 {
		return
	}
	queued := samples[0].Value.Uint64()
	for begun := time.Now(); samples[1].Value.Uint64() < queued && time.Since(begun) < cleanupTime; {
		time.Sleep(20 * time.Microsecond)
		metrics.Read(samples[1:])
	}
}

// collection is when a device asks for the next one. Guarded by the device's
// mutex.
type collection struct {
	running bool
	left    int64 // bytes in use after the last one
}

// collectLater starts a collection in the background when, with size bytes
// more, much was allocated since the last one and not freed: more than that
// left, and more than an eighth of the limit. mu is held.
func (d *Device) collectLater(size int64) {
	c := &d.collect
	inUse := d.pool.stats.InUse
	c.left = min(c.left, inUse)
	if c.running || inUse+size-c.left <= max(c.left, d.pool.stats.Limit/8) {
		return
	}
	c.running = true
	go func() {
		d.collectNow()
		d.mu.Lock()
		c.running = false
		d.mu.Unlock()
	}()
}

// collectNow runs a collection, waits for it, gives back what it found, and
// reports whether that was anything. mu is not held.
func (d *Device) collectNow() (freed bool) {
	d.mu.Lock()
	before := d.pool.stats.InUse
	d.mu.Unlock()
	d.collector.run()
	d.drain()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.collect.left = d.pool.stats.InUse
	return d.pool.stats.InUse < before
}
