package quantum

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/internal/testrand"
)

// long asks for sizes that take minutes.
var long = flag.Bool("quantum.long", false, "16 qubits and 2,048 samples on every path")

// entangled has complex states, two blocks and a single qubit; real is real.
func entangled() *Circuit {
	x := Feature
	return NewCircuit(6).H(0).H(1).RX(2, x(0)).RZZ(0, 1, x(0).Mul(x(1))).CRX(1, 2, x(1)).RX(0, x(2)).RY(3, x(1)).RY(4, x(2)).CZ(3, 4).RY(3, x(0)).RY(4, x(0)).P(5, x(2)).RY(5, x(2)).P(5, x(1))
}

// poisoned computes a Gram matrix into memory that held NaN.
func poisoned(t *testing.T, c *Circuit, x, y [][]float64, features int, o Options) *Result {
	t.Helper()
	k := compiled(t, c, o.Path)
	dev := testDevice(t)
	if o.MemoryBudget == 0 {
		o.MemoryBudget = 1 << 30
	}
	j := &job{kernel: k, options: o, dev: dev, report: &Report{}, progress: func(int64) {}}
	var err error
	if j.x, err = readSamples("x", arrayOf(x, features), k.features); err != nil {
		t.Fatal(err)
	}
	j.y = j.x
	columns := 0
	if y != nil {
		if j.y, err = readSamples("y", arrayOf(y, features), k.features); err != nil {
			t.Fatal(err)
		}
		columns = len(y)
	}
	if j.plan, err = k.plan(len(x), columns, dev.Info(), o); err != nil {
		t.Fatal(err)
	}
	e := engine(cpuEngine{poison: true})
	if dev.Kind() == device.CUDA {
		e = cudaEngine{poison: true}
	}
	if err := e.gram(context.Background(), j); err != nil {
		t.Fatal(err)
	}
	return &Result{K: j.k, Plan: j.plan, Report: *j.report}
}

// TestSizesAndTiles computes every size, path and tile into poisoned memory:
// all of it is written, equal to its transpose bit for bit, 1 on the diagonal,
// and within the bound.
func TestSizesAndTiles(t *testing.T) {
	onCPU(t)
	rng := testrand.New(t)
	sizes := []int{1, 15, 16, 17, 511, 513}
	if !testing.Short() {
		sizes = append(sizes, 4097)
	}
	for name, c := range map[string]*Circuit{"general": entangled(), "product": ringCZ(3, true)} {
		for _, n := range sizes {
			x := randomSamples(rng, n, 3)
			for _, o := range []Options{{}, {Precision: Double}, {Tile: 16}, {Tile: 14, Keep: Recompute}, {Tile: 1, Keep: Recompute, Precision: Double}, {Tile: 256, Keep: Recompute}, {Tile: 1000, Keep: Recompute}} {
				if n > 600 && (o.Precision == Double || o.Tile > 0 && o.Tile < 1000) || n > 20 && o.Tile == 1 || n > 20 && raceDetector && o.Tile > 0 && o.Tile < 20 {
					continue // tiles of a few entries, millions of times
				}
				r := poisoned(t, c, x, nil, 3, o)
				k := values(t, r.K)
				bound := o.Precision.diagonalBound()
				for i := range n {
					if k[i*n+i] != 1 {
						t.Fatalf("%s n=%d %+v: K[%d, %d] is %v", name, n, o, i, i, k[i*n+i])
					}
					for j := range i {
						if math.Float64bits(k[i*n+j]) != math.Float64bits(k[j*n+i]) || math.IsNaN(k[i*n+j]) {
							t.Fatalf("%s n=%d %+v: K[%d, %d] is %v, its mirror %v", name, n, o, i, j, k[i*n+j], k[j*n+i])
						}
					}
				}
				for range 40 {
					i, j := rng.IntN(n), rng.IntN(n)
					want := referenceGram(c, x[i:i+1], x[j:j+1])[0][0]
					if d := math.Abs(k[i*n+j] - want); !(d <= bound) {
						t.Fatalf("%s n=%d %+v: K[%d, %d] is %v, want %v", name, n, o, i, j, k[i*n+j], want)
					}
				}
				if o.Keep == Recompute && r.Report.MaxBuilds > r.Plan.Builds {
					t.Errorf("%s n=%d %+v: built %d times, the plan says %d at most", name, n, o, r.Report.MaxBuilds, r.Plan.Builds)
				}
				r.K.Free()
			}
		}
	}
}

