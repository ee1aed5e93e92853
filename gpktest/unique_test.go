package gpktest

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestUniqueFirst checks that Unique returns the first of the two zeros, and the bits of the first NaN.
func TestUniqueFirst(t *testing.T) {
	devicetest.DefaultCPU(t)
	rng := testrand.New(t)
	kinds := []uint64{0, 1 << 63, 0x7ff8 << 48, 0xfff8<<48 | 5, 0x7ff8<<48 | 9, 1, 1<<63 | 1, 0x7ff << 52, 0xfff << 52, 0x3ff << 52}
	for range 300 {
		n := 1 + rng.IntN(200)
		first := rng.IntN(len(kinds))
		x := make([]float64, n)
		var want []float64
		for i := range x {
			x[i] = math.Float64frombits(kinds[first+rng.IntN(len(kinds)-first)])
			if !slices.ContainsFunc(want, func(v float64) bool { return v == x[i] || v != v && x[i] != x[i] }) {
				want = append(want, x[i])
			}
		}
		slices.SortFunc(want, func(a, b float64) int {
			switch {
			case a < b || b != b:
				return -1
			case a > b || a != a:
				return 1
			}
			return 0
		})
		got, err := gpk.ToSlice[float64](gpk.FromSlice(x, n).Unique())
		if err != nil {
			t.Fatal(err)
		}
		if !slices.EqualFunc(got, want, func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }) {
			t.Fatalf("of %v: %v, want %v", x, got, want)
		}
	}
}

// TestRankRoom checks that the median of a line that is longer than memory is an error: its keys are copied.
func TestRankRoom(t *testing.T) {
	devicetest.DefaultCPU(t)
	err := gpk.Eval(gpk.FromSlice([]float32{1}, 1).BroadcastTo(math.MaxInt / 16).Median())
	if !errors.Is(err, gpk.ErrOutOfMemory) {
		t.Errorf("error %v, want ErrOutOfMemory", err)
	}
}
