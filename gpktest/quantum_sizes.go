package gpktest

import (
	"context"
	"errors"
	"flag"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/arraytest"
	"github.com/gpk-go/gpk/internal/bytesize"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/quantum"
)

// sizes asks for the Gram matrices of real problems.
var sizes = flag.Bool("gpktest.sizes", false, "Gram matrices of 10,000 to 80,000 samples on a GPU: a minute, and up to 138 GB of its memory")

// testQuantumSizes runs the sizes that the package is made for. It logs times. The only
// check that depends on the speed of the GPU is the time limit for cancelling.
func testQuantumSizes(t *testing.T, s *suite) {
	if !*sizes {
		t.Skip("-gpktest.sizes asks for them")
	}
	if s.dev.Kind() != device.CUDA {
		t.Skip("for a GPU")
	}
	t.Run("Doubling", func(t *testing.T) { s.quantumDoubling(t) })
	t.Run("OutOfCore", func(t *testing.T) { s.quantumOutOfCore(t) })
	t.Run("ClosedForm", func(t *testing.T) { s.quantumClosedForm(t) })
	t.Run("Written", func(t *testing.T) { s.quantumWritten(t) })
	t.Run("Wide", func(t *testing.T) { s.quantumWide(t) })
	t.Run("Autotune", func(t *testing.T) { s.quantumAutotune(t) })
	t.Run("Cancel", func(t *testing.T) { s.quantumCancel(t) })
	t.Run("Headline", func(t *testing.T) { s.quantumHeadline(t) })
	t.Run("Largest", func(t *testing.T) { s.quantumLargest(t) })
}

// entangler returns a circuit that has no closed form, with two layers that both encode
// the features, and a function that applies the same gates to a register.
func (s *suite) entangler(q int) (*quantum.Circuit, func(x []float64) []complex128) {
	weights := make([][]float64, 2)
	for l := range weights {
		for range q {
			weights[l] = append(weights[l], 2*math.Pi*s.rng.Float64())
		}
	}
	c := quantum.BasicEntangler(weights, quantum.EntanglerOptions{Embedding: quantum.RYRZ, Reupload: true})
	flip := [4]complex128{0, 1, 1, 0}
	return c, func(x []float64) []complex128 {
		r := newRegister(q)
		for _, w := range weights {
			for i := range q {
				r.apply(i, rotationY(x[i]))
				r.apply(i, rotationZ(x[i]))
			}
			for i := range q {
				r.apply(i, rotationX(w[i]))
			}
			for i := range q {
				r.apply((i+1)%q, flip, i)
			}
		}
		return r.amps
	}
}

// uniform returns n samples of q features whose kernel is neither all 0 nor all 1.
func (s *suite) uniform(n, q int) (flat []float64, x *gpk.Array) {
	scale := 4 / float64(q)
	rng := rand.New(rand.NewPCG(s.rng.Uint64(), 1))
	flat = make([]float64, n*q)
	for i := range flat {
		flat[i] = scale * rng.Float64()
	}
	return flat, gpk.FromSlice(flat, n, q)
}

// checkPairs compares count^2 entries of K with inner products of states that are
// built gate by gate, and returns the largest difference.
func (s *suite) checkPairs(t *testing.T, k *gpk.Array, flat []float64, q int, reference func(x []float64) []complex128, count int, bound float64) {
	t.Helper()
	n := k.Shape()[0]
	index := make([]int, 2*count)
	for i := range index {
		index[i] = s.rng.IntN(n)
	}
	index[0], index[count] = 0, n-1 // corners
	states := make([][]complex128, len(index))
	var wait sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, at := range index {
		wait.Add(1)
		slots <- struct{}{}
		go func() {
			defer wait.Done()
			states[i] = reference(flat[at*q : (at+1)*q])
			<-slots
		}()
	}
	wait.Wait()
	worst, most := 0.0, 0.0
	for i := range count {
		row := arraytest.Elements[float64](t, k.Slice(0, index[i], index[i]+1).Cast(gpk.Float64))
		for j := range count {
			col := index[count+j]
			var sum complex128
			for b, v := range states[i] {
				sum += cmplx.Conj(v) * states[count+j][b]
			}
			want := real2(sum)
			d := math.Abs(row[col] - want)
			if !(d <= bound) {
				t.Fatalf("K[%d, %d] is %v, want %v", index[i], col, row[col], want)
			}
			worst, most = max(worst, d), max(most, want)
		}
	}
	t.Logf("%d sampled pairs agree within %.2g; the largest entry among them is %.3g", count*count, worst, most)
}

