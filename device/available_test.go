package device

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// memoryBackend is a testBackend that reports free memory.
type memoryBackend struct {
	*testBackend
	left  int64
	asked int
	err   error

	before, after func() // run once each, before and after left is read
}

func (b *memoryBackend) memory() (free, total int64, err error) {
	b.asked++
	once := func(f *func()) {
		if g := *f; g != nil {
			*f = nil
			g()
		}
	}
	once(&b.before)
	free = b.left
	once(&b.after)
	return free, 1 << 30, b.err
}

// exactBackend is a memoryBackend whose memory its allocations take. An allocation
// calls middle, once, when it has taken its memory and has not returned.
type exactBackend struct {
	memoryBackend
	middle func()
}

func (b *exactBackend) alloc(n int64) (memory, error) {
	m, err := b.memoryBackend.alloc(n)
	if err == nil {
		b.left -= n
	}
	if f := b.middle; f != nil {
		b.middle = nil
		f()
	}
	return m, err
}

func (b *exactBackend) free(m memory) error {
	b.mu2.Lock()
	b.left += b.live[m.addr]
	b.mu2.Unlock()
	return b.memoryBackend.free(m)
}

// TestAvailable checks that the driver is queried only once in a while, that allocations
// of the pool count at once, and that running out of memory queries the driver again.
func TestAvailable(t *testing.T) {
	b := &memoryBackend{testBackend: newTestBackend(), left: 600 << 20}
	d, err := newDevice(h200(0), b, nil, &ranges{}, newCollector(), 0)
	if err != nil {
		t.Fatal(err)
	}
	want := func(what string, mib int64, asked int) {
		t.Helper()
		n, err := d.Available()
		if err != nil || n != mib<<20 || b.asked != asked {
			t.Errorf("%s: %d bytes, asked %d times, error %v; want %d MiB, %d times", what, n, b.asked, err, mib, asked)
		}
		d.asked.expired = new(atomic.Bool) // no timer has it, however slow the machine is
	}
	want("at first", 600, 1)
	x := alloc(t, d, 64<<20, nil)
	b.left -= 64 << 20
	want("after an allocation", 536, 1)
	x.Free()
	want("the pool's", 600, 1)
	d.asked.expired.Store(true)
	b.left -= 100 << 20 // another program's
	want("later", 500, 2)
	d.SetMemoryLimit(256 << 20)
	want("within a limit", 256, 2)
	d.SetMemoryLimit(0)
	b.failNext("alloc", ErrOutOfMemory)
	if _, err := d.Alloc(300<<20, nil); !errors.Is(err, ErrOutOfMemory) {
		t.Errorf("error %v", err)
	}
	b.left = 0
	want("when memory ran out: what the pool keeps", 64, 3)
	d.asked = answer{}
	b.err = errBus
	_, err = d.Available()
	is(t, err, errBus)

	h := cpu(t, 1<<20)
	if n, err := h.Available(); err != nil || n < 0 || n > 1<<20 {
		t.Errorf("a CPU's: %d, error %v", n, err)
	}
}

// TestAnswerExpires checks that the driver is queried again after askEvery, and not
// before.
func TestAnswerExpires(t *testing.T) {
	b := &memoryBackend{testBackend: newTestBackend(), left: 600 << 20}
	d, err := newDevice(h200(0), b, nil, &ranges{}, newCollector(), 0)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			wait  time.Duration
			asked int
		}{{0, 1}, {askEvery - 1, 1}, {1, 2}, {askEvery / 2, 2}, {askEvery / 2, 3}, {time.Hour, 4}} {
			time.Sleep(c.wait)
			synctest.Wait()
			if n, err := d.Available(); err != nil || n != 600<<20 || b.asked != c.asked {
				t.Errorf("%v later: %d bytes, asked %d times, error %v; want 600 MiB, %d times", c.wait, n, b.asked, err, c.asked)
			}
		}
		time.Sleep(askEvery)
	})
}

// TestAvailableMeanwhile checks that allocations and frees of other goroutines during a
// query count once, in this answer and in those that reuse it.
func TestAvailableMeanwhile(t *testing.T) {
	const kib = int64(1 << 10)
	for name, f := range map[string]func(d *Device, b *exactBackend) (want int64){
		"taken before the look": func(d *Device, b *exactBackend) int64 {
			b.before = func() { alloc(t, d, 64*kib, nil) }
			return 536 * kib
		},
		"taken behind the look": func(d *Device, b *exactBackend) int64 {
			b.after = func() { alloc(t, d, 64*kib, nil) }
			return 536 * kib
		},
		"given back before the look": func(d *Device, b *exactBackend) int64 {
			x := alloc(t, d, 64*kib, nil)
			b.before = func() { x.Free(); trim(t, d) }
			return 600 * kib
		},
		"given back behind the look": func(d *Device, b *exactBackend) int64 {
			x := alloc(t, d, 64*kib, nil)
			b.after = func() { x.Free(); trim(t, d) }
			return 600 * kib
		},
		"one for another": func(d *Device, b *exactBackend) int64 {
			x := alloc(t, d, 64*kib, nil)
			b.before = func() { x.Free(); trim(t, d) }
			b.after = func() { alloc(t, d, 128*kib, nil) }
			return 472 * kib
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := &exactBackend{memoryBackend: memoryBackend{testBackend: newTestBackend(), left: 600 * kib}}
			d, err := newDevice(h200(0), b, nil, &ranges{}, newCollector(), 0)
			if err != nil {
				t.Fatal(err)
			}
			want := f(d, b)
			for i := range 3 {
				if n, err := d.Available(); err != nil || n != want {
					t.Errorf("answer %d: %d KiB, error %v; want %d KiB", i, n/kib, err, want/kib)
				}
			}
		})
	}
	// An allocation that the driver has not answered for yet: its memory is not
	// available, whether it is taken or not, and the answer is not kept.
	b := &exactBackend{memoryBackend: memoryBackend{testBackend: newTestBackend(), left: 600 * kib}}
	d, err := newDevice(h200(0), b, nil, &ranges{}, newCollector(), 0)
	if err != nil {
		t.Fatal(err)
	}
	b.middle = func() {
		if n, err := d.Available(); err != nil || n > 536*kib || n < 472*kib {
			t.Errorf("in the middle: %d KiB, error %v", n/kib, err)
		}
	}
	alloc(t, d, 64*kib, nil)
	if n, err := d.Available(); err != nil || n != 536*kib {
		t.Errorf("afterwards: %d KiB, error %v; want 536", n/kib, err)
	}
}

func trim(t *testing.T, d *Device) {
	t.Helper()
	if err := d.Trim(); err != nil {
		t.Error(err)
	}
}
