package cpu

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mathext"
)

// TestHostDistributions holds samples of 200,000 against their distributions: the mean within
// 4.5 deviations, the variance within as many of its own (from the excess kurtosis), and
// Kolmogorov-Smirnov. The seeds are fixed, so that it passes or fails always.
func TestHostDistributions(t *testing.T) {
	const n = 200_000
	gamma := func(k float64) func(float64) float64 {
		return func(x float64) float64 { return mathext.GammaIncReg(k, x) }
	}
	for _, c := range []struct {
		name                   string
		mean, variance, excess float64
		cdf                    func(float64) float64
		fill                   func(dst []float64, seed, block uint64)
	}{
		{"exponential", 1, 1, 6, func(x float64) float64 { return -math.Expm1(-x) }, Exponential},
		{"gumbel", 0.57721566490153286, math.Pi * math.Pi / 6, 2.4, func(x float64) float64 { return math.Exp(-math.Exp(-x)) }, Gumbel},
		{"gamma 0.05", 0.05, 0.05, 120, gamma(0.05), func(dst []float64, s, b uint64) { Gamma(dst, 0.05, s, b) }},
		{"gamma 0.7", 0.7, 0.7, 6 / 0.7, gamma(0.7), func(dst []float64, s, b uint64) { Gamma(dst, 0.7, s, b) }},
		{"gamma 1", 1, 1, 6, gamma(1), func(dst []float64, s, b uint64) { Gamma(dst, 1, s, b) }},
		{"gamma 40", 40, 40, 0.15, gamma(40), func(dst []float64, s, b uint64) { Gamma(dst, 40, s, b) }},
		{"gamma 1e6", 1e6, 1e6, 6e-6, func(x float64) float64 { // Wilson and Hilferty, off by less than 1e-5
			return phi((math.Cbrt(x/1e6) - 1 + 1/9e6) * math.Sqrt(9e6))
		}, func(dst []float64, s, b uint64) { Gamma(dst, 1e6, s, b) }},
	} {
		for seed := range uint64(2) {
			x := make([]float64, n)
			c.fill(x, seed, 1<<63)
			if d := meanOff(x, c.mean, c.variance); d > 4.5 {
				t.Errorf("%s, seed %d: the mean is %.1f deviations off", c.name, seed, d)
			}
			square, lag := 0.0, 0.0
			for i, v := range x {
				square += (v - c.mean) * (v - c.mean)
				if i > 0 {
					lag += (v - c.mean) * (x[i-1] - c.mean)
				}
			}
			if d := math.Abs(square/n-c.variance) / (c.variance * math.Sqrt((2+c.excess)/n)); d > 4.5 {
				t.Errorf("%s, seed %d: the variance is %v, %.1f deviations off", c.name, seed, square/n, d)
			}
			if d := math.Abs(lag/n) / (c.variance / math.Sqrt(n)); d > 4.5 {
				t.Errorf("%s, seed %d: neighbours correlate, %.1f deviations", c.name, seed, d)
			}
			if d := kolmogorov(x, c.cdf); d > 2.2 {
				t.Errorf("%s, seed %d: Kolmogorov-Smirnov %v", c.name, seed, d)
			}
		}
	}
}

// meanOff returns the distance of the mean of a sample from its expected value, in standard
// deviations.
func meanOff(x []float64, mean, variance float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	n := float64(len(x))
	return math.Abs(sum/n-mean) / math.Sqrt(variance/n)
}

// TestCounts holds samples against the probability of each number, by Pearson's statistic of
// the numbers that are expected at least ten times, and of all others together. Its mean is
// the number of them less one, and its variance twice that.
func TestCounts(t *testing.T) {
	for _, mean := range []float64{0, 0.01, 1, 9.99, 10, 47.5, 1000, 1e7, 1 << 32} {
		counted{
			name: fmt.Sprintf("Poisson of mean %v", mean), mean: mean, variance: mean, excess: 1 / mean,
			fill: func(dst []int64) { Poisson(dst, mean, 3, 17) },
			logP: func(k float64) float64 { return k*math.Log(mean) - mean - logFactorial(k) },
		}.check(t)
	}
	for _, c := range []struct{ n, p float64 }{
		{0, 0.5},
		{1, 0.25},
		{5, 0},
		{5, 1},
		{19, 0.5},
		{20, 0.5},
		{20, 0.9},
		{33, 0.3},
		{34, 0.3},
		{60, 0.5},
		{1000, 0.009},
		{1000, 0.7},
		{1e6, 1e-4},
		{1e7, 0.5},
		{1 << 32, 1e-10},
		{1 << 32, 0.99},
	} {
		variance := c.n * c.p * (1 - c.p)
		counted{
			name: fmt.Sprintf("Binomial of %v and %v", c.n, c.p), mean: c.n * c.p, variance: variance, excess: 1/variance - 6/c.n, most: c.n,
			fill: func(dst []int64) { Binomial(dst, int64(c.n), c.p, 3, 17) },
			logP: func(k float64) float64 {
				return logFactorial(c.n) - logFactorial(k) - logFactorial(c.n-k) + k*math.Log(c.p) + (c.n-k)*math.Log1p(-c.p)
			},
		}.check(t)
	}
}

