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

// TestReadsOnce checks that a step is visited once, even if it is an operand several
// times.
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
	n := y.node()
	if !n.fuses() || n.depth < 14 {
		t.Fatalf("a chain of depth %d", n.depth)
	}
	sched := schedulerOf(y.on())
	reads := func(a *Array) int {
		sched.mu.Lock()
		defer sched.mu.Unlock()
		return n.refersTo(func(c *contents) bool { return c == a.st.cur })
	}
	best := time.Hour
	for range 5 {
		start := time.Now()
		for range 100 {
			if reads(other) != 0 {
				t.Fatal("it reads what it does not")
			}
		}
		best = min(best, time.Since(start))
	}
	// Each of 15 once takes microseconds, all paths down 30,000 times as long.
	if best > 50*time.Millisecond {
		t.Errorf("asking 100 times took %v", best)
	}
	if a, b := reads(x), reads(k); a != 1 || b != 14 {
		t.Errorf("%d references to x and %d to k, want 1 and 14", a, b)
	}
	if got, err := ToSlice[float32](y); err != nil || !slices.Equal(got, []float32{2, 2, 2, 2, 2, 2, 2, 2}) {
		t.Error(got, err)
	}
}

// TestStartStallsNobody checks that a goroutine that waits for a running node does not
// block the operations of others, also not writes to its operands.
func TestStartStallsNobody(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	x, y := Ones(dtype.Float32, 8), FromSlice([]float32{3, 3, 3, 3, 3, 3, 3, 3})
	if err := Eval(x, y); err != nil {
		t.Fatal(err)
	}
	started, proceed := make(chan struct{}), make(chan struct{})
	slow := stubbed(x.Sum(0), func(o *job, s *device.Stream, dst device.View) error {
		close(started)
		<-proceed
		return runReduction(o, s, dst)
	})
	waited := make(chan error, 1)
	go func() { waited <- Eval(slow) }()
	<-started
	done := make(chan error, 1)
	go func() {
		err := Into(x, y)
		for deadline := time.Now().Add(50 * time.Millisecond); err == nil && time.Now().Before(deadline); {
			err = Eval(y.Sum(0), x.Mean(0))
		}
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("others wait for a node that is none of theirs")
	}
	select {
	case err := <-waited:
		t.Error("nobody waited for the node that runs:", err)
		waited <- err
	default:
	}
	close(proceed)
	if err := <-waited; err != nil {
		t.Error(err)
	}
	if got, err := Item[float32](slow); err != nil || got != 8 {
		t.Error(got, err)
	}
	wants(t, x, 3, 3, 3, 3, 3, 3, 3, 3)
}

// TestFromBufferSettles checks that two arrays over one buffer see each other's writes,
// and that a reader of one keeps its value when the other is written.
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
	if s := FromBuffer(buf, dtype.Int32, 8); s.Err() != nil || s.st != a.st {
		t.Error("elements of another type are of another storage")
	}
	b.Free()
	if _, err := ToSlice[float32](a); err == nil {
		t.Error("the memory was given back")
	}
}

// TestFromBufferTogether checks that goroutines that make arrays over one buffer at once
// get views of one storage, also with FromLayout, and that a reader of one keeps its
// value when the other is written.
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
			if a.Err() != nil || a.st != made[0].st {
				t.Fatalf("array %d has a storage of its own: %v", i, a.Err())
			}
		}
		if err := FromSliceInto(made[0], slices.Repeat([]float32{3}, 16)); err != nil {
			t.Fatal(err)
		}
		before := made[2].Add(1)
		if err := errors.Join(made[4].MulInPlace(5), Into(made[3], Zeros(dtype.Float32, 16).To(d))); err != nil {
			t.Fatal(err)
		}
		wants(t, before, 4, 4, 4, 4, 4, 4, 4, 4)
		wants(t, made[1], 0, 0, 0, 0)
	}
}

// TestFromBufferOfTypes checks that arrays of several types over one buffer are views of
// each other, whichever type came first and for whichever Buffer was called.
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
		if b, err := first[i].Buffer(); err != nil || b != buf {
			t.Fatalf("another buffer, %v", err)
		}
		for _, other := range types {
			if a := FromBuffer(buf, other, 2); a.st != first[0].st {
				t.Errorf("an array of %v is no view of the others, after Buffer of one of %v", other, dt)
			}
		}
	}
	if err := FromSliceInto(first[1], []int32{1, 2, 3, 0x01020304}); err != nil {
		t.Fatal(err)
	}
	before, bytes := FromBuffer(buf, dtype.Int32, 4).Add(1), FromBuffer(buf, dtype.Uint8, 16).Add(1)
	if err := FromBuffer(buf, dtype.Int32, 2).MulInPlace(5); err != nil {
		t.Fatal(err)
	}
	if err := FromLayout(buf, dtype.Uint8, layout.Layout{Shape: []int{2}, Strides: []int{8}, Offset: 7}).CopyFrom(9); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		a    *Array
		want []int32
	}{{before, []int32{2, 3, 4, 0x01020305}}, {first[1], []int32{5, 10 + 9<<24, 3, 9<<24 + 0x020304}}} {
		if got, err := ToSlice[int32](c.a); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%v, %v; want %v", got, err, c.want)
		}
	}
	if got, err := ToSlice[uint8](bytes); err != nil || !slices.Equal(got, []uint8{2, 1, 1, 1, 3, 1, 1, 1, 4, 1, 1, 1, 5, 4, 3, 2}) {
		t.Errorf("what was computed from bytes before the write: %v, %v", got, err)
	}
}

// TestDoubtStays checks that memory with a deferred error keeps the error if it is
// overwritten by results that are computed from it.
func TestDoubtStays(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	bad := errors.New("bad")
	for name, write := range map[string]func(x, y *Array) error{
		"Into":      func(x, y *Array) error { return Into(x, addFake(x, y)) },
		"a view":    func(x, y *Array) error { return Into(x.Flip(0), addFake(x, y)) },
		"backwards": func(x, y *Array) error { return Into(x, addFake(y, x.Flip(0))) },
	} {
		fake := onFake(t, 3)
		x, y, other := fake[0], fake[1], fake[2]
		buf, d := x.st.cur.mem.buf, x.on()
		failure, flags, err := d.NewDeferredError(nil, func(flags [2]int64) error {
			if flags[1] != 0 {
				return bad
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.CopyFromHost(flags, 0, binary.LittleEndian.AppendUint64(make([]byte, 8), 1), nil); err != nil {
			t.Fatal(err)
		}
		buf.State().Attach(failure)
		if err := write(x, y); err != nil && !errors.Is(err, bad) {
			t.Errorf("%s: %v, want %v", name, err, bad)
		}
		if _, err := ToSlice[float32](x); !errors.Is(err, bad) {
			t.Errorf("%s, afterwards: %v, want %v", name, err, bad)
		}
		if err := errors.Join(Into(x, addFake(y, other)), ToSliceInto(make([]float32, 16), x)); err != nil {
			t.Errorf("%s, mended: %v", name, err)
		}
	}
}
