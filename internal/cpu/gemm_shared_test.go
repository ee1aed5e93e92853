package cpu

import (
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestSpinningWorkersShareProducts computes products that are too small to wake a thread for. The caller computes one
// part, and each spinning worker may compute another. The number of parts does not change the bits.
func TestSpinningWorkersShareProducts(t *testing.T) {
	if use32.mulUnpacked == nil {
		t.Skip("NOT RUN: this processor has no kernel for operands that are not packed, so no product is divided this way")
	}
	rng := testrand.New(t)
	x, y := make([]float32, 1<<15), make([]float32, 1<<15)
	for i := range x {
		x[i], y[i] = float32(rng.NormFloat64()), float32(rng.NormFloat64())
	}
	workers, procs := sharedWorkers, runtime.GOMAXPROCS(4)
	defer func() {
		sharedWorkers = workers
		runtime.GOMAXPROCS(procs)
	}()
	for _, c := range []struct {
		name    string
		m, n, k int
		a, b    Operand
	}{
		{"transposed A", 128, 32, 72, Operand{RS: 1, CS: 128}, Operand{RS: 32, CS: 1}},
		{"transposed B", 256, 120, 10, Operand{RS: 10, CS: 1}, Operand{RS: 1, CS: 10}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := c.a, c.b
			a.Data, b.Data = unsafe.Pointer(&x[0]), unsafe.Pointer(&y[0])
			var alone []float32
			for _, idle := range []int{0, 1, 2, 9} {
				// No worker exists: the caller computes every part, and the jobs stay in the channel.
				sharedWorkers = newWorkerPool()
				sharedWorkers.idle.Store(int32(idle))
				c32 := make([]float32, c.m*c.n)
				if err := Gemm(dtype.Float32, dtype.Float32, c.m, c.n, c.k, a, b, unsafe.Pointer(&c32[0]), c.n, nil); err != nil {
					t.Fatal(err)
				}
				if got, want := len(sharedWorkers.jobs), min(idle, 3); got != want {
					t.Errorf("with %d idle workers the product went to %d, want %d", idle, got, want)
				}
				if alone == nil {
					alone = c32
				} else if !slices.Equal(c32, alone) {
					t.Errorf("%d idle workers change bits", idle)
				}
			}
		})
	}
}
