package device

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
)

func randomBytes(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

func TestTransfers(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	bothKinds(t, func(t *testing.T, d *Device) {
		rng := rand.New(rand.NewPCG(seed, 1))
		for _, n := range []int{0, 1, 1000, smallSlot - 1, smallSlot, smallSlot + 1, 1 << 20, largeSlot - 1, largeSlot + 1, largeSlot*largeSlots + 12345} {
			off := rng.IntN(1000)
			src := randomBytes(rng, n)
			buf := alloc(t, d, int64(n+off+7), nil)
			poison := bytes.Repeat([]byte{0xEE}, n+off+7)
			if err := d.CopyFromHost(buf, 0, poison, nil); err != nil {
				t.Fatal(err)
			}
			want := bytes.Clone(poison)
			copy(want[off:], src)
			if err := d.CopyFromHost(buf, int64(off), src, nil); err != nil {
				t.Fatal(err)
			}
			clear(src) // may be reused
			got := make([]byte, len(want))
			if err := d.CopyToHost(got, buf, 0, nil); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%d bytes at %d: wrong (%v)", n, off, err)
			}
			second := alloc(t, d, int64(n+3), nil)
			if err := d.Copy(second, 3, buf, int64(off), int64(n), nil); err != nil {
				t.Fatal(err)
			}
			got = make([]byte, n)
			if err := d.CopyToHost(got, second, 3, nil); err != nil || !bytes.Equal(got, want[off:off+n]) {
				t.Fatalf("a copy of %d bytes: wrong (%v)", n, err)
			}
			buf.Free()
			second.Free()
		}
	})
}

func TestTransferBounds(t *testing.T) {
	bothKinds(t, func(t *testing.T, d *Device) {
		b, c := alloc(t, d, 16, nil), alloc(t, d, 16, nil)
		host := make([]byte, 8)
		for _, off := range []int64{-1, 9, 17, 1 << 62} {
			is(t, d.CopyFromHost(b, off, host, nil), ErrDevice)
			is(t, d.CopyToHost(host, b, off, nil), ErrDevice)
			is(t, d.Copy(b, off, c, 0, 8, nil), ErrDevice)
			is(t, d.Copy(b, 0, c, off, 8, nil), ErrDevice)
		}
		is(t, d.Copy(b, 0, c, 0, -1, nil), ErrDevice)
		is(t, d.Copy(b, 0, b, 7, 8, nil), ErrDevice)
		is(t, d.CopyFromHost(nil, 0, host, nil), ErrDevice)
		if err := d.Copy(b, 0, b, 8, 8, nil); err != nil {
			t.Error(err)
		}
		other := cpu(t, 0)
		is(t, other.CopyFromHost(b, 0, host, nil), ErrDevice)
		b.Free()
		c.Free()
	})
}

