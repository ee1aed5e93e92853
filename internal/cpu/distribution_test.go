package cpu

import (
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

// meanOff is how many deviations the mean of a sample is off.
func meanOff(x []float64, mean, variance float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	n := float64(len(x))
	return math.Abs(sum/n-mean) / math.Sqrt(variance/n)
}

// TestPoisson holds samples against the probability of each number, by Pearson's statistic of
// the numbers that are expected at least ten times, and of all others together. Its mean is
// the number of them less one, and its variance twice that.
func TestPoisson(t *testing.T) {
	const n = 100_000
	for _, mean := range []float64{0, 0.01, 1, 9.99, 10, 47.5, 1000, 1e7, 1 << 32} {
		x := make([]int64, n)
		Poisson(x, mean, 3, 17)
		counts := map[int64]float64{}
		wide := make([]float64, n)
		for i, k := range x {
			counts[k]++
			wide[i] = float64(k)
		}
		if mean == 0 {
			if counts[0] != n {
				t.Errorf("mean 0: %v numbers are 0", counts[0])
			}
			continue
		}
		if d := meanOff(wide, mean, mean); d > 4.5 {
			t.Errorf("mean %v: the mean is %.1f deviations off", mean, d)
		}
		square := 0.0
		for _, v := range wide {
			square += (v - mean) * (v - mean)
		}
		if d := math.Abs(square/n-mean) / (mean * math.Sqrt((2+1/mean)/n)); d > 4.5 {
			t.Errorf("mean %v: the variance is %v, %.1f deviations off", mean, square/n, d)
		}
		if mean > 1e4 {
			continue
		}
		statistic, cells, restSeen, restExpected := 0.0, 0.0, float64(n), float64(n)
		for k := int64(0); float64(k) < mean+20*math.Sqrt(mean)+20; k++ {
			above, _ := math.Lgamma(float64(k) + 1)
			expected := n * math.Exp(float64(k)*math.Log(mean)-mean-above)
			if expected < 10 {
				continue
			}
			statistic += (counts[k] - expected) * (counts[k] - expected) / expected
			restSeen, restExpected, cells = restSeen-counts[k], restExpected-expected, cells+1
		}
		if restExpected >= 1 {
			statistic += (restSeen - restExpected) * (restSeen - restExpected) / restExpected
			cells++
		}
		if over := (statistic - (cells - 1)) / math.Sqrt(2*max(cells-1, 1)); over > 4.5 {
			t.Errorf("mean %v: Pearson's statistic of %v cells is %v", mean, cells, statistic)
		}
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
	for i := 0; i < n; i += 61 {
		part[0], number[0] = math.NaN(), -1
		Gamma(part, 0.3, seed, block+uint64(i))
		Poisson(number, 30, seed, block+uint64(i))
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
