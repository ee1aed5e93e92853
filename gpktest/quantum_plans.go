package gpktest

import (
	"context"
	"errors"
	"math"
	"math/cmplx"
	"runtime"
	"slices"
	"strings"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/quantum"
)

// quantumPlans: whatever the circuit, the samples, the budget and the options are, no more
// bytes are in use than the plan says, no more than the budget are held, and K is what
// it is without a budget.
func (s *suite) quantumPlans(t *testing.T) {
	count := 60
	switch {
	case s.dev.Kind() == device.CUDA:
		count = 150
	case raceDetector:
		count = 25
	}
	ctx := context.Background()
	planned, refused, most := 0, 0, 0.0
	for range count {
		qubits := 1 + s.rng.IntN(11)
		c, _ := s.quantumCircuit(qubits, 1+s.rng.IntN(4*qubits), s.rng.IntN(3) == 0)
		n, m := 1+s.rng.IntN(400), 0
		_, x := s.quantumSamples(n)
		var y *gpk.Array
		if s.rng.IntN(3) == 0 {
			m = 1 + s.rng.IntN(400)
			_, y = s.quantumSamples(m)
		}
		o := quantum.Options{
			Precision: quantum.Precision(s.rng.IntN(3)), Path: []quantum.Path{quantum.Auto, quantum.General}[s.rng.IntN(2)],
			Keep: quantum.Keep(s.rng.IntN(3)), Streams: 1 << s.rng.IntN(4), Normalize: s.rng.IntN(4) == 0,
			MemoryBudget: int64(math.Exp(math.Log(64<<10) + s.rng.Float64()*math.Log(2048))), // 64 KiB to 128 MiB
		}
		if s.rng.IntN(2) == 0 {
			o.Tile = 4 + s.rng.IntN(300)
		}
		if s.rng.IntN(3) == 0 {
			o.Output = &smallDisk{left: 1 << 40}
		}
		if err := gpk.Eval(x); err != nil {
			t.Fatal(err)
		}
		if y != nil {
			if err := gpk.Eval(y); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.dev.Trim(); err != nil {
			t.Fatal(err)
		}
		watch := devicetest.Watch(s.dev)
		r, err := quantum.Gram(ctx, c, x, y, o)
		inUse, held := watch.Stop(), watch.Held()
		switch {
		case errors.Is(err, gpk.ErrOutOfMemory):
			if refused++; !strings.Contains(err.Error(), "needs") || inUse != 0 {
				t.Errorf("%d x %d, %+v: %v, after %d bytes were in use\n%v", n, m, o, err, inUse, c)
			}
		case err != nil:
			t.Fatalf("%d x %d, %+v: %v\n%v", n, m, o, err, c)
		default:
			planned++
			most = max(most, float64(inUse)/float64(r.Plan.PeakBytes))
			if inUse > r.Plan.PeakBytes || r.Plan.PeakBytes > o.MemoryBudget {
				t.Errorf("%d x %d, %+v: %d bytes were in use\n%v%v", n, m, o, inUse, r.Plan, c)
			}
			if s.dev.Kind() == device.CUDA && held > o.MemoryBudget {
				t.Errorf("%d x %d, %+v: %d bytes were held\n%v%v", n, m, o, held, r.Plan, c)
			}
			if r.K != nil {
				s.sameKernel(t, c, x, y, o, r.K)
				r.K.Free()
			}
		}
		x.Free()
		y.Free()
	}
	t.Logf("%d plans were carried out, %d refused; at most %.3f of what they say was in use", planned, refused, most)
	if planned < count/4 || refused == 0 && count > 50 {
		t.Errorf("%d plans were carried out, %d refused", planned, refused)
	}
}

// sameKernel compares K with one that was computed in float64 with all the memory there is.
func (s *suite) sameKernel(t *testing.T, c *quantum.Circuit, x, y *gpk.Array, o quantum.Options, k *gpk.Array) {
	t.Helper()
	r, err := quantum.Gram(context.Background(), c, x, y, quantum.Options{Precision: quantum.Double, Path: quantum.General, Normalize: o.Normalize})
	if err != nil {
		t.Fatal(err)
	}
	defer r.K.Free()
	want, got := must[float64](t, r.K), must[float64](t, k.Cast(gpk.Float64))
	bound := [...]float64{1e-5, 4e-3, 2e-12}[o.Precision] // both are off
	for i, v := range got {
		if !(math.Abs(v-want[i]) <= bound) {
			t.Fatalf("%+v: entry %d is %v, in float64 %v\n%v", o, i, v, want[i], c)
		}
	}
	runtime.KeepAlive(k)
}

// quantumSizesOfTiles: odd numbers of samples with tiles that do not divide them, in
// memory that held NaN: all of K is written, symmetric bit for bit, 1 on the diagonal,
// and the same bits however many streams.
func (s *suite) quantumSizesOfTiles(t *testing.T) {
	sizes := []int{1, 15, 16, 17, 511, 513}
	if s.dev.Kind() == device.CUDA {
		sizes = append(sizes, 4097)
	}
	c, reference := s.quantumCircuit(5, 25, false)
	for _, n := range sizes {
		rows, x := s.quantumSamples(n)
		for _, o := range []quantum.Options{
			{},
			{Precision: quantum.Double},
			{Precision: quantum.Fast, Tile: 300},
			{Path: quantum.General, Tile: 130},
			{Path: quantum.General, Tile: 1000, Precision: quantum.Double},
			{Path: quantum.General, Tile: 700, Keep: quantum.Recompute},
		} {
			want := func(i, j int) float64 {
				a, b := reference(rows[i]), reference(rows[j])
				var sum complex128
				for k := range a {
					sum += cmplx.Conj(a[k]) * b[k]
				}
				return real2(sum)
			}
			s.checkGram(t, c, x, nil, [2]int{n, 0}, o, want, [...]float64{5e-6, 2e-3, 1e-12}[o.Precision])
			if n < 500 || o.Tile == 0 {
				continue
			}
			var first []float64
			for _, o.Streams = range []int{1, 2, 4, 8} {
				r, err := quantum.Gram(context.Background(), c, x, nil, o)
				if err != nil {
					t.Fatal(err)
				}
				k := must[float64](t, r.K.Cast(gpk.Float64))
				r.K.Free()
				if first == nil {
					first = k
				}
				if !slices.Equal(k, first) {
					t.Errorf("%d samples, %+v: other bits than one stream", n, o)
				}
			}
		}
		x.Free()
	}
}
