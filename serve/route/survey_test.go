package route

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
)

// simulated is a simulated GPU whose calls take times measured on a real one, with a host that is busy for a while.
type simulated struct {
	sums, products []point // elements or rows, and seconds

	clock, from, to float64 // seconds; the host is busy between from and to
	slower          float64 // how many times as long small operations take then
}

// probe returns the probe of the simulated GPU.
func (g *simulated) probe(c class, dt dtype.DType, n, calls int) (s sample, ok bool, err error) {
	size := float64(n)
	s = sample{point{12 * size, 5e-6}, n, calls}
	if dt == dtype.Float32 && c.whole() == reduction {
		s.point = point{4*size + 4, interpolate(g.sums, size)}
	}
	if c.whole() == product {
		s.point = point{2 * size * size * size, interpolate(g.products, size)}
	}
	took := thorough.round.Seconds()
	if calls == 0 {
		took *= 1 + rounds // the search takes as long as a round
		s.calls = int(thorough.round.Seconds()/s.Seconds) + 1
	}
	if g.from <= g.clock && g.clock < g.to && s.Seconds < 100e-6 { // the launch binds
		s.Seconds *= g.slower
	}
	g.clock += took
	return s, true, nil
}

// curves returns the curves of the GPU for float32.
func (g *simulated) curves(t *testing.T) map[class]curve {
	t.Helper()
	all, err := probe(g.probe).survey(device.CUDA, thorough)
	if err != nil {
		t.Fatal(err)
	}
	found := map[class]curve{}
	for _, s := range all {
		if s.dtype == dtype.Float32 {
			found[s.class] = newCurve(s.points())
		}
	}
	return found
}

// sumsH100 are the sums of benchmark/results/gpktest-routes_h100x2_2026-11-24.txt.
var sumsH100 = []point{
	{100, 5.303e-6},
	{709, 5.262e-6},
	{4970, 6.7e-6},
	{34_794, 12.28e-6},
	{243_564, 13.266e-6},
	{1_704_957, 12.115e-6},
	{11_934_706, 29.205e-6},
	{83_542_946, 127.79e-6},
}

// TestBusyHost: sums of few elements, which were predicted 50 to 73 % too high, are within 30 %
// though the host starts them only half as fast for two seconds, whenever these are.
func TestBusyHost(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	for range 50 {
		g := &simulated{sums: sumsH100, products: productsH200(), slower: 1.9}
		g.from = 20 * random.Float64()
		g.to = g.from + 2
		curves := g.curves(t)
		for _, want := range sumsH100 {
			c := curves[reduction]
			if int(want.Work)*4%alignment != 0 {
				c = curves[raggedReduction]
			}
			if off := c.at(4*want.Work+4)/want.Seconds - 1; !(math.Abs(off) <= 0.3) {
				t.Fatalf("seed %d, busy from %v s: a sum of %v is off by %.0f %%", seed, g.from, want.Work, 100*off)
			}
		}
	}
}

// TestDisturbedPoints: single calls that take 20 ms at the beginning, because another process has the GPU, neither end
// a curve nor leave a point that is measured with one call.
func TestDisturbedPoints(t *testing.T) {
	quiet := (&simulated{sums: sumsH100, products: productsH200()}).curves(t)
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 2))
	passed := 0 // at least the probes of the first pass, unless a curve ends early
	for _, dt := range dtype.All {
		for c := range classes {
			if meaningful(c, dt) {
				passed += len(sizes(c, dt))
			}
		}
	}
	for range 20 {
		g := &simulated{sums: sumsH100, products: productsH200()}
		probes, disturbed := 0, 0
		all, err := probe(func(c class, dt dtype.DType, n, calls int) (sample, bool, error) {
			s, ok, err := g.probe(c, dt, n, calls)
			if probes++; probes <= passed/2 && calls == 0 && random.IntN(8) == 0 {
				disturbed++
				s.Seconds, s.calls = 20e-3, 1
			} else if calls == 1 && s.Seconds < thorough.round.Seconds()/2 {
				s.Seconds += 15e-6 // the wait for a single call
			}
			return s, ok, err
		}).survey(device.CUDA, thorough)
		if err != nil || disturbed == 0 {
			t.Fatal(disturbed, err)
		}
		for _, s := range all {
			if s.dtype != dtype.Float32 {
				continue
			}
			c, want := newCurve(s.points()), quiet[s.class]
			for _, p := range s.samples {
				if off := c.at(p.Work)/want.at(p.Work) - 1; !(math.Abs(off) <= 0.05) {
					t.Fatalf("seed %d: %v of %d is off by %.0f %%", seed, s.class, p.n, 100*off)
				}
			}
			if last, end := s.samples[len(s.samples)-1].Work, 2*8192.*8192*8192; s.class == product && last != end {
				t.Fatalf("seed %d: the curve of products ends at a work of %v", seed, last)
			}
		}
	}
}

