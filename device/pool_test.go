package device

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"
)

func TestPoolCounters(t *testing.T) {
	bothKinds(t, func(t *testing.T, d *Device) {
		for range 1000 {
			alloc(t, d, 100_000, nil).Free()
		}
		got := d.Pool()
		size := classOf(100_000)
		want := PoolStats{Cached: size, Peak: size, Limit: d.limit(), Allocs: 1, Reuses: 999}
		if got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		if err := d.Trim(); err != nil {
			t.Fatal(err)
		}
		want.Cached, want.Trims = 0, 1
		if got := d.Pool(); got != want {
			t.Errorf("after Trim %+v, want %+v", got, want)
		}
	})
}

func TestAllocAlignment(t *testing.T) {
	d := cpu(t, 0)
	for n := int64(1); n < 5000; n = n*5/4 + 1 {
		b := alloc(t, d, n, nil)
		if b.Addr()%64 != 0 || b.Addr() != uint64(uintptr(b.Ptr())) || b.Size() != n {
			t.Fatalf("%d bytes at %#x (%p), size %d", n, b.Addr(), b.Ptr(), b.Size())
		}
		mem := b.bytes(0, n)
		mem[0], mem[n-1] = 1, 2
		defer b.Free()
	}
}

func TestAllocNothingAndNonsense(t *testing.T) {
	bothKinds(t, func(t *testing.T, d *Device) {
		b := alloc(t, d, 0, nil)
		if b.Size() != 0 || b.Addr() != 0 || b.Ptr() != nil || d.Pool().Allocs != 0 {
			t.Error("no bytes are something")
		}
		run(t, d.main, []*Buffer{b}, []*Buffer{b})
		b.Free()
		b.Free()
		is(t, d.Launch(nil, []*Buffer{b}, nil, nil), ErrFreed)
		_, err := d.Alloc(-1, nil)
		is(t, err, ErrDevice)
		for _, n := range []int64{math.MaxInt64, 1 << 62, maxBytes + 1} {
			_, err := d.Alloc(n, nil)
			is(t, err, ErrOutOfMemory)
		}
		other := cpu(t, 0)
		_, err = d.Alloc(1, other.DefaultStream())
		is(t, err, ErrDevice)
		if s := d.Pool(); s.InUse != 0 {
			t.Errorf("%d bytes lost", s.InUse)
		}
	})
}

// Memory that was freed on one stream is not reused on another.
func TestPoolPerStream(t *testing.T) {
	d, _ := gpu(t, 0)
	s := stream(t, d, "s")
	alloc(t, d, 1000, d.main).Free()
	alloc(t, d, 1000, s).Free()
	if p := d.Pool(); p.Allocs != 2 || p.Reuses != 0 {
		t.Errorf("two streams: %+v", p)
	}
	// After Close its blocks serve the default stream.
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	a, b := alloc(t, d, 1000, nil), alloc(t, d, 1000, nil)
	if p := d.Pool(); p.Allocs != 2 || p.Reuses != 2 {
		t.Errorf("after Close: %+v", p)
	}
	a.Free()
	b.Free()
}

func TestLimit(t *testing.T) {
	bothKinds(t, func(t *testing.T, d *Device) {
		d.SetMemoryLimit(1_000_000)
		_, err := d.Alloc(2_000_000, nil)
		is(t, err, ErrOutOfMemory)
		if p := d.Pool(); p.InUse != 0 || p.Allocs != 0 {
			t.Errorf("after a refusal: %+v", p)
		}
		alloc(t, d, 900_000, nil).Free()
		d.SetMemoryLimit(0)
		want := int64(1 << 30)
		if d.Kind() == CPU {
			want -= want / 8 // for Go's heap, the system and other programs
		}
		if l := d.Pool().Limit; l != want {
			t.Errorf("the limit 0 means %d, want %d", l, want)
		}
		alloc(t, d, 2_000_000, nil).Free()
	})
}

