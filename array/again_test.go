package array

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/weaklist"
)

// TestAgain checks that an array that was computed into another array's storage is
// recomputed for every kind of later use.
func TestAgain(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	x, y := FromSlice([]float32{1, 2}), FromSlice([]float32{10, 20})
	dst := FromSlice([]float32{0, 0})
	for name, use := range map[string]func(z *Array) *Array{
		"read":    func(z *Array) *Array { return z },
		"operand": func(z *Array) *Array { return z.Add(0) },
		"both":    func(z *Array) *Array { return z.Add(z).Mul(0.5) },
		"view":    func(z *Array) *Array { return z.Slice(0, 0, 2).Reshape(2, 1).Reshape(2) },
		"stored":  func(z *Array) *Array { _ = Eval(z); return z },
		"into":    func(z *Array) *Array { _ = Into(dst, z); return dst },
		"stream":  func(z *Array) *Array { return z.On(z.Stream()) },
	} {
		t.Run(name, func(t *testing.T) {
			z := x.Add(y)
			if err := Into(dst, z); err != nil {
				t.Fatal(err)
			}
			if err := z.Err(); err != nil {
				t.Fatal(err)
			}
			if s := z.Explain(); !strings.HasPrefix(s, "Add: ") {
				t.Error(s)
			}
			wants(t, use(z), 11, 22)
			wants(t, use(z), 11, 22)
			wants(t, dst, 11, 22)
		})
	}
}

// TestAgainOldValue: an array that was computed into another keeps its value when its
// input is written, and is ErrFreed with both lines when its input was freed.
func TestAgainOldValue(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	dst := FromSlice([]float32{0, 0})
	for name, change := range map[string]func(x *Array) error{
		"Into":          func(x *Array) error { return Into(x, x.Mul(2)) },
		"AddInPlace":    func(x *Array) error { return x.AddInPlace(1) },
		"CopyFrom":      func(x *Array) error { return x.Slice(0, 1, 2).CopyFrom(7) },
		"FromSliceInto": func(x *Array) error { return FromSliceInto(x, []float32{5, 6}) },
		"all": func(x *Array) error {
			return errors.Join(x.AddInPlace(1), x.Slice(0, 0, 1).MulInPlace(3), Into(x, x.Add(x)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := FromSlice([]float32{1, 2}).Add(0)
			if err := Eval(x); err != nil {
				t.Fatal(err)
			}
			z := x.Add(1)
			if err := Into(dst, z); err != nil {
				t.Fatal(err)
			}
			if err := change(x); err != nil {
				t.Fatal(err)
			}
			if err := Into(dst, z); err != nil {
				t.Error(err)
			}
			wants(t, dst, 2, 3)
			wants(t, z, 2, 3)
			wants(t, dst, 2, 3)
		})
	}
	// Its own result overwrote an input.
	x := FromSlice([]float32{1, 2})
	z := x.Add(1)
	if err := Into(x, z); err != nil {
		t.Fatal(err)
	}
	wants(t, z, 2, 3)
	wants(t, x, 2, 3)

	z, made := x.Add(1), line()
	if err := Into(dst, z); err != nil {
		t.Fatal(err)
	}
	freed := func() string { x.Free(); return line() }()
	for range 2 {
		_, err := ToSlice[float32](z)
		var oe *OpError
		if !errors.Is(err, device.ErrFreed) || !errors.As(err, &oe) {
			t.Fatal(err)
		}
		if oe.Op != "Add" || oe.Site != made || !strings.Contains(err.Error(), "Free at "+freed) {
			t.Errorf("%v: not Add at %s and Free at %s", err, made, freed)
		}
	}
	wants(t, dst, 3, 4)
}

// TestAgainFreed checks that a freed array stays freed, whether it was pending, stored or
// computed into another array.
func TestAgainFreed(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	x := FromSlice([]float32{1, 2})
	waiting, stored, taken := x.Add(1), x.Add(2), x.Add(3)
	view := x.Add(4)
	shown := view.Slice(0, 0, 1)
	if err := errors.Join(Eval(stored), Into(FromSlice([]float32{0, 0}), taken)); err != nil {
		t.Fatal(err)
	}
	for _, a := range []*Array{waiting, stored, taken, view} {
		a.Free()
	}
	for i, a := range []*Array{waiting, stored, taken, view, shown} {
		for j, err := range []error{a.Err(), Eval(a), Into(x, a.Slice(0, 0, 1).BroadcastTo(2)), Into(a, a), a.Add(1).Err()} {
			if !errors.Is(err, device.ErrFreed) {
				t.Errorf("array %d, use %d: %v", i, j, err)
			}
		}
		if a.Explain() == "" {
			t.Error("nothing to explain")
		}
		a.Free()
	}
	wants(t, x, 1, 2)
}

// TestAgainWriters checks that a pending array keeps its value if its operand is
// overwritten by an array that was computed before.
func TestAgainWriters(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	x, dst := FromSlice([]float32{1, 2}), FromSlice([]float32{0, 0})
	z := x.Add(1)
	if err := Into(dst, z); err != nil {
		t.Fatal(err)
	}
	w := x.Mul(10)
	if err := Into(x, z); err != nil {
		t.Fatal(err)
	}
	wants(t, w, 10, 20)
	wants(t, x, 2, 3)
}

// TestFreedNotPending checks that freed arrays do not count as pending, so that no other
// array is started for them.
func TestFreedNotPending(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	x := FromSlice([]float32{1, 2})
	for i := range 3 * weaklist.Max {
		y, z := x.Add(1), x.Add(2)
		if !y.isPending() || !z.isPending() {
			t.Fatalf("round %d: one of two pending arrays has started", i)
		}
		y.Free()
		z.Free()
	}
}

// TestAgainGoroutines checks that goroutines that share arrays which are freed, or
// computed into others, get the right elements or ErrFreed.
func TestAgainGoroutines(t *testing.T) {
	x := FromSlice([]float32{1, 2})
	const workers, rounds = 4, 30
	for range rounds {
		z := x.Add(1)
		freed := x.Add(2)
		var wg sync.WaitGroup
		for g := range workers {
			wg.Go(func() {
				dst := FromSlice([]float32{0, 0})
				defer dst.Free()
				for i := range 10 {
					if err := Into(dst, z); err != nil {
						t.Error(err)
					}
					other := x.Mul(float32(g + 2))
					if err := Into(dst, other); err != nil {
						t.Error(err)
					}
					if got, err := ToSlice[float32](dst); err != nil || got[0] != float32(g+2) || got[1] != float32(2*g+4) {
						t.Errorf("%v, %v", got, err)
					}
					if got, err := ToSlice[float32](z.Slice(0, 1, 2)); err != nil || got[0] != 3 {
						t.Errorf("%v, %v", got, err)
					}
					if got, err := ToSlice[float32](freed); err == nil && got[1] != 4 || err != nil && !errors.Is(err, device.ErrFreed) {
						t.Errorf("%v, %v", got, err)
					}
					if i == 5 {
						freed.Free()
					}
				}
			})
		}
		wg.Wait()
		z.Free()
	}
}
