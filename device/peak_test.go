package device

import (
	"context"
	"errors"
	"testing"
)

// TestWatch checks the maximum number of bytes in use that a watch records. Two watches
// overlap.
func TestWatch(t *testing.T) {
	d, _ := gpu(t, 0)
	before := alloc(t, d, 1<<20, nil)
	outer := d.watch()
	alloc(t, d, 4<<20, nil).Free()
	inner := d.watch()
	a, b := alloc(t, d, 1<<20, nil), alloc(t, d, 1<<20, nil)
	a.Free()
	if n := inner.Stop(); n != 2<<20 {
		t.Errorf("%d bytes at most, want %d", n, 2<<20)
	}
	b.Free()
	before.Free()
	if n := outer.Stop(); n != 4<<20 {
		t.Errorf("%d bytes at most, want %d", n, 4<<20)
	}
	alloc(t, d, 64<<20, nil).Free()
	if n := outer.Stop(); n != 4<<20 {
		t.Errorf("%d bytes after the watch ended", n)
	}
	if len(d.pool.watches) != 0 {
		t.Errorf("%d watches are left", len(d.pool.watches))
	}
}

func TestEventSynchronize(t *testing.T) {
	d, _ := gpu(t, 0)
	s := stream(t, d, "s")
	e := event(t, d)
	if err := e.Synchronize(context.Background()); err != nil {
		t.Errorf("not recorded: %v", err)
	}
	if err := s.Record(e); err != nil {
		t.Fatal(err)
	}
	if err := e.Synchronize(context.Background()); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := e.Synchronize(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("after the context ended: %v", err)
	}
}

// TestWatchWithin checks that the pool returns idle blocks to the driver before it holds more
// than the ceiling. Bytes in use may exceed the ceiling.
func TestWatchWithin(t *testing.T) {
	d, b := gpu(t, 0)
	alloc(t, d, 8<<20, nil).Free() // an idle block from before the watch does not count
	w := d.watchWithin(6 << 20)
	for _, n := range []int64{2 << 20, 4 << 20, 3 << 20, 2 << 20, 6 << 20} {
		alloc(t, d, n, nil).Free()
		if p := d.Pool(); p.InUse+p.Cached > 14<<20 {
			t.Errorf("after %d bytes the pool holds %d", n, p.InUse+p.Cached)
		}
	}
	if held := w.Held(); held > 6<<20 || held < 4<<20 {
		t.Errorf("%d bytes held at most", held)
	}
	x, y := alloc(t, d, 10<<20, nil), alloc(t, d, 12<<20, nil)
	if held := w.Held(); held != 14<<20 { // 22 of 8 before
		t.Errorf("%d bytes held at most, two buffers were in use", held)
	}
	x.Free()
	y.Free()
	if n := w.Stop(); n != 22<<20 {
		t.Errorf("%d bytes in use at most", n)
	}
	alloc(t, d, 32<<20, nil).Free() // the ceiling ended with the watch
	if p := d.Pool(); p.Cached < 44<<20 {
		t.Errorf("%d bytes are kept after the watch", p.Cached)
	}
	if err := d.Trim(); err != nil || len(b.live) != 0 {
		t.Errorf("%d blocks are left, %v", len(b.live), err)
	}
}