// TestFailedProbe checks that a survey ends at the first error, in every pass, also if curves ended for lack of
// memory.
func TestFailedProbe(t *testing.T) {
	g := &simulated{sums: sumsH100, products: productsH200()}
	probes, failAt := 0, math.MaxInt
	failing := probe(func(c class, dt dtype.DType, n, calls int) (sample, bool, error) {
		if probes++; probes >= failAt {
			return sample{}, false, errors.New("broken")
		}
		if n > 1000 {
			return sample{}, false, nil
		}
		return g.probe(c, dt, n, calls)
	})
	if _, err := failing.survey(device.CUDA, thorough); err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{1, probes / 8, probes / 3, probes - 1, probes} {
		probes, failAt = 0, at
		if _, err := failing.survey(device.CUDA, thorough); err == nil || err.Error() != "broken" || probes != at {
			t.Errorf("probe %d fails: %d probes, %v", at, probes, err)
		}
	}
}

// productsH200 are the times of square products of TF32, by rows: the lines of
// benchmark/results/gpktest-routes_h200_2026-11-23.txt and gpk-all_h200_2026-11-22.txt. The 132
// multiprocessors compute 8 x 16 tiles of 128 x 64 at 1,024 rows at once, and as many tiles of 128 x 256 at 2,048.
// One row more takes a second wave. A few rows behind such a jump are taken to compute at the
// rate of the line measured next, because the number of waves is the same.
func productsH200() []point {
	points := []point{{320, 3.985e-6}, {512, 4.888e-6}, {640, 5.716e-6}, {1024, 10.089e-6}}
	for _, wave := range []struct{ first, measured, last, seconds float64 }{
		{1025, 1300, 1536, 27.508e-6},
		{2048, 2048, 2048, 46.571e-6}, // the prediction for 4096 x 1024 x 2048, which has as many flops
		{2049, 2600, 2816, 113.326e-6},
		{3072, 3072, 3072, 139.628e-6},
		{4096, 4096, 4096, 285.626e-6},
		{4097, 5000, 5376, 513.358e-6},
		{6144, 6144, 6144, 702e-6}, // from the prediction for 5,000 rows
	} {
		for _, n := range []float64{wave.first, wave.measured, wave.last} {
			if n > points[len(points)-1].Work {
				points = append(points, point{n, wave.seconds * n / wave.measured})
			}
		}
	}
	return append(points, point{8192, 2 * 8192 * 8192 * 8192 / 430e12})
}

// TestWaves: square products between the sizes at which all multiprocessors compute are within
// 10 %. Without the sizes behind these, they were predicted 13 to 25 % too low.
func TestWaves(t *testing.T) {
	g := &simulated{sums: sumsH100, products: productsH200()}
	now := g.curves(t)[product]
	var few []point
	for _, n := range sizes(product, dtype.Float32) {
		if p, _, _ := g.probe(product, dtype.Float32, n, 1); !slices.Contains([]int{1168, 1296, 2320, 2576, 5136}, n) {
			few = append(few, p.point)
		}
	}
	before := newCurve(few)
	for _, c := range []struct{ rows, seconds, before float64 }{
		{640, 5.716e-6, 0.11}, // seconds as measured, and how far off the prediction was
		{1300, 27.508e-6, -0.25},
		{2600, 113.326e-6, -0.22},
		{5000, 513.358e-6, -0.13},
	} {
		work := 2 * c.rows * c.rows * c.rows
		if off := before.at(work)/c.seconds - 1; !(math.Abs(off-c.before) <= 0.06) {
			t.Errorf("%v rows without the sizes behind a wave: off by %.0f %%, on the H200 by %.0f %%", c.rows, 100*off, 100*c.before)
		}
		if off := now.at(work)/c.seconds - 1; !(math.Abs(off) <= 0.1) {
			t.Errorf("%v rows: %v s, measured %v, off by %.0f %%", c.rows, now.at(work), c.seconds, 100*off)
		}
	}
}
