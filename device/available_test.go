package device

import (
	"errors"
	"testing"
	"time"
)

// memoryBackend is a testBackend that says how much memory is free.
type memoryBackend struct {
	*testBackend
	left  int64
	asked int
	err   error
}

func (b *memoryBackend) memory() (free, total int64, err error) {
	b.asked++
	return b.left, 1 << 30, b.err
}

// TestAvailable: a GPU is asked once in a while, what its pool takes counts at once, and
// memory that runs out has it asked again.
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
		d.asked.at = time.Now().Add(time.Hour) // however slow the machine is
	}
	want("at first", 600, 1)
	x := alloc(t, d, 64<<20, nil)
	b.left -= 64 << 20
	want("after an allocation", 536, 1)
	x.Free()
	want("the pool's", 600, 1)
	d.asked.at = time.Now().Add(-2 * askEvery)
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