// within runs Gram with a pool that is limited to the plan's budget plus the bytes
// already in use. So a plan that promises too little fails.
func (s *suite) within(t *testing.T, ctx context.Context, c *quantum.Circuit, x *gpk.Array, o quantum.Options) (*quantum.Result, error) {
	t.Helper()
	if err := s.dev.Trim(); err != nil {
		t.Fatal(err)
	}
	before := s.dev.Pool()
	if o.MemoryBudget > 0 {
		s.dev.SetMemoryLimit(before.InUse + o.MemoryBudget)
		defer s.dev.SetMemoryLimit(before.Limit)
	}
	begun := time.Now()
	watch := devicetest.Watch(s.dev)
	r, err := quantum.Gram(ctx, c, x, nil, o)
	most, took, held := watch.Stop(), time.Since(begun), watch.Held()
	if err == nil {
		t.Logf("%v\n%v%vpeak measured %s, planned %s, budget %s", took, r.Plan, r.Report, bytesize.Format(most), bytesize.Format(r.Plan.PeakBytes), bytesize.Format(r.Plan.Budget))
		if held > r.Plan.Budget {
			t.Errorf("%d bytes were held, the budget is %d", held, r.Plan.Budget)
		}
		if most > r.Plan.PeakBytes {
			t.Errorf("%d bytes were in use, the plan says %d at most", most, r.Plan.PeakBytes)
		}
	}
	return r, err
}

// quantumDoubling checks that twice the samples take four times as long to multiply, and
// twice as long to build.
func (s *suite) quantumDoubling(t *testing.T) {
	const q = 12
	c, reference := s.entangler(q)
	for _, p := range []quantum.Precision{quantum.Standard, quantum.Double} {
		var states, product [3]time.Duration
		_, x := s.uniform(10000, q)
		for begun := time.Now(); time.Since(begun) < time.Second; { // until the clocks have settled
			r, err := quantum.Gram(context.Background(), c, x, nil, quantum.Options{Precision: p, Path: quantum.General})
			if err != nil {
				t.Fatal(err)
			}
			r.K.Free()
		}
		x.Free()
		var flat [3][]float64
		var samples [3]*gpk.Array
		for i := range samples {
			flat[i], samples[i] = s.uniform(10000<<i, q)
		}
		const rounds = 6
		for round := range rounds { // each size twice, in turn: the clocks of a call follow from what was before it
			for _, i := range []int{0, 0, 1, 1, 2, 2} {
				x := samples[i]
				r, err := quantum.Gram(context.Background(), c, x, nil, quantum.Options{Precision: p, Path: quantum.General})
				if err != nil {
					t.Fatal(err)
				}
				if round == 0 {
					s.checkPairs(t, r.K, flat[i], q, reference, 4, map[quantum.Precision]float64{quantum.Standard: 5e-6, quantum.Double: 1e-12}[p])
					states[i], product[i] = r.Report.States, r.Report.Product
				}
				states[i], product[i] = min(states[i], r.Report.States), min(product[i], r.Report.Product)
				if round == rounds-1 {
					t.Logf("%v, %d samples: tile %d, total %v, other %v", p, 10000<<i, r.Plan.Tile, r.Report.Total, r.Report.Other)
				}
				r.K.Free()
			}
		}
		for _, x := range samples {
			x.Free()
		}
		for i := 1; i < 3; i++ {
			a, b := float64(states[i])/float64(states[i-1]), float64(product[i])/float64(product[i-1])
			t.Logf("%v, %d samples: states %v, %.2f times; product %v, %.2f times", p, 10000<<i, states[i], a, product[i], b)
			if !(a >= 1.8 && a <= 2.2) || !(b >= 3.6 && b <= 4.4) {
				t.Errorf("%v, %d samples: states take %.2f times as long, the product %.2f times", p, 10000<<i, a, b)
			}
		}
	}
}

// ring returns n samples of features up to most, a circuit that encodes them by RY and
// RZ, and its kernel in closed form. The ring of CZ gates at the end is the same for all
// samples and cancels, except on path General.
func (s *suite) ring(n, q int, most float64) (c *quantum.Circuit, x *gpk.Array, exact func(i, j int) float64) {
	flat := make([]float64, n*q)
	for i := range flat {
		flat[i] = most * s.rng.Float64()
	}
	c = quantum.NewCircuit(q)
	for w := range q {
		c.RY(w, quantum.Feature(w)).RZ(w, quantum.Feature(w))
	}
	for w := range q {
		c.CZ(w, (w+1)%q)
	}
	vectors := make([][2]complex128, n*q) // the state of each wire, for each sample
	for i, v := range flat {
		vectors[i] = [2]complex128{cmplx.Rect(math.Cos(v/2), -v/2), cmplx.Rect(math.Sin(v/2), v/2)}
	}
	return c, gpk.FromSlice(flat, n, q), func(i, j int) float64 {
		k := complex(1, 0)
		for w, a := range vectors[i*q : (i+1)*q] {
			b := vectors[j*q+w]
			k *= cmplx.Conj(a[0])*b[0] + cmplx.Conj(a[1])*b[1]
		}
		return real2(k)
	}
}

