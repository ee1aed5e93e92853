package cpu

import (
	"math/bits"
	"slices"
	"testing"

	"github.com/gpk-go/gpk/internal/testrand"
)

// TestQuickSort sorts every number of keys up to 300, and some larger ones, in several orders. It checks that nothing
// beside the keys and the scratch memory is written.
func TestQuickSort(t *testing.T) {
	if !vectorAVX {
		t.Skip("NOT RUN: this processor has no AVX2, which the assembly under test needs")
	}
	rng := testrand.New(t)
	lengths := []int{1023, 4096, 30011}
	for n := range 301 {
		lengths = append(lengths, n)
	}
	for _, n := range lengths {
		x := make([]uint64, n)
		for _, values := range []uint64{1, 2, 7, 1 << 20, 0} { // 0: all
			for i := range x {
				if x[i] = rng.Uint64(); values > 0 {
					x[i] = x[i] % values * (1<<63 | 1<<31 | 1) // the upper halves are equal to the lower ones
				}
			}
			testQuickSort(t, x)
			slices.Sort(x)
			testQuickSort(t, x)
			slices.Reverse(x)
			testQuickSort(t, x)
		}
		for i := range x { // the keys that middleKey looks at are probably the same, but there are others
			if x[i] = 1<<60 | 1<<20; rng.IntN(97) == 0 {
				x[i] = rng.Uint64()
			}
		}
		testQuickSort(t, x)
	}
}

// testQuickSort sorts x as keys of 64 bits and of 32, which are the lower halves.
func testQuickSort(t *testing.T, x []uint64) {
	t.Helper()
	quickSortGuarded(t, x)
	quickSortGuarded(t, converted[uint32](x))
}

func quickSortGuarded[K key](t *testing.T, x []K) {
	t.Helper()
	n, guard := len(x), slices.Repeat([]K{^K(7)}, 17)
	got, spare, want := slices.Concat(guard, x, guard), slices.Concat(guard, x, guard), slices.Clone(x)
	slices.Sort(want)
	quickSort(got[17:17+n], spare[17:17+n])
	if !slices.Equal(got[17:17+n], want) {
		t.Fatalf("%d keys of %T: %v becomes %v", n, guard[0], x, got[17:17+n])
	}
	if n > 0 {
		places := slices.Compact([]int{0, n / 3, n / 2, n - 1})
		for _, depth := range []int{0, 2, 2 * bits.Len(uint(n))} {
			copy(got[17:], x)
			out := make([]K, len(places))
			quickPick(got[17:17+n], spare[17:17+n], 0, places, out, depth)
			for i, at := range places {
				if out[i] != want[at] {
					t.Fatalf("%d keys of %T, depth %d: key %d of %v is %v, want %v", n, guard[0], depth, at, x, out[i], want[at])
				}
			}
		}
	}
	for _, all := range [][]K{got, spare} {
		if !slices.Equal(all[:17], guard) || !slices.Equal(all[17+n:], guard) {
			t.Fatalf("%d keys of %T: memory beside the keys is written", n, guard[0])
		}
	}
}
