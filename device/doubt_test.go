package device

import (
	"encoding/binary"
	"errors"
	"testing"
)

var errJudged = errors.New("judged")

// doubted returns a buffer whose contents depend on flags that hold word.
func doubted(t *testing.T, d *Device, word uint64) (*Buffer, *Doubt) {
	t.Helper()
	b, err := d.Alloc(64, nil)
	if err != nil {
		t.Fatal(err)
	}
	q, err := d.NewDoubt(nil, func(flags [2]int64) error {
		if flags[1] != 0 {
			return errJudged
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.CopyFromHost(q.Flags(), 0, binary.LittleEndian.AppendUint64(make([]byte, 8), word), nil); err != nil {
		t.Fatal(err)
	}
	if !b.Fresh() {
		t.Error("a new buffer is not fresh")
	}
	b.Doubt(q)
	return b, q
}

// TestDoubt: what work finds on the device reaches the host, and no write that
// cannot be taken back.
func TestDoubt(t *testing.T) {
	for _, word := range []uint64{0, 1} {
		d := newFake(Info{Kind: CUDA, SM: 90, TotalMemory: 1 << 30}, Capabilities{})
		bad := word != 0
		x, q := doubted(t, d, word)
		ran := 0
		work := func(reads, writes []*Buffer) error {
			return d.Launch(nil, reads, writes, func(int, uint64) error { ran++; return nil })
		}
		// Into new memory: at once, and the doubt goes with it.
		y, _ := d.Alloc(64, nil)
		if err := work([]*Buffer{x}, []*Buffer{y}); err != nil || ran != 1 {
			t.Fatalf("into new memory: %v, ran %d", err, ran)
		}
		if q.clear.Load() || y.Err() != nil || y.Fresh() {
			t.Error("work into new memory waited, or is not seen")
		}
		// And again: nothing is lost.
		if err := work([]*Buffer{x, y}, []*Buffer{y}); err != nil || ran != 2 || q.clear.Load() {
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
		if err := z.Settled(); err != nil {
			t.Errorf("what was not written: %v", err)
		}
		for _, b := range []*Buffer{x, y} {
			if err := d.CopyToHost(make([]byte, 64), b, 0, nil); errors.Is(err, errJudged) != bad {
				t.Errorf("at the boundary: %v", err)
			}
			if err := b.Settled(); errors.Is(err, errJudged) != bad {
				t.Errorf("settled: %v", err)
			}
			b.Heal()
			if err := d.CopyToHost(make([]byte, 64), b, 0, nil); err != nil {
				t.Errorf("healed: %v", err)
			}
		}
		if !q.Flags().Freed() {
			t.Error("the flags stay")
		}
	}
}

// TestDoubtSynchronize: who waits for everything hears of what work has found, once.
func TestDoubtSynchronize(t *testing.T) {
	for _, word := range []uint64{0, 1} {
		d := newFake(Info{Kind: CUDA, SM: 90, TotalMemory: 1 << 30}, Capabilities{})
		x, q := doubted(t, d, word)
		for i, want := range []bool{word != 0, false} {
			if err := d.Synchronize(t.Context()); errors.Is(err, errJudged) != want || !want && err != nil {
				t.Errorf("flags %d, time %d: %v", word, i, err)
			}
		}
		if err := x.Err(); errors.Is(err, errJudged) != (word != 0) {
			t.Errorf("the buffer: %v", err)
		}
		if !q.Flags().Freed() {
			t.Error("the flags stay")
		}
	}
}

// TestDoubtsEnd: a chain of doubts does not grow without end.
func TestDoubtsEnd(t *testing.T) {
	d := newFake(Info{Kind: CUDA, SM: 90, TotalMemory: 1 << 30}, Capabilities{})
	x, _ := doubted(t, d, 0)
	for range 10 * mostDoubts {
		y, _ := doubted(t, d, 0)
		if err := d.Launch(nil, []*Buffer{x}, []*Buffer{y}, func(int, uint64) error { return nil }); err != nil {
			t.Fatal(err)
		}
		x = y
	}
	if n := len(*x.a.doubts.Load()); n > mostDoubts+2 {
		t.Errorf("%d doubts", n)
	}
}
