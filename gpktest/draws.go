package gpktest

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	gpk "github.com/gpk-go/gpk"
)

// drawGolden are the elements of random calls by their digests, the same on every device.
var drawGolden = []struct {
	name string
	call func(r *gpk.RNG) *gpk.Array
	want uint64
}{
	{"Permutation", func(r *gpk.RNG) *gpk.Array { return r.Permutation(30011) }, 0x52388e25ddbd5ad9},
	{"Choice", func(r *gpk.RNG) *gpk.Array { return r.Choice(1<<30+7, 10007, true) }, 0x1a0ff62a0454361e},
	{"Choice once", func(r *gpk.RNG) *gpk.Array { return r.Choice(5003, 700, false) }, 0xe6abb3d10b3efd20},
	{"Choice by weights", func(r *gpk.RNG) *gpk.Array { return r.Choice(3001, 20011, true, weightsOf(3001)) }, 0xb1dc7a80638a677e},
	{"Choice once by weights", func(r *gpk.RNG) *gpk.Array { return r.Choice(3001, 1500, false, weightsOf(3001)) }, 0xb60d658981955365},
	{"Bernoulli", func(r *gpk.RNG) *gpk.Array { return r.Bernoulli(0.3, 100, 1003).Cast(gpk.Int64) }, 0x2063eeb76e7a7e84},
	{"Categorical", func(r *gpk.RNG) *gpk.Array {
		return r.Categorical(gpk.Arange(gpk.Float32, 70).Reshape(7, 10).Div(8).BroadcastTo(301, 7, 10), -2)
	}, 0x526bcd2ee159ae6},
	{"Exponential", func(r *gpk.RNG) *gpk.Array { return bitsOf(r.Exponential(gpk.Float64, 0.7, 10007)) }, 0x8364a23547043355},
	{"Gamma", func(r *gpk.RNG) *gpk.Array { return bitsOf(r.Gamma(gpk.Float64, 2.5, 3, 101, 103)) }, 0x6fa366d15109b42e},
	{"Poisson", func(r *gpk.RNG) *gpk.Array { return gpk.Concat(0, r.Poisson(4, 5003), r.Poisson(1000, 5003)) }, 0x9c0654435b36bc02},
	{"Binomial", func(r *gpk.RNG) *gpk.Array {
		return gpk.Concat(0, r.Binomial(9, 0.7, 5003), r.Binomial(3001, 0.2, 5003), r.Binomial(1<<32, 0.9, 5003))
	}, 0xea0190751421f6db},
}

// weightsOf are n weights of many sizes, some of them 0, which no device rounds.
func weightsOf(n int) *gpk.Array {
	w := make([]float64, n)
	for i := range w {
		w[i] = math.Ldexp(float64(i%13), -i%40)
	}
	return gpk.FromSlice(w)
}

// bitsOf returns whole numbers that differ for any two numbers below 2^10 that are more than
// 2^-52 apart.
func bitsOf(a *gpk.Array) *gpk.Array { return a.Mul(0x1p52).Cast(gpk.Int64) }

// testDraws compares random choices with values that are the same on every device, and with
// their probabilities. The latter tests have fixed seeds, so that they pass always or fail
// always.
func testDraws(t *testing.T, s *suite) {
	r := gpk.NewRNG(20)
	for _, g := range drawGolden {
		x := g.call(r)
		if got := digest(t, x); x.DType() != gpk.Int64 || got != g.want {
			t.Errorf("%s: %v with digest %#x, want %#x", g.name, x.DType(), got, g.want)
		}
	}
	s.drawProperties(t)
	s.drawProbabilities(t)
	s.drawErrors(t)
}