// Small copies, pinned memory and large copies go different ways.
func TestTransferRoutes(t *testing.T) {
	d, b := gpu(t, 0)
	buf := alloc(t, d, 1<<20, nil)
	b.take()
	if err := d.CopyFromHost(buf, 0, make([]byte, 100), nil); err != nil {
		t.Fatal(err)
	}
	same(t, "a small copy in", b.take(), []string{"allocHost", "copyIn"})
	if err := d.CopyToHost(make([]byte, 100), buf, 0, nil); err != nil {
		t.Fatal(err)
	}
	same(t, "a small copy out", b.take(), []string{"syncCopyOut"})

	pinned, free, err := d.AllocPinned(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	b.take()
	if err := d.CopyFromHost(buf, 0, pinned, nil); err != nil {
		t.Fatal(err)
	}
	same(t, "a pinned copy in", b.take(), []string{"copyIn", "sync main"})
	if err := d.CopyToHost(pinned[4:], buf, 0, nil); err != nil {
		t.Fatal(err)
	}
	same(t, "a pinned copy out", b.take(), []string{"syncCopyOut"})
	before := b.pinned
	free()
	free()
	if b.pinned != before-1 || d.pinned.holds(pinned) {
		t.Error("pinned memory is not given back once")
	}
	if err := d.CopyToHost(make([]byte, 1<<20), buf, 0, nil); err != nil {
		t.Fatal(err)
	}
	if b.count("copyOut") == 0 {
		t.Errorf("a large copy out: %q", b.take())
	}
}

func TestAllocPinned(t *testing.T) {
	bothKinds(t, func(t *testing.T, d *Device) {
		for _, n := range []int{0, 1, 1000} {
			b, free, err := d.AllocPinned(n)
			if err != nil || len(b) != n {
				t.Fatalf("%d bytes: %d, %v", n, len(b), err)
			}
			for i := range b {
				b[i] = 1
			}
			free()
		}
		_, _, err := d.AllocPinned(-1)
		is(t, err, ErrDevice)
	})
}

func TestRanges(t *testing.T) {
	d, _ := gpu(t, 0)
	var all [][]byte
	var frees []func()
	for i := range 20 {
		b, free, err := d.AllocPinned(1000 + i)
		if err != nil {
			t.Fatal(err)
		}
		all, frees = append(all, b), append(frees, free)
	}
	for i, b := range all {
		if i%2 == 0 {
			frees[i]()
		}
		if want := i%2 == 1; d.pinned.holds(b) != want || d.pinned.holds(b[10:20]) != want {
			t.Errorf("range %d is held: %v", i, !want)
		}
	}
	if d.pinned.holds(make([]byte, 10)) || (*ranges)(nil).holds(all[1]) {
		t.Error("memory of Go is pinned")
	}
}

// Staging is bounded, its goroutines end, and a failure in the middle is the
// answer and does no harm.
func TestStaging(t *testing.T) {
	d, b := gpu(t, 0)
	before := runtime.NumGoroutine()
	const n = 20 << 20
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			buf, err := d.Alloc(n, nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer buf.Free()
			src, dst := bytes.Repeat([]byte{7}, n), make([]byte, n)
			if err := d.CopyFromHost(buf, 0, src, nil); err != nil {
				t.Error(err)
			}
			if err := d.CopyToHost(dst, buf, 0, nil); err != nil || !bytes.Equal(src, dst) {
				t.Errorf("wrong bytes, %v", err)
			}
		})
	}
	group.Wait()
	if b.pinned > largeSlots+smallSlots {
		t.Errorf("%d staging slots", b.pinned)
	}
	buf := alloc(t, d, n, nil)
	failure := errors.New("bus")
	for _, call := range []string{"copyIn", "copyOut"} {
		b.failNext(call, failure)
		is(t, d.CopyFromHost(buf, 0, make([]byte, n), nil), map[string]error{"copyIn": failure, "copyOut": nil}[call])
		is(t, d.CopyToHost(make([]byte, n), buf, 0, nil), map[string]error{"copyIn": nil, "copyOut": failure}[call])
		b.failNext(call, nil)
	}
	buf.Free()
	if p := d.Pool(); p.InUse != 0 {
		t.Errorf("%+v", p)
	}
	eventually(t, "the end of goroutines", func() bool { return runtime.NumGoroutine() <= before })

	fresh, b := gpu(t, 0)
	b.failNext("allocHost", failure)
	buf = alloc(t, fresh, n, nil)
	is(t, fresh.CopyFromHost(buf, 0, make([]byte, n), nil), failure)
	b.failNext("allocHost", nil)
	if err := fresh.CopyFromHost(buf, 0, make([]byte, n), nil); err != nil {
		t.Error(err)
	}
}

func TestCopyBetweenDevices(t *testing.T) {
	a, _ := gpu(t, 0)
	b, _ := gpu(t, 0)
	host := cpu(t, 0)
	host2 := cpu(t, 0)
	rng := rand.New(rand.NewPCG(1, 2))
	want := randomBytes(rng, 300_000)
	for _, from := range []*Device{a, host} {
		for _, to := range []*Device{a, b, host, host2} {
			src, dst := alloc(t, from, 300_001, nil), alloc(t, to, 300_002, nil)
			if err := from.CopyFromHost(src, 1, want, nil); err != nil {
				t.Fatal(err)
			}
			if err := to.Copy(dst, 2, src, 1, 300_000, nil); err != nil {
				t.Fatalf("%v to %v: %v", from, to, err)
			}
			got := make([]byte, 300_000)
			if err := to.CopyToHost(got, dst, 2, nil); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%v to %v: wrong bytes, %v", from, to, err)
			}
			src.Free()
			is(t, to.Copy(dst, 2, src, 1, 10, nil), ErrFreed)
			dst.Free()
		}
	}
	for _, d := range []*Device{a, b, host, host2} {
		if p := d.Pool(); p.InUse != 0 {
			t.Errorf("%v: %+v", d, p)
		}
	}
}

