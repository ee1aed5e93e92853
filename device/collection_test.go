package device

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"
)

// testCollector is a garbage collector whose clock, cost and finds a test decides.
type testCollector struct {
	mu    sync.Mutex
	clock time.Time
	cost  time.Duration // cost of each collection
	found []*Buffer     // buffers that the next collection finds unreferenced
	runs  int
	begun chan struct{} // if not nil, receives a value when a collection begins
	hold  chan struct{} // if not nil, a collection ends only after it has received from it
}

// fakeCollector puts a testCollector in the place of d's.
func fakeCollector(d *Device) *testCollector {
	f := &testCollector{clock: time.Unix(1, 0)}
	d.collector.gc, d.collector.settle, d.collector.now = f.gc, func(time.Duration) {}, f.now
	return f
}

func (f *testCollector) now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.clock
}

func (f *testCollector) pass(t time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clock = f.clock.Add(t)
}

func (f *testCollector) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.runs
}

// drop has the next collection find b.
func (f *testCollector) drop(b *Buffer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.found = append(f.found, b)
}

func (f *testCollector) gc() time.Duration {
	f.mu.Lock()
	f.runs++
	found := f.found
	f.found = nil
	f.mu.Unlock()
	if f.begun != nil {
		f.begun <- struct{}{}
	}
	if f.hold != nil {
		<-f.hold
	}
	f.pass(f.cost)
	for _, b := range found {
		b.cleanup.Stop()
		dropAllocation(b.a)
	}
	return f.cost
}

// idle waits for the end of d's collection in the background.
func idle(t testing.TB, d *Device) {
	t.Helper()
	eventually(t, "the end of a collection", func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.pool.collect.done == nil
	})
}

// keep allocates n bytes in buffers of 1 MiB.
func keep(t testing.TB, d *Device, n int64) (live []*Buffer) {
	t.Helper()
	for range n >> 20 {
		live = append(live, alloc(t, d, 1<<20, nil))
	}
	idle(t, d)
	return live
}

// TestCollectionThreshold checks that a collection starts once more was allocated than the
// last one left, and more than a floor: 64 MiB on the CPU, 1/64 of a GPU's memory.
func TestCollectionThreshold(t *testing.T) {
	g, _ := gpu(t, 0) // 1 GiB
	for _, c := range []struct {
		d     *Device
		floor int64
	}{{cpu(t, 2<<30), 64 << 20}, {cpu(t, 256<<20), 32 << 20}, {g, 16 << 20}} {
		f := fakeCollector(c.d)
		for range 300 {
			alloc(t, c.d, 1<<20, nil).Free()
		}
		live := keep(t, c.d, c.floor)
		if n := f.count(); n != 0 {
			t.Errorf("%v: %d collections up to the floor", c.d, n)
		}
		live = append(live, keep(t, c.d, 1<<20)...)
		if n := f.count(); n != 1 {
			t.Errorf("%v: %d collections beyond the floor", c.d, n)
		}
		// The floor is left. The last MiB came after the beginning.
		live = append(live, keep(t, c.d, c.floor-(1<<20))...)
		if n := f.count(); n != 1 {
			t.Errorf("%v: %d collections before as much was allocated as was left", c.d, n)
		}
		live = append(live, keep(t, c.d, 1<<20)...)
		if n := f.count(); n != 2 {
			t.Errorf("%v: %d collections after as much was allocated as was left", c.d, n)
		}
		if p := c.d.Pool(); p.Collections != 2 || p.Waits != 0 {
			t.Errorf("%v: %+v", c.d, p)
		}
		// Freed memory no longer counts, neither as left nor as allocated.
		for _, b := range live {
			b.Free()
		}
		for range 10 {
			for _, b := range keep(t, c.d, c.floor) {
				b.Free()
			}
		}
		if n := f.count(); n != 2 {
			t.Errorf("%v: %d collections although all was freed", c.d, n)
		}
	}
}

// TestCollectionFrees checks that buffers which a collection finds are no longer in use, and
// that bytes allocated while it ran do not count as live after it.
func TestCollectionFrees(t *testing.T) {
	d := cpu(t, 2<<30)
	f := fakeCollector(d)
	f.begun, f.hold = make(chan struct{}, 1), make(chan struct{})
	old := keep(t, d, 60<<20)
	for _, b := range old[8:] {
		f.drop(b)
	}
	old = append(old, alloc(t, d, 4<<20, nil), alloc(t, d, 1<<20, nil)) // 65 MiB
	<-f.begun
	during := alloc(t, d, 30<<20, nil)
	f.hold <- struct{}{}
	idle(t, d)
	// 13 MiB of the old ones and the 30 are in use. The latter are young.
	if p := d.Pool(); p.InUse != 43<<20 || p.Cached != 52<<20 {
		t.Errorf("%+v", p)
	}
	young := alloc(t, d, 32<<20, nil) // 63 since the beginning
	if p := d.Pool(); p.Collections != 1 || d.pool.collect.done != nil {
		t.Errorf("another collection before the floor: %+v", p)
	}
	more := alloc(t, d, 2<<20, nil)
	<-f.begun
	f.hold <- struct{}{}
	idle(t, d)
	runtime.KeepAlive([]any{old, during, young, more})
}