func (s *suite) drawProperties(t *testing.T) {
	r := gpk.NewRNG(s.rng.Uint64())
	for range 20 {
		n := s.rng.IntN(300)
		k := s.rng.IntN(n + 1)
		least := 0
		if n > 0 {
			least = 1
		}
		weights := make([]float32, n)
		above := 0
		for i := range weights {
			if s.rng.IntN(3) > 0 || i == n-1 {
				weights[i] = float32(math.Exp(8 * s.rng.NormFloat64()))
				above++
			}
		}
		w := gpk.FromSlice(weights)
		for what, c := range map[string]struct {
			got      *gpk.Array
			length   int
			distinct bool
			weighted bool
		}{
			"Permutation":            {r.Permutation(n), n, true, false},
			"Choice":                 {r.Choice(n, 2*n, true), 2 * n, false, false},
			"Choice once":            {r.Choice(n, k, false), k, true, false},
			"Choice by weights":      {r.Choice(n, 3*least, true, w), 3 * least, false, true},
			"Choice once by weights": {r.Choice(n, min(k, above), false, w), min(k, above), true, true},
		} {
			got := read(t, c.got)
			seen := map[int64]bool{}
			if got.dt != gpk.Int64 || len(got.shape) != 1 || got.shape[0] != c.length {
				t.Fatalf("%s of %d: %v %v", what, n, got.dt, got.shape)
			}
			for _, i := range got.ints {
				if i < 0 || int(i) >= n || c.distinct && seen[i] || c.weighted && weights[i] == 0 {
					t.Fatalf("%s of %d: %d is there", what, n, i)
				}
				seen[i] = true
			}
		}
	}
	for _, dt := range realFloats() {
		shape := s.someShape(0)
		for what, a := range map[string]*gpk.Array{
			"Exponential": r.Exponential(dt, 3, shape...),
			"Gamma":       r.Gamma(dt, 0.5, 3, shape...),
		} {
			x := read(t, a)
			if x.dt != dt || fmt.Sprint(x.shape) != fmt.Sprint(shape) {
				t.Errorf("%s of %v %v: %v %v", what, dt, shape, x.dt, x.shape)
			}
			for _, v := range x.values {
				if !(real(v) >= 0) {
					t.Errorf("%s: %v", what, v)
				}
			}
		}
	}
	for _, p := range []float64{0, 1} {
		for _, v := range read(t, r.Bernoulli(p, 1000)).ints {
			if float64(v) != p {
				t.Errorf("Bernoulli of %v is %d", p, v)
			}
		}
	}
	// No two calls give the same numbers, and the seed gives them again.
	a, b := gpk.NewRNG(3), gpk.NewRNG(3)
	x, y := read(t, a.Exponential(gpk.Float64, 1, 100)), read(t, a.Exponential(gpk.Float64, 1, 100))
	if sameBits(x, y) || !sameBits(x, read(t, b.Exponential(gpk.Float64, 1, 100))) {
		t.Error("a call repeats the one before, or a seed does not repeat its sequence")
	}
	if read(t, a.Permutation(0)).shape[0] != 0 || read(t, a.Poisson(3, 0, 4)).shape[1] != 4 || len(read(t, a.Bernoulli(0.5)).ints) != 1 {
		t.Error("empty and 0-d draws have another shape")
	}
}

// pearson checks counts against probabilities: Pearson's statistic of n cells has the mean n-1
// and the variance 2(n-1).
func pearson(t *testing.T, what string, counts, p []float64) {
	t.Helper()
	total, statistic := 0.0, 0.0
	for _, c := range counts {
		total += c
	}
	for i, c := range counts {
		if p[i] == 0 {
			if c > 0 {
				t.Errorf("%s: cell %d has %v, and the probability 0", what, i, c)
			}
			continue
		}
		statistic += (c - total*p[i]) * (c - total*p[i]) / (total * p[i])
	}
	n := float64(len(counts) - 1)
	if over := (statistic - n) / math.Sqrt(2*n); over > 4.5 {
		t.Errorf("%s: Pearson's statistic of %d cells is %v", what, len(counts), statistic)
	}
}

