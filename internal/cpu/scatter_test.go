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

// TestScatterAddOrder compares sums with those of loops in the order of the values, bit by bit:
// float32 in float64, float64 with Neumaier's correction, integers wrapped. The number of goroutines
// changes nothing. With an index outside nothing is written.
func TestScatterAddOrder(t *testing.T) {
	rng := testrand.New(t)
	for _, c := range []struct{ n, width, count int }{{1, 1, 0}, {1, 1, 4000}, {3, 1, 100}, {50, 4, 900}, {50, 45, 900}, {40000, 3, 5000}, {60000, 1, 100000}, {5000, 40, 3000}} {
		testScatterOrder(t, rng, dtype.Float32, c.n, c.width, c.count, func(x float32, v []float32) float32 {
			sum := float64(x)
			for _, v := range v {
				sum += float64(v)
			}
			return float32(sum)
		})
		testScatterOrder(t, rng, dtype.Float64, c.n, c.width, c.count, func(x float64, v []float64) float64 {
			sum, lost := x, 0.0
			for _, v := range v {
				t := sum + v
				if math.Abs(sum) >= math.Abs(v) {
					lost += sum - t + v
				} else {
					lost += v - t + sum
				}
				sum = t
			}
			if math.IsInf(sum, 0) || math.IsNaN(sum) || lost == 0 {
				return sum
			}
			return sum + lost
		})
		testScatterOrder(t, rng, dtype.Int8, c.n, c.width, c.count, wrapped[int8])
		testScatterOrder(t, rng, dtype.Int64, c.n, c.width, c.count, wrapped[int64])
	}
}

func wrapped[T int8 | int64](x T, v []T) T {
	for _, v := range v {
		x += v
	}
	return x
}

func testScatterOrder[T int8 | int64 | float32 | float64](t *testing.T, rng *rand.Rand, dt dtype.DType, n, width, count int, sum func(x T, v []T) T) {
	draw := func() T {
		switch dt {
		case dtype.Int8, dtype.Int64:
			return T(rng.Int64())
		}
		if dt == dtype.Float64 && rng.IntN(50) == 0 { // the largest, and sums that overflow
			return T([]float64{math.MaxFloat64, -math.MaxFloat64, 0x1p1023, math.Copysign(0, -1)}[rng.IntN(4)])
		}
		return T(rng.NormFloat64() * math.Exp(10*rng.Float64()))
	}
	x, values, places := make([]T, n*width), make([]T, count*width+1), make([]int64, count)
	lists := make([][]T, n*width)
	for i := range x {
		x[i] = draw()
	}
	for i := range values {
		values[i] = draw()
	}
	narrow := make([]int32, count)
	for i := range places {
		p := rng.IntN(n)
		for j := range width {
			lists[p*width+j] = append(lists[p*width+j], values[i*width+j])
		}
		places[i] = int64(p - n*rng.IntN(2))
		narrow[i] = int32(places[i])
	}
	got := make([]T, len(x))
	c := ScatterCall{
		DType: dt, Index: dtype.Int64, N: n, Width: width, Count: count,
		Indices: at0(places), Values: at0(values), X: at0(x), Dst: at0(got),
	}
	for threads := 1; threads <= 4; threads += 3 {
		for _, index := range []dtype.DType{dtype.Int64, dtype.Int32} {
			if c.Index, c.Indices = index, at0(places); index == dtype.Int32 {
				c.Indices = at0(narrow)
			}
			for i := range got {
				got[i] = 77
			}
			old := runtime.GOMAXPROCS(threads)
			outside, err := ScatterAdd(c)
			runtime.GOMAXPROCS(old)
			if err != nil || outside != [2]int64{} {
				t.Fatal(outside, err)
			}
			for i, v := range got {
				want := sum(x[i], lists[i])
				if v != want && (v == v || want == want) || math.Signbit(float64(v)) != math.Signbit(float64(want)) && v == 0 {
					t.Fatalf("%v %d x %d, %d values of %v indices, %d goroutines: element %d is %v, want %v", dt, n, width, count, index, threads, i, v, want)
				}
			}
		}
	}
	if count == 0 {
		return
	}
	for _, bad := range []int64{int64(n), -int64(n) - 1, math.MaxInt64, math.MinInt64} {
		places[rng.IntN(count)] = bad
		want := [2]int64{min(0, slices.Min(places)), max(0, slices.Max(places))}
		if want[0] >= -int64(n) {
			want[0] = 0
		}
		if want[1] < int64(n) {
			want[1] = 0
		}
		for i := range got {
			got[i] = 77
		}
		c.Index, c.Indices = dtype.Int64, at0(places)
		outside, err := ScatterAdd(c)
		if err != nil || outside != want {
			t.Fatalf("an index %d into %d: %v %v, want %v", bad, n, outside, err, want)
		}
		if slices.ContainsFunc(got, func(v T) bool { return v != 77 }) {
			t.Fatalf("an index %d into %d: written", bad, n)
		}
	}
}
