package quantum

import (
	"context"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/bytesize"
	"github.com/gpk-go/gpk/internal/testrand"
)

// reuploaded returns a circuit whose states are complex and of which no gate can be dropped.
func reuploaded(q int) *Circuit {
	w := make([]float64, q)
	for i := range w {
		w[i] = 0.1 * float64(i+1)
	}
	return BasicEntangler([][]float64{w, w}, EntanglerOptions{Embedding: RYRZ, Reupload: true})
}

// TestPlanTiles: 80,000 samples in complex128 on an H200, states recomputed.
func TestPlanTiles(t *testing.T) {
	for _, kind := range []device.Kind{device.CUDA, device.CPU} {
		h200 := device.Info{Name: "H200", Kind: kind, TotalMemory: 143771 << 20}
		for q, tile := range map[int]int{18: 16384, 20: 4096, 22: 1024, 24: 256, 25: 128, 26: 64} {
			for _, c := range []*Circuit{reuploaded(q), ZZFeatureMap(q, 1)} {
				p, err := PlanGram(c, 80000, 0, h200, Options{Precision: Double, Path: General, Keep: Recompute})
				if err != nil {
					t.Fatal(err)
				}
				budget := int64(0.85 * float64(h200.TotalMemory))
				if p.Tile != tile || p.PeakBytes > budget || p.Budget != budget || p.Path != General || p.Keep != Recompute || p.Precision != Double {
					t.Errorf("%v q=%d: %+v, want tile %d", kind, q, p, tile)
				}
				if p.States != int64(tile)<<q*16 || p.Result != 80000*80000*8 || p.OnHost {
					t.Errorf("%v q=%d: states %d, K %d", kind, q, p.States, p.Result)
				}
				for _, text := range []string{"80000 x 80000 float64", "precision double", "at most", bytesize.Format(p.PeakBytes)} {
					if !strings.Contains(p.String(), text) {
						t.Errorf("the plan lacks %q:\n%v", text, p)
					}
				}
			}
		}
	}
}

// TestPlanBudget: no plan needs more than it may, whatever the budget is.
func TestPlanBudget(t *testing.T) {
	rng := testrand.New(t)
	plans, refused := 0, 0
	for range 1000 {
		c := reuploaded(2 + rng.IntN(14))
		if rng.IntN(4) == 0 {
			c = ringCZ(2+rng.IntN(60), true)
		}
		n, m := 1+rng.IntN(100000), 0
		if rng.IntN(2) == 0 {
			m = 1 + rng.IntN(100000)
		}
		o := Options{
			MemoryBudget: int64(math.Exp(rng.Float64() * 28)), Precision: Precision(rng.IntN(3)), Keep: Keep(rng.IntN(3)),
			Tile: max(rng.IntN(3000)-2000, 0),
		}
		if rng.IntN(3) == 0 {
			o.Output = &memoryFile{}
		}
		d := device.Info{Kind: device.Kind(rng.IntN(2)), TotalMemory: 1 << 36, MultiProcessors: 4}
		p, err := PlanGram(c, n, m, d, o)
		if err != nil {
			refused++
			if !errors.Is(err, gpk.ErrOutOfMemory) || !strings.Contains(err.Error(), "needs") {
				t.Fatal(err)
			}
			continue
		}
		plans++
		if p.PeakBytes > o.MemoryBudget || p.PeakBytes <= 0 || p.Tile < 2 || p.Keep == KeepAuto || o.Keep != KeepAuto && p.Keep != o.Keep || p.Reason == "" {
			t.Fatalf("n=%d m=%d %+v: %+v", n, m, o, p)
		}
		if o.Output != nil && p.Result != 0 || d.Kind == device.CPU && p.OnHost {
			t.Fatalf("%+v: %+v", o, p)
		}
	}
	if plans < 100 || refused < 100 {
		t.Errorf("%d plans, %d refused", plans, refused)
	}
}