// TestCollectionShare checks that collections take at most a tenth of the time.
func TestCollectionShare(t *testing.T) {
	d := cpu(t, 8<<30)
	f := fakeCollector(d)
	f.cost = 200 * time.Millisecond
	more := func(want int, when string) {
		t.Helper()
		for _, b := range keep(t, d, 65<<20) {
			defer b.Free()
		}
		if n := f.count(); n != want {
			t.Fatalf("%d collections %s, want %d", n, when, want)
		}
	}
	more(1, "at first")
	more(1, "right after one of 200 ms")
	f.pass(3890 * time.Millisecond) // from 10 - 200 ms to 200
	more(1, "before two of them are a tenth of the time")
	f.pass(20 * time.Millisecond)
	more(2, "after that")
	f.pass(1890 * time.Millisecond)
	more(2, "before nine times its duration")
	f.pass(20 * time.Millisecond)
	more(3, "after that")
	f.pass(time.Hour)
	more(4, "after an hour")
	more(4, "right after that: an hour saves up one")
	if p := d.Pool(); p.Waits != 0 {
		t.Errorf("%d requests waited", p.Waits)
	}
	// Where a request would fail, the rule does not hold.
	d.SetMemoryLimit(66 << 20)
	more(4, "in a limit that suffices")
	d.SetMemoryLimit(64 << 20)
	for _, b := range keep(t, d, 64<<20) {
		f.drop(b)
	}
	alloc(t, d, 1<<20, nil).Free()
	if n := f.count(); n != 5 {
		t.Errorf("%d collections, want one more at the limit", n)
	}
}

// TestCollectionNearLimit: with an eighth of the limit free, collections that take long run
// when it is full, and not before: a tenth of the time if filling it takes nine times as
// long as a collection.
func TestCollectionNearLimit(t *testing.T) {
	const (
		limit = 1 << 30
		room  = limit / 8
		cost  = 200 * time.Millisecond
	)
	d := cpu(t, limit)
	f := fakeCollector(d)
	live := alloc(t, d, limit-room, nil)
	idle(t, d)
	f.cost = cost
	before, begun := f.count(), f.now()
	const rounds = 20
	for range rounds * room >> 20 {
		f.drop(alloc(t, d, 1<<20, nil))
		f.pass(9 * cost / (room >> 20))
		idle(t, d)
	}
	n := f.count() - before
	if share := (time.Duration(n) * cost).Seconds() / f.now().Sub(begun).Seconds(); share > 0.105 || n < rounds/2 {
		t.Errorf("%d collections took %.3f of the time, want at most a tenth", n, share)
	}
	runtime.KeepAlive(live)
}

// TestAccount: over a long time collections take no more than the share, and, where
// it is asked for, not much less.
func TestAccount(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	c := newCollector()
	f := &testCollector{clock: time.Unix(1, 0)}
	c.gc, c.settle, c.now = f.gc, func(time.Duration) {}, f.now
	var spent, most time.Duration
	for range 100_000 {
		if !c.due() {
			f.pass(time.Duration(rng.IntN(1_000_000)))
			continue
		}
		f.cost = time.Duration(rng.ExpFloat64() * 3e6)
		if rng.IntN(100) == 0 {
			f.cost *= 100
		}
		c.run(0)
		spent, most = spent+f.cost, max(most, f.cost)
	}
	passed := f.now().Sub(time.Unix(1, 0))
	if limit := passed/collectorShare + maxCredit + most; spent > limit {
		t.Errorf("collections took %v of %v", spent, passed)
	}
	if spent < passed/collectorShare*8/10 {
		t.Errorf("collections took only %v of %v", spent, passed)
	}
}

// TestCollectionWait: far beyond the threshold, a request that needs new memory waits
// for the collection under way, and one that an idle block serves does not.
func TestCollectionWait(t *testing.T) {
	bothKinds(t, func(t *testing.T, d *Device) {
		d.SetMemoryLimit(1 << 30)
		most := d.pool.floor + d.pool.floor/2
		f := fakeCollector(d)
		f.begun, f.hold = make(chan struct{}, 1), make(chan struct{})
		for _, n := range []int64{2 << 20, 4 << 20} {
			alloc(t, d, n, nil).Free() // idle from now on
		}
		live := []*Buffer{alloc(t, d, most-(4<<20), nil)}
		<-f.begun
		for _, n := range []int64{1 << 20, 2 << 20, 1 << 20, 4 << 20} { // two new ones, two idle ones
			live = append(live, alloc(t, d, n, nil))
		}
		if p := d.Pool(); p.Waits != 0 || p.Reuses != 2 {
			t.Fatalf("%+v", p)
		}
		done := make(chan *Buffer)
		go func() {
			b, err := d.Alloc(8<<20, nil)
			if err != nil {
				t.Error(err)
			}
			done <- b
		}()
		eventually(t, "a request that waits", func() bool { return d.Pool().Waits == 1 })
		select {
		case <-done:
			t.Error("it did not wait")
		case <-time.After(20 * time.Millisecond):
		}
		close(f.hold)
		live = append(live, <-done)
		idle(t, d)
		runtime.KeepAlive(live)
	})
}