// Idle blocks of other sizes and streams are released after the work on them, before an
// allocation fails.
func TestTrimBeforeOutOfMemory(t *testing.T) {
	d, b := gpu(t, 8<<20)
	s := stream(t, d, "s")
	for _, x := range []*Stream{d.main, s} {
		for _, n := range []int64{1 << 20, 512 << 10} {
			buf := alloc(t, d, n, x)
			run(t, x, nil, []*Buffer{buf})
			buf.Free()
		}
	}
	b.take()
	big := alloc(t, d, 6<<20, nil) // 3 MiB are idle: one must go
	same(t, "calls", b.take(), []string{"sync main", "free", "alloc"})
	if p := d.Pool(); p.InUse != 6<<20 || p.Cached != 2<<20 || p.Trims != 1 {
		t.Errorf("%+v", p)
	}
	alloc(t, d, 1<<20, s).Free() // still there
	if p := d.Pool(); p.Reuses != 1 {
		t.Errorf("%+v", p)
	}
	big.Free()
	alloc(t, d, 8<<20, nil).Free() // all must go
	if p := d.Pool(); p.Cached != 8<<20 || b.bytes() != 8<<20 {
		t.Errorf("%+v with %d bytes at the driver", p, b.bytes())
	}
}

func TestOutOfMemoryError(t *testing.T) {
	d, _ := gpu(t, 64<<20)
	d.collector.gc = func() time.Duration { return 0 }
	var keep []*Buffer
	for i := range 8 {
		b := alloc(t, d, int64(i+1)<<20, nil)
		b.State().SetLabel(func() (what, origin string) { return fmt.Sprintf("float32 [%d]", i), "" })
		keep = append(keep, b)
	}
	_, err := d.Alloc(40<<20, nil)
	is(t, err, ErrOutOfMemory)
	oom, ok := errors.AsType[*OutOfMemoryError](err)
	if !ok {
		t.Fatalf("%T", err)
	}
	if oom.Bytes != 40<<20 || oom.Pool.Limit != 64<<20 || len(oom.Live) != largest {
		t.Errorf("%+v", oom)
	}
	for i, l := range oom.Live {
		if want := int64(8 - i); l.Bytes != want<<20 || l.Label != fmt.Sprintf("float32 [%d]", want-1) {
			t.Errorf("the %d. largest: %+v", i, l)
		}
	}
	for _, word := range []string{"40 MiB", "cuda:0", "limit of 64 MiB", "8 MiB float32 [7]"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q lacks %q", err, word)
		}
	}
	runtime.KeepAlive(keep)
}

func TestThousandOutOfMemoryErrors(t *testing.T) {
	d, b := gpu(t, 4<<20)
	keep := alloc(t, d, 3<<20, nil) // a block of 4 MiB
	before := d.Pool()
	for i := range 1000 {
		n := int64(1 << 20)
		if i%2 == 1 {
			n = 1 << 30
		}
		if _, err := d.Alloc(n, nil); !errors.Is(err, ErrOutOfMemory) {
			t.Fatal(err)
		}
	}
	after := d.Pool()
	if after.Collections == before.Collections || after.Waits != before.Waits {
		t.Errorf("%d collections, %d waits", after.Collections, after.Waits)
	}
	after.Collections, before.Collections = 0, 0
	if after != before || b.bytes() != before.InUse {
		t.Errorf("%+v, before %+v, and %d bytes at the driver", after, before, b.bytes())
	}
	keep.Free()
	alloc(t, d, 4<<20, nil).Free()
}

// The device can be full before the limit is reached.
func TestDriverOutOfMemory(t *testing.T) {
	d, b := gpu(t, 0)
	full := &driverError{code: codeOutOfMemory, call: "cuMemAlloc", name: "CUDA_ERROR_OUT_OF_MEMORY", text: "out of memory"}
	alloc(t, d, 1<<20, nil).Free()
	b.failNext("alloc", full)
	_, err := d.Alloc(8<<20, nil)
	is(t, err, ErrOutOfMemory)
	is(t, err, ErrDevice)
	if !strings.Contains(err.Error(), "CUDA_ERROR_OUT_OF_MEMORY") {
		t.Errorf("the driver's word is lost: %v", err)
	}
	if p := d.Pool(); p.InUse != 0 || p.Cached != 0 || p.Trims != 1 {
		t.Errorf("idle blocks were kept: %+v", p)
	}
	broken := &driverError{code: 700, call: "cuMemAlloc", name: "CUDA_ERROR_ILLEGAL_ADDRESS", text: "an illegal memory access"}
	b.failNext("alloc", broken)
	b.take()
	_, err = d.Alloc(8<<20, nil)
	is(t, err, broken)
	if errors.Is(err, ErrOutOfMemory) || b.count("alloc") != 1 {
		t.Errorf("tried again after %v", err)
	}
	b.failNext("alloc", nil)
	alloc(t, d, 8<<20, nil).Free()
	if p := d.Pool(); p.InUse != 0 {
		t.Errorf("%+v", p)
	}
}

