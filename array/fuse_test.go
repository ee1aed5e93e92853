package array

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/fused"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/internal/weaklist"
)

// pair returns two arrays of two elements.
func pair() (x, y *Array) { return FromSlice([]float32{1, 2}), FromSlice([]float32{10, 20}) }

// allocs returns the number of buffers that f takes from the pool.
func allocs(f func()) uint64 {
	before := device.Default().Pool()
	f()
	after := device.Default().Pool()
	return after.Allocs + after.Reuses - before.Allocs - before.Reuses
}

// forgetRereads makes the results of all lines steps again. A test, or an earlier pass of this one, may have
// read some of them twice.
func forgetRereads() {
	s := schedulerOf(device.Default())
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.reread)
}

// compiled waits until the kernel of a's chain is there, and returns a. On a GPU the steps of a chain run
// one by one, each into a buffer of its own, until its kernel is compiled.
func compiled(t testing.TB, a *Array) *Array {
	t.Helper()
	if s := a.Explain(); strings.HasPrefix(s, "failed") { // Explain starts the compiler
		t.Fatal(s)
	}
	must(t, devicetest.AwaitCompiled(a.on(), context.Background()))
	return a
}

// TestChain checks that a chain allocates only its result.
func TestChain(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	x, y := pair()
	n := allocs(func() {
		z := compiled(t, x.Add(y).Mul(2).Sub(x).Cast(dtype.Float64).Sqrt())
		w := compiled(t, where(z.Gt(0), 1, z)) // z twice
		if err := Eval(w); err != nil {
			t.Fatal(err)
		}
	})
	// z, whose second reader starts it, and w.
	if n != 2 {
		t.Errorf("%d buffers, want 2", n)
	}
	n = allocs(func() {
		wants(t, compiled(t, x.Add(y).Mul(2).Clamp(0, 30).Sum()).Neg(), -52)
	})
	if n != 2 { // the sum is stored: a reduction is no step
		t.Errorf("%d buffers, want 2", n)
	}
}

// TestSecondReader checks that a result that two operations read is computed once, and that the first of
// them, which is still pending, reads the stored elements.
func TestSecondReader(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	forgetRereads()
	x, y := pair()
	z := x.Add(y)
	first := z.Mul(2)
	if !z.isPending() {
		t.Fatal("the first reader started it")
	}
	second := z.Mul(3)
	if z.isPending() || !first.isPending() || !second.isPending() {
		t.Fatal("the second reader did not start it, or more")
	}
	if n := allocs(func() { wants(t, first, 22, 44) }); n != 1 {
		t.Errorf("the first reader took %d buffers, want 1", n)
	}
	wants(t, second, 33, 66)
	// Two uses in one operation are one.
	w := x.Add(y)
	if n := allocs(func() { wants(t, compiled(t, w.Mul(w)), 121, 484) }); n != 1 {
		t.Errorf("%d buffers, want 1", n)
	}
	if !w.isPending() {
		t.Error("a step is stored")
	}
	wants(t, w, 11, 22)
}

// TestStepKeepsValue checks that an intermediate result that is read after an input was written has the
// value of its line, and that its consumer has too.
func TestStepKeepsValue(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	forgetRereads()
	x, y := pair()
	z := x.Add(y)
	w := z.Mul(2).Neg()
	if err := x.AddInPlace(1); err != nil {
		t.Fatal(err)
	}
	wants(t, w, -22, -44)
	wants(t, z, 11, 22)
	wants(t, x, 2, 3)
	// Its consumer was computed into another array.
	a, b := pair()
	dst := FromSlice([]float32{0, 0})
	u := a.Add(b).Neg()
	if err := Into(dst, u); err != nil {
		t.Fatal(err)
	}
	wants(t, u, -11, -22)
	v, made := a.Add(b).Neg(), line()
	if err := Into(dst, v); err != nil {
		t.Fatal(err)
	}
	freed := func() string { b.Free(); return line() }()
	err := Eval(v)
	if !errors.Is(err, device.ErrFreed) || !strings.Contains(err.Error(), made) || !strings.Contains(err.Error(), "Free at "+freed) {
		t.Errorf("%v: not %s and Free at %s", err, made, freed)
	}
}