// TestPlanKeeps what has a reason and what has none.
func TestPlanKeeps(t *testing.T) {
	gpu := device.Info{Kind: device.CUDA, TotalMemory: 16 << 30}
	keep := func(n int, o Options) Plan {
		t.Helper()
		p, err := PlanGram(reuploaded(10), n, 0, gpu, o)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if p := keep(1000, Options{}); p.Keep != KeepAll || p.Builds != 1 || p.OnHost {
		t.Errorf("what fits is not kept: %+v", p)
	}
	if p := keep(1<<21, Options{Output: &memoryFile{}}); p.Keep != Recompute || p.Builds < 2 || p.Builds != (1<<21+p.Tile/2-1)/(p.Tile/2) {
		t.Errorf("what does not fit is kept: %+v", p)
	}
	if p := keep(100000, Options{}); !p.OnHost || p.Result != 0 || !strings.Contains(p.String(), "host's memory") {
		t.Errorf("a K of 40 GB on 16 GB: %+v", p)
	}
	if p := keep(1000, Options{Tile: 7}); p.Tile != 8 {
		t.Errorf("an odd tile became %d", p.Tile)
	}
	if _, err := PlanGram(reuploaded(4), 10, 0, device.Info{}, Options{}); !errors.Is(err, gpk.ErrUnsupported) || !strings.Contains(err.Error(), "MemoryBudget") {
		t.Errorf("unknown memory: %v", err)
	}
	if _, err := PlanGram(reuploaded(4), -1, 0, gpu, Options{}); !errors.Is(err, gpk.ErrShape) {
		t.Errorf("-1 samples: %v", err)
	}
	if _, err := PlanGram(reuploaded(41), 10, 0, gpu, Options{}); !errors.Is(err, gpk.ErrUnsupported) {
		t.Errorf("41 qubits: %v", err)
	}
	if _, err := PlanGram(reuploaded(40), 10, 0, gpu, Options{}); !errors.Is(err, gpk.ErrOutOfMemory) {
		t.Errorf("40 qubits: %v", err)
	}
	product, err := PlanGram(ZFeatureMap(100, 2), 20000, 0, gpu, Options{})
	if err != nil || product.Path != Product || product.Keep != KeepAll || !strings.Contains(product.Reason, "closed form over 100 qubits") {
		t.Errorf("%+v, %v", product, err)
	}
}

// TestMaxSamples checks that the largest number of samples fits, and that one more does
// not.
func TestMaxSamples(t *testing.T) {
	for _, c := range []*Circuit{reuploaded(8), ringCZ(16, true), ZZFeatureMap(12, 2)} {
		for _, budget := range []int64{1 << 20, 1 << 26, 1 << 32, 1 << 38} {
			for _, o := range []Options{{}, {Precision: Double}, {Keep: KeepAll}, {Keep: KeepAll, Output: &memoryFile{}}} {
				n := MaxSamples(c, budget, o)
				if n == 0 {
					if budget > 1<<28 {
						t.Errorf("%d bytes: no sample", budget)
					}
					continue
				}
				o.MemoryBudget = budget
				if _, err := PlanGram(c, n, 0, device.Info{}, o); err != nil {
					t.Errorf("%d bytes, %d samples: %v", budget, n, err)
				}
				if _, err := PlanGram(c, n+1, 0, device.Info{}, o); err == nil {
					t.Errorf("%d bytes: %d samples fit too", budget, n+1)
				}
			}
		}
	}
	if n := MaxSamples(reuploaded(4), 1<<30, Options{Output: &memoryFile{}}); n != math.MaxInt {
		t.Errorf("to a file: %d", n)
	}
	for _, n := range []int{MaxSamples(nil, 1<<30, Options{}), MaxSamples(reuploaded(4), 0, Options{}), MaxSamples(reuploaded(4), 1<<30, Options{Tile: -1}), MaxSamples(reuploaded(30), 1<<20, Options{})} {
		if n != 0 {
			t.Errorf("%d samples", n)
		}
	}
}

func TestPlanOfTooMany(t *testing.T) {
	c := ZZFeatureMap(4, 2)
	for _, n := range []int{math.MaxInt, math.MaxInt/2 + 2, math.MaxInt/2 + 1, maxSamples + 1} {
		for _, m := range []int{0, n} {
			for _, o := range []Options{{}, {Path: General, Tile: math.MaxInt}} {
				if _, err := PlanGram(c, n, m, device.Info{TotalMemory: 1 << 37}, o); !errors.Is(err, gpk.ErrShape) {
					t.Errorf("%d against %d: %v", n, m, err)
				}
			}
		}
	}
}

// TestPlanHeap checks that on the CPU, the bytes alive between two tiles, in the pool and
// in Go's heap, are at most those of the plan.
func TestPlanHeap(t *testing.T) {
	onCPU(t)
	if testDevice(t).Kind() != device.CPU {
		t.Skip("Go's heap holds nothing of a GPU's plan: gpktest's Quantum/Plans counts its pool there")
	}
	rng := testrand.New(t)
	alive := func() int64 {
		var m runtime.MemStats
		runtime.GC() // sync.Pool drops its contents in the second collection
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	worst := 0.0
	for range 12 {
		c := reuploaded(3 + rng.IntN(8))
		if rng.IntN(3) == 0 {
			c = ringCZ(3+rng.IntN(20), true)
		}
		n, m := 200+rng.IntN(400), 0
		x := arrayOf(randomSamples(rng, n, c.Features()), c.Features())
		var y *gpk.Array
		if rng.IntN(3) == 0 {
			m = 200 + rng.IntN(300)
			y = arrayOf(randomSamples(rng, m, c.Features()), c.Features())
		}
		o := Options{Precision: Precision(rng.IntN(3)), Keep: []Keep{KeepAuto, Recompute}[rng.IntN(2)], MemoryBudget: 6<<20 + rng.Int64N(20<<20)}
		if rng.IntN(2) == 0 {
			o.Tile = 100 + rng.IntN(300)
		}
		if rng.IntN(3) == 0 {
			o.Output = bottomless{}
		}
		if err := gpk.Eval(x); err != nil {
			t.Fatal(err)
		}
		if err := testDevice(t).Trim(); err != nil {
			t.Fatal(err)
		}
		before, most, calls := alive(), int64(0), 0
		o.Progress = func(p Progress) {
			if calls++; calls < 4 || calls%50 == 0 || p.Done == p.Total {
				most = max(most, alive()-before)
			}
		}
		r, err := Gram(context.Background(), c, x, y, o)
		if errors.Is(err, gpk.ErrOutOfMemory) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		const rest = 512 << 10 // x as numbers, the compiled circuit, goroutines
		if most > r.Plan.PeakBytes+rest {
			t.Errorf("%d x %d, %+v: %d bytes alive\n%v", n, m, o, most, r.Plan)
		}
		worst = max(worst, float64(most)/float64(r.Plan.PeakBytes))
		r.K.Free()
	}
	t.Logf("at most %.2f of what plans say was alive", worst)
}

// TestPlanSingleWires: if blocks are built again, the plan includes the memory of the single
// wires of all samples.
func TestPlanSingleWires(t *testing.T) {
	onCPU(t)
	if testDevice(t).Kind() != device.CPU {
		t.Skip("a plan of the CPU; gpktest's Quantum/Plans counts a GPU's pool")
	}
	const q, n, m = 100, 1500, 700
	rng := testrand.New(t)
	c := NewCircuit(q)
	for i := range q {
		c.RY(i, Feature(i)).RZ(i, Feature(i))
	}
	c.CRY(0, 1, Feature(1))
	x, y := arrayOf(randomSamples(rng, n, q), q), arrayOf(randomSamples(rng, m, q), q)
	ran, refused := 0, 0
	for budget := int64(64 << 10); budget <= 16<<20; budget *= 2 {
		for _, columns := range []*gpk.Array{nil, y} {
			r, err := Gram(context.Background(), c, x, columns, Options{MemoryBudget: budget, Keep: Recompute, Output: bottomless{}})
			if errors.Is(err, gpk.ErrOutOfMemory) {
				refused++
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			ran++
			var used int64
			for _, p := range r.Report.Peak {
				used += p.Bytes
			}
			if used > r.Plan.PeakBytes || r.Plan.PeakBytes > budget {
				t.Errorf("%d bytes in use: %v\n%v", used, r.Report.Peak, r.Plan)
			}
		}
	}
	if ran == 0 || refused == 0 {
		t.Errorf("%d ran, %d refused", ran, refused)
	}
}

// TestPlanScratch checks that the plan counts the memory that is in use while a state is
// built, including constant phases of many layers.
func TestPlanScratch(t *testing.T) {
	for _, layers := range []int{1, 40} {
		const q = 10
		c := NewCircuit(q)
		for range layers {
			for i := range q {
				c.RY(i, Feature(i)).RX(i, Feature(i))
			}
			for i := range q {
				c.CZ(i, (i+1)%q)
			}
		}
		for i := range q {
			c.RX(i, Feature(i))
		}
		k := compiled(t, c, Auto)
		s := newFixedPhases[float64](k.blocks[0])
		m := newSimulator(k.blocks[0], s, inline)
		m.run(make([]float64, q), make([]float64, 1<<q), make([]float64, 1<<q))
		used := 0
		for _, p := range [][]float64{m.re, m.im, m.re2, m.im2, m.fr, m.fi, m.lr, m.li} {
			used += 8 * len(p)
		}
		for _, p := range s {
			used += 8 * (len(p.re) + len(p.im))
		}
		if planned := k.scratch(1); int64(used) > planned {
			t.Errorf("%d layers: %d bytes in use, %d planned", layers, used, planned)
		}
	}
}

// bottomless takes everything.
type bottomless struct{}

func (bottomless) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }
