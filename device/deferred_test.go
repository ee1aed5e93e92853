package device

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/gpk-go/gpk/internal/deferred"
)

var errJudged = errors.New("judged")

// uncertain returns a buffer whose contents depend on flags that hold word.
func uncertain(t *testing.T, d *Device, word uint64) (*Buffer, *deferred.Error, *Buffer) {
	t.Helper()
	b, err := d.Alloc(64, nil)
	if err != nil {
		t.Fatal(err)
	}
	q, flags, err := d.NewDeferredError(nil, func(flags [2]int64) error {
		if flags[1] != 0 {
			return errJudged
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.CopyFromHost(flags, 0, binary.LittleEndian.AppendUint64(make([]byte, 8), word), nil); err != nil {
		t.Fatal(err)
	}
	if !b.isFresh() {
		t.Error("a new buffer is not fresh")
	}
	b.State().Attach(q)
	return b, q, flags
}

// TestDeferred checks that errors that work finds on the device reach the host, and that writes
// which could not be undone are not made.
func TestDeferred(t *testing.T) {
	for _, word := range []uint64{0, 1} {
		d := newFake(Info{Kind: CUDA, SM: 90, TotalMemory: 1 << 30}, Capabilities{})
		bad := word != 0
		x, q, flags := uncertain(t, d, word)
		ran := 0
		work := func(reads, writes []*Buffer) error {
			return d.Launch(nil, reads, writes, func(int, uint64) error { ran++; return nil })
		}
		// Into new memory: at once, and the deferred error goes with it.
		y, _ := d.Alloc(64, nil)
		if err := work([]*Buffer{x}, []*Buffer{y}); err != nil || ran != 1 {
			t.Fatalf("into new memory: %v, ran %d", err, ran)
		}
		if q.Known() || y.Err() != nil || y.isFresh() {
			t.Error("work into new memory waited, or is not seen")
		}
		// And again: nothing is lost.
		if err := work([]*Buffer{x, y}, []*Buffer{y}); err != nil || ran != 2 || q.Known() {
			t.Errorf("into memory that depends on it: %v, ran %d", err, ran)
		}
		// Into memory that holds something.
		z, _ := d.Alloc(64, nil)
		if err := d.CopyFromHost(z, 0, make([]byte, 64), nil); err != nil {
			t.Fatal(err)
		}
		if err := work([]*Buffer{y}, []*Buffer{z}); errors.Is(err, errJudged) != bad || (ran == 3) == bad {
			t.Errorf("into memory that holds something: %v, ran %d", err, ran)
		}
		if err := z.State().Settled(); err != nil {
			t.Errorf("what was not written: %v", err)
		}
		for _, b := range []*Buffer{x, y} {
			if err := d.CopyToHost(make([]byte, 64), b, 0, nil); errors.Is(err, errJudged) != bad {
				t.Errorf("at the boundary: %v", err)
			}
			if err := b.State().Settled(); errors.Is(err, errJudged) != bad {
				t.Errorf("settled: %v", err)
			}
			b.State().Heal()
			if err := d.CopyToHost(make([]byte, 64), b, 0, nil); err != nil {
				t.Errorf("healed: %v", err)
			}
		}
		if !flags.Freed() {
			t.Error("the flags stay")
		}
	}
}

// TestDeferredSynchronize checks that Synchronize returns an error that work found on the device,
// once.
func TestDeferredSynchronize(t *testing.T) {
	for _, word := range []uint64{0, 1} {
		d := newFake(Info{Kind: CUDA, SM: 90, TotalMemory: 1 << 30}, Capabilities{})
		x, _, flags := uncertain(t, d, word)
		for i, want := range []bool{word != 0, false} {
			if err := d.Synchronize(t.Context()); errors.Is(err, errJudged) != want || !want && err != nil {
				t.Errorf("flags %d, time %d: %v", word, i, err)
			}
		}
		if err := x.Err(); errors.Is(err, errJudged) != (word != 0) {
			t.Errorf("the buffer: %v", err)
		}
		if !flags.Freed() {
			t.Error("the flags stay")
		}
	}
}

// TestDeferredEnd checks that a chain of deferred errors does not grow without bound.
func TestDeferredEnd(t *testing.T) {
	d := newFake(Info{Kind: CUDA, SM: 90, TotalMemory: 1 << 30}, Capabilities{})
	x, _, _ := uncertain(t, d, 0)
	for range 10 * maxDeferred {
		y, _, _ := uncertain(t, d, 0)
		if err := d.Launch(nil, []*Buffer{x}, []*Buffer{y}, func(int, uint64) error { return nil }); err != nil {
			t.Fatal(err)
		}
		x = y
	}
	if n := len(x.a.state.Deferred()); n > maxDeferred+2 {
		t.Errorf("%d deferred errors", n)
	}
}

// TestFreshOnTheCPU: memory of the CPU is fresh until work writes it, also while that runs. Reading
// leaves it so. Memory that Ptr has shown, or that is exposed, may have been written by anybody.
func TestFreshOnTheCPU(t *testing.T) {
	d, err := Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func(b *Buffer) error{
		"CopyFromHost": func(b *Buffer) error { return d.CopyFromHost(b, 0, make([]byte, 8), nil) },
		"Copy": func(b *Buffer) error {
			other := alloc(t, d, 64, nil)
			defer other.Free()
			return d.Copy(b, 0, other, 0, 64, nil)
		},
		"Launch": func(b *Buffer) error {
			return d.Launch(nil, nil, []*Buffer{b}, func(int, uint64) error {
				if b.isFresh() {
					t.Error("fresh while it is written")
				}
				return nil
			})
		},
		"a failed Launch": func(b *Buffer) error {
			if err := d.Launch(nil, nil, []*Buffer{b}, func(int, uint64) error { return errJudged }); err == nil {
				t.Error("no error")
			}
			return nil
		},
		"Expose": func(b *Buffer) error { b.Expose(); return nil },
		"Ptr":    func(b *Buffer) error { *(*byte)(b.Ptr()) = 1; return nil },
	} {
		b := alloc(t, d, 64, nil)
		if err := d.Launch(nil, []*Buffer{b}, nil, func(int, uint64) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if !b.isFresh() {
			t.Errorf("%s: not fresh before", name)
		}
		if err := write(b); err != nil {
			t.Fatal(name, err)
		}
		if b.isFresh() {
			t.Errorf("%s: fresh afterwards", name)
		}
		b.Free()
	}
}