func (s *suite) drawProbabilities(t *testing.T) {
	const n = 20000
	r := gpk.NewRNG(7)
	w := []float64{3, 0, 1, 2, 0.5}
	p, sum := make([]float64, 5), 6.5
	for i := range p {
		p[i] = w[i] / sum
	}
	tally := func(a *gpk.Array) []float64 {
		counts := make([]float64, 5)
		for _, i := range read(t, a).ints {
			counts[i]++
		}
		return counts
	}
	weights := gpk.FromSlice(w)
	pearson(t, "Choice", tally(r.Choice(5, n, true)), []float64{0.2, 0.2, 0.2, 0.2, 0.2})
	pearson(t, "Choice by weights", tally(r.Choice(5, n, true, weights)), p)
	pearson(t, "Categorical", tally(r.Categorical(weights.Log().BroadcastTo(n, 5), 1)), p)
	pearson(t, "Bernoulli", tally(r.Bernoulli(0.3, n).Cast(gpk.Int64))[:2], []float64{0.7, 0.3})
	// All orders of four elements, and the first two of five by weights; each is a call of its
	// own.
	orders := map[string]int{}
	pairs, expected := make([]float64, 25), make([]float64, 25)
	var permutations, chosen []*gpk.Array
	for range 2000 {
		permutations, chosen = append(permutations, r.Permutation(4)), append(chosen, r.Choice(5, 2, false, weights))
	}
	all, two := read(t, gpk.Stack(0, permutations...)), read(t, gpk.Stack(0, chosen...))
	for i := range 2000 {
		orders[fmt.Sprint(all.ints[4*i:4*i+4])]++
		pairs[5*two.ints[2*i]+two.ints[2*i+1]]++
	}
	var counts, equally []float64
	for _, c := range orders {
		counts, equally = append(counts, float64(c)), append(equally, 1.0/24)
	}
	if len(counts) != 24 {
		t.Errorf("Permutation gives %d of 24 orders", len(counts))
	} else {
		pearson(t, "Permutation", counts, equally)
	}
	for i := range 25 {
		if i/5 != i%5 {
			expected[i] = p[i/5] * p[i%5] / (1 - p[i/5])
		}
	}
	pearson(t, "Choice once by weights", pairs, expected)
}

