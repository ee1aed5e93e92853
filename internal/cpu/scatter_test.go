package cpu

import (
	"math"
	"slices"
	"testing"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestSortIndexed compares the radix sort with a comparison sort.
func TestSortIndexed(t *testing.T) {
	rng := testrand.New(t)
	for _, n := range []int{shortSort + 1, 3000, 20000} {
		for _, most := range []uint64{2, 1 << 12, 1<<64 - 1} {
			x := make([]indexedKey, n)
			for i := range x {
				x[i] = indexedKey{rng.Uint64N(most), int64(i)}
			}
			want := slices.Clone(x)
			slices.SortFunc(want, indexedKey.compare)
			if sortIndexed(x); !slices.Equal(x, want) {
				t.Errorf("%d keys below %d are not in order", n, most)
			}
		}
	}
}

// TestScatterAddOrder compares sums of float32 rows with float64 sums in the order of the
// values, bit by bit, on both sides of directWidth and directSums.
func TestScatterAddOrder(t *testing.T) {
	rng := testrand.New(t)
	for _, c := range []struct{ n, width, count int }{{1, 1, 0}, {3, 1, 100}, {50, 4, 900}, {50, 5, 900}, {40000, 3, 5000}, {60000, 3, 5000}} {
		x, values, places := make([]float32, c.n*c.width), make([]float32, c.count*c.width+1), make([]int64, c.count)
		got, sums := make([]float32, len(x)), make([]float64, len(x))
		for i := range x {
			x[i], got[i] = float32(rng.NormFloat64()), -7
			sums[i] = float64(x[i])
		}
		for i := range values {
			values[i] = float32(rng.NormFloat64() * math.Exp(10*rng.Float64()))
		}
		for i := range places {
			places[i] = int64(rng.IntN(c.n+2)) - 1 // also one before the first and one after the last
			for j := range c.width {
				if p := places[i]; p >= 0 && p < int64(c.n) {
					sums[int(p)*c.width+j] += float64(values[i*c.width+j])
				}
			}
		}
		if err := ScatterAdd(dtype.Float32, places, c.n, c.width, at0(values), at0(x), at0(got)); err != nil {
			t.Fatal(err)
		}
		for i, v := range got {
			if want := float32(sums[i]); v != want {
				t.Fatalf("%+v: element %d is %v, want %v", c, i, v, want)
			}
		}
	}
}