// TestStepFreed checks that operations on an intermediate result are computed before it is freed.
func TestStepFreed(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	forgetRereads()
	x, y := pair()
	z := x.Add(y)
	w := z.Mul(2)
	z.Free()
	for _, err := range []error{z.Err(), Eval(z), z.Add(1).Err()} {
		if !errors.Is(err, device.ErrFreed) {
			t.Error(err)
		}
	}
	wants(t, w, 22, 44)
	u, made := x.Add(y), line()
	v := u.Mul(3)
	freed := func() string { x.Free(); return line() }() // an input of the step
	if v.isPending() {
		t.Error("the reader of freed memory was not started")
	}
	wants(t, v, 33, 66)
	_, err := ToSlice[float32](u)
	var oe *OpError
	if !errors.Is(err, device.ErrFreed) || !errors.As(err, &oe) || oe.Op != "Add" || oe.Site != made || !strings.Contains(err.Error(), "Free at "+freed) {
		t.Errorf("%v: not Add at %s and Free at %s", err, made, freed)
	}
}

// TestDepth checks that a chain has at most 16 operations in depth.
func TestDepth(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	x, _ := pair()
	chain := []*Array{x}
	for range 3 * fused.MaxDepth {
		chain = append(chain, chain[len(chain)-1].Add(x))
	}
	started := 0
	for i, a := range chain[1:] {
		if !a.isPending() {
			started++
			if (i+1)%fused.MaxDepth != 0 {
				t.Errorf("operation %d has started", i+1)
			}
		}
	}
	if started != 2 {
		t.Errorf("%d of %d started, want 2", started, 3*fused.MaxDepth)
	}
	wants(t, chain[len(chain)-1], 49, 98)
}

// TestManyPending checks that the oldest of more than 64 pending arrays starts, and that steps do not count.
func TestManyPending(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	x, _ := pair()
	var waiting []*Array
	for range weaklist.Max {
		waiting = append(waiting, x.Add(1).Mul(2))
	}
	for i, a := range waiting {
		if !a.isPending() {
			t.Fatalf("array %d has started", i)
		}
	}
	more := []*Array{x.Add(1), x.Add(2)}
	if waiting[0].isPending() || !waiting[len(waiting)-1].isPending() {
		t.Error("not the oldest has started")
	}
	for _, a := range append(waiting, more[0]) {
		if v, err := ToSlice[float32](a); err != nil || v[0] != 4 && v[0] != 2 {
			t.Fatal(v, err)
		}
	}
}

// TestWide checks that a program has a bounded number of leaves, and that further operands are started.
func TestWide(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	var leaves []*Array
	sum := float32(0)
	for i := range 3 * fused.MaxLeaves {
		leaves = append(leaves, FromSlice([]float32{float32(i), 0}))
		sum += float32(i)
	}
	// A tree, so that it is not deep.
	for len(leaves) > 1 {
		var next []*Array
		for i := 0; i+1 < len(leaves); i += 2 {
			next = append(next, leaves[i].Add(leaves[i+1]))
		}
		if len(leaves)%2 == 1 {
			next = append(next, leaves[len(leaves)-1])
		}
		leaves = next
	}
	if !leaves[0].isPending() {
		t.Error("started early")
	}
	wants(t, leaves[0], sum, 0)
}

