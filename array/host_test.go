package array

import (
	"math"
	"runtime"
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/internal/weaklist"
)

// nothing is work that does nothing, in the place of a launch.
type nothing struct{}

func (nothing) Start(int, uint64) error { return nil }

// onFake returns arrays of 16 elements on a device that claims to be a GPU and
// computes nothing.
func onFake(t testing.TB, n int) []*Array {
	d := devicetest.NewFake(device.Info{Name: "fake", Kind: device.CUDA, SM: 90, TotalMemory: 1 << 30}, device.CapabilitiesOf(90))
	t.Cleanup(func() { schedulers.Delete(d) })
	var out []*Array
	for range n {
		buf, err := d.Alloc(64, nil)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, storedArray(buf, dtype.Float32, []int{16}, d.DefaultStream(), call{}, ""))
	}
	return out
}

// addFake is like Add, on a fake device without the kernel library.
func addFake(a, b *Array) *Array {
	n := newElementwise(call{"Add", here()}, rule{code: expr.Add, args: [3]int8{0, 1}, arity: 2})
	n.run = launchNothing
	return n.result(streamOf(a, b), a.dt, a.dense(), 2, a, b)
}

// stubbed has the pending operation of an array run f instead.
func stubbed(a *Array, f func(j *job, s *device.Stream, dst device.View) error) *Array {
	s := schedulerOf(a.on())
	s.mu.Lock()
	defer s.mu.Unlock()
	a.st.cur.node.run = f
	return a
}

// matMulFake is like MatMul, on a fake device without the plan and its kernel.
func matMulFake(a, b *Array) *Array { return stubbed(a.MatMul(b), launchNothing) }

// sumFake is like Sum of columns, on a fake device without the kernel library.
func sumFake(a *Array) *Array { return stubbed(reduce(expr.Sum, a, []int{0}), launchNothing) }

func launchNothing(j *job, s *device.Stream, dst device.View) error {
	reads, writes := [2]*device.Buffer{j.view(0).Buffer, j.view(1).Buffer}, [1]*device.Buffer{dst.Buffer}
	return s.Device().LaunchWork(s, reads[:], writes[:], nothing{})
}

// TestIntoAllocates limits the allocations of an operation that ends in Into, on both
// kinds of device: its own records and those of the write, and nothing from the pool if
// the operation does not read the destination.
func TestIntoAllocates(t *testing.T) {
	if raceEnabled {
		t.Skip("sync.Pool drops what it is given at random when the race detector watches")
	}
	defer eager.Store(eager.Swap(false))
	x, y, dst := Zeros(dtype.Float32, 16), Ones(dtype.Float32, 16), Zeros(dtype.Float32, 16)
	h, half := Ones(dtype.BFloat16, 16), Ones(dtype.BFloat16, 16)
	must(t, Eval(x, y, h, dst, half))
	setAsidePending(t, x.on())
	fake := onFake(t, 5)
	to, row, other := fake[0], fake[1].Slice(0, 2, 6), fake[2].Slice(0, 2, 6)
	square, source := fake[0].Reshape(4, 4), fake[3].Reshape(4, 4)
	tall, wide, dot := fake[3].Reshape(8, 2), fake[4].Reshape(2, 8), fake[0].Slice(0, 0, 4).Reshape(2, 2)
	for name, c := range map[string]struct {
		most float64
		f    func() error
	}{
		"Add":                 {11, func() error { return Into(dst, x.Add(y)) }},
		"function":            {11, func() error { return Into(dst, Binary(expr.Add, x, y)) }},
		"number":              {10, func() error { return Into(dst, x.Mul(1.5)) }},
		"unary":               {10, func() error { return Into(dst, y.Neg()) }},
		"halves":              {11, func() error { return Into(half, h.Add(h)) }},
		"copy":                {8, func() error { return Into(dst, y) }},
		"Sum, on a GPU":       {10, func() error { return Into(row, sumFake(source)) }},
		"on a GPU":            {11, func() error { return Into(to, addFake(fake[3], fake[4])) }},
		"MatMul, on a GPU":    {14, func() error { return Into(dot, matMulFake(wide, tall)) }},
		"broadcast, on a GPU": {11, func() error { return Into(square, addFake(source, other)) }},
	} {
		if err := c.f(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		taken := func() (n uint64) {
			for _, a := range []*Array{x, to} {
				p := a.on().Pool()
				n += p.Allocs + p.Reuses
			}
			return n
		}
		before := taken()
		if n := devicetest.LeastAllocs(200, func() {
			if err := c.f(); err != nil {
				t.Error(err)
			}
		}); n > c.most {
			t.Errorf("%s: %v allocations, want at most %v", name, n, c.most)
		}
		if n := taken() - before; n != 0 {
			t.Errorf("%s: %d buffers, want 0", name, n)
		}
	}
}

// setAsidePending empties a device's list of pending nodes until the test ends: every
// operation looks at those that other tests have dropped or not read.
func setAsidePending(t *testing.T, d *device.Device) {
	t.Helper()
	sched := schedulerOf(d)
	sched.mu.Lock()
	defer sched.mu.Unlock()
	sched.pending.Loosen()
	pending := sched.pending
	sched.pending = weaklist.Queue[node, *node]{}
	t.Cleanup(func() {
		sched.mu.Lock()
		defer sched.mu.Unlock()
		for _, n := range pending.All() {
			sched.pending.Restore(n)
		}
	})
}

// TestSmallSumAllocates bounds the objects and the bytes of a sum of 1,000 elements on the
// CPU that is computed, read and freed: its records, and no scratch memory of the kernel.
func TestSmallSumAllocates(t *testing.T) {
	if raceEnabled {
		t.Skip("sync.Pool drops what it is given at random when the race detector watches")
	}
	defer eager.Store(eager.Swap(false))
	x := Ones(dtype.Float32, 1000)
	must(t, Eval(x))
	setAsidePending(t, x.on())
	const runs = 500
	sum := func() {
		y := x.Sum()
		if v, err := Item[float32](y); err != nil || v != 1000 {
			t.Errorf("%v, %v, want 1000", v, err)
		}
		y.Free()
	}
	if n := devicetest.LeastAllocs(runs, sum); n > 16 {
		t.Errorf("%v allocations, want at most 16", n)
	}
	least := uint64(math.MaxUint64) // the minimum over several rounds, because other goroutines allocate too
	for range 5 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range runs {
			sum()
		}
		runtime.ReadMemStats(&after)
		least = min(least, (after.TotalAlloc-before.TotalAlloc)/runs)
	}
	if least > 3500 { // the scratch memory of a sum alone is 4 KB
		t.Errorf("%d bytes, want at most 3500", least)
	}
}

// TestDropped checks that arrays that the program dropped do not keep memory from new
// data, even if their operation was the last one that the program called.
func TestDropped(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	const total = 1 << 20
	d := devicetest.NewFake(device.Info{Name: "fake", Kind: device.CUDA, SM: 90, TotalMemory: total}, device.CapabilitiesOf(90))
	t.Cleanup(func() { schedulers.Delete(d) })
	func() {
		buf, err := d.Alloc(total/4*3, nil)
		if err != nil {
			t.Fatal(err)
		}
		a := FromBuffer(buf, dtype.Float32, total/16*3)
		addFake(a, a)
	}()
	cpu, err := device.Open("cpu")
	must(t, err)
	b := FromSliceOn(cpu, make([]float32, total/8)).To(d)
	if err := b.Err(); err != nil {
		t.Error(err)
	}
	b.Free()
}