// quantumClosedForm compares 16 qubits and 2,048 samples with the closed form, all
// entries of it, on every path.
func (s *suite) quantumClosedForm(t *testing.T) {
	const n = 2048
	c, x, exact := s.ring(n, 16, 1.5)
	defer x.Free()
	for _, o := range []quantum.Options{{}, {Precision: quantum.Double}, {Path: quantum.General}, {Path: quantum.General, Precision: quantum.Fast}, {Path: quantum.General, Precision: quantum.Double}} {
		soil(n * n)
		r, err := quantum.Gram(context.Background(), c, x, nil, o)
		if err != nil {
			t.Fatal(err)
		}
		k, worst := arraytest.Elements[float64](t, r.K.Cast(gpk.Float64)), 0.0
		for i := range n {
			for j := i; j < n; j++ {
				d := math.Abs(k[i*n+j] - exact(i, j))
				if math.IsNaN(d) || k[i*n+j] != k[j*n+i] {
					t.Fatalf("%+v: K[%d, %d] is %v, its mirror %v", o, i, j, k[i*n+j], k[j*n+i])
				}
				worst = max(worst, d)
			}
		}
		t.Logf("%v, %v: within %.2g", r.Plan.Path, o.Precision, worst)
		if !(worst <= [...]float64{5e-6, 2e-3, 1e-12}[o.Precision]) {
			t.Errorf("%+v: K is %v off", o, worst)
		}
		r.K.Free()
	}
}

// quantumWritten compares the time of whole calls of the closed form, each on its own
// samples, with the time to write as many bytes as K has.
func (s *suite) quantumWritten(t *testing.T) {
	const n, q, calls = 20000, 16, 13
	ctx := context.Background()
	k := gpk.Zeros(gpk.Float32, n, n)
	one := gpk.FromSlice([]float32{1}, 1, 1).BroadcastTo(n, n)
	synchronize := func() {
		if err := s.dev.Synchronize(ctx); err != nil {
			t.Fatal(err)
		}
	}
	var write time.Duration
	for begun := time.Now(); time.Since(begun) < time.Second/2; { // until the clocks have settled
		const times = 20
		synchronize()
		at := time.Now()
		for range times {
			if err := gpk.Into(k, one); err != nil {
				t.Fatal(err)
			}
		}
		synchronize()
		write = time.Since(at) / times
	}
	k.Free()
	for _, e := range []quantum.Embedding{quantum.RY, quantum.RYRZ} {
		c := quantum.BasicEntangler([][]float64{make([]float64, q)}, quantum.EntanglerOptions{Embedding: e})
		var took []time.Duration
		for range calls {
			_, wide := s.uniform(n, q)
			x := wide.Cast(gpk.Float32)
			if err := gpk.Eval(x); err != nil {
				t.Fatal(err)
			}
			wide.Free()
			synchronize()
			begun := time.Now()
			r, err := quantum.Gram(ctx, c, x, nil, quantum.Options{})
			if err != nil {
				t.Fatal(err)
			}
			took = append(took, time.Since(begun))
			if r.Plan.Path != quantum.Product {
				t.Fatalf("the plan is %v", r.Plan)
			}
			r.K.Free()
			x.Free()
		}
		first := took[0]
		slices.Sort(took)
		t.Logf("%v: the call takes %v (%v to %v, the first %v), to write K %v: %.2f times", e, took[calls/2], took[0], took[calls-1], first, write, float64(took[calls/2])/float64(write))
	}
}

// quantumWide gives states of 2^20 and 2^22 amplitudes no more memory than the least that
// has a plan: it is enough, and K is right.
func (s *suite) quantumWide(t *testing.T) {
	const n = 4
	for _, q := range []int{20, 22} {
		c, x, exact := s.ring(n, q, 0.6)
		for _, o := range []quantum.Options{{}, {Precision: quantum.Fast}, {Precision: quantum.Double}, {Precision: quantum.Double, Keep: quantum.KeepAll, Streams: 4}} {
			o.Path = quantum.General
			lo, hi := int64(1<<20), int64(64<<30)
			for hi-lo > 4<<20 {
				o.MemoryBudget = (lo + hi) / 2
				if _, err := quantum.PlanGram(c, n, 0, s.dev.Info(), o); err == nil {
					hi = o.MemoryBudget
				} else {
					lo = o.MemoryBudget
				}
			}
			o.MemoryBudget = hi
			begun := time.Now()
			r, err := s.within(t, context.Background(), c, x, o)
			if o.Precision == quantum.Standard && errors.Is(err, gpk.ErrNonFinite) && strings.Contains(err.Error(), "use Double") {
				t.Logf("%d qubits: %v", q, err) // said, not answered
				continue
			}
			if err != nil {
				t.Errorf("%d qubits, %+v: %v", q, o, err)
				continue
			}
			k := arraytest.Elements[float64](t, r.K.Cast(gpk.Float64))
			r.K.Free()
			worst := 0.0
			for i := range n {
				for j := range n {
					worst = max(worst, math.Abs(k[i*n+j]-exact(i, j)))
				}
			}
			t.Logf("%d qubits, %v: within %.2g in %v", q, o.Precision, worst, time.Since(begun))
			if !(worst <= [...]float64{5e-6, 2e-3, 1e-12}[o.Precision]) {
				t.Errorf("%d qubits, %+v: K is %v off", q, o, worst)
			}
		}
		x.Free()
	}
}
