package device

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/layout"
)

func TestLaunchOrder(t *testing.T) {
	d, b := gpu(t, 0)
	s1, s2, s3 := stream(t, d, "s1"), stream(t, d, "s2"), stream(t, d, "s3")
	x, y := alloc(t, d, 8, s1), alloc(t, d, 8, s1)
	step := func(what string, s *Stream, reads, writes []*Buffer, want ...string) {
		t.Helper()
		b.take()
		run(t, s, reads, writes)
		same(t, what, b.take(), want)
	}
	bufs := func(b ...*Buffer) []*Buffer { return b }
	step("a first write", s1, nil, bufs(x))
	step("a read on the same stream", s1, bufs(x), bufs(y))
	step("a read elsewhere waits for the write", s2, bufs(x), nil, "record s1", "wait s2")
	step("it knows now", s2, bufs(x, y), nil)
	step("so does not a third stream; the event serves", s3, bufs(x), nil, "wait s3")
	step("a write waits for both readers", s1, nil, bufs(x), "record s2", "wait s1", "record s3", "wait s1")
	step("a write elsewhere waits for write and reads", s2, bufs(y), bufs(x, y), "record s1", "wait s2")
	if err := s2.Synchronize(context.Background()); err != nil {
		t.Fatal(err)
	}
	step("what is complete is not waited for", s3, bufs(x, y), nil)
	step("a buffer in both lists", s2, bufs(x, x), bufs(x), "record s3", "wait s2")
}

// A block that other streams used serves its home stream after them.
func TestReuseWaits(t *testing.T) {
	d, b := gpu(t, 0)
	s := stream(t, d, "s")
	x := alloc(t, d, 8, nil)
	run(t, s, []*Buffer{x}, nil)
	x.Free()
	b.take()
	y := alloc(t, d, 8, nil)
	same(t, "reuse", b.take(), []string{"record s", "wait main"})
	run(t, s, []*Buffer{y}, nil)
	b.failNext("wait", errors.New("sticky"))
	y.Free()
	if _, err := d.Alloc(8, nil); err == nil {
		t.Error("memory was given away though the order could not be kept")
	}
	b.failNext("wait", nil)
	if p := d.Pool(); p.InUse != 0 || p.Cached != 512 {
		t.Errorf("%+v", p)
	}
}

func TestLaunchErrors(t *testing.T) {
	bothKinds(t, func(t *testing.T, d *Device) {
		other := cpu(t, 0)
		x, y := alloc(t, d, 8, nil), alloc(t, other, 8, nil)
		never := func(int, uint64) error { t.Error("launched"); return nil }
		is(t, d.Launch(nil, []*Buffer{y}, nil, never), ErrDevice)
		is(t, d.Launch(nil, nil, []*Buffer{y}, never), ErrDevice)
		is(t, d.Launch(other.main, nil, []*Buffer{x}, never), ErrDevice)
		failure := errors.New("kernel")
		is(t, d.Launch(nil, nil, []*Buffer{x, nil}, func(int, uint64) error { return failure }), failure)
		run(t, d.main, []*Buffer{x, nil}, nil) // the mutex is free again
		func() {
			defer func() { _ = recover() }()
			_ = d.Launch(nil, nil, []*Buffer{x}, func(int, uint64) error { panic("kernel") })
		}()
		run(t, d.main, nil, []*Buffer{x})
		x.Free()
	})
	d, _ := gpu(t, 0)
	s := stream(t, d, "s")
	var stream uint64
	if err := d.Launch(s, nil, nil, func(_ int, h uint64) error { stream = h; return nil }); err != nil || stream != s.Handle() {
		t.Errorf("stream %d, want %d (%v)", stream, s.Handle(), err)
	}
}

