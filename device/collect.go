package device

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"time"
)

// collector runs Go's garbage collector, one collection at a time for all devices of a
// system. Go's collector cannot see device memory, so the pools decide when it runs. Tests
// replace the three functions.
type collector struct {
	gc     func() (cost time.Duration) // runs a whole collection
	settle func(limit time.Duration)   // waits for the cleanups that a collection queued
	now    func() time.Time

	mu   sync.Mutex // held during a collection
	head sync.Mutex // guards the following fields
	runs uint64     // complete collections
	time account
}

func newCollector() *collector {
	return &collector{gc: collectGarbage, settle: awaitCleanups, now: time.Now}
}

const (
	// collectorShare is the inverse of the fraction of time that collections may take.
	collectorShare = 10

	// maxCredit bounds the unused time for collections that a program accumulates beyond
	// the cost of the next collection.
	maxCredit = 10 * time.Millisecond

	// cleanupTime bounds the wait for cleanups before an out-of-memory error: on a busy
	// machine they are slow, and another package's cleanup may hang.
	cleanupTime = time.Second

	// laterCleanupTime bounds the same wait after a collection in the background.
	laterCleanupTime = 10 * time.Millisecond
)

// account is the time that collections may still take. It is credited with a tenth of the
// elapsed time, and charged with the cost of each collection.
type account struct {
	balance time.Duration
	at      time.Time        // time of the last credit; zero: none yet
	costs   [2]time.Duration // costs of the last collections
}

func (a *account) credit(now time.Time) {
	if a.at.IsZero() {
		a.balance = maxCredit
	} else {
		a.balance = min(a.balance+now.Sub(a.at)/collectorShare, maxCredit+a.expected())
	}
	a.at = now
}

func (a *account) charge(cost time.Duration) {
	a.balance -= cost
	if a.costs[0] == 0 {
		a.costs[0] = cost
	}
	a.costs[0], a.costs[1] = cost, a.costs[0]
}

// expected estimates the cost of the next collection: the smaller of the last two costs,
// because a busy machine may have delayed one of them.
func (a *account) expected() time.Duration { return min(a.costs[0], a.costs[1]) }

// due reports whether the one-tenth rule allows a collection now.
func (c *collector) due() bool {
	c.head.Lock()
	defer c.head.Unlock()
	c.time.credit(c.now())
	return c.time.balance >= c.time.expected()
}

// run returns once a collection that began after the call has ended and its cleanups have
// run. It waits for the cleanups at most for limit.
func (c *collector) run(limit time.Duration) {
	c.collect()
	c.settle(limit)
}

func (c *collector) collect() {
	c.head.Lock()
	asked := c.runs
	c.head.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	// A collection that was already running at the call began too early. If another
	// goroutine has waited for a second one, that one is enough.
	if c.runs >= asked+2 {
		return
	}
	cost := c.gc()
	c.head.Lock()
	c.runs++
	c.time.credit(c.now())
	c.time.charge(cost)
	c.head.Unlock()
}

// collectGarbage runs a collection and returns its cost: the elapsed time, but no more than
// its processor time, and no more than leastScan allows for the bytes that it scanned. On a
// busy machine even a collection with no work takes long.
func collectGarbage() (cost time.Duration) {
	read := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/gc/scan/total:bytes"}}
	metrics.Read(read)
	before, begun := read[0].Value, time.Now()
	runtime.GC()
	cost = time.Since(begun)
	metrics.Read(read)
	if before.Kind() == metrics.KindFloat64 {
		cost = min(cost, time.Duration((read[0].Value.Float64()-before.Float64())*1e9))
	}
	if scanned := read[1].Value; scanned.Kind() == metrics.KindUint64 {
		cost = min(cost, scanOverhead+time.Duration(scanned.Uint64()*1e9/leastScan))
	}
	return cost
}

const (
	// leastScan is a lower bound of the bytes with pointers that Go's collector scans per
	// second: 1.6e9 to 4e9 were measured on two cores.
	leastScan = 500e6
	// scanOverhead is the fixed cost of a collection: 0.1 ms were measured.
	scanOverhead = 500 * time.Microsecond
)

// awaitCleanups waits until the cleanups that are queued have run, or the limit
// has passed.
func awaitCleanups(limit time.Duration) {
	samples := []metrics.Sample{{Name: "/gc/cleanups/queued:cleanups"}, {Name: "/gc/cleanups/executed:cleanups"}}
	metrics.Read(samples)
	if samples[0].Value.Kind() != metrics.KindUint64 {
		return
	}
	queued := samples[0].Value.Uint64()
	for begun := time.Now(); samples[1].Value.Uint64() < queued && time.Since(begun) < limit; {
		time.Sleep(20 * time.Microsecond)
		metrics.Read(samples[1:])
	}
}
