package array

import (
	"runtime"
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
)

// TestLendDuringExpose: memory that Lend fixes while Buffer copies it out of the pool stays
// the memory of the array.
func TestLendDuringExpose(t *testing.T) {
	d, err := device.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	a := Ones(dtype.Float32, 1000).To(d)
	if err := Eval(a); err != nil {
		t.Fatal(err)
	}
	defer a.Free()
	s, c := schedulerOf(d), a.st.cur

	// A write that is under way holds the copy up.
	begun, end, written := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		written <- d.Launch(nil, nil, []*device.Buffer{c.mem.buf}, func(int, uint64) error {
			close(begun)
			<-end
			return nil
		})
	}()
	<-begun
	exposed := make(chan error, 1)
	go func() { exposed <- s.expose(a.st, c) }()
	for copying := false; !copying; runtime.Gosched() {
		s.mu.Lock()
		copying = c.mem.pins > 0
		s.mu.Unlock()
	}
	lent, release, err := a.Lend()
	close(end)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if err := <-written; err != nil {
		t.Error(err)
	}
	if err := <-exposed; err != nil {
		t.Error(err)
	}
	if got := a.st.cur.mem.buf; got != lent {
		t.Errorf("the array is in %p, %p is lent", got, lent)
	}
}

// TestLendEnds: once a loan has ended, the memory is that of any array again. A write may
// replace it, Buffer moves it out of the pool, and Free gives it back.
func TestLendEnds(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	d, err := device.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	exposed := d.Pool().Exposed
	for range 3 {
		a := Ones(dtype.Float32, 1<<20).To(d) // large enough for memory that the system maps
		pending := a.Add(1)
		first, endFirst, err := a.Lend()
		if err != nil {
			t.Fatal(err)
		}
		_, endSecond, err := a.Lend()
		if err != nil {
			t.Fatal(err)
		}
		write := func(v float32) *device.Buffer {
			if err := a.CopyFrom(v); err != nil {
				t.Fatal(err)
			}
			return a.st.cur.mem.buf
		}
		endFirst()
		if got := write(2); got != first {
			t.Error("a write moved memory that is lent")
		}
		endSecond()
		again := a.Add(1) // must keep the elements that the next write replaces
		if got := write(3); got == first {
			t.Error("the memory is fixed after the last loan")
		}
		for want, x := range map[float32]*Array{2: pending, 3: again} {
			if v, err := Item[float32](x.At(7)); err != nil || v != want {
				t.Errorf("%v, %v, want %v", v, err, want)
			}
		}
		if _, end, err := a.Lend(); err != nil {
			t.Fatal(err)
		} else {
			end()
		}
		if _, err := a.Buffer(); err != nil {
			t.Fatal(err)
		}
		if !a.st.fixed() {
			t.Error("Buffer did not fix the memory")
		}
		a.Free()
	}
	if got := d.Pool().Exposed; got != exposed {
		t.Errorf("%d bytes are exposed for good, there were %d", got, exposed)
	}
}