// TestChainViews checks that views of pending arrays are steps without being stored.
func TestChainViews(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	x := FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	row := FromSlice([]float32{10, 20, 30})
	for name, c := range map[string]struct {
		make func() *Array
		want []float32
	}{
		"transposed": {func() *Array { return x.Add(row).T().Mul(2) }, []float32{22, 28, 44, 50, 66, 72}},
		"backwards":  {func() *Array { return x.Add(row).Slice(1, 2, -4, -1).Neg() }, []float32{-33, -22, -11, -36, -25, -14}},
		"a part":     {func() *Array { return x.Add(row).Slice(0, 1, 2).Squeeze().Neg() }, []float32{-14, -25, -36}},
		"reshaped":   {func() *Array { return x.Mul(x).Reshape(3, 2).Add(1) }, []float32{2, 5, 10, 17, 26, 37}},
		"both ways":  {func() *Array { s := x.Mul(2).Slice(1, 0, 2); return s.Add(s.T()) }, []float32{4, 12, 12, 20}},
		"summed":     {func() *Array { return x.Add(row).T().Sum(0) }, []float32{66, 75}},
	} {
		t.Run(name, func(t *testing.T) {
			if n := allocs(func() { wants(t, compiled(t, c.make()), c.want...) }); n != 1 {
				t.Errorf("%d buffers, want 1", n)
			}
		})
	}
}

// TestChainFails checks that an error in the middle of a chain that ends in a write leaves the destination
// unchanged, and names the operation that failed.
func TestChainFails(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	x, y := pair()
	bad := errors.New("bad input")
	z := x.Add(y).Mul(2)
	buf, err := x.Buffer()
	if err != nil {
		t.Fatal(err)
	}
	buf.State().Fail(bad)
	dst := FromSlice([]float32{7, 8})
	if err := Into(dst, z); !errors.Is(err, bad) {
		t.Error(err)
	}
	wants(t, dst, 7, 8)
	buf.State().Heal()
	if err := dst.CopyFrom(x.Add(y).Mul(2)); err != nil {
		t.Error(err)
	}
	wants(t, dst, 22, 44)
}

// TestIntoOperand checks that a chain that reads its destination uses the old elements, also if the
// destination was a step before, must be stored first, or exceeds one program.
func TestIntoOperand(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	fresh := func() *Array { return FromSlice([]float32{1, 2, 3, 4}, 2, 2) }
	for name, c := range map[string]struct {
		write func(x *Array) error
		want  []float32
	}{
		"taken":                {func(x *Array) error { a := x.Add(1); _ = a.Neg(); return Into(x, a) }, []float32{2, 3, 4, 5}},
		"computed":             {func(x *Array) error { a := x.Add(1); return errors.Join(Into(fresh(), a), Into(x, a)) }, []float32{2, 3, 4, 5}},
		"transposed":           {func(x *Array) error { a := x.Add(1); _ = a.Neg(); return Into(x.T(), a) }, []float32{2, 4, 3, 5}},
		"computed, transposed": {func(x *Array) error { a := x.Add(1); return errors.Join(Into(fresh(), a), Into(x.T(), a)) }, []float32{2, 4, 3, 5}},
		"too much": {func(x *Array) error {
			sum := []*Array{}
			for range 2 * fused.MaxLeaves {
				sum = append(sum, x.Add(FromSlice([]float32{1, 1, 1, 1}, 2, 2)))
			}
			for len(sum) > 1 {
				var next []*Array
				for i := 0; i < len(sum); i += 2 {
					next = append(next, sum[i].Add(sum[i+1]))
				}
				sum = next
			}
			if !sum[0].isPending() {
				return errors.New("started early")
			}
			return Into(x, sum[0].Mul(1/float32(2*fused.MaxLeaves)))
		}, []float32{2, 3, 4, 5}},
	} {
		t.Run(name, func(t *testing.T) {
			x := fresh()
			if err := c.write(x); err != nil {
				t.Fatal(err)
			}
			wants(t, x, c.want...)
		})
	}
}

// TestExplainChain checks that Explain lists the operations of a kernel, and gives the reason why an operand
// is not one of them.
func TestExplainChain(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	x, y := pair()
	z := compiled(t, x.Add(y).GELU().Sum())
	for range 2 {
		s := z.Explain()
		for _, want := range []string{"one fused kernel for 3 operations", "%0 Add at array/fuse_test.go", "%1 GELU", "then Sum"} {
			if !strings.Contains(s, want) {
				t.Errorf("%q is not in\n%s", want, s)
			}
		}
		if err := Eval(z); err != nil {
			t.Fatal(err)
		}
	}
	w := FromSlice([]float32{1, 2, 3, 4}, 2, 2)
	if s := w.Softmax(1).Add(1).Explain(); !strings.Contains(s, notAStep) {
		t.Error(s)
	}
	if s := w.MatMul(w).Add(1).Explain(); !strings.Contains(s, "MatMul at array/fuse_test.go") || !strings.Contains(s, "overwritten by the chain") {
		t.Error(s)
	}
}

