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