// TestCollectionBeforeOutOfMemory: at the limit a collection runs whatever the last
// ones cost, and what it finds serves.
func TestCollectionBeforeOutOfMemory(t *testing.T) {
	bothKinds(t, func(t *testing.T, d *Device) {
		f := fakeCollector(d)
		d.collector.time = account{balance: -time.Hour, at: f.now()}
		limit := d.limit()
		size := limit / 2 >> 20 << 20
		dropped := alloc(t, d, size, nil)
		kept := alloc(t, d, limit/4>>20<<20, nil)
		if n := f.count(); n != 0 {
			t.Errorf("%d collections too many", n)
		}
		f.drop(dropped)
		again := alloc(t, d, size, nil)
		if n := f.count(); n == 0 {
			t.Error("no collection")
		}
		if d.Kind() == CUDA && again.Addr() != dropped.a.mem.addr { // a CPU keeps less idle
			t.Error("the block that was dropped does not serve")
		}
		_, err := d.Alloc(size, nil)
		is(t, err, ErrOutOfMemory)
		runtime.KeepAlive(kept)
	})
}

// TestYoungestBlockFirst checks that of the blocks that a collection found, the one that was
// allocated last is reused first.
func TestYoungestBlockFirst(t *testing.T) {
	d := cpu(t, 2<<30)
	f := fakeCollector(d)
	var addrs []uint64
	list := keep(t, d, 20<<20)
	for _, b := range list {
		addrs = append(addrs, b.Addr())
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	for _, b := range list {
		f.drop(b)
	}
	d.collectNow()
	for i := len(addrs) - 1; i >= 0; i-- {
		b := alloc(t, d, 1<<20, nil)
		if b.Addr() != addrs[i] {
			t.Fatalf("block %#x served, want %#x", b.Addr(), addrs[i])
		}
		list = append(list, b)
	}
}

// TestDroppedLoop checks that a loop that drops every buffer keeps the memory in use below
// 2.5 times the live bytes plus 64 MiB, with Go's own collections.
func TestDroppedLoop(t *testing.T) {
	d := cpu(t, 4<<30)
	gc, settle := d.collector.gc, d.collector.settle
	d.collector.gc = func() time.Duration { gc(); return 0 } // on the busiest machine
	d.collector.settle = func(time.Duration) { settle(time.Minute) }
	var live []*Buffer
	for range 3 {
		live = append(live, alloc(t, d, 16<<20, nil))
	}
	for range 1000 {
		b := alloc(t, d, 16<<20, nil)
		run(t, d.main, live, []*Buffer{b})
	}
	idle(t, d)
	if p := d.Pool(); p.Peak > 5*p16(len(live))/2+64<<20 || p.Peak < p16(len(live)) || p.Collections == 0 {
		t.Errorf("%d bytes alive: %+v", p16(len(live)), p)
	}
	runtime.KeepAlive(live)
}

// p16 returns the size of n buffers of 16 MiB in bytes.
func p16(n int) int64 { return int64(n) << 24 }

// BenchmarkDropped drops buffers of 16 MiB, with and without much for the collector to
// look at, and says which part of the time it took.
func BenchmarkDropped(b *testing.B) {
	type node struct{ next [7]*node }
	for _, c := range []struct {
		name  string
		bytes int
	}{{"empty", 0}, {"pointers=400MB", 400 << 20}} {
		b.Run(c.name, func(b *testing.B) {
			var heap []*node
			for range c.bytes / 56 {
				x := new(node)
				if n := len(heap); n > 0 {
					x.next = [7]*node{heap[n-1], heap[n/2]}
				}
				heap = append(heap, x)
			}
			d := cpu(b, 8<<30)
			gc, spent := d.collector.gc, time.Duration(0)
			d.collector.gc = func() time.Duration {
				cost := gc()
				spent += cost
				return cost
			}
			begun := time.Now()
			for b.Loop() {
				clear(alloc(b, d, 16<<20, nil).bytes(0, 16<<20))
			}
			idle(b, d)
			b.ReportMetric(100*spent.Seconds()/time.Since(begun).Seconds(), "%collecting")
			p := d.Pool()
			b.ReportMetric(float64(p.Peak>>20), "peakMiB")
			b.ReportMetric(float64(p.Waits), "waits")
			runtime.KeepAlive(heap)
		})
	}
}
