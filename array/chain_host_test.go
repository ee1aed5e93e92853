package array

import (
	"testing"
	"time"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/devicetest"
)

// onCompiling returns three arrays of 16 elements on a device that claims to be a GPU
// with a compiler, but computes nothing. The kernel of x.Add(y).ReLU() is compiled
// already.
func onCompiling(t testing.TB) (x, y, dst *Array) {
	t.Helper()
	d := devicetest.NewFakeWithCode(
		device.Info{Name: "fake", Kind: device.CUDA, SM: 90, MultiProcessors: 132, TotalMemory: 1 << 30, CUDA: 13000},
		device.CapabilitiesOf(90),
		device.FakeCode{
			Compile: func(device.Code) ([]int, string) {
				time.Sleep(10 * time.Millisecond) // compiled must wait: the device has no kernels for the steps
				return nil, ""
			},
			Start: func(string, device.Launch, []byte) error { return nil },
		})
	t.Cleanup(func() { schedulers.Delete(d) })
	var as [3]*Array
	for i := range as {
		buf, err := d.Alloc(64, nil)
		if err != nil {
			t.Fatal(err)
		}
		as[i] = storedArray(buf, dtype.Float32, []int{16}, d.DefaultStream(), call{}, "")
	}
	compiled(t, as[0].Add(as[1]).ReLU())
	return as[0], as[1], as[2]
}

// TestChainAllocates limits the allocations of a chain of two steps to those of its plan.
func TestChainAllocates(t *testing.T) {
	if raceEnabled {
		t.Skip("sync.Pool drops what it is given at random when the race detector watches")
	}
	defer eager.Store(eager.Swap(false))
	x, y, dst := onCompiling(t)
	for _, tt := range []struct {
		name string
		most float64 // one of them is the fake's
		f    func() error
	}{
		{"Into", 25, func() error { return Into(dst, x.Add(y).ReLU()) }},
		{"Eval and Free", 33, func() error {
			z := x.Add(y).ReLU()
			defer z.Free()
			return Eval(z)
		}},
	} {
		if n := devicetest.LeastAllocs(200, func() {
			if err := tt.f(); err != nil {
				t.Error(err)
			}
		}); n > tt.most {
			t.Errorf("%s: %v allocations, want at most %v", tt.name, n, tt.most)
		}
	}
}

func BenchmarkChainInto(b *testing.B) {
	defer eager.Store(eager.Swap(false))
	x, y, dst := onCompiling(b)
	b.ReportAllocs()
	for b.Loop() {
		if err := Into(dst, x.Add(y).ReLU()); err != nil {
			b.Fatal(err)
		}
	}
}
