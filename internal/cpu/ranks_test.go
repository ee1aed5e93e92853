package cpu

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestRanks compares elements at places with those of a sorted copy.
func TestRanks(t *testing.T) {
	rng := testrand.New(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, n := range []int{1, 2, 500, 513, 3000, 200000} {
		runtime.GOMAXPROCS(1 + 63*rng.IntN(2)) // many goroutines search a line together
		testRanks(t, rng, dtype.Float32, n, func() float32 { return float32(someNumber(rng)) }, func(a, b float32) bool { return a < b })
		testRanks(t, rng, dtype.Float64, n, func() float64 { return someNumber(rng) }, func(a, b float64) bool { return a < b })
		testRanks(t, rng, dtype.Int64, n, rng.Int64, func(a, b int64) bool { return a < b })
		testRanks(t, rng, dtype.Int16, n, func() int16 { return int16(rng.IntN(5) - 2) }, func(a, b int16) bool { return a < b })
		testRanks(t, rng, dtype.Uint8, n, func() uint8 { return uint8(rng.IntN(256)) }, func(a, b uint8) bool { return a < b })
	}
}

// someNumber returns a number of a normal distribution, now and then a small integer, an infinity or a
// NaN.
func someNumber(rng *rand.Rand) float64 {
	switch rng.IntN(40) {
	case 0:
		return float64(rng.IntN(5) - 2)
	case 1:
		return math.Inf(1 - 2*rng.IntN(2))
	case 2:
		return math.NaN()
	}
	return rng.NormFloat64()
}

func testRanks[T comparable](t *testing.T, rng *rand.Rand, dt dtype.DType, n int, draw func() T, less func(a, b T) bool) {
	t.Helper()
	const lines = 3
	x := make([]T, n*lines)
	for i := range x {
		x[i] = draw()
	}
	var places []int
	for range 1 + rng.IntN(5) {
		places = append(places, rng.IntN(n))
	}
	places = append(places, n-1)
	slices.Sort(places)
	places = slices.Compact(places)
	k := len(places)
	for _, across := range []bool{false, true} {
		got, xs := make([]T, k*lines), []int{n, 1}
		if across { // element j of line i lies at j lines + i
			xs = []int{1, lines}
		}
		if err := Ranks(dt, []int{lines, n}, 1, at0(x), xs, places, at0(got), []int{k, 1}); err != nil {
			t.Fatal(err)
		}
		for i := range lines {
			line := make([]T, n)
			for j := range line {
				line[j] = x[i*xs[0]+j*xs[1]]
			}
			slices.SortFunc(line, func(a, b T) int {
				switch {
				case less(a, b) || a == a && b != b: // NaN is last
					return -1
				case less(b, a) || b == b && a != a:
					return 1
				}
				return 0
			})
			for j, at := range places {
				if g, w := got[i*k+j], line[at]; g != w && (g == g || w == w) {
					t.Fatalf("%v, %d elements, across %v: line %d has %v at %d, want %v", dt, n, across, i, g, at, w)
				}
			}
		}
	}
}
