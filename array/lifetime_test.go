package array

import (
	"errors"
	"flag"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/deviceapi"
)

// limited limits the default device to `more` bytes above those in use, until the test ends or the
// returned function is called.
func limited(t *testing.T, more int64) (restore func()) {
	t.Helper()
	d := device.Default()
	for range 3 { // the first collection enqueues the buffers, a later one frees what they kept
		runtime.GC()
		_ = d.Pool()
	}
	must(t, d.Trim())
	old := d.Pool().Limit
	restore = func() { d.SetMemoryLimit(old) }
	t.Cleanup(restore)
	p := d.Pool()
	d.SetMemoryLimit(p.InUse + p.Exposed + more) // the limit bounds both
	return restore
}

var long = flag.Bool("array.long", false, "the tests of many rounds take minutes: 10,000 updates, 10 million reads")

// TestUpdateInLimit checks that an array that is repeatedly updated from itself needs at most the memory
// of one more array.
func TestUpdateInLimit(t *testing.T) {
	const n = 64 << 10
	w, c := Ones(dtype.Float32, n), Full(dtype.Float32, 0x1p-20, n)
	must(t, Eval(w, c))
	limited(t, 4*n*3/2) // w itself is in use
	rounds := 10_000
	if !*long {
		rounds = 500 // each second write collects garbage: the step refers to the old elements
	}
	want := float32(1)
	for range rounds {
		must(t, w.AddInPlace(w.Mul(c)))
		want += float32(want * 0x1p-20)
	}
	got, err := ToSlice[float32](w)
	if err != nil || got[0] != want || got[n-1] != want {
		t.Errorf("%v, %v; want %v", got[0], err, want)
	}
	checkInvariants(t, w, c)
}

// TestWriteReadsEarlier checks that if there is no memory for a fresh buffer, a write first computes
// the pending readers of the old elements, and then needs no buffer.
func TestWriteReadsEarlier(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	const n = 64 << 10
	w, c := Ones(dtype.Float32, n), Full(dtype.Float32, 3, n/2)
	must(t, Eval(w, c))
	limited(t, 4*n*3/4) // less than w
	y := w.Slice(0, 0, n/2).Mul(c)
	must(t, w.AddInPlace(1))
	checkInvariants(t, w, y)
	for _, want := range []struct {
		a    *Array
		each float32
	}{{w, 2}, {y, 3}} {
		got, err := ToSlice[float32](want.a)
		if err != nil || slices.ContainsFunc(got, func(v float32) bool { return v != want.each }) {
			t.Errorf("%v, %v…; want %v", err, got[:1], want.each)
		}
	}
}

// TestFreedWithoutMemory checks that a pending reader of an array stays pending if Free or Close frees
// the array while there is no memory for the reader. The next try computes it, and then frees the
// array's memory.
func TestFreedWithoutMemory(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	const n = 1 << 20
	dev := device.Default()
	ended := func(x *Array) {
		t.Helper()
		if _, err := ToSlice[float32](x); !errors.Is(err, device.ErrFreed) {
			t.Errorf("an array that was freed: %v", err)
		}
	}
	for name, free := range map[string]func() (reader *Array, f func()){
		"a stored array": func() (*Array, func()) {
			x := Ones(dtype.Float32, n)
			must(t, Eval(x))
			return x.Mul(2), func() { x.Free(); x.Free(); ended(x) }
		},
		"an array that was written": func() (*Array, func()) {
			x := Zeros(dtype.Float32, n)
			must(t, Eval(x))
			must(t, x.AddInPlace(1))
			return x.Mul(2), func() { x.Free(); ended(x) }
		},
		"older contents": func() (*Array, func()) {
			x := Ones(dtype.Float32, n)
			must(t, Eval(x))
			y := x.Mul(2)
			must(t, x.Slice(0, 0, n/2).AddInPlace(1))
			return y, func() { x.Free(); ended(x) }
		},
		"a pending array": func() (*Array, func()) {
			x := Ones(dtype.Float32, n).Add(1)
			return x.Mul(1), func() { x.Free(); ended(x) }
		},
		"an array of a scope": func() (*Array, func()) {
			s, newer := NewScope(), NewScope()
			t.Cleanup(func() { must(t, newer.Close()) })
			x := s.Own(Ones(dtype.Float32, n))
			must(t, Eval(x))
			return newer.In(x).Mul(2), func() { must(t, s.Close()); ended(x) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			deviceapi.Collect(dev)
			before := dev.Pool().InUse
			y, f := free()
			restore := limited(t, 1)
			f()
			checkInvariants(t, y)
			if _, err := ToSlice[float32](y); !errors.Is(err, device.ErrOutOfMemory) {
				t.Errorf("without memory: %v", err)
			}
			restore()
			got, err := ToSlice[float32](y)
			if err != nil || got[0] != 2 || got[n-1] != 2 {
				t.Fatalf("%v, %v; want 2", got, err)
			}
			checkInvariants(t, y)
			if name == "a pending array" { // its operand waits for the collector
				runtime.GC()
				deviceapi.Collect(dev)
			}
			if held := dev.Pool().InUse - before; held > 4*n+4096 {
				t.Errorf("%d bytes are in use, of which the reader has %d", held, 4*n)
			}
			y.Free()
		})
	}
}

