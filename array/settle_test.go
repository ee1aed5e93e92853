package array

import (
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/layout"
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
			if _, changed := v.op.changed(nil); changed {
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

// TestFromBufferTogether: goroutines that make arrays over one buffer at once make
// views of one value, and so does FromLayout: what reads the one starts before the
// other is written.
func TestFromBufferTogether(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	d, err := device.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	for range 300 {
		buf, err := d.Alloc(64, nil)
		if err != nil {
			t.Fatal(err)
		}
		made := make([]*Array, 6)
		var group sync.WaitGroup
		start := make(chan struct{})
		for i := range made {
			group.Go(func() {
				<-start
				switch i % 3 {
				case 0:
					made[i] = FromBuffer(buf, dtype.Float32, 16)
				case 1:
					made[i] = FromBuffer(buf, dtype.Float32, 2, 2)
				default:
					made[i] = FromLayout(buf, dtype.Float32, layout.Layout{Shape: []int{8}, Strides: []int{-2}, Offset: 15})
				}
			})
		}
		close(start)
		group.Wait()
		for i, a := range made {
			if a.Err() != nil || !a.same(made[0]) {
				t.Fatalf("array %d is a value of its own: %v", i, a.Err())
			}
		}
		if err := FromSliceInto(made[0], slices.Repeat([]float32{3}, 16)); err != nil {
			t.Fatal(err)
		}
		before := made[2].Add(1)
		made[4].MulInPlace(5)
		if err := Into(made[3], Zeros(dtype.Float32, 16).To(d)); err != nil {
			t.Fatal(err)
		}
		wants(t, before, 4, 4, 4, 4, 4, 4, 4, 4)
		wants(t, made[1], 0, 0, 0, 0)
	}
}

// TestFromBufferOfTypes: of arrays of two types over one buffer, those of one type are
// views of each other, whichever type came first and whichever Buffer was asked of.
func TestFromBufferOfTypes(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	d, err := device.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	buf, err := d.Alloc(16, nil)
	if err != nil {
		t.Fatal(err)
	}
	types := []dtype.DType{dtype.Float32, dtype.Int32, dtype.Uint8}
	first := make([]*Array, len(types))
	for i, dt := range types {
		first[i] = FromBuffer(buf, dt, 4)
	}
	for i, dt := range types {
		if _, err := first[i].Buffer(); err != nil {
			t.Fatal(err)
		}
		for j, other := range types {
			if a := FromBuffer(buf, other, 2); !a.same(first[j]) {
				t.Errorf("an array of %v is no view of the other, after Buffer of one of %v", other, dt)
			}
		}
	}
	if err := FromSliceInto(first[1], []int32{1, 2, 3, 4}); err != nil {
		t.Fatal(err)
	}
	before := FromBuffer(buf, dtype.Int32, 4).Add(1)
	FromBuffer(buf, dtype.Int32, 2).MulInPlace(5)
	if got, err := ToSlice[int32](before); err != nil || !slices.Equal(got, []int32{2, 3, 4, 5}) {
		t.Errorf("what was computed before the write: %v, %v", got, err)
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
