package cpu

import (
	"math"
	"slices"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestHistogram compares counts with a loop over all intervals.
func TestHistogram(t *testing.T) {
	rng := testrand.New(t)
	for _, n := range []int{0, 1, 700, 20000} {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(rng.IntN(41)-20) / 8
			switch rng.IntN(50) {
			case 0:
				x[i] = float32(rng.NormFloat64())
			case 1:
				x[i] = float32(math.NaN())
			case 2:
				x[i] = float32(math.Inf(1 - 2*rng.IntN(2)))
			}
		}
		for name, edges := range map[string][]float64{
			"one":         {-1, 1},
			"equal":       {-2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2},
			"thirds":      {0, 1. / 3, 2. / 3, 1},
			"unequal":     {-2, -1.99, 0, 0.125, 2.25},
			"repeated":    {-1, -1, 0, 0, 0.5, 1, 1},
			"point":       {0.5, 0.5},
			"infinite":    {math.Inf(-1), 0, math.Inf(1)},
			"whole range": {-math.MaxFloat64, 0, math.MaxFloat64},
			"many": slices.Collect(func(yield func(float64) bool) {
				for i := range 5000 {
					if !yield(float64(i-2500) / 1000) {
						return
					}
				}
			}),
		} {
			got, want := make([]int64, len(edges)-1), make([]int64, len(edges)-1)
			for i := range got {
				got[i] = -7
			}
			last := len(edges) - 1
			for _, v := range x {
				for i := range want {
					v := float64(v)
					if edges[i] <= v && v < edges[i+1] || i == last-1 && v == edges[last] {
						want[i]++
					}
				}
			}
			Histogram(dtype.Float32, n, at0(x), edges, got)
			if !slices.Equal(got, want) {
				t.Errorf("%d elements, %s: %v, want %v", n, name, got, want)
			}
		}
	}
}

// TestHistogramParts compares the counts of many elements, which goroutines share, with those of one loop.
func TestHistogramParts(t *testing.T) {
	rng := testrand.New(t)
	x, places := make([]int16, 400000), make([]int64, 400000)
	edges, want, bins := []float64{-30000, -1000, 0, 5, 5.5, 32767}, make([]int64, 5), make([]int64, 7)
	for i := range x {
		x[i], places[i] = int16(rng.IntN(1<<16)-1<<15), int64(rng.IntN(9)-1)
		for j := range want {
			if v := float64(x[i]); edges[j] <= v && (v < edges[j+1] || j == 4 && v == edges[5]) {
				want[j]++
			}
		}
		if places[i] >= 0 && places[i] < 7 {
			bins[places[i]]++
		}
	}
	got, counted := make([]int64, 5), make([]int64, 7)
	Histogram(dtype.Int16, len(x), unsafe.Pointer(&x[0]), edges, got)
	BinCount(places, counted)
	many := make([]int64, 50000)
	BinCount(places, many)
	if bins := append(slices.Clone(bins), many[7]); !slices.Equal(many[:8], bins) || many[7] == 0 || slices.Max(many[8:]) != 0 {
		t.Errorf("50,000 numbers: %v, want %v", many[:8], bins)
	}
	// The caller refuses these edges afterwards.
	Histogram(dtype.Int16, len(x), unsafe.Pointer(&x[0]), []float64{3, math.NaN(), -7, math.Inf(1), 2, 0}, make([]int64, 5))
	if !slices.Equal(got, want) || !slices.Equal(counted, bins) {
		t.Errorf("%v and %v, want %v and %v", got, counted, want, bins)
	}
}

func BenchmarkHistogram(b *testing.B) {
	x := make([]float32, 1<<20)
	for i := range x {
		x[i] = float32(i*7919%(1<<20)) / (1 << 20)
	}
	edges, counts := make([]float64, 65), make([]int64, 64)
	for i := range edges {
		edges[i] = float64(i) / 64
	}
	for b.Loop() {
		Histogram(dtype.Float32, len(x), at0(x), edges, counts)
	}
}
