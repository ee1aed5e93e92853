package array

import (
	"testing"
	"time"

	"github.com/gpk-go/gpk/dtype"
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
	case <-time.After(10 * time.Second):
		t.Fatal("the write waits for itself")
	}
	must(t, g.Replay())
	wants(t, filled, 3, 4)
	must(t, g.Replay())
	wants(t, filled, 4, 6)
	g.Free()
}

// TestDroppedWholeReaders: readers of a whole array that are dropped between writes of
// its rows do not have the array copied, also where the collector does not run: 64
// others wait soon, and the dropped ones are computed, each from a copy.
func TestDroppedWholeReaders(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	w := tall()
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