// The memory of dropped temporaries is reused although no call frees them, and the pool
// stays within its limit.
func TestDroppedTemporaries(t *testing.T) {
	bothKinds(t, func(t *testing.T, d *Device) {
		d.SetMemoryLimit(64 << 20)
		n := 100_000
		if testing.Short() {
			n = 10_000
		}
		for range n {
			b := alloc(t, d, 64<<10, nil)
			run(t, d.main, nil, []*Buffer{b})
		}
		p := d.Pool()
		if p.Peak > 64<<20 || p.Allocs > 64<<20/(64<<10) {
			t.Errorf("%+v", p)
		}
		d.collectNow()
		if p := d.Pool(); p.InUse > 1<<20 {
			t.Errorf("%d bytes were not found", p.InUse)
		}
	})
}

func TestCPUKeepsLittle(t *testing.T) {
	d := cpu(t, 1<<30) // an eighth of it may be idle
	for n := int64(1 << 20); n <= 40<<20; n += 2 << 20 {
		alloc(t, d, n, nil).Free()
		if c := d.Pool().Cached; c > 128<<20 {
			t.Fatalf("%d bytes are idle", c)
		}
	}
	if p := d.Pool(); p.Trims == 0 || p.InUse != 0 {
		t.Errorf("%+v", p)
	}
}

func TestFree(t *testing.T) {
	bothKinds(t, func(t *testing.T, d *Device) {
		b := alloc(t, d, 1<<12, nil)
		if b.Freed() {
			t.Error("freed at birth")
		}
		for range 3 {
			b.Free()
			if !b.Freed() || d.Pool().InUse != 0 || d.Pool().Cached != 1<<12 {
				t.Fatalf("after Free: %+v", d.Pool())
			}
		}
		good := alloc(t, d, 8, nil)
		never := func(int, uint64) error { t.Error("launched"); return nil }
		is(t, d.Launch(nil, []*Buffer{good, b}, nil, never), ErrFreed)
		is(t, d.Launch(nil, nil, []*Buffer{b}, never), ErrFreed)
		is(t, d.CopyFromHost(b, 0, make([]byte, 8), nil), ErrFreed)
		is(t, d.CopyToHost(make([]byte, 8), b, 0, nil), ErrFreed)
		is(t, d.Copy(good, 0, b, 0, 8, nil), ErrFreed)
		is(t, d.Copy(b, 0, good, 0, 8, nil), ErrFreed)
		good.Free()
	})
}

