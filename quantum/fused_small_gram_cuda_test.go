package quantum

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestFusedSmallGram: K of single wires has the same bits, and errors the same words, whether fusedSmallGram
// computes it or not; more wires and longer codes than it takes go the usual way.
func TestFusedSmallGram(t *testing.T) {
	onCPU(t)
	dev := testDevice(t)
	if dev.Kind() != device.CUDA {
		t.Skip("fusedSmallGram is two kernels of a GPU; -quantum.device=cuda compares them with the usual way")
	}
	rng := testrand.New(t)
	run := func(e cudaEngine, c *Circuit, x *gpk.Array, o Options) (*Result, error) {
		k, err := compileGram(c, o.Path)
		if err != nil {
			t.Fatal(err)
		}
		j := &job{kernel: k, options: o, dev: dev, progress: func(int64) {}}
		if j.x, err = readSamples("x", x, k.features); err != nil {
			t.Fatal(err)
		}
		defer j.x.free()
		j.y = j.x
		j.options.MemoryBudget = 1 << 30
		if j.plan, err = k.plan(j.x.n, 0, dev.Info(), j.options); err != nil {
			t.Fatal(err)
		}
		r := &Result{Plan: j.plan}
		j.report = &r.Report
		err = e.gram(context.Background(), j)
		r.K = j.k
		return r, err
	}
	for _, of := range []struct{ planar, full int }{{1, 0}, {8, 0}, {16, 0}, {0, 3}, {0, 16}, {5, 3}, {9, 5}, {0, 20}} {
		q := of.planar + of.full
		c := NewCircuit(q)
		for w := range q {
			switch {
			case w >= of.planar:
				c.RY(w, Feature(w)).RZ(w, Feature(w).Scale(0.7).Add(Const(0.3)))
			case w%2 == 0:
				c.RY(w, Feature(w)).RY(w, Feature(q-1-w).Mul(Feature(w)))
			default:
				c.H(w).RX(w, Feature(w))
			}
		}
		for _, n := range []int{4, 132, 500, 1000} {
			samples := randomSamples(rng, n, q+1) // one more feature than the angles use
			for _, dt := range []gpk.DType{gpk.Float32, gpk.Float64} {
				x := arrayOf(samples, q+1).Cast(dt).To(dev)
				name := fmt.Sprintf("%d planar wires and %d others, %d samples %v", of.planar, of.full, n, dt)
				one, err := run(cudaEngine{poison: true}, c, x, Options{Jitter: 0.5})
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				long, err := run(cudaEngine{poison: true, unfused: true}, c, x, Options{Jitter: 0.5})
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if dev.Info().SM == 90 && ((one.Report.Launches == 2) != fewWires(of.planar, of.full) || long.Report.Launches <= 2) {
					t.Errorf("%s: %d and %d launches", name, one.Report.Launches, long.Report.Launches)
				}
				a, b := values(t, one.K), values(t, long.K)
				for i := range a {
					if a[i] != b[i] {
						t.Fatalf("%s: K[%d, %d] is %v, step by step %v", name, i/n, i%n, a[i], b[i])
					}
				}
				if p, q := one.Report, long.Report; p.OffDiagonalMean != q.OffDiagonalMean || p.OffDiagonalStd != q.OffDiagonalStd || p.MaxDiagonalError != q.MaxDiagonalError || p.MaxBuilds != q.MaxBuilds {
					t.Errorf("%s: report %+v, step by step %+v", name, p, q)
				}
				one.K.Free()
				long.K.Free()
			}
			for _, bad := range []float64{math.NaN(), math.Inf(-1)} {
				for _, col := range []int{0, q} {
					row := rng.IntN(n)
					was := samples[row][col]
					samples[row][col] = bad
					_, err := run(cudaEngine{}, c, arrayOf(samples, q+1).Cast(gpk.Float32).To(dev), Options{})
					samples[row][col] = was
					if want := fmt.Sprintf("row %d, column %d", row, col); !errors.Is(err, gpk.ErrNonFinite) || !strings.Contains(err.Error(), want) {
						t.Errorf("%v in %s: %v", bad, want, err)
					}
				}
			}
		}
	}
	long := NewCircuit(16)
	for w := range 16 {
		long.H(w).RZ(w, Feature(w)).H(w).RZ(w, Feature(w))
	}
	r, err := run(cudaEngine{poison: true}, long, arrayOf(randomSamples(rng, 8, 16), 16).Cast(gpk.Float32).To(dev), Options{})
	if err != nil || r.Report.Launches <= 2 {
		t.Errorf("a long code: %v, report %+v", err, r.Report)
	}
	r.K.Free()
	// An angle that overflows.
	c := NewCircuit(2).RY(0, Feature(0).Mul(Feature(0))).RY(1, Feature(1))
	x := gpk.FromSlice([]float64{1, 2, 1e200, 3, 4, 5, 6, 7}, 4, 2).To(dev)
	if _, err := run(cudaEngine{}, c, x, Options{}); !errors.Is(err, gpk.ErrNonFinite) || !strings.Contains(err.Error(), "overflows for row 1") {
		t.Errorf("an angle of 1e400: %v", err)
	}
}