// TestChainGoroutines checks that goroutines that share pending operands get the right elements.
func TestChainGoroutines(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	x, y := pair()
	for range 10 {
		z := x.Add(y)
		w := z.Mul(2)
		u := w.T().Add(z)
		var wg sync.WaitGroup
		for g := range 64 {
			wg.Go(func() {
				for range 4 {
					var a *Array
					var want float32
					switch g % 5 {
					case 0:
						a, want = z.Add(w), 33
					case 1:
						a, want = w.Sum(), 66
					case 2:
						a, want = u.Mul(u), 33*33
					case 3:
						a, want = z.Reshape(2, 1).T().Reshape(2), 11
					default:
						a, want = w, 22
					}
					if g%2 == 0 {
						_ = a.Explain()
					}
					if got, err := ToSlice[float32](a); err != nil || got[0] != want {
						t.Errorf("%d: %v, %v; want %v", g, got, err, want)
					}
				}
			})
		}
		wg.Wait()
	}
}

// TestUseWhileWritten uses a pending array while another goroutine writes or frees its operand: it has the
// value of its line.
func TestUseWhileWritten(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	disturb := map[string]func(x, a *Array){
		"AddInPlace": func(x, _ *Array) { _ = x.AddInPlace(100) },
		"a part":     func(x, _ *Array) { _ = x.Slice(0, 0, 3).CopyFrom(100) },
		"Free":       func(x, _ *Array) { x.Free() },
		"Into":       func(x, a *Array) { _ = Into(x, a) },
	}
	for name, f := range disturb {
		for n := range 3000 {
			x := FromSlice(make([]float32, 16))
			a := x.Add(1)
			start := make(chan struct{})
			var wg sync.WaitGroup
			wg.Go(func() { <-start; f(x, a) })
			var got []float32
			var err error
			wg.Go(func() {
				<-start
				b := a.Mul(2)
				for range n % 7 {
					runtime.Gosched()
				}
				got, err = ToSlice[float32](b)
			})
			close(start)
			wg.Wait()
			if err != nil || got[0] != 2 {
				t.Fatalf("%s, round %d: %v, %v, want 2", name, n, got, err)
			}
		}
	}
}

// TestConjugateWhileWritten is like TestUseWhileWritten for a product that reads a Conj, whose memory is
// that of its operand.
func TestConjugateWhileWritten(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	disturb := map[string]func(x *Array){
		"AddInPlace": func(x *Array) { _ = x.AddInPlace(100) },
		"Free":       func(x *Array) { x.Free() },
	}
	for name, f := range disturb {
		for n := range 3000 {
			x := FromSlice([]complex64{1 + 2i}, 1, 1)
			y := FromSlice([]complex64{1i}, 1, 1)
			a := x.Conj()
			start := make(chan struct{})
			var wg sync.WaitGroup
			wg.Go(func() { <-start; f(x) })
			var got []complex64
			var err error
			wg.Go(func() {
				<-start
				b := a.MatMul(y)
				for range n % 7 {
					runtime.Gosched()
				}
				got, err = ToSlice[complex64](b)
			})
			close(start)
			wg.Wait()
			if err != nil || got[0] != 2+1i {
				t.Fatalf("%s, round %d: %v, %v, want 2+1i", name, n, got, err)
			}
		}
	}
}

// where returns Where of cond, x and y by the functions of internal/compose.
func where(cond *Array, x, y any) *Array {
	return NewOperation("Where", []*Array{cond}).Elementwise(expr.Where, cond, x, y)
}