// Memory that is freed while work of the CPU uses it is not handed out before
// that work is done.
func TestFreeDuringLaunch(t *testing.T) {
	d := cpu(t, 0)
	b := alloc(t, d, 1<<12, nil)
	addr := b.Addr()
	err := d.Launch(nil, []*Buffer{b}, []*Buffer{b}, func(int, uint64) error {
		b.Free()
		c := alloc(t, d, 1<<12, nil)
		defer c.Free()
		if c.Addr() == addr {
			t.Error("memory in use was given away")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if p := d.Pool(); p.InUse != 0 || p.Cached != 2<<12 {
		t.Errorf("%+v", p)
	}
}

func TestPoison(t *testing.T) {
	bothKinds(t, func(t *testing.T, d *Device) {
		b := alloc(t, d, 8, nil)
		defer b.Free()
		cause := errors.New("the write before failed")
		b.State().Fail(cause)
		is(t, b.Err(), cause)
		never := func(int, uint64) error { t.Error("launched"); return nil }
		is(t, d.Launch(nil, []*Buffer{b}, nil, never), cause)
		is(t, d.Launch(nil, nil, []*Buffer{b}, never), cause)
		is(t, d.CopyToHost(make([]byte, 8), b, 0, nil), cause)
		b.State().Heal()
		if err := b.Err(); err != nil {
			t.Error(err)
		}
		run(t, d.main, []*Buffer{b}, []*Buffer{b})
	})
}

func TestWrap(t *testing.T) {
	d, backend := gpu(t, 0)
	var released atomic.Int64
	release := func() { released.Add(1) }
	b, err := Wrap(d, 0x7f0000, 100, release)
	if err != nil {
		t.Fatal(err)
	}
	if b.Addr() != 0x7f0000 || b.Size() != 100 || b.Ptr() != nil || d.Pool().InUse != 0 {
		t.Errorf("%#x, %d bytes, pool %+v", b.Addr(), b.Size(), d.Pool())
	}
	s := stream(t, d, "s")
	run(t, s, nil, []*Buffer{b})
	backend.take()
	b.Free()
	b.Free()
	if released.Load() != 1 {
		t.Errorf("released %d times", released.Load())
	}
	same(t, "Free of foreign memory", backend.take(), []string{"sync s"})

	// Dropped: released after a collection.
	func() {
		if _, err := Wrap(d, 0x7f0000, 100, release); err != nil {
			t.Fatal(err)
		}
	}()
	eventually(t, "the release of a dropped buffer", func() bool { d.collectNow(); return released.Load() == 2 })

	c := cpu(t, 0)
	data := []byte{1, 2, 3}
	h, err := WrapHost(c, unsafe.Pointer(&data[0]), 3, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 3)
	if err := c.CopyToHost(got, h, 0, nil); err != nil || string(got) != "\x01\x02\x03" {
		t.Errorf("%v, %v", got, err)
	}
	h.Free()
	_, err = Wrap(c, 1, 1, nil)
	is(t, err, ErrDevice)
	_, err = WrapHost(d, unsafe.Pointer(&data[0]), 3, nil)
	is(t, err, ErrDevice)
	_, err = Wrap(d, 0, 1, nil)
	is(t, err, ErrDevice)
	_, err = Wrap(d, 1, -1, nil)
	is(t, err, ErrDevice)
}

// Random allocations and frees from many goroutines, on several streams, under
// a limit: the books are right at the end.
func TestPoolRandom(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	bothKinds(t, func(t *testing.T, d *Device) {
		d.SetMemoryLimit(16 << 20)
		streams := []*Stream{d.main, stream(t, d, "a"), stream(t, d, "b")}
		var group sync.WaitGroup
		for g := range 64 {
			group.Go(func() {
				rng := rand.New(rand.NewPCG(seed, uint64(g)))
				var mine []*Buffer
				for range 100 {
					s := streams[rng.IntN(len(streams))]
					b, err := d.Alloc(rng.Int64N(60_000), s)
					if err != nil {
						t.Error(err)
						return
					}
					mine = append(mine, b)
					if err := d.Launch(streams[rng.IntN(len(streams))], mine[:len(mine)-1], []*Buffer{b}, func(int, uint64) error { return nil }); err != nil {
						t.Error(err)
					}
					if len(mine) > 2 {
						i := rng.IntN(len(mine))
						mine[i].Free()
						mine = append(mine[:i], mine[i+1:]...)
					}
				}
				for _, b := range mine {
					b.Free()
				}
			})
		}
		group.Wait()
		p := d.Pool()
		if p.InUse != 0 || p.Peak > p.Limit || p.Cached > p.Limit {
			t.Errorf("%+v", p)
		}
		if err := d.Trim(); err != nil {
			t.Error(err)
		}
		if b, ok := d.backend.(*testBackend); ok && b.bytes() != 0 {
			t.Errorf("%d bytes stayed with the driver", b.bytes())
		}
		if err := d.Synchronize(context.Background()); err != nil {
			t.Error(err)
		}
		if d.live.first != nil {
			t.Error("allocations are left on the list")
		}
	})
}
