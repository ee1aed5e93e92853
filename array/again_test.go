package array

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
)

// wants fails the test where a has not these elements.
func wants(t *testing.T, a *Array, want ...float32) {
	t.Helper()
	got, err := ToSlice[float32](a)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%v, want %v", got, want)
	}
}

// mixed makes other operations take the values that were given up.
func mixed(t *testing.T) {
	t.Helper()
	dst := FromSlice([]float32{0, 0})
	for range 4 {
		if err := Into(dst, FromSlice([]float32{7, 7}).Mul(3)); err != nil {
			t.Fatal(err)
		}
	}
	dst.Free()
}

// TestAgain: an array that was computed into another, whose value others have
// used since, is computed again however it is used.
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
			mixed(t)
			if err := z.Err(); err != nil {
				t.Fatal(err)
			}
			if s := z.Explain(); !strings.HasPrefix(s, "Add: ") {
				t.Error(s)
			}
			wants(t, use(z), 11, 22)
			mixed(t)
			wants(t, use(z), 11, 22)
			wants(t, dst, 11, 22)
		})
	}
}

// TestAgainStale: where an input was written or freed since, the answer is
// ErrStale with both lines, also when the input's value is another's by now.
func TestAgainStale(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	dst := FromSlice([]float32{0, 0})
	for name, change := range map[string]func(x *Array) string{
		"Into":       func(x *Array) string { _ = Into(x, x.Mul(2)); return line() },
		"AddInPlace": func(x *Array) string { x.AddInPlace(1); return line() },
		"Free":       func(x *Array) string { x.Free(); return line() },
	} {
		t.Run(name, func(t *testing.T) {
			x := FromSlice([]float32{1, 2}).Add(0)
			if err := Eval(x); err != nil {
				t.Fatal(err)
			}
			z, made := x.Add(1), line()
			if err := Into(dst, z); err != nil {
				t.Fatal(err)
			}
			changed := change(x)
			mixed(t)
			_, err := ToSlice[float32](z)
			var oe *OpError
			if !errors.Is(err, ErrStale) || !errors.As(err, &oe) {
				t.Fatal(err)
			}
			if oe.Op != "Add" || oe.Site != made || !strings.Contains(err.Error(), name+" at "+changed) {
				t.Errorf("%v: not Add at %s and %s at %s", err, made, name, changed)
			}
			if again := Into(dst, z); !errors.Is(again, ErrStale) {
				t.Errorf("the second time: %v", again)
			}
		})
	}
	// Its own result overwrote an input.
	x := FromSlice([]float32{1, 2})
	z := x.Add(1)
	if err := Into(x, z); err != nil {
		t.Fatal(err)
	}
	if err := Eval(z); !errors.Is(err, ErrStale) {
		t.Errorf("%v after its own result overwrote its operand", err)
	}
}

// TestAgainFreed: what was freed stays so when its value is another's.
func TestAgainFreed(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	x := FromSlice([]float32{1, 2})
	open, stored, taken := x.Add(1), x.Add(2), x.Add(3)
	view := x.Add(4)
	shown := view.Slice(0, 0, 1)
	if err := errors.Join(Eval(stored), Into(FromSlice([]float32{0, 0}), taken)); err != nil {
		t.Fatal(err)
	}
	for _, a := range []*Array{open, stored, taken, view} {
		a.Free()
	}
	mixed(t)
	for i, a := range []*Array{open, stored, taken, view, shown} {
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

// TestAgainWriters: an open array that reads what is written starts first, also
// if its value is the one that the array written from had.
func TestAgainWriters(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	x, dst := FromSlice([]float32{1, 2}), FromSlice([]float32{0, 0})
	z := x.Add(1)
	if err := Into(dst, z); err != nil {
		t.Fatal(err)
	}
	w := x.Mul(10) // in the place of z
	if err := Into(x, z); err != nil {
		t.Fatal(err)
	}
	wants(t, w, 10, 20)
	wants(t, x, 2, 3)
}

// TestAgainListed: values that the list of open ones still names are not used
// again: it would take a few arrays for many, and start them early.
func TestAgainListed(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	x := FromSlice([]float32{1, 2})
	for i := range 3 * maxOpen {
		y, z := x.Add(1), x.Add(2)
		if !y.isOpen() || !z.isOpen() {
			t.Fatalf("round %d: one of two open arrays has started", i)
		}
		y.Free()
		z.Free()
	}
}

// TestCopiedStruct: a copy of what an *Array points to is noticed at the latest
// when its value has gone to another.
func TestCopiedStruct(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	x := FromSlice([]float32{1, 2})
	z := x.Add(1)
	c := *z
	if err := Into(FromSlice([]float32{0, 0}), z); err != nil {
		t.Fatal(err)
	}
	mixed(t)
	if _, err := ToSlice[float32](&c); !errors.Is(err, expr.ErrUnsupported) {
		t.Error(err)
	}
	wants(t, z, 2, 3)
}

// TestAgainGoroutines: goroutines that share arrays, while others take the
// values that these give up, get what was computed or ErrFreed.
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