// On the CPU readers of a buffer run side by side, and writers alone: the
// race detector and the sums would tell.
func TestConcurrentLaunches(t *testing.T) {
	d := cpu(t, 0)
	const n = 1024
	in, sum := alloc(t, d, n, nil), alloc(t, d, n, nil)
	run(t, d.main, nil, []*Buffer{in, sum})
	if err := d.Launch(nil, nil, []*Buffer{in, sum}, func(int, uint64) error {
		for i := range n {
			in.bytes(0, n)[i], sum.bytes(0, n)[i] = 1, 0
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 64 {
		group.Go(func() {
			own := alloc(t, d, n, nil)
			defer own.Free()
			if err := d.Launch(nil, []*Buffer{in}, []*Buffer{own}, func(int, uint64) error {
				copy(own.bytes(0, n), in.bytes(0, n))
				return nil
			}); err != nil {
				t.Error(err)
			}
			// The lists name the buffers in another order than others do.
			if err := d.Launch(nil, []*Buffer{sum, own, sum}, []*Buffer{sum}, func(int, uint64) error {
				for i := range n {
					sum.bytes(0, n)[i] += own.bytes(0, n)[i]
				}
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	got := make([]byte, n)
	if err := d.CopyToHost(got, sum, 0, nil); err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		if v != 64 {
			t.Fatalf("element %d is %d", i, v)
		}
	}
}

func TestReadersRunSideBySide(t *testing.T) {
	d := cpu(t, 0)
	in := alloc(t, d, 8, nil)
	meet := make(chan struct{})
	var group sync.WaitGroup
	for i := range 2 {
		group.Go(func() {
			_ = d.Launch(nil, []*Buffer{in}, nil, func(int, uint64) error {
				select {
				case meet <- struct{}{}:
				case <-meet:
				case <-time.After(time.Minute):
					t.Errorf("reader %d is alone", i)
				}
				return nil
			})
		})
	}
	group.Wait()
}

func TestStreamClose(t *testing.T) {
	d, b := gpu(t, 0)
	s := stream(t, d, "s")
	x := alloc(t, d, 8, s)
	run(t, s, nil, []*Buffer{x})
	b.take()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	same(t, "Close", b.take(), []string{"sync s", "closeStream s"})
	if err := s.Close(); err != nil || len(b.take()) != 0 {
		t.Errorf("the second Close: %v", err)
	}
	run(t, d.main, []*Buffer{x}, nil)
	same(t, "work behind a closed stream", b.take(), nil)
	is(t, d.Launch(s, nil, nil, nil), ErrDevice)
	is(t, s.Synchronize(context.Background()), ErrDevice)
	_, err := d.Alloc(8, s)
	is(t, err, ErrDevice)
	x.Free() // its home is gone: it serves the default stream
	alloc(t, d, 8, nil).Free()
	if p := d.Pool(); p.Reuses != 1 {
		t.Errorf("%+v", p)
	}
	if err := d.main.Close(); err != nil {
		t.Error(err)
	}
	run(t, d.main, nil, nil)

	w, err := d.WrapStream(77)
	if err != nil || w.Handle() != 77 || w.Device() != d {
		t.Fatal(err)
	}
	b.take()
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	same(t, "Close of a foreign stream", b.take(), []string{"sync 77"})
}

func TestSynchronizeContext(t *testing.T) {
	d, b := gpu(t, 0)
	b.pending = true
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	is(t, d.Synchronize(ctx), context.DeadlineExceeded)
	is(t, d.main.Synchronize(ctx), context.DeadlineExceeded)
	ctx, cancel = context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	time.AfterFunc(2*time.Millisecond, func() { b.mu2.Lock(); b.pending = false; b.mu2.Unlock() })
	if err := d.Synchronize(ctx); err != nil {
		t.Error(err)
	}
	failure := errors.New("illegal address")
	b.failNext("sync", failure)
	is(t, d.Synchronize(context.Background()), failure)
}

func TestEvents(t *testing.T) {
	bothKinds(t, func(t *testing.T, d *Device) {
		s := stream(t, d, "s")
		a := event(t, d)
		b := event(t, d)
		is(t, s.Wait(a), ErrDevice)
		_, err := b.Elapsed(a)
		is(t, err, ErrDevice)
		if err := s.Record(a); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Millisecond)
		if err := s.Record(b); err != nil {
			t.Fatal(err)
		}
		if err := d.main.Wait(b); err != nil {
			t.Error(err)
		}
		dt, err := b.Elapsed(a)
		if err != nil || dt < 2*time.Millisecond || dt > 10*time.Second {
			t.Errorf("%v, %v", dt, err)
		}
		other := cpu(t, 0)
		is(t, other.main.Record(a), ErrDevice)
		is(t, other.main.Wait(a), ErrDevice)
		is(t, s.Record(nil), ErrDevice)
		_, err = a.Elapsed(nil)
		is(t, err, ErrDevice)
	})
	// Dropped events go back to the driver.
	d, b := gpu(t, 0)
	for range 10 {
		if _, err := d.NewEvent(); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the end of dropped events", func() bool {
		d.collectNow()
		b.fakeBackend.mu.Lock()
		defer b.fakeBackend.mu.Unlock()
		return len(b.events) == 0
	})
}

func TestView(t *testing.T) {
	d := cpu(t, 0)
	b := alloc(t, d, 64, nil)
	v := View{Buffer: b, DType: dtype.Float64, Layout: layout.Layout{Shape: []int{2, 2}, Strides: []int{2, 1}, Offset: 3}}
	if v.Addr() != b.Addr()+24 || v.Ptr() != unsafe.Add(b.Ptr(), 24) || !v.Dense() || v.NBytes() != 32 {
		t.Errorf("%#x, %p, %v, %d", v.Addr(), v.Ptr(), v.Dense(), v.NBytes())
	}
	v.Layout.Strides = []int{1, 2}
	g, _ := gpu(t, 0)
	v.Buffer = alloc(t, g, 64, nil)
	if v.Dense() || v.Ptr() != nil {
		t.Error("a transposed view on a GPU is dense, or has a pointer")
	}
}

func BenchmarkLaunch(b *testing.B) { benchmarkLaunch(b, newFake(h200(0), CapabilitiesOf(90))) }

func BenchmarkLaunchCPU(b *testing.B) { benchmarkLaunch(b, cpu(b, 0)) }

func benchmarkLaunch(b *testing.B, d *Device) {
	x, y, z := alloc(b, d, 8, nil), alloc(b, d, 8, nil), alloc(b, d, 8, nil)
	reads, writes := []*Buffer{x, y}, []*Buffer{z}
	f := func(int, uint64) error { return nil }
	b.ReportAllocs()
	for b.Loop() {
		if err := d.Launch(nil, reads, writes, f); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAllocFree(b *testing.B) {
	d := newFake(h200(0), CapabilitiesOf(90))
	b.ReportAllocs()
	for b.Loop() {
		buf, err := d.Alloc(4096, nil)
		if err != nil {
			b.Fatal(err)
		}
		buf.Free()
	}
}

func BenchmarkAllocDrop(b *testing.B) {
	d := newFake(h200(0), CapabilitiesOf(90))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Alloc(4096, nil); err != nil {
			b.Fatal(err)
		}
	}
}