func (s *suite) drawErrors(t *testing.T) {
	r := gpk.NewRNG(1)
	var none *gpk.RNG
	ones := gpk.Ones(gpk.Float32, 4)
	for what, c := range map[string]struct {
		op   string
		got  *gpk.Array
		want error
	}{
		"Permutation of -1":         {"Permutation", r.Permutation(-1), gpk.ErrShape},
		"Choice of none":            {"Choice", r.Choice(0, 1, true), gpk.ErrShape},
		"Choice of -1":              {"Choice", r.Choice(-1, 0, true), gpk.ErrShape},
		"Choice, -1 times":          {"Choice", r.Choice(4, -1, true), gpk.ErrShape},
		"Choice of too many":        {"Choice", r.Choice(4, 5, false), gpk.ErrShape},
		"Choice by other weights":   {"Choice", r.Choice(5, 1, true, ones), gpk.ErrShape},
		"Choice by a matrix":        {"Choice", r.Choice(4, 1, true, ones.Reshape(2, 2)), gpk.ErrShape},
		"Choice by two weights":     {"Choice", r.Choice(4, 1, true, ones, ones), gpk.ErrShape},
		"Choice by imaginary ones":  {"Choice", r.Choice(4, 1, true, ones.Cast(gpk.Complex64)), gpk.ErrDType},
		"Choice by nil":             {"Choice", r.Choice(4, 1, true, nil), gpk.ErrShape},
		"Bernoulli of 1.5":          {"Bernoulli", r.Bernoulli(1.5, 3), gpk.ErrUnsupported},
		"Bernoulli of NaN":          {"Bernoulli", r.Bernoulli(math.NaN(), 3), gpk.ErrUnsupported},
		"Bernoulli of -1 numbers":   {"Bernoulli", r.Bernoulli(0.5, -1), gpk.ErrShape},
		"Categorical of integers":   {"Categorical", r.Categorical(gpk.Ones(gpk.Int64, 4), 0), gpk.ErrDType},
		"Categorical of no axis":    {"Categorical", r.Categorical(ones, 1), gpk.ErrShape},
		"Categorical of nothing":    {"Categorical", r.Categorical(gpk.Ones(gpk.Float32, 3, 0), 1), gpk.ErrShape},
		"Categorical of nil":        {"Categorical", r.Categorical(nil, 1), gpk.ErrShape},
		"Exponential of int64":      {"Exponential", r.Exponential(gpk.Int64, 1, 3), gpk.ErrDType},
		"Exponential of no type":    {"Exponential", r.Exponential(0, 1, 3), gpk.ErrDType},
		"Exponential, -1":           {"Exponential", r.Exponential(gpk.Float32, -1, 3), gpk.ErrUnsupported},
		"Exponential without end":   {"Exponential", r.Exponential(gpk.Float32, 1, 1<<28, 1<<28), gpk.ErrOutOfMemory},
		"Exponential of -1 numbers": {"Exponential", r.Exponential(gpk.Float32, 1, -1), gpk.ErrShape},
		"Gamma of 0":                {"Gamma", r.Gamma(gpk.Float32, 0, 1, 3), gpk.ErrUnsupported},
		"Gamma of NaN":              {"Gamma", r.Gamma(gpk.Float32, math.NaN(), 1, 3), gpk.ErrUnsupported},
		"Gamma, scale NaN":          {"Gamma", r.Gamma(gpk.Float32, 1, math.NaN(), 3), gpk.ErrUnsupported},
		"Poisson of -1":             {"Poisson", r.Poisson(-1, 3), gpk.ErrUnsupported},
		"Poisson of Inf":            {"Poisson", r.Poisson(math.Inf(1), 3), gpk.ErrUnsupported},
		"Binomial of -1 trials":     {"Binomial", r.Binomial(-1, 0.5, 3), gpk.ErrUnsupported},
		"Binomial of 2^33 trials":   {"Binomial", r.Binomial(1<<33, 0.5, 3), gpk.ErrUnsupported},
		"Binomial of 1.5":           {"Binomial", r.Binomial(3, 1.5, 3), gpk.ErrUnsupported},
		"Binomial of NaN":           {"Binomial", r.Binomial(3, math.NaN(), 3), gpk.ErrUnsupported},
		"Binomial of -1 numbers":    {"Binomial", r.Binomial(3, 0.5, -1), gpk.ErrShape},
		"Binomial of nil":           {"Binomial", none.Binomial(3, 0.5, 3), gpk.ErrUnsupported},
		"Poisson of nil":            {"Poisson", none.Poisson(3, 3), gpk.ErrUnsupported},
	} {
		s.refusedAs(t, what, c.op, []*gpk.Array{c.got}, c.want)
	}
	if _, _, err := none.Blocks(3); !errors.Is(err, gpk.ErrUnsupported) || !errors.Is(none.Permutation(3).Err(), gpk.ErrUnsupported) {
		t.Errorf("a nil RNG: %v", err)
	}
	for what, a := range map[string]*gpk.Array{
		"a weight of -1":  r.Choice(3, 5, true, gpk.FromSlice([]float64{1, -1, 2})),
		"a weight of NaN": r.Choice(3, 5, true, gpk.FromSlice([]float64{1, math.NaN(), 2})),
		"a weight of Inf": r.Choice(3, 5, true, gpk.FromSlice([]float64{1, math.Inf(1), 2})),
		"weights of 0":    r.Choice(3, 5, true, gpk.Zeros(gpk.Float64, 3)),
		"-1 once":         r.Choice(3, 1, false, gpk.FromSlice([]float64{1, -1, 2})),
		"NaN once":        r.Choice(3, 1, false, gpk.FromSlice([]float64{1, math.NaN(), 2})),
		"Inf once":        r.Choice(3, 1, false, gpk.FromSlice([]float64{1, math.Inf(1), 2})),
		"two of one":      r.Choice(3, 2, false, gpk.FromSlice([]float64{0, 1, 0})),
		"logits of NaN":   r.Categorical(gpk.FromSlice([]float64{1, math.NaN(), 2}), 0),
		"logits of Inf":   r.Categorical(gpk.FromSlice([]float64{1, math.Inf(1), 2}), 0),
		"logits of -Inf":  r.Categorical(gpk.Full(gpk.Float64, math.Inf(-1), 2, 3), 1),
	} {
		_, err := gpk.ToSlice[int64](a)
		var oe *gpk.OpError
		if !errors.Is(err, gpk.ErrUnsupported) || !errors.As(err, &oe) || oe.Op != "Choice" && oe.Op != "Categorical" || !strings.Contains(oe.Site, "draws.go") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
