package device

import (
	"bytes"
	"context"
	"math/rand/v2"
	"runtime"
	"testing"
)

// TestFetch brings parts of a buffer to the host, small and large, several at once.
func TestFetch(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	bothKinds(t, func(t *testing.T, d *Device) {
		rng := rand.New(rand.NewPCG(seed, 1))
		src := randomBytes(rng, 3*maxFetch)
		buf := alloc(t, d, int64(len(src)), nil)
		if err := d.CopyFromHost(buf, 0, src, nil); err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{0, 1, 56, maxFetch, maxFetch + 1} {
			var list []*hostCopy
			for i := range 3 {
				f, err := d.fetch(buf, int64(i*100), n, nil)
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, f)
			}
			for i, f := range list {
				got, err := f.Wait(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got, src[i*100:i*100+n]) {
					t.Errorf("%d bytes from %d on differ", n, i*100)
				}
				f.Free()
				f.Free()
			}
		}
		_, err := d.fetch(buf, int64(len(src))-3, 4, nil)
		is(t, err, ErrDevice)
		buf.Free()
		_, err = d.fetch(buf, 0, 4, nil)
		is(t, err, ErrFreed)
	})
}

// TestFetchWaits checks that Fetch returns without waiting, that the context of Wait ends
// the wait, and that memory to which a copy may still write is not reused.
func TestFetchWaits(t *testing.T) {
	d, b := gpu(t, 0)
	buf := alloc(t, d, 64, nil)
	run(t, d.main, nil, []*Buffer{buf})
	b.take()
	f, err := d.fetch(buf, 0, 64, nil)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "a Fetch", b.take(), []string{"allocHost", "copyOut"})
	b.mu2.Lock()
	b.pending = true
	b.mu2.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = f.Wait(ctx)
	is(t, err, context.Canceled)
	used := f.slot
	if !used.busy {
		t.Error("the memory counts as idle while a copy writes to it")
	}
	f.Free()
	g, err := d.fetch(buf, 0, 64, nil)
	if err != nil {
		t.Fatal(err)
	}
	if g.slot != used {
		t.Error("memory that was freed is not used again")
	}
	same(t, "the next", b.take(), []string{"copyOut"})
	g.Free()
	is(t, func() error { b.failNext("copyOut", errBus); _, err := d.fetch(buf, 0, 64, nil); return err }(), errBus)
	if n := len(d.fetches.idle); n != 1 {
		t.Errorf("%d pieces of memory are idle, want 1", n)
	}
}

// TestFetchDropped checks that fetches that nobody frees use a bounded number of pieces of
// pinned memory, which are reused after the garbage collector has found the fetches.
func TestFetchDropped(t *testing.T) {
	d, b := gpu(t, 0)
	rng := rand.New(rand.NewPCG(rand.Uint64(), 1))
	src := randomBytes(rng, maxFetch)
	buf := alloc(t, d, maxFetch, nil)
	if err := d.CopyFromHost(buf, 0, src, nil); err != nil {
		t.Fatal(err)
	}
	b.take()
	var kept []*hostCopy
	const more = 100
	for i := range maxFetches + more {
		f, err := d.fetch(buf, int64(i), 56, nil)
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, f)
	}
	if n := b.count("allocHost"); n != maxFetches {
		t.Errorf("%d pieces of pinned memory for %d fetches, want %d", n, len(kept), maxFetches)
	}
	if n := b.count("syncCopyOut"); n != more {
		t.Errorf("%d fetches waited, want %d", n, more)
	}
	for i, f := range kept {
		if got, err := f.Wait(context.Background()); err != nil || !bytes.Equal(got, src[i:i+56]) {
			t.Errorf("fetch %d: error %v, or other bytes", i, err)
		}
	}
	idle := func() int {
		d.fetches.mu.Lock()
		defer d.fetches.mu.Unlock()
		return len(d.fetches.idle)
	}
	if n := idle(); n != 0 {
		t.Errorf("%d pieces are idle while their fetches are kept", n)
	}
	runtime.KeepAlive(kept)
	eventually(t, "memory of dropped fetches", func() bool {
		runtime.GC()
		return idle() == maxFetches
	})
	b.take()
	for range 10 * maxFetches {
		f, err := d.fetch(buf, 0, 56, nil)
		if err != nil {
			t.Fatal(err)
		}
		f.Free()
	}
	if n := b.count("allocHost") + b.count("syncCopyOut"); n != 0 {
		t.Errorf("%d fetches found no idle memory", n)
	}
	if n := idle(); n != maxFetches {
		t.Errorf("%d pieces are idle, want %d: one was given back twice", n, maxFetches)
	}
}

// TestFetchFreed checks that Wait for a Fetch that was freed returns no bytes, because the
// memory may be in use by another.
func TestFetchFreed(t *testing.T) {
	bothKinds(t, func(t *testing.T, d *Device) {
		buf := alloc(t, d, 64, nil)
		run(t, d.main, nil, []*Buffer{buf})
		for _, n := range []int{0, 8} {
			f, err := d.fetch(buf, 0, n, nil)
			if err != nil {
				t.Fatal(err)
			}
			f.Free()
			_, err = f.Wait(context.Background())
			is(t, err, ErrFreed)
		}
	})
}

var errBus = errorf("the bus is down")

// TestEventFree checks that freed events are reused, and not before their work is done.
func TestEventFree(t *testing.T) {
	d, backend := gpu(t, 0)
	a := event(t, d)
	h := a.handle
	if err := d.main.Record(a); err != nil {
		t.Fatal(err)
	}
	a.Free()
	a.Free()
	is(t, d.main.Record(a), ErrDevice)
	is(t, d.main.Wait(a), ErrDevice)
	b := event(t, d)
	c := event(t, d)
	if b.handle != h || c.handle == h {
		t.Errorf("handles %d and %d after %d was freed", b.handle, c.handle, h)
	}
	if _, err := b.Elapsed(b); err == nil {
		t.Error("an event that serves again counts as recorded")
	}
	if err := d.main.Record(c); err != nil {
		t.Fatal(err)
	}
	backend.take()
	_, err := a.Elapsed(c)
	is(t, err, ErrDevice)
	if err := a.Synchronize(context.Background()); err != nil {
		t.Error(err)
	}
	same(t, "an event that was freed", backend.take(), nil)
	list := []*Event{b, c}
	for range 2 * maxIdleEvents {
		e := event(t, d)
		list = append(list, e)
	}
	for _, e := range list {
		e.Free()
	}
	if n := len(d.events); n != maxIdleEvents {
		t.Errorf("%d events are kept, want %d", n, maxIdleEvents)
	}
}