func TestRectangular(t *testing.T) {
	onCPU(t)
	rng := testrand.New(t)
	for _, c := range []*Circuit{entangled(), ringCZ(3, true)} {
		for _, size := range [][2]int{{1, 1}, {5, 70}, {70, 5}, {33, 34}, {300, 129}} {
			x, y := randomSamples(rng, size[0], 3), randomSamples(rng, size[1], 3)
			want := referenceGram(c, x, y)
			for _, o := range []Options{{}, {Precision: Double}, {Keep: Recompute, Tile: 14}, {Keep: Recompute, Tile: 128, Precision: Double}} {
				r := poisoned(t, c, x, y, 3, o)
				if s := r.K.Shape(); !slices.Equal(s, size[:]) {
					t.Fatalf("shape %v", s)
				}
				if w := worst(values(t, r.K), want); !(w <= o.Precision.diagonalBound()) {
					t.Errorf("%v %+v: off by %v", size, o, w)
				}
			}
		}
	}
	// Nothing against something.
	for _, size := range [][2]int{{0, 0}, {0, 3}, {3, 0}} {
		x, y := gpk.Zeros(gpk.Float32, size[0], 3), gpk.Zeros(gpk.Float32, size[1], 3)
		r, err := Gram(context.Background(), entangled(), x, y, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if s := r.K.Shape(); !slices.Equal(s, size[:]) || r.Report.Pairs != 0 {
			t.Errorf("%v: shape %v, %d pairs", size, s, r.Report.Pairs)
		}
	}
	if r, err := Gram(context.Background(), entangled(), gpk.Zeros(gpk.Float64, 0, 3), nil, Options{}); err != nil || r.K.Size() != 0 {
		t.Errorf("no samples: %v", err)
	}
}

// TestStreams: the number of streams, and of goroutines, changes no bit.
func TestStreams(t *testing.T) {
	onCPU(t)
	x := randomSamples(testrand.New(t), 300, 3)
	for _, o := range []Options{{}, {Precision: Double, Keep: Recompute, Tile: 64}} {
		var first []float64
		var report Report
		for _, streams := range []int{1, 2, 4, 8} {
			for _, procs := range []int{1, 3} {
				old := runtime.GOMAXPROCS(procs)
				o.Streams = streams
				r, err := Gram(context.Background(), entangled(), arrayOf(x, 3), nil, o)
				runtime.GOMAXPROCS(old)
				if err != nil {
					t.Fatal(err)
				}
				k := values(t, r.K)
				if first == nil {
					first, report = k, r.Report
				}
				if !slices.Equal(k, first) || r.Report.OffDiagonalMean != report.OffDiagonalMean || r.Report.OffDiagonalStd != report.OffDiagonalStd {
					t.Errorf("%d streams and %d goroutines give other bits", streams, procs)
				}
			}
		}
	}
}

// TestWeights checks that a part that is embedded once does not depend on the layers
// after it.
func TestWeights(t *testing.T) {
	onCPU(t)
	rng := testrand.New(t)
	const q = 5
	x := randomSamples(rng, 20, q)
	for _, reupload := range []bool{false, true} {
		for _, path := range []Path{Auto, General} {
			var k [2][]float64
			for i := range k {
				w := randomSamples(rng, 3, q)
				r, err := Gram(context.Background(), BasicEntangler(w, EntanglerOptions{Embedding: RYRZ, Reupload: reupload}), arrayOf(x, q), nil, Options{Precision: Double, Path: path})
				if err != nil {
					t.Fatal(err)
				}
				k[i] = values(t, r.K)
			}
			moved := 0.0
			for i := range k[0] {
				moved = max(moved, math.Abs(k[0][i]-k[1][i]))
			}
			if !reupload && moved > 1e-13 || reupload && moved < 1e-2 {
				t.Errorf("reupload %v, %v: weights move K by %v", reupload, path, moved)
			}
		}
	}
}

// TestCancel checks that Gram returns 200 ms after the context has ended, and that its
// memory is freed.
func TestCancel(t *testing.T) {
	onCPU(t)
	cpu, _ := device.Open("cpu")
	const q = 13
	x := arrayOf(randomSamples(testrand.New(t), 400, q), q)
	if err := gpk.Eval(x); err != nil {
		t.Fatal(err)
	}
	c := ZZFeatureMap(q, 2)
	before, goroutines := devicetest.InUse(t, cpu), runtime.NumGoroutine()
	for _, after := range []time.Duration{0, 20 * time.Millisecond, 300 * time.Millisecond} {
		limit := 200 * time.Millisecond
		if raceDetector {
			limit *= 20
		}
		for end := time.Now().Add(time.Minute); ; { // a busy machine may take the processor away
			ctx, cancel := context.WithCancel(context.Background())
			ended := make(chan time.Time, 1)
			timer := time.AfterFunc(after, func() { ended <- time.Now(); cancel() })
			r, err := Gram(ctx, c, x, nil, Options{Precision: Double})
			if err == nil {
				t.Logf("done before %v", after)
				r.K.Free()
				timer.Stop()
				cancel()
				break
			}
			late := time.Since(<-ended)
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if n := cpu.Pool().InUse; n > before {
				t.Errorf("%d bytes in use, %d before", n, before)
			}
			if late <= limit {
				break
			}
			if time.Now().After(end) {
				t.Errorf("%v after the context ended, in every try for a minute", late)
				break
			}
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := States(ctx, c, x, gpk.Complex64); !errors.Is(err, context.Canceled) {
		t.Errorf("States: %v", err)
	}
	if n := cpu.Pool().InUse; n > before {
		t.Errorf("%d bytes in use, %d before", n, before)
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if runtime.NumGoroutine() <= goroutines {
			return
		}
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), goroutines)
}

// TestPeak: states, K and workspace are what the pool had in use at most, no less where
// qubits of their own have points beside them.
func TestPeak(t *testing.T) {
	onCPU(t)
	dev := testDevice(t)
	if dev.Kind() != device.CPU {
		t.Skip("memory of Go is beside the pool on the CPU alone; gpktest's Quantum/Report adds a GPU's up")
	}
	const n = 700 // blocks of the pool are larger than what lies in them
	x := arrayOf(randomSamples(testrand.New(t), n, 40), 40)
	if err := gpk.Eval(x); err != nil {
		t.Fatal(err)
	}
	single := NewCircuit(40)
	for i := range 40 {
		single.RY(i, Feature(i)).RZ(i, Feature(i))
	}
	both := NewCircuit(40).Append(single).CRY(0, 1, Feature(1))
	for _, c := range []struct {
		circuit *Circuit
		points  int64 // at least
		o       Options
	}{
		{single, 40 * n * 3 * 4, Options{}},
		{single, 40 * n * 3 * 8, Options{Precision: Double, Output: bottomless{}}},
		{both, 38 * n * 3 * 4, Options{}},
		{both, 38 * n * 3 * 4, Options{Keep: Recompute, Tile: 64}},
		{ringCZ(4, true), 0, Options{Path: General}},
	} {
		var r *Result
		var names map[string]int64
		var pool, most int64
		for range 5 { // a collection may give back meanwhile what other tests dropped
			runtime.GC()
			watch := devicetest.Watch(dev)
			var err error
			r, err = Gram(context.Background(), c.circuit, x, nil, c.o)
			most = watch.Stop()
			if err != nil {
				t.Fatal(err)
			}
			names, pool = map[string]int64{}, 0
			for _, b := range r.Report.Peak {
				if names[b.Name] += b.Bytes; b.Name == "states" || b.Name == "K" || b.Name == "workspace" {
					pool += b.Bytes
				}
			}
			if pool <= most {
				break
			}
			r.K.Free()
		}
		if pool != most {
			t.Errorf("%v: the pool had %d bytes in use at most, and the report says %+v", c.circuit.Qubits(), most, r.Report.Peak)
		}
		if points := names["points of single qubits"]; points < c.points || c.points == 0 && points > 0 {
			t.Errorf("%d bytes of points, want %d: %+v", points, c.points, r.Report.Peak)
		}
		r.K.Free()
	}
}

func TestProgressAndReport(t *testing.T) {
	onCPU(t)
	x := randomSamples(testrand.New(t), 300, 3)
	var seen []Progress
	r, err := Gram(context.Background(), entangled(), arrayOf(x, 3), nil, Options{Tile: 64, Progress: func(p Progress) { seen = append(seen, p) }})
	if err != nil {
		t.Fatal(err)
	}
	if len(seen) < 10 || seen[0].Done != 0 || seen[len(seen)-1].Done != 300*301/2 {
		t.Errorf("progress %+v", seen)
	}
	for i := 1; i < len(seen); i++ {
		if seen[i].Done <= seen[i-1].Done || seen[i].Total != 300*301/2 || seen[i].Elapsed < seen[i-1].Elapsed {
			t.Fatalf("progress %+v after %+v", seen[i], seen[i-1])
		}
	}
	k := values(t, r.K)
	mean, std := 0.0, 0.0
	for i := range 300 {
		for j := range i {
			mean += k[i*300+j]
		}
	}
	mean /= 300 * 299 / 2
	for i := range 300 {
		for j := range i {
			std += (k[i*300+j] - mean) * (k[i*300+j] - mean)
		}
	}
	std = math.Sqrt(std / (300 * 299 / 2))
	p := r.Report
	if !(math.Abs(p.OffDiagonalMean-mean) <= 1e-12) || !(math.Abs(p.OffDiagonalStd-std) <= 1e-9) {
		t.Errorf("mean %v and deviation %v, want %v and %v", p.OffDiagonalMean, p.OffDiagonalStd, mean, std)
	}
	if p.Pairs != 300*301/2 || p.PairsPerSecond <= 0 || p.MaxBuilds != 1 || p.Launches == 0 || p.MaxDiagonalError > 5e-6 || p.MaxDiagonalError == 0 || p.Total < p.States+p.Product+p.Copy {
		t.Errorf("report %+v", p)
	}
	if len(p.Peak) < 3 || p.Peak[1].Bytes != 300*300*4 {
		t.Errorf("peak %+v", p.Peak)
	}
	for _, w := range []string{"pairs", "largest |K_ii - 1|", "off the diagonal"} {
		if !strings.Contains(p.String(), w) {
			t.Errorf("the report lacks %q:\n%v", w, p)
		}
	}
	// All alike and all different.
	for scale, want := range map[float64]string{1e-4: "collapsed", 100: "concentrated"} {
		const qubits = 30 // with fewer qubits, single pairs are alike by chance
		c := NewCircuit(qubits)
		for i := range qubits {
			c.RY(i, Feature(i).Scale(scale))
		}
		r, err := Gram(context.Background(), c, arrayOf(randomSamples(testrand.New(t), 50, qubits), qubits), nil, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if want == "collapsed" && !(r.Report.OffDiagonalStd > 0) {
			t.Errorf("a deviation of %v", r.Report.OffDiagonalStd)
		}
		if !strings.Contains(r.Report.Warning, want) {
			t.Errorf("scale %v: warning %q", scale, r.Report.Warning)
		}
	}
	if p.Warning != "" {
		t.Errorf("warning %q", p.Warning)
	}
}

func TestGramErrors(t *testing.T) {
	onCPU(t)
	good := func() []float64 { return make([]float64, 12) }
	with := func(i int, v float64) *gpk.Array {
		x := good()
		x[i] = v
		return gpk.FromSlice(x, 4, 3)
	}
	x := gpk.FromSlice(good(), 4, 3)
	broken := gpk.Zeros(gpk.Float32, 2, 3).Reshape(7)
	huge := NewCircuit(2).RX(0, Feature(0).Mul(Feature(1))).RX(1, Feature(0)).CZ(0, 1).RX(0, Feature(0)).RX(1, Feature(1))
	for _, c := range []struct {
		name    string
		circuit *Circuit
		x, y    *gpk.Array
		o       Options
		want    error
		text    []string
	}{
		{"NaN", entangled(), with(7, math.NaN()), nil, Options{}, gpk.ErrNonFinite, []string{"x[2, 1] is NaN", "row 2, column 1"}},
		{"Inf", entangled(), x, with(3, math.Inf(-1)), Options{}, gpk.ErrNonFinite, []string{"y[1, 0] is -Inf"}},
		{"features", entangled(), gpk.Zeros(gpk.Float32, 4, 2), nil, Options{}, gpk.ErrShape, []string{"2 features", "reads 3"}},
		{"rank", entangled(), gpk.Zeros(gpk.Float32, 12), nil, Options{}, gpk.ErrShape, []string{"[12]", "[samples, features]"}},
		{"type", entangled(), gpk.Zeros(gpk.Int32, 4, 3), nil, Options{}, gpk.ErrDType, []string{"int32", "Cast"}},
		{"nil x", entangled(), nil, nil, Options{}, gpk.ErrShape, []string{"nil"}},
		{"failed x", entangled(), broken, nil, Options{}, gpk.ErrShape, nil},
		{"qubit", NewCircuit(2).H(2), x, nil, Options{}, gpk.ErrShape, []string{"H(2)", "qubits 0 to 1", "gram_test.go:"}},
		{"negative qubit", NewCircuit(2).CX(0, -1), x, nil, Options{}, gpk.ErrShape, []string{"CX(0, -1)"}},
		{"same", NewCircuit(2).H(0).CRX(1, 1, Feature(0)), x, nil, Options{}, gpk.ErrShape, []string{"CRX(1, 1, x0)", "two different qubits"}},
		{"appended", NewCircuit(2).Append(NewCircuit(2).CZ(0, 0)), x, nil, Options{}, gpk.ErrShape, []string{"CZ(0, 0)"}},
		{"append sizes", NewCircuit(2).Append(NewCircuit(3)), x, nil, Options{}, gpk.ErrShape, []string{"3 qubits", "of 2"}},
		{"append nil", NewCircuit(2).Append(nil), x, nil, Options{}, gpk.ErrShape, []string{"nil"}},
		{"no qubits", NewCircuit(0).H(0), x, nil, Options{}, gpk.ErrShape, []string{"NewCircuit(0)"}},
		{"nil circuit", nil, x, nil, Options{}, gpk.ErrShape, []string{"NewCircuit"}},
		{"zero circuit", &Circuit{}, x, nil, Options{}, gpk.ErrShape, []string{"NewCircuit"}},
		{"angle", NewCircuit(1).RX(0, Feature(-3)), x, nil, Options{}, gpk.ErrUnsupported, []string{"feature -3"}},
		{"ragged", BasicEntangler([][]float64{{1, 2}, {1}}, EntanglerOptions{}), x, nil, Options{}, gpk.ErrShape, []string{"ragged", "layer 1 has 1"}},
		{"no weights", BasicEntangler(nil, EntanglerOptions{}), x, nil, Options{}, gpk.ErrShape, []string{"[layers][qubits]"}},
		{"NaN weight", BasicEntangler([][]float64{{1, math.NaN()}}, EntanglerOptions{}), x, nil, Options{}, gpk.ErrShape, []string{"weights[0][1]"}},
		{"no reps", ZZFeatureMap(2, 0), x, nil, Options{}, gpk.ErrShape, []string{"ZZFeatureMap(2, 0)"}},
		{"too many gates", ZZFeatureMap(60000, 1), x, nil, Options{}, gpk.ErrUnsupported, []string{"gates"}},
		{"path", entangled(), x, nil, Options{Path: Product}, gpk.ErrUnsupported, []string{"path Product", "RZZ(0, 1, x0*x1)"}},
		{"budget", ZZFeatureMap(14, 1), gpk.Zeros(gpk.Float32, 4, 14), nil, Options{MemoryBudget: 100 << 10}, gpk.ErrOutOfMemory, []string{"needs", "budget is 100"}},
		{"budget for a tile", ZZFeatureMap(10, 1), gpk.Zeros(gpk.Float32, 4, 10), nil, Options{MemoryBudget: smallBudget(), Tile: 1 << 12, Keep: Recompute}, gpk.ErrOutOfMemory, []string{"a tile of 4096 states", "needs"}},
		{"budget to keep", ZZFeatureMap(10, 1), gpk.Zeros(gpk.Float32, 4000, 10), nil, Options{MemoryBudget: smallBudget(), Keep: KeepAll}, gpk.ErrOutOfMemory, []string{"keep the states of 4000", "Recompute"}},
		{"budget for K", entangled(), gpk.Zeros(gpk.Float32, 4000, 3), nil, Options{MemoryBudget: 1 << 22}, gpk.ErrOutOfMemory, []string{"K of 4000 x 4000", "Options.Output"}},
		{"negative budget", entangled(), x, nil, Options{MemoryBudget: -1}, gpk.ErrUnsupported, []string{"-1 bytes"}},
		{"tile", entangled(), x, nil, Options{Tile: -1}, gpk.ErrShape, []string{"-1"}},
		{"streams", entangled(), x, nil, Options{Streams: -1}, gpk.ErrUnsupported, nil},
		{"jitter", entangled(), x, nil, Options{Jitter: math.Inf(1)}, gpk.ErrUnsupported, nil},
		{"precision", entangled(), x, nil, Options{Precision: 9}, gpk.ErrUnsupported, []string{"Precision(9)"}},
		{"keep", entangled(), x, nil, Options{Keep: 9}, gpk.ErrUnsupported, []string{"Keep(9)"}},
		{"no path", entangled(), x, nil, Options{Path: 9}, gpk.ErrUnsupported, []string{"Path(9)"}},
		{"overflow", huge, gpk.FromSlice([]float64{1, 1, 1e200, 1e200}, 2, 2), nil, Options{}, gpk.ErrNonFinite, []string{"x0*x1", "row 1"}},
		{"overflow in a product", NewCircuit(1).RX(0, Feature(0).Mul(Feature(1))), gpk.FromSlice([]float64{1, 1, 1e200, 1e200}, 2, 2), nil, Options{}, gpk.ErrNonFinite, []string{"x0*x1", "row 1"}},
	} {
		if c.name == "budget for K" && testDevice(t).Kind() == device.CUDA {
			continue // K goes to the host instead
		}
		r, err := Gram(context.Background(), c.circuit, c.x, c.y, c.o)
		if r != nil || !errors.Is(err, c.want) {
			t.Errorf("%s: %v, error %v", c.name, r, err)
			continue
		}
		for _, text := range append(c.text, "gram_test.go:") {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %q lacks %q", c.name, err, text)
			}
		}
	}
	if _, err := States(context.Background(), entangled(), x, gpk.Float32); !errors.Is(err, gpk.ErrDType) {
		t.Errorf("real states: %v", err)
	}
	if _, err := States(context.Background(), NewCircuit(45), x, gpk.Complex64); !errors.Is(err, gpk.ErrUnsupported) {
		t.Errorf("45 qubits: %v", err)
	}
	if _, err := States(context.Background(), huge, gpk.FromSlice([]float64{1e200, 1e200}, 1, 2), gpk.Complex64); !errors.Is(err, gpk.ErrNonFinite) {
		t.Errorf("an angle that overflows: %v", err)
	}
	var c *Circuit
	if c.H(0).Err() == nil || c.Append(NewCircuit(1)).Err() == nil || !strings.Contains(c.String(), "error") || c.Features() != 0 || c.Qubits() != 0 {
		t.Error("a nil circuit has no error")
	}
}

// TestLargeStates takes the paths of large states: goroutines over amplitudes, constants
// that are not kept.
func TestLargeStates(t *testing.T) {
	onCPU(t)
	rng := testrand.New(t)
	for _, q := range []int{15, 17} {
		c := randomCircuit(rng, q, 60, 3, nil)
		x := randomSamples(rng, 1, 3)
		want := referenceState(c, x[0])
		for _, procs := range []int{1, 4} {
			old := runtime.GOMAXPROCS(procs)
			got := amplitudes(t, c, arrayOf(x, 3), gpk.Complex128)
			runtime.GOMAXPROCS(old)
			for b := range want {
				if d := got[b] - want[b]; !(math.Hypot(real(d), imag(d)) <= 1e-12) {
					t.Fatalf("%d qubits, %d goroutines: amplitude %d is %v, want %v\n%v", q, procs, b, got[b], want[b], c)
				}
			}
		}
	}
}

func ExampleGram() {
	// Two features, entangled; the first sample is near the second, far from the third.
	c := NewCircuit(2).RY(0, Feature(0)).RY(1, Feature(1)).CZ(0, 1).RY(0, Feature(1)).RY(1, Feature(0))
	x := gpk.FromSlice([]float64{0.1, 0.2, 0.2, 0.2, 2.5, 1.5}, 3, 2)
	r, err := Gram(context.Background(), c, x, nil, Options{Precision: Double})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.3f\n", r.K)
	// Output:
	// [[1.000 0.995 0.337]
	//  [0.995 1.000 0.296]
	//  [0.337 0.296 1.000]]
}
