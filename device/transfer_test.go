package device

import (
	"bytes"
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
