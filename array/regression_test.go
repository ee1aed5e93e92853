package array

import (
	"errors"
	"testing"
	"time"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/layout"
)

// TestCaptureWritesPending: a sequence writes to an array that was pending when the
// write was recorded.
func TestCaptureWritesPending(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	x := FromSlice([]float32{1, 2})
	filled := Full(dtype.Float32, 2, 2)
	recorded := make(chan *Graph, 1)
	go func() {
		g, err := Capture([]*Array{x}, func(in []*Array) []*Array {
			if err := filled.AddInPlace(in[0]); err != nil {
				t.Error(err)
			}
			return []*Array{filled}
		})
		if err != nil {
			t.Error(err)
		}
		recorded <- g
	}()
	var g *Graph
	select {
	case g = <-recorded:
	case <-time.After(time.Minute):
		t.Fatal("the write waits for itself")
	}
	must(t, g.Replay())
	wants(t, filled, 3, 4)
	must(t, g.Replay())
	wants(t, filled, 4, 6)
	g.Free()
}

// TestDroppedWholeReaders checks that dropped readers of a whole array do not cause
// copies of the array when its rows are written, even if the garbage collector does not
// run: after 64 more pending arrays the dropped readers are computed, each from a copy.
func TestDroppedWholeReaders(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	w := tall(tallColumns)
	sched := schedulerOf(w.on())
	before := sched.savedBytes()
	for i := range tallRows {
		_ = w.Mul(2)
		must(t, w.Slice(0, i, i+1).CopyFrom(-1))
	}
	const rows = tallRows * tallColumns * 4
	if n := sched.savedBytes() - before; float64(n) > 2.1*rows {
		t.Errorf("%d bytes saved, %.2f times the rows'", n, float64(n)/rows)
	}
}

// TestWritePendingInCapture: a captured sequence writes, in place, an array that was
// pending when it began.
func TestWritePendingInCapture(t *testing.T) {
	done := make(chan error, 1)
	go func() {
		x, total := FromSlice([]float32{1, 2, 3}), Zeros(dtype.Float32, 3)
		g, err := Capture([]*Array{x}, func(in []*Array) []*Array {
			if err := total.AddInPlace(in[0]); err != nil {
				t.Error(err)
			}
			return []*Array{in[0].Sum()}
		})
		if err == nil {
			err = g.Replay()
		}
		if err == nil {
			wants(t, total, 1, 2, 3)
		}
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("AddInPlace waits for itself")
	}
}

// TestBadIndexFromElsewhere: an index error of a source on another device is carried by
// an array that is written whole, and returned where a part is written.
func TestBadIndexFromElsewhere(t *testing.T) {
	far := devicetest.NewFake(device.Info{Name: "far", Kind: device.CPU, TotalMemory: 1 << 30}, device.Capabilities{})
	x, bad := FromSlice([]float32{1, 2}).To(far), FromSlice([]int64{0, 9}).To(far)
	dst, part := FromSlice([]float32{5, 6}), FromSlice([]float32{5, 6, 7})
	must(t, dst.CopyFrom(Take(x, bad, 0)))
	if _, err := ToSlice[float32](dst); !errors.Is(err, layout.ErrShape) {
		t.Error(err)
	}
	must(t, dst.CopyFrom(1))
	wants(t, dst, 1, 1)
	if err := part.Slice(0, 0, 2).CopyFrom(Take(x, bad, 0)); !errors.Is(err, layout.ErrShape) {
		t.Error(err)
	}
	wants(t, part, 5, 6, 7)
}

// TestKeptThenFreed checks that Close returns no error for an array that was kept and
// then freed.
func TestKeptThenFreed(t *testing.T) {
	s := NewScope()
	y := s.Keep(s.In(FromSlice([]float32{1, 2})).Add(1))
	y.Free()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestIntoBackwards: an operation whose destination must be dense, into a whole array
// seen backwards that takes a fresh buffer.
func TestIntoBackwards(t *testing.T) {
	x := FromSlice([]float32{1, 2, 3, 4}, 2, 2)
	y := Zeros(dtype.Float32, 2)
	reader := y.Add(5)
	if err := Into(y.Flip(), x.Sum(1)); err != nil {
		t.Error(err)
	}
	wants(t, y, 7, 3)
	wants(t, reader, 5, 5)
	sum := x.Sum(1)
	if err := Into(sum.Flip(), sum); err != nil {
		t.Error(err)
	}
	wants(t, sum, 7, 3)
}

// TestOutputReadInCapture: an output of a graph that an intermediate result of the
// sequence reads. The first Replay has no old elements of it to keep.
func TestOutputReadInCapture(t *testing.T) {
	x := FromSlice([]float32{1, 2})
	g, err := Capture([]*Array{x}, func(in []*Array) []*Array {
		y := in[0].Add(1)
		if err := Eval(y); err != nil {
			t.Error(err)
		}
		return []*Array{y.Mul(in[0]).Sum(), y}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Replay(); err != nil {
		t.Fatal(err)
	}
	wants(t, g.Outputs()[0], 8)
	wants(t, g.Outputs()[1], 2, 3)
}

// TestRefusedWriteCountsNoReader checks that a write in place that fails because of its
// second operand does not count its first as read, so that later readers keep their
// elements.
func TestRefusedWriteCountsNoReader(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	x, gone := FromSlice([]float32{1, 2, 3}), FromSlice([]float32{1, 2, 3})
	gone.Free()
	if err := x.AddInPlace(gone); !errors.Is(err, device.ErrFreed) {
		t.Error(err)
	}
	reader := x.Add(1)
	must(t, x.MulInPlace(2))
	checkInvariants(t, x, reader)
	wants(t, reader, 2, 3, 4)
	wants(t, x, 2, 4, 6)
}
