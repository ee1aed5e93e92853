package array

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/layout"
)

// wants compares the elements of an array.
func wants(t *testing.T, a *Array, want ...float32) {
	t.Helper()
	got, err := ToSlice[float32](a)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
}

// TestTrainingStep checks that an intermediate result has the values of its line, whatever is
// written later.
func TestTrainingStep(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	data := func(n int) []float32 {
		out := make([]float32, n)
		for i := range out {
			out[i] = float32(rng.NormFloat64())
		}
		return out
	}
	x, y, w := FromSlice(data(8*4), 8, 4), FromSlice(data(8), 8, 1), FromSlice(data(4), 4, 1)
	for range 3 {
		p := x.MatMul(w).Sigmoid()
		d := p.Sub(y)
		keep := w.Clone()
		if err := Eval(keep); err != nil {
			t.Fatal(err)
		}
		if err := w.AddInPlace(x.T().MatMul(d).Mul(-0.01)); err != nil {
			t.Fatal(err)
		}
		acc := p.Gt(0.5).Eq(y.Gt(0.5))
		if _, err := ToSlice[bool](acc); err != nil {
			t.Fatal(err)
		}
		want, _ := ToSlice[float32](x.MatMul(keep).Sigmoid())
		wants(t, p, want...)
	}
}

// TestReaderKeepsRow checks that a reader of a part keeps the part's elements when it is
// written.
func TestReaderKeepsRow(t *testing.T) {
	a := FromSlice([]float32{1, 2, 3, 4, 5, 6}, 3, 2)
	all, row := a.Mul(10), a.Slice(0, 1, 2).Add(0.5)
	if err := a.Slice(0, 1, 2).CopyFrom(7); err != nil {
		t.Fatal(err)
	}
	later := a.Mul(100)
	if err := a.Slice(1, 0, 1).AddInPlace(1); err != nil {
		t.Fatal(err)
	}
	wants(t, a, 2, 2, 8, 7, 6, 6)
	wants(t, later, 100, 200, 700, 700, 500, 600)
	wants(t, all, 10, 20, 30, 40, 50, 60)
	wants(t, row, 3.5, 4.5)
}

// TestFailedWrite: a write that is refused on its line changes nothing.
func TestFailedWrite(t *testing.T) {
	w := FromSlice([]float32{1, 2, 3})
	v := w.Slice(0, 1, 3)
	if err := w.AddInPlace(Ones(dtype.Float32, 2)); !errors.Is(err, layout.ErrShape) {
		t.Error(err)
	}
	wants(t, w, 1, 2, 3)
	wants(t, v, 2, 3)
}

// TestLocked checks that readers under a lock see the contents of their line, with or without a
// writer in between.
func TestLocked(t *testing.T) {
	w := Ones(dtype.Float32, 16)
	var mu sync.RWMutex
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				mu.RLock()
				scaled := w.Mul(2)
				total := scaled.Sum()
				mu.RUnlock()
				a, err := ToSlice[float32](scaled)
				if err != nil {
					t.Error(err)
					return
				}
				b, err := Item[float32](total)
				sum := float32(0)
				for _, x := range a {
					sum += x
				}
				if err != nil || sum != b || a[0] != a[15] {
					t.Error(a, b, err)
					return
				}
			}
		})
	}
	for i := range 3000 {
		mu.Lock()
		var err error
		if i%2 == 0 {
			err = w.AddInPlace(1)
		} else {
			err = w.Slice(0, 0, 16).AddInPlace(1)
		}
		mu.Unlock()
		if err != nil {
			t.Error(err)
		}
		if i%100 == 0 {
			runtime.GC()
		}
	}
	close(stop)
	wg.Wait()
	wants(t, w, 3001, 3001, 3001, 3001, 3001, 3001, 3001, 3001, 3001, 3001, 3001, 3001, 3001, 3001, 3001, 3001)
}

// TestScopes checks that a scope frees the arrays computed in it, except those that were kept.
func TestScopes(t *testing.T) {
	d := device.Default()
	w := FromSlice([]float32{1, 2, 3})
	before := devicetest.InUse(t, d)
	var kept, lost, stored *Array
	err := Scoped(func(s *Scope) error {
		x := s.In(w)
		lost = x.Mul(2)
		kept = s.Keep(lost.Add(1).Sum())
		stored = x.Exp()
		return Eval(stored)
	})
	if err != nil {
		t.Fatal(err)
	}
	wants(t, kept, 15)
	if err := Eval(lost); !errors.Is(err, device.ErrFreed) {
		t.Error(err)
	}
	kept.Free()
	if n := d.Pool().InUse; n > before {
		t.Errorf("%d bytes in use, %d before", n, before)
	}
	runtime.KeepAlive(stored) // else the collector frees it, perhaps later than the scope
	if err := w.AddInPlace(1); err != nil {
		t.Fatal(err)
	}
	wants(t, w, 2, 3, 4)
}

// TestKeptStep checks that a kept array that is also a step of another is stored by Free of its
// operand, both if Keep comes before the line of the other array and if it comes after.
func TestKeptStep(t *testing.T) {
	for _, keepFirst := range []bool{true, false} {
		x := FromSlice([]float32{1, 2})
		s := NewScope()
		y := s.In(x).Add(1)
		if keepFirst {
			y = s.Keep(y)
		}
		z := y.Neg()
		if !keepFirst {
			y = s.Keep(y)
		}
		x.Free()
		wants(t, y, 2, 3)
		wants(t, z, -2, -3)
		checkInvariants(t, y, z)
		must(t, s.Close())
		wants(t, y, 2, 3)
	}
}

// TestIntoSelf: Into an array that its source reads.
func TestIntoSelf(t *testing.T) {
	x := FromSlice([]float32{1, 2, 3, 4})
	src := x.Mul(2)
	if err := Into(x, src); err != nil {
		t.Fatal(err)
	}
	wants(t, x, 2, 4, 6, 8)
	wants(t, src, 2, 4, 6, 8)
	if err := x.Slice(0, 1, 4).CopyFrom(x.Slice(0, 0, 3)); err != nil {
		t.Fatal(err)
	}
	wants(t, x, 2, 2, 4, 6)
	if err := x.AddInPlace(x.Flip()); err != nil {
		t.Fatal(err)
	}
	wants(t, x, 8, 6, 6, 8)
	wants(t, src, 2, 4, 6, 8)
	src = x.Add(1)
	x.Free()
	wants(t, src, 9, 7, 7, 9)
}