// TestReadsLeaveNothing checks that reads of one array, each fused with another operation, leave no
// records in the scheduler.
func TestReadsLeaveNothing(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	rounds := 10_000_000
	if !*long {
		rounds = 100_000
	}
	x, dst := FromSlice([]float32{1, 2}), FromSlice([]float32{0, 0})
	heap := func() uint64 {
		var s runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&s)
		return s.HeapAlloc
	}
	read := func(n int) {
		for range n {
			must(t, Into(dst, x.Add(1).Mul(2)))
		}
	}
	read(rounds / 10)
	before := heap()
	read(rounds)
	if after := heap(); after > before+256<<10 {
		t.Errorf("%d bytes more after %d reads", after-before, rounds)
	}
	wants(t, dst, 4, 6)
	runtime.KeepAlive(x)
}

// TestOutOfMemory checks that an evaluation or a write that runs out of memory changes nothing, and that
// the next try succeeds.
func TestOutOfMemory(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	const n = 1 << 20
	for name, f := range map[string]func(x *Array) (try func() error, kept []*Array, after []float32){
		"evaluation": func(x *Array) (func() error, []*Array, []float32) {
			z := x.Add(1)
			return func() error { return Eval(z) }, nil, []float32{1, 1}
		},
		"read of a chain": func(x *Array) (func() error, []*Array, []float32) {
			z := x.Add(1).Mul(2).Sub(x)
			return func() error { _, err := Item[float32](z.Slice(0, 0, 1)); return err }, nil, []float32{1, 1}
		},
		"write of a part": func(x *Array) (func() error, []*Array, []float32) {
			kept := []*Array{x.Add(1), x.Add(2)}
			return func() error { return x.Slice(0, 1, n).CopyFrom(5) }, kept, []float32{1, 5}
		},
		"write of all": func(x *Array) (func() error, []*Array, []float32) {
			kept := []*Array{x.Add(1), x.Add(2)}
			return func() error { return x.AddInPlace(3) }, kept, []float32{4, 4}
		},
		"Into": func(x *Array) (func() error, []*Array, []float32) {
			kept := []*Array{x.Add(1), x.Add(2)}
			return func() error { return Into(x, x.Flip(0).Mul(7)) }, kept, []float32{7, 7}
		},
		"FromSliceInto": func(x *Array) (func() error, []*Array, []float32) {
			kept := []*Array{x.Add(1), x.Add(2)}
			data := make([]float32, n)
			return func() error { return FromSliceInto(x, data) }, kept, []float32{0, 0}
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := Ones(dtype.Float32, n)
			must(t, Eval(x))
			view := x.Slice(0, 0, 2)
			try, kept, after := f(x)
			restore := limited(t, 0)
			for range 2 {
				if err := try(); !errors.Is(err, device.ErrOutOfMemory) {
					t.Fatal(err)
				}
				checkInvariants(t, append(kept, x)...)
				for _, a := range kept {
					if a.Err() != nil || !a.isPending() {
						t.Errorf("a reader is pending: %v, error %v", a.isPending(), a.Err())
					}
				}
				wants(t, view, 1, 1)
			}
			restore()
			must(t, try())
			wants(t, view, after...)
			for i, a := range kept {
				wants(t, a.Slice(0, n-2, n), float32(i+2), float32(i+2))
			}
			checkInvariants(t, append(kept, x)...)
		})
	}
}

// TestScopeLoop checks that a loop in a scope uses bounded memory without a garbage collection.
func TestScopeLoop(t *testing.T) {
	d := device.Default()
	w := Ones(dtype.Float32, 1000)
	must(t, Eval(w))
	runtime.GC()
	_ = d.Pool()
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var first int64
	for i := range 200 {
		must(t, Scoped(func(s *Scope) error {
			x := s.In(w)
			y := x.Mul(2).Add(1)
			z := y.Exp()
			sum := z.Sum().Add(y.Sum())
			if err := Eval(sum, z); err != nil {
				return err
			}
			return w.AddInPlace(x.Mul(0.001))
		}))
		if n := d.Pool().InUse; i == 0 {
			first = n
		} else if n != first {
			t.Fatalf("%d bytes in use after %d rounds, %d after the first", n, i+1, first)
		}
	}
	checkInvariants(t, w)
}

