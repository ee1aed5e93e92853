package array

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/gpk-go/gpk/dtype"
)

// TestReadsOnce: what an operation took is looked at once, however often it is an
// operand.
func TestReadsOnce(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	x, k, other := Ones(dtype.Float32, 8), Ones(dtype.Float32, 8), Ones(dtype.Float32, 8)
	if err := Eval(x, k, other); err != nil {
		t.Fatal(err)
	}
	y := x.Add(1)
	for range 14 {
		y = y.Clamp(k.Neg(), y)
	}
	v := y.v
	if !v.op.fuses() || v.op.depth < 14 {
		t.Fatalf("a chain of depth %d", v.op.depth)
	}
	best := time.Hour
	for range 5 {
		start := time.Now()
		for range 100 {
			if v.readsFrom(other.v) || v.op.readsBuffer(other.v.buf.Load()) {
				t.Fatal("it reads what it does not")
			}
			if _, changed := v.op.changed(); changed {
				t.Fatal("nothing was written")
			}
		}
		best = min(best, time.Since(start))
	}
	// Each of 15 once takes microseconds, all ways down 30,000 times as long.
	if best > 50*time.Millisecond {
		t.Errorf("asking 100 times took %v", best)
	}
	if !v.readsFrom(x.v) || !v.readsFrom(k.v) {
		t.Error("it does not read what it does")
	}
	if got, err := ToSlice[float32](y); err != nil || !slices.Equal(got, []float32{2, 2, 2, 2, 2, 2, 2, 2}) {
		t.Error(got, err)
	}
}

// TestStartStallsNobody: who waits for a value that is being started does not keep
// others from their operations.
func TestStartStallsNobody(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	x, y := Ones(dtype.Float32, 8), Ones(dtype.Float32, 8)
	if err := Eval(x, y); err != nil {
		t.Fatal(err)
	}
	slow := x.Sum(0) // open
	first := y.Sum(0)
	slow.v.mu.Lock() // as a start does
	written := make(chan error, 1)
	go func() { written <- Into(x, y) }()
	done := make(chan error, 1)
	go func() {
		for deadline := time.Now().Add(50 * time.Millisecond); time.Now().Before(deadline); {
			if err := Eval(y.Sum(0), y.Mean(0)); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("others wait for a start that is none of theirs")
	}
	select {
	case err := <-written:
		t.Error("the memory was written before its reader had read it:", err)
		written <- err
	default:
	}
	slow.v.mu.Unlock()
	if err := <-written; err != nil {
		t.Error(err)
	}
	if got, err := Item[float32](slow); err != nil || got != 8 {
		t.Error(got, err)
	}
	if got, err := Item[float32](first); err != nil || got != 8 {
		t.Error(got, err)
	}
}

// TestFromBufferSettles: two arrays over one buffer see each other's writes, and
// what reads the one starts before the other is written.
func TestFromBufferSettles(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	a := Ones(dtype.Float32, 8)
	buf, err := a.Buffer()
	if err != nil {
		t.Fatal(err)
	}
	b := FromBuffer(buf, dtype.Float32, 2, 4)
	c := FromBuffer(buf, dtype.Float32, 8)
	before, beforeB := a.Add(1), b.Mul(3)
	if err := Into(c, Zeros(dtype.Float32, 8)); err != nil {
		t.Fatal(err)
	}
	for _, w := range []struct {
		a    *Array
		want float32
	}{{before.Reshape(8), 2}, {beforeB.Reshape(8), 3}, {a, 0}, {b.Reshape(8), 0}, {c, 0}} {
		got, err := ToSlice[float32](w.a)
		if err != nil || !slices.Equal(got, slices.Repeat([]float32{w.want}, 8)) {
			t.Errorf("%v, %v; want %v", got, err, w.want)
		}
	}
	if s := FromBuffer(buf, dtype.Int32, 8); s.Err() != nil || s.same(a) {
		t.Error("elements of another type are another value")
	}
	b.Free()
	if _, err := ToSlice[float32](a); err == nil {
		t.Error("the memory was given back")
	}
}

// TestDoubtStays: memory whose contents turn out to be of no use is not mended by what
// is computed from them.
func TestDoubtStays(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	bad := errors.New("bad")
	for name, write := range map[string]func(x, y *Array) error{
		"Into":       func(x, y *Array) error { return Into(x, addFake(x, y)) },
		"a view":     func(x, _ *Array) error { return Into(x, x.Flip(0)) },
		"AddInPlace": func(x, y *Array) error { return x.AddInPlace(addFake(y, y)).Err() },
	} {
		fake := onFake(t, 3)
		x, y, other := fake[0], fake[1], fake[2]
		buf, err := x.Buffer()
		if err != nil {
			t.Fatal(err)
		}
		d := x.on()
		doubt, err := d.NewDoubt(nil, func(flags [2]int64) error {
			if flags[1] != 0 {
				return bad
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.CopyFromHost(doubt.Flags(), 0, binary.LittleEndian.AppendUint64(make([]byte, 8), 1), nil); err != nil {
			t.Fatal(err)
		}
		buf.Doubt(doubt)
		if err := write(x, y); !errors.Is(err, bad) {
			t.Errorf("%s: %v, want %v", name, err, bad)
		}
		if err := Eval(x); !errors.Is(err, bad) {
			t.Errorf("%s, afterwards: %v, want %v", name, err, bad)
		}
		if err := errors.Join(Into(x, addFake(y, other)), Eval(x)); err != nil {
			t.Errorf("%s, mended: %v", name, err)
		}
	}
}
