package gpktest

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/arraytest"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/quantum"
)

// quantumPlans checks, for random circuits, samples, budgets and options, that at most the bytes of
// the plan are in use, that at most the budget is held, and that K is the same as without a budget.
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

// sameKernel compares K with one that was computed in float64 without a memory limit.
func (s *suite) sameKernel(t *testing.T, c *quantum.Circuit, x, y *gpk.Array, o quantum.Options, k *gpk.Array) {
	t.Helper()
	r, err := quantum.Gram(context.Background(), c, x, y, quantum.Options{Precision: quantum.Double, Path: quantum.General, Normalize: o.Normalize})
	if err != nil {
		t.Fatal(err)
	}
	defer r.K.Free()
	want, got := arraytest.Elements[float64](t, r.K), arraytest.Elements[float64](t, k.Cast(gpk.Float64))
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
				return real2(overlap(reference(rows[i]), reference(rows[j])))
			}
			s.checkGram(t, c, x, nil, [2]int{n, 0}, o, want, [...]float64{5e-6, 2e-3, 1e-12}[o.Precision])
			if n < 500 || o.Tile == 0 {
				continue
			}
			onStreams(t, c, x, o)
		}
		x.Free()
	}
}

// onStreams computes K on 1, 2, 4 and 8 streams, checks that its bits are the same, and returns
// the reports.
func onStreams(t *testing.T, c *quantum.Circuit, x *gpk.Array, o quantum.Options) (reports []quantum.Report) {
	t.Helper()
	var first []float64
	for _, o.Streams = range []int{1, 2, 4, 8} {
		r, err := quantum.Gram(context.Background(), c, x, nil, o)
		if err != nil {
			t.Fatal(err)
		}
		k := arraytest.Elements[float64](t, r.K.Cast(gpk.Float64))
		r.K.Free()
		if first == nil {
			first = k
		}
		if !slices.Equal(k, first) {
			t.Errorf("%d samples, %+v: other bits than one stream", x.Shape()[0], o)
		}
		reports = append(reports, r.Report)
	}
	return reports
}

// quantumStreams: the number of streams changes no bit, of K and of the report.
func (s *suite) quantumStreams(t *testing.T) {
	c, _ := s.quantumCircuit(5, 25, false)
	_, x := s.quantumSamples(700)
	for _, o := range []quantum.Options{{}, {Precision: quantum.Fast}, {Precision: quantum.Double}, {Path: quantum.General, Keep: quantum.Recompute}} {
		o.Tile = 100
		reports := onStreams(t, c, x, o)
		for _, r := range reports[1:] {
			if r.OffDiagonalMean != reports[0].OffDiagonalMean || r.OffDiagonalStd != reports[0].OffDiagonalStd {
				t.Errorf("%+v reports other figures than on one stream", o)
			}
		}
	}
}

