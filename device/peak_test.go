package device

import (
	"context"
	"errors"
	"testing"
)

// TestWatch: the most in use from a beginning to an end, of those that overlap
// each its own.
func TestWatch(t *testing.T) {
	d, _ := gpu(t, 0)
	before := alloc(t, d, 1<<20, nil)
	outer := d.Watch()
	alloc(t, d, 4<<20, nil).Free()
	inner := d.Watch()
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
	s, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	e, err := d.NewEvent()
	if err != nil {
		t.Fatal(err)
	}
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
