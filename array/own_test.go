package array

import (
	"errors"
	"slices"
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
)

// TestFromOwnBuffer checks that memory that was handed over is read, written and freed
// like that of any array.
func TestFromOwnBuffer(t *testing.T) {
	d, err := device.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	alloc := func(n int64) *device.Buffer {
		buf, err := d.Alloc(n, nil)
		if err != nil {
			t.Fatal(err)
		}
		return buf
	}
	shape := []int{2, 512}
	a := FromOwnBuffer(alloc(4096), dtype.Float32, shape...)
	shape[0] = 7
	if err := Into(a, Ones(dtype.Float32, 2, 512).To(d)); err != nil {
		t.Fatal(err)
	}
	if a.st.fixed() {
		t.Error("its memory is fixed")
	}
	view := a.Slice(0, 1, 2)
	if v, err := Item[float32](a.Sum()); err != nil || v != 1024 || !slices.Equal(a.Shape(), []int{2, 512}) {
		t.Errorf("%v of %v, %v", v, a.Shape(), err)
	}
	before := d.Pool().Exposed
	if _, err := a.Buffer(); err != nil {
		t.Fatal(err)
	}
	a.Free()
	if p := d.Pool(); p.Exposed != before {
		t.Errorf("%d bytes are exposed for good, there were %d", p.Exposed, before)
	}
	if err := Eval(view.Add(1)); !errors.Is(err, device.ErrFreed) {
		t.Errorf("a view of what was freed: %v", err)
	}

	buf := alloc(16)
	for _, n := range []int{3, 5, -1} {
		if err := FromOwnBuffer(buf, dtype.Float32, n).Err(); !errors.Is(err, layout.ErrShape) {
			t.Errorf("%d elements of 4: %v", n, err)
		}
	}
	if err := FromOwnBuffer(buf, dtype.Invalid, 4).Err(); !errors.Is(err, dtype.ErrDType) {
		t.Error(err)
	}
	FromBuffer(buf, dtype.Float32, 4)
	if err := FromOwnBuffer(buf, dtype.Float32, 4).Err(); !errors.Is(err, expr.ErrUnsupported) {
		t.Errorf("a buffer that an array has: %v", err)
	}
}

// TestOwnWhileMoving: operations read the scope of an operand that another goroutine moves
// out of a scope and into it. The race detector finds a read without the mutex.
func TestOwnWhileMoving(t *testing.T) {
	s := NewScope()
	x := FromSlice([]float32{1, 2})
	moved := make(chan error, 1)
	go func() {
		for range 200 {
			if err := errors.Join(s.Own(x).Err(), s.Keep(x).Err()); err != nil {
				moved <- err
				return
			}
		}
		moved <- nil
	}()
	for range 200 {
		y := NewOperation("test", []*Array{x}).Own(FromSlice([]float32{3}))
		must(t, y.Err())
		first, _ := x.TopK(1, 0)
		must(t, first.Err())
	}
	must(t, <-moved)
	must(t, s.Close())
	wants(t, x, 1, 2)
}
