package device

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"time"
)

// collector runs Go's garbage collector, one collection at a time for all
// devices of a system. Go's collector cannot see device memory, so the pools
// decide when it runs. Tests replace the three functions.
type collector struct {
	gc     func() (cost time.Duration) // runs a whole collection
	settle func(limit time.Duration)   // waits for the cleanups that a collection queued
	now    func() time.Time

	mu   sync.Mutex // held during a collection
	head sync.Mutex // guards what follows
	runs uint64     // complete collections
	time account
}

func newCollector() *collector {
	return &collector{gc: collectGarbage, settle: awaitCleanups, now: time.Now}
}

const (
	// collectorShare is the part of the time that collections may take: one in
	// so many.
	collectorShare = 10

	// maxCredit bounds the time beyond the next collection's that a program saves up
	// for collections while it needs none.
	maxCredit = 10 * time.Millisecond

	// cleanupTime bounds the wait for cleanups before an out-of-memory error: on a
	// busy machine they take their time, and somebody else's may hang.
	cleanupTime = time.Second

	// laterCleanupTime bounds the same wait after a collection in the background.
	laterCleanupTime = 10 * time.Millisecond
)

// account is the time that collections may still take. A tenth of the time that
// passes is credited, and what a collection costs is charged.
type account struct {
	balance time.Duration
	at      time.Time        // the last credit; zero: none yet
	costs   [2]time.Duration // of the last collections
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

// expected returns what the next collection is going to cost: the smaller of the last
// two costs, as a busy machine may have held up one of them.
func (a *account) expected() time.Duration { return min(a.costs[0], a.costs[1]) }

// due reports whether the one-tenth rule allows a collection now.
func (c *collector) due() bool {
	c.head.Lock()
	defer c.head.Unlock()
	c.time.credit(c.now())
	return c.time.balance >= c.time.expected()
}

// run returns when a collection has run that began after the call and its
// cleanups have run, for which it waits no longer than limit.
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
	// The collection that was under way at the call began too early. A second one,
	// which somebody else waited for, serves.
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

// collectGarbage runs a collection and returns its cost: the time that it took, but
// no more than its processor time, and than leastScan allows for the bytes that it
// scanned. A busy machine holds up even a collection that has nothing to do.
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
	// leastScan is the bytes a second that Go's collector scans at least, with pointers
	// in them: 1.6e9 to 4e9 were measured on two cores.
	leastScan = 500e6
	// scanOverhead is what a collection costs beyond that: 0.1 ms were measured.
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
