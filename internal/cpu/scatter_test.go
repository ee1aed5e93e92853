package cpu

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSortIndexed compares the radix sort with a comparison sort.
func TestSortIndexed(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %#x", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
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
