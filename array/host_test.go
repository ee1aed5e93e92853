package array

import (
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// nothing is work that does nothing, in the place of a launch.
type nothing struct{}

func (nothing) Start(int, uint64) error { return nil }

// onFake returns arrays of 16 elements on a device that claims to be a GPU and
// computes nothing.
func onFake(t testing.TB, n int) []*Array {
	d := device.NewFake(device.Info{Name: "fake", Kind: device.CUDA, SM: 90, TotalMemory: 1 << 30}, device.CapabilitiesOf(90))
	t.Cleanup(func() { openSets.Delete(d) })
	var out []*Array
	for range n {
		buf, err := d.Alloc(64, nil)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, FromBuffer(buf, dtype.Float32, 16))
	}
	return out
}

// addFake is Add on a fake device: everything but the kernel library.
func addFake(a, b *Array) *Array {
	r := new(Array)
	r.addFake(a, b)
	return r
}

func (r *Array) addFake(a, b *Array) {
	r.pointwise(&call{"Add", here()}, rule{code: expr.Add, run: launchNothing}, a, b, a.dt)
}

// matMulFake is MatMul on a fake device: everything but the plan and its kernel.
func matMulFake(a, b *Array) *Array {
	r := new(Array)
	r.matMul(a, b, nil)
	r.v.op.run = launchNothing
	return r
}

// sumFake is Sum of columns on a fake device: everything but the kernel library.
func sumFake(a *Array) *Array {
	r := new(Array)
	r.reduce(expr.Sum, a, []int{0})
	r.v.op.run = launchNothing
	return r
}

func launchNothing(o *operation, s *device.Stream, dst device.View) error {
	reads, writes := [2]*device.Buffer{o.in[0].view.Buffer, o.in[1].view.Buffer}, [1]*device.Buffer{dst.Buffer}
	return s.Device().LaunchWork(s, reads[:], writes[:], nothing{})
}

// TestIntoAllocates: an operation that ends in Into allocates nothing, on either
// kind of device.
func TestIntoAllocates(t *testing.T) {
	if raceEnabled {
		t.Skip("sync.Pool drops what it is given at random when the race detector watches")
	}
	defer eager.Store(eager.Swap(false))
	x, y := Zeros(dtype.Float32, 16), Ones(dtype.Float32, 16)
	h := Ones(dtype.BFloat16, 16)
	if err := Eval(x, y, h); err != nil {
		t.Fatal(err)
	}
	fake := onFake(t, 3)
	square, row := fake[0].Reshape(4, 4), fake[1].Slice(0, 2, 6)
	tall, wide, dot := fake[1].Reshape(8, 2), fake[2].Reshape(2, 8), fake[0].Slice(0, 0, 4).Reshape(2, 2)
	for name, f := range map[string]func() error{
		"Add":                 func() error { return Into(x, x.Add(y)) },
		"function":            func() error { return Into(x, Add(x, y)) },
		"number":              func() error { return Into(x, x.Mul(1.5)) },
		"unary":               func() error { return Into(x, y.Neg()) },
		"halves":              func() error { return Into(h, h.Add(h)) },
		"copy":                func() error { return Into(x, y) },
		"Sum, on a GPU":       func() error { return Into(row, sumFake(square)) },
		"on a GPU":            func() error { return Into(fake[0], addFake(fake[1], fake[2])) },
		"MatMul, on a GPU":    func() error { return Into(dot, matMulFake(wide, tall)) },
		"broadcast, on a GPU": func() error { return Into(square, addFake(square, row)) },
	} {
		if err := f(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if n := testing.AllocsPerRun(200, func() {
			if err := f(); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// TestDropped: what the program dropped does not keep memory from data that
// comes, even if the operation was the last one that it asked for.
func TestDropped(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	const total = 1 << 20
	d := device.NewFake(device.Info{Name: "fake", Kind: device.CUDA, SM: 90, TotalMemory: total}, device.CapabilitiesOf(90))
	t.Cleanup(func() { openSets.Delete(d) })
	func() {
		buf, err := d.Alloc(total/4*3, nil)
		if err != nil {
			t.Fatal(err)
		}
		a := FromBuffer(buf, dtype.Float32, total/16*3)
		addFake(a, a)
	}()
	b := Ones(dtype.Float32, total/8).To(d)
	if err := b.Err(); err != nil {
		t.Error(err)
	}
	b.Free()
}