// A transfer orders the streams as a launch does.
func TestTransferOrder(t *testing.T) {
	d, b := gpu(t, 0)
	s := stream(t, d, "s")
	x := alloc(t, d, 8, s)
	host := make([]byte, 8)
	if err := d.CopyFromHost(x, 0, host, s); err != nil {
		t.Fatal(err)
	}
	b.take()
	if err := d.CopyToHost(host, x, 0, nil); err != nil {
		t.Fatal(err)
	}
	same(t, "a copy out on another stream", b.take(), []string{"record s", "wait main", "syncCopyOut"})
	run(t, s, nil, []*Buffer{x})
	same(t, "a write after that copy", b.take(), nil) // it is complete
}

func TestGraph(t *testing.T) {
	d, b := gpu(t, 0)
	s, other := stream(t, d, "s"), stream(t, d, "other")
	x, y := alloc(t, d, 1<<20, nil), alloc(t, d, 1<<20, nil)
	if err := s.BeginCapture(); err != nil {
		t.Fatal(err)
	}
	is(t, s.BeginCapture(), ErrDevice)
	is(t, s.Synchronize(context.Background()), ErrDevice)
	is(t, s.Close(), ErrDevice)
	is(t, d.CopyFromHost(x, 0, make([]byte, 8), s), ErrDevice)
	is(t, d.CopyToHost(make([]byte, 8), x, 0, s), ErrDevice)
	if err := d.Synchronize(context.Background()); err != nil {
		t.Error(err)
	}
	run(t, other, nil, []*Buffer{x})
	b.take()
	// Temporaries of the sequence share a block, which stays the graph's own.
	var addr uint64
	for i := range 3 {
		tmp := alloc(t, d, 1<<20, s)
		if i == 0 {
			addr = tmp.Addr()
		} else if tmp.Addr() != addr {
			t.Error("a block freed in the sequence does not serve it again")
		}
		run(t, s, []*Buffer{x}, []*Buffer{tmp})
		run(t, s, []*Buffer{tmp}, []*Buffer{y})
		tmp.Free()
	}
	same(t, "calls while recording", b.take(), []string{"alloc"})
	g, err := s.EndCapture()
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.EndCapture()
	is(t, err, ErrDevice)
	if tmp := alloc(t, d, 1<<20, s); tmp.Addr() == addr {
		t.Error("the graph's memory was given away")
	} else {
		tmp.Free()
	}
	b.take()
	if err := g.Launch(s); err != nil {
		t.Fatal(err)
	}
	same(t, "a launch waits for x", b.take(), []string{"record other", "wait s", "launchExec s"})
	if err := g.Launch(other); err != nil {
		t.Fatal(err)
	}
	same(t, "a launch elsewhere waits for the last", b.take(), []string{"record s", "wait other", "launchExec other"})
	run(t, d.main, []*Buffer{y}, nil)
	same(t, "a reader waits for the graph", b.take(), []string{"record other", "wait main"})

	// Another recording takes the place of the first.
	if err := s.BeginCapture(); err != nil {
		t.Fatal(err)
	}
	run(t, s, []*Buffer{y}, []*Buffer{x})
	g2, err := s.EndCapture()
	if err != nil {
		t.Fatal(err)
	}
	refusal := &driverError{code: 910, call: "cuGraphExecUpdate", name: "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE"}
	b.failNext("update", refusal)
	is(t, g.Update(g2), refusal)
	b.failNext("update", nil)
	if err := g2.Launch(nil); err != nil {
		t.Error(err)
	}
	if err := g.Update(g2); err != nil {
		t.Fatal(err)
	}
	is(t, g2.Launch(nil), ErrDevice)
	is(t, g.Update(g2), ErrDevice)
	is(t, g.Update(g), ErrDevice)
	is(t, g.Update(nil), ErrDevice)
	if err := g.Launch(s); err != nil {
		t.Error(err)
	}
	x.Free()
	is(t, g.Launch(s), ErrFreed)
	for range 2 {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
	is(t, g.Launch(s), ErrDevice)
	y.Free()
	if p := d.Pool(); p.InUse != 0 {
		t.Errorf("%+v", p)
	}
	if n := b.count("closeExec"); n != 2 || b.count("closeGraph") != 2 {
		t.Errorf("%d executables were closed", n)
	}
	if err := d.Trim(); err != nil || b.bytes() != 0 {
		t.Errorf("%d bytes stayed, %v", b.bytes(), err)
	}
}

// A dropped graph, and what it alone kept alive, comes back.
func TestDroppedGraph(t *testing.T) {
	d, b := gpu(t, 0)
	s := stream(t, d, "s")
	func() {
		if err := s.BeginCapture(); err != nil {
			t.Fatal(err)
		}
		tmp, out := alloc(t, d, 1<<20, s), alloc(t, d, 1<<20, s)
		run(t, s, nil, []*Buffer{tmp, out})
		tmp.Free()
		if _, err := s.EndCapture(); err != nil {
			t.Fatal(err)
		}
	}()
	eventually(t, "the end of a dropped graph", func() bool { d.collectNow(); return d.Pool().InUse == 0 })
	if b.count("closeExec") != 1 {
		t.Error("its executable stayed")
	}
}

// On the CPU a sequence is the work itself, kept and run again.
func TestGraphOnCPU(t *testing.T) {
	d := cpu(t, 0)
	s := stream(t, d, "s")
	x, y := alloc(t, d, 8, nil), alloc(t, d, 8, nil)
	before := d.Pool().InUse
	if err := s.BeginCapture(); err != nil {
		t.Fatal(err)
	}
	is(t, d.CopyFromHost(x, 0, make([]byte, 8), s), ErrDevice)
	is(t, d.CopyToHost(make([]byte, 8), x, 0, s), ErrDevice)
	tmp := alloc(t, d, 8, s)
	add := func(dst, src *Buffer) func(int, uint64) error {
		return func(int, uint64) error { dst.bytes(0, 8)[0] += src.bytes(0, 8)[0]; return nil }
	}
	kept := &pooledWork{run: func() { tmp.bytes(0, 8)[0] = 1 }}
	for _, err := range []error{
		d.LaunchWork(s, nil, []*Buffer{tmp}, kept),
		d.Launch(s, []*Buffer{tmp, x}, []*Buffer{tmp}, add(tmp, x)),
		d.Launch(s, []*Buffer{tmp, y}, []*Buffer{y}, add(y, tmp)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	is(t, d.Launch(nil, []*Buffer{tmp}, nil, func(int, uint64) error { return nil }), ErrDevice)
	kept.run = func() { t.Error("the work that was used again ran") }
	tmp.Free()
	if x.bytes(0, 8)[0] != 0 || y.bytes(0, 8)[0] != 0 {
		t.Error("recorded work has run")
	}
	g, err := s.EndCapture()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	want := byte(0)
	for i := range byte(3) {
		x.bytes(0, 8)[0] = 10 * i
		want += 1 + 10*i
		if err := g.Launch(nil); err != nil {
			t.Fatal(err)
		}
		if got := y.bytes(0, 8)[0]; got != want {
			t.Errorf("launch %d: %d, want %d", i, got, want)
		}
	}
	x.Free()
	is(t, g.Launch(nil), ErrFreed)
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	is(t, g.Launch(nil), ErrDevice)
	y.Free()
	if p := d.Pool(); p.InUse != 0 || before == 0 {
		t.Errorf("%+v", p)
	}
}

// pooledWork is Work whose owner uses it again.
type pooledWork struct{ run func() }

func (w *pooledWork) Start(int, uint64) error { w.run(); return nil }

func (w *pooledWork) Keep() Work { k := *w; return &k }