// quantumReport checks that the report is complete, that its times add up, and that its counts are
// those of the device.
func (s *suite) quantumReport(t *testing.T) {
	c, _ := s.quantumCircuit(7, 40, false)
	const n = 1100
	_, x := s.quantumSamples(n)
	if err := gpk.Eval(x); err != nil {
		t.Fatal(err)
	}
	gpu := s.dev.Kind() == device.CUDA
	for _, o := range []quantum.Options{
		{},
		{Precision: quantum.Double},
		{Path: quantum.General},
		{Path: quantum.General, Precision: quantum.Double, Keep: quantum.Recompute, Tile: 300},
		{Path: quantum.General, Output: &smallDisk{left: 1 << 40}},
		{Path: quantum.General, Precision: quantum.Double, MemoryBudget: 24 << 20}, // K goes to a GPU's host
	} {
		if !gpu && o.MemoryBudget > 0 {
			continue
		}
		watch := devicetest.Watch(s.dev)
		r, err := quantum.Gram(context.Background(), c, x, nil, o)
		most := watch.Stop()
		if err != nil {
			t.Fatalf("%+v: %v", o, err)
		}
		p := r.Report
		// Kernels that turn samples into a closed form at once have neither states nor copies apart.
		once := gpu && p.Path == quantum.Product && p.Launches == 2
		if (p.States <= 0) != once || p.States < 0 || p.Product <= 0 || p.Other < 0 || p.Copy < 0 || p.Total < p.States || p.Total < p.Product {
			t.Errorf("%+v: seconds %+v", o, p)
		}
		if p.Pairs != n*(n+1)/2 || math.Abs(p.PairsPerSecond*p.Total.Seconds()/float64(p.Pairs)-1) > 1e-6 || p.Launches < 1 || p.Path != r.Plan.Path || p.Precision != o.Precision {
			t.Errorf("%+v: %+v", o, p)
		}
		if p.MaxBuilds < 1 && p.Path == quantum.General || p.MaxBuilds > r.Plan.Builds || !(p.MaxDiagonalError >= 0) || p.MaxDiagonalError > 1e-4 || o.Precision == quantum.Double && p.MaxDiagonalError > 1e-12 {
			t.Errorf("%+v: %+v of %+v", o, p, r.Plan)
		}
		if gpu && (p.Copy <= 0 || p.FromDevice <= 0 || !(p.FromDeviceGBs > 0) || (p.ToDevice <= 0) != once || p.ToDevice < 0 || (p.ToDeviceGBs > 0) == once) {
			t.Errorf("%+v: copies %+v", o, p)
		}
		if onHost := gpu && (o.Output != nil || r.Plan.OnHost); onHost && (p.FromDevice < int64(n*n*4) || p.Writing <= 0) {
			t.Errorf("%+v: K left the device with %d bytes in %v", o, p.FromDevice, p.Writing)
		}
		names, sum := map[string]int64{}, int64(0)
		for _, b := range p.Peak {
			names[b.Name] += b.Bytes
			if b.Bytes < 0 {
				t.Errorf("%+v: %+v", o, p.Peak)
			}
			if b.Name == "states" || b.Name == "K" || b.Name == "workspace" {
				sum += b.Bytes
			}
		}
		if sum < most || names["states"] == 0 && p.Path == quantum.General || o.Output == nil && names["K"] == 0 && names["K on the host"] == 0 {
			t.Errorf("%+v: %+v, and %d bytes were in use at most", o, p.Peak, most)
		}
		if most > r.Plan.PeakBytes || r.Plan.PeakBytes > r.Plan.Budget {
			t.Errorf("%+v: %d bytes were in use at most, the plan says %d of %d", o, most, r.Plan.PeakBytes, r.Plan.Budget)
		}
		if o.Output == nil { // mean and deviation, by another way
			k := arraytest.Elements[float64](t, r.K.Cast(gpk.Float64))
			mean, squares := 0.0, 0.0
			for i := range n {
				for j := i + 1; j < n; j++ {
					mean += k[i*n+j]
				}
			}
			mean /= n * (n - 1) / 2
			for i := range n {
				for j := i + 1; j < n; j++ {
					squares += (k[i*n+j] - mean) * (k[i*n+j] - mean)
				}
			}
			std := math.Sqrt(squares / (n * (n - 1) / 2))
			if math.Abs(p.OffDiagonalMean-mean) > 1e-9 || math.Abs(p.OffDiagonalStd-std) > 1e-7 {
				t.Errorf("%+v: mean %v and deviation %v, want %v and %v", o, p.OffDiagonalMean, p.OffDiagonalStd, mean, std)
			}
		}
		for _, want := range []string{"states", "product", "pairs", "a second", "mean", "|K_ii - 1|", "memory: states"} {
			if !strings.Contains(p.String(), want) {
				t.Errorf("the report lacks %q:\n%v", want, p)
			}
		}
		if r.K != nil {
			r.K.Free()
		}
	}
	// All alike, and all different.
	for scale, want := range map[float64]string{1e-4: "collapsed", 100: "concentrated"} {
		const qubits = 30
		c := quantum.NewCircuit(qubits)
		for i := range qubits {
			c.RY(i, quantum.Feature(i).Scale(scale))
		}
		v := make([]float64, 50*qubits)
		for i := range v {
			v[i] = 3 * s.rng.Float64()
		}
		r, err := quantum.Gram(context.Background(), c, gpk.FromSlice(v, 50, qubits), nil, quantum.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(r.Report.Warning, want) || !strings.Contains(r.Report.String(), "warning: ") {
			t.Errorf("scale %v: %q", scale, r.Report.Warning)
		}
	}
}