func logFactorial(k float64) float64 {
	l, _ := math.Lgamma(k + 1)
	return l
}

// counted is a distribution of whole numbers from 0 on, up to most if that is not 0.
type counted struct {
	name                   string
	mean, variance, excess float64 // excess is the kurtosis less 3
	most                   float64
	fill                   func(dst []int64)
	logP                   func(k float64) float64
}

func (c counted) check(t *testing.T) {
	const n = 100_000
	x, wide := make([]int64, n), make([]float64, n)
	for i := range x {
		x[i] = -1
	}
	c.fill(x)
	counts := map[int64]float64{}
	for i, k := range x {
		counts[k]++
		wide[i] = float64(k)
		if k < 0 || c.most > 0 && float64(k) > c.most {
			t.Fatalf("%s: %d is there", c.name, k)
		}
	}
	if c.variance == 0 {
		if counts[int64(c.mean)] != n {
			t.Errorf("%s: %v of %d numbers are the mean", c.name, counts[int64(c.mean)], n)
		}
		return
	}
	if d := meanOff(wide, c.mean, c.variance); d > 4.5 {
		t.Errorf("%s: the mean is %.1f deviations off", c.name, d)
	}
	square := 0.0
	for _, v := range wide {
		square += (v - c.mean) * (v - c.mean)
	}
	if d := math.Abs(square/n-c.variance) / (c.variance * math.Sqrt((2+c.excess)/n)); d > 4.5 {
		t.Errorf("%s: the variance is %v, %.1f deviations off", c.name, square/n, d)
	}
	if c.variance > 1e4 {
		return
	}
	statistic, cells, restSeen, restExpected := 0.0, 0.0, float64(n), float64(n)
	width := 20*math.Sqrt(c.variance) + 20
	for k := max(0, math.Floor(c.mean-width)); k < c.mean+width && (c.most == 0 || k <= c.most); k++ {
		expected, seen := n*math.Exp(c.logP(k)), counts[int64(k)]
		if expected < 10 {
			continue
		}
		statistic += (seen - expected) * (seen - expected) / expected
		restSeen, restExpected, cells = restSeen-seen, restExpected-expected, cells+1
	}
	if restExpected >= 1 {
		statistic += (restSeen - restExpected) * (restSeen - restExpected) / restExpected
		cells++
	}
	if over := (statistic - (cells - 1)) / math.Sqrt(2*max(cells-1, 1)); over > 4.5 {
		t.Errorf("%s: Pearson's statistic of %v cells is %v", c.name, cells, statistic)
	}
}

// TestHostParts checks that an element depends on its place in the sequence alone, and not on
// how many are made at once.
func TestHostParts(t *testing.T) {
	const n, seed, block = 3000, 0x1234_5678_9abc_def0, math.MaxUint64 - 1000
	whole, part := make([]float64, n), make([]float64, 1)
	numbers, number := make([]int64, n), make([]int64, 1)
	Gamma(whole, 0.3, seed, block)
	Poisson(numbers, 30, seed, block)
	successes, success := make([]int64, n), make([]int64, 1)
	Binomial(successes, 100, 0.6, seed, block)
	for i := 0; i < n; i += 61 {
		part[0], number[0], success[0] = math.NaN(), -1, -1
		Gamma(part, 0.3, seed, block+uint64(i))
		Poisson(number, 30, seed, block+uint64(i))
		Binomial(success, 100, 0.6, seed, block+uint64(i))
		if success[0] != successes[i] {
			t.Fatalf("element %d: %d alone, %d among others", i, success[0], successes[i])
		}
		if part[0] != whole[i] || number[0] != numbers[i] {
			t.Fatalf("element %d: %v and %d alone, %v and %d among others", i, part[0], number[0], whole[i], numbers[i])
		}
	}
	again := make([]float64, n)
	Gamma(again, 0.3, seed, block+1)
	if slices.Equal(again[:n-1], whole[:n-1]) || again[0] != whole[1] {
		t.Error("the next block does not give the next element")
	}
}

// TestOpenUnit checks the ends of the numbers whose logarithm is taken.
func TestOpenUnit(t *testing.T) {
	if lo, hi := openUnit(0), openUnit(math.MaxUint64); lo != 0x1p-53 || hi != 1-0x1p-53 {
		t.Errorf("from %v to %v", lo, hi)
	}
	// Against math.Log: both are off by less than one unit in the last place.
	for _, u := range []float64{0x1p-53, 1 - 0x1p-53, 0.5, 0.7071, 1.5, 1e10, 1e-40, 27} {
		if got, want := logUnit(u), math.Log(u); !(math.Abs(got-want) <= 0x1p-51*math.Abs(want)) {
			t.Errorf("the logarithm of %v is %v, want %v", u, got, want)
		}
	}
}