// TestScopeRules checks which arrays belong to a scope, and which leave it.
func TestScopeRules(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	freed := func(t *testing.T, as ...*Array) {
		t.Helper()
		for i, a := range as {
			if err := Eval(a); !errors.Is(err, device.ErrFreed) {
				t.Errorf("array %d: %v, want %v", i, err, device.ErrFreed)
			}
		}
	}
	t.Run("In", func(t *testing.T) {
		w := FromSlice([]float32{1, 2})
		s := NewScope()
		x := s.In(w)
		view, sum, outside := x.Slice(0, 0, 1), x.Add(w), w.Add(1)
		wants(t, sum, 2, 4)
		must(t, s.Close())
		freed(t, x, view, sum)
		wants(t, w, 1, 2)
		wants(t, outside, 2, 3)
	})
	t.Run("Own", func(t *testing.T) {
		w := FromSlice([]float32{1, 2})
		s, other := NewScope(), NewScope()
		if a := s.Own(w); a != w {
			t.Errorf("another array, %v", a.Err())
		}
		must(t, s.Own(w).Err())
		if err := other.Own(w).Err(); !errors.Is(err, expr.ErrUnsupported) || !strings.Contains(err.Error(), "belongs to the scope of NewScope at ") {
			t.Error(err)
		}
		view, made := w.Slice(0, 1, 2), w.Add(1)
		must(t, s.Close())
		freed(t, w, view, made)
		must(t, other.Close())
	})
	t.Run("Keep", func(t *testing.T) {
		w := FromSlice([]float32{1, 2})
		s := NewScope()
		x := s.In(w)
		waiting, stored := s.Keep(x.Add(1)), x.Add(2)
		must(t, Eval(stored))
		stored = s.Keep(stored)
		must(t, s.Keep(stored.Slice(0, 0, 1)).Err()) // once more, through a view
		if err := NewScope().Keep(x.Add(3)).Err(); !errors.Is(err, expr.ErrUnsupported) {
			t.Error(err)
		}
		inner := waiting.Mul(10)
		must(t, s.Close())
		if waiting.isPending() {
			t.Error("what was kept is not computed")
		}
		wants(t, waiting, 2, 3)
		wants(t, stored, 3, 4)
		wants(t, inner, 20, 30)
		wants(t, waiting.Add(1), 3, 4)
		checkInvariants(t, w, waiting, stored)
	})
	t.Run("nested", func(t *testing.T) {
		w := FromSlice([]float32{1, 2})
		outer := NewScope()
		a := outer.In(w).Add(1)
		inner := NewScope()
		b := inner.In(w).Mul(3)
		both := a.Add(b)
		must(t, Eval(both))
		kept := inner.Keep(a.Sub(b))
		lost := inner.Keep(inner.In(a).Mul(2)).Neg()
		must(t, inner.Close())
		freed(t, b, both)
		wants(t, a, 2, 3)
		wants(t, kept, -1, -3)
		wants(t, lost, -4, -6)
		must(t, outer.Close())
		freed(t, a)
		wants(t, kept, -1, -3)
	})
	t.Run("twice", func(t *testing.T) {
		w := FromSlice([]float32{1, 2})
		s := NewScope()
		x := s.In(w)
		must(t, s.Close())
		var oe *OpError
		if err := s.Close(); !errors.Is(err, device.ErrFreed) || !errors.As(err, &oe) || oe.Op != "Close" || !strings.Contains(err.Error(), "freed by Close at ") {
			t.Error(err)
		}
		for _, err := range []error{s.In(w).Err(), s.Own(w).Err(), s.Keep(w).Err(), x.Err(), x.Add(1).Err(), w.AddInPlace(x)} {
			if !errors.Is(err, device.ErrFreed) {
				t.Error(err)
			}
		}
		for _, s := range []*Scope{nil, {}} {
			for _, err := range []error{s.Close(), s.In(w).Err(), s.Own(w).Err(), s.Keep(w).Err()} {
				if !errors.Is(err, expr.ErrUnsupported) {
					t.Error(err)
				}
			}
		}
		wants(t, w, 1, 2)
	})
	t.Run("Scoped", func(t *testing.T) {
		w := FromSlice([]float32{1, 2})
		bad := errors.New("bad")
		var x *Array
		if err := Scoped(func(s *Scope) error { x = s.In(w).Add(1); return bad }); !errors.Is(err, bad) {
			t.Error(err)
		}
		freed(t, x)
		func() {
			defer func() {
				if recover() != "a panic" {
					t.Error("the panic was swallowed")
				}
			}()
			_ = Scoped(func(s *Scope) error { x = s.In(w).Add(1); panic("a panic") })
		}()
		freed(t, x)
		if err := Scoped(nil); !errors.Is(err, expr.ErrUnsupported) {
			t.Error(err)
		}
		err := Scoped(func(s *Scope) error {
			taken := s.Keep(Take(s.In(w), FromSlice([]int64{5}), 0))
			if w.on().Kind() != device.CPU { // a GPU finds the index later than Close starts the work
				if _, err := ToSlice[float32](taken); err == nil {
					t.Error("an index outside its axis was read")
				}
			}
			return bad
		})
		if !errors.Is(err, bad) || !strings.Contains(err.Error(), "index 5 ") {
			t.Errorf("%v: not both errors", err)
		}
	})
	t.Run("writes", func(t *testing.T) {
		w := FromSlice([]float32{1, 2})
		s := NewScope()
		x := s.In(w)
		reader := x.Mul(10)
		must(t, w.AddInPlace(x.Add(1)))
		must(t, w.Slice(0, 0, 1).CopyFrom(reader.Slice(0, 1, 2)))
		must(t, s.Close())
		freed(t, reader)
		wants(t, w, 20, 5)
		checkInvariants(t, w)
		must(t, w.AddInPlace(1))
		wants(t, w, 21, 6)
	})
}
