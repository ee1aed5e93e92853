package model

import (
	"errors"
	"slices"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
)

// What the model has found, each as a few calls.

func wants(t *testing.T, a *gpk.Array, want ...float32) {
	t.Helper()
	if got, err := gpk.ToSlice[float32](a); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// TestReversedCopy: Arange writes dense elements only.
func TestReversedCopy(t *testing.T) {
	x := gpk.FromSlice([]float32{9, 9, 9})
	must(t, x.Flip().CopyFrom(gpk.Arange(gpk.Float32, 3)))
	wants(t, x, 2, 1, 0)
}

// TestScopeOfReader: a scope frees what it owns, not what its operations read.
func TestScopeOfReader(t *testing.T) {
	x, s := gpk.FromSlice([]float32{1, 2}), gpk.NewScope()
	y := s.In(x).Add(1)
	must(t, x.Slice(0, 0, 1).CopyFrom(5))
	wants(t, y, 2, 3)
	must(t, s.Close())
	wants(t, x, 5, 2)
}

// TestFailedReader: the error of a reader is not that of the write.
func TestFailedReader(t *testing.T) {
	x := gpk.FromSlice([]float32{1, 2, 3, 4, 5, 6, 7, 8})
	y := gpk.Take(x, gpk.FromSlice([]int64{9}), 0) // moves fewer bytes than the write would save
	must(t, x.Slice(0, 0, 7).CopyFrom(7))
	wants(t, x, 7, 7, 7, 7, 7, 7, 7, 8)
	if err := gpk.Eval(y); !errors.Is(err, gpk.ErrShape) {
		t.Error(err)
	}
}

// TestCapturedWriteOfPending: the capture computes what it writes first.
func TestCapturedWriteOfPending(t *testing.T) {
	x := gpk.FromSlice([]float32{1, 2})
	y := x.Add(1)
	g, err := gpk.Capture([]*gpk.Array{x}, func(in []*gpk.Array) []*gpk.Array {
		must(t, y.AddInPlace(in[0]))
		return nil
	})
	must(t, err)
	must(t, g.Replay())
	wants(t, y, 3, 5)
}

// TestGraphOfScope: a graph needs what it computes after the scope is closed.
func TestGraphOfScope(t *testing.T) {
	x, s := gpk.FromSlice([]float32{1, 2}), gpk.NewScope()
	g, err := gpk.Capture([]*gpk.Array{s.In(x)}, func(in []*gpk.Array) []*gpk.Array {
		return []*gpk.Array{in[0].CumSum(0).Flip().CumSum(0)}
	})
	must(t, err)
	must(t, g.Replay(), s.Close(), g.Replay())
	wants(t, g.Outputs()[0], 3, 4)
}

// TestKeptAndFreed checks that Close does not compute an array that was kept and then
// freed.
func TestKeptAndFreed(t *testing.T) {
	s := gpk.NewScope()
	y := s.Keep(s.In(gpk.Ones(gpk.Float32, 2)).Add(1))
	y.Free()
	must(t, s.Close())
}

// TestFreeAfterNoMemory: an operation that found no memory is computed before what it
// reads is freed.
func TestFreeAfterNoMemory(t *testing.T) {
	d := device.Default()
	x := gpk.FromSlice([]float32{1, 2})
	y := x.Mul(2)
	must(t, d.Trim())
	limit := d.Pool().Limit
	d.SetMemoryLimit(1)
	err := gpk.Eval(y)
	d.SetMemoryLimit(limit)
	if err != nil && !errors.Is(err, gpk.ErrOutOfMemory) {
		t.Fatal(err)
	}
	x.Free()
	wants(t, y, 2, 4)
}
