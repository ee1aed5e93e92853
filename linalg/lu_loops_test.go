package linalg

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestLULoops compares luLoops with elimination column by column, bit for bit, also where columns are zero in several blocks and
// elements of the others are 0 and -0.
func TestLULoops(t *testing.T) {
	r := random(t)
	for range 400 {
		cols := 1 + r.IntN(40)
		rows := cols + r.IntN(10)
		zeros := make([]bool, cols)
		for range r.IntN(4) {
			zeros[r.IntN(cols)] = true
		}
		luLoopsTwins[float32](t, r, rows, cols, zeros)
		luLoopsTwins[float64](t, r, rows, cols, zeros)
	}
}

func luLoopsTwins[T float32 | float64](t *testing.T, r *rand.Rand, rows, cols int, zeros []bool) {
	t.Helper()
	a := newMatrix[T](rows, cols)
	few := r.Float64() // fraction of the elements that are not 0
	for i := range a.data {
		if a.data[i] = T(r.NormFloat64()); zeros[i%cols] || r.Float64() > few {
			a.data[i] = T(math.Copysign(0, r.NormFloat64()))
		}
	}
	want, order, zero := a.clone(), make([]int, cols), -1
	for k := range cols {
		best := k
		for i := k + 1; i < rows; i++ {
			if math.Abs(float64(want.at(i, k))) > math.Abs(float64(want.at(best, k))) {
				best = i
			}
		}
		order[k] = best
		if want.at(best, k) == 0 {
			if zero < 0 {
				zero = k
			}
			continue
		}
		for j := range cols {
			x, y := want.at(k, j), want.at(best, j)
			want.set(k, j, y)
			want.set(best, j, x)
		}
		for i := k + 1; i < rows; i++ {
			l := want.at(i, k) / want.at(k, k)
			want.set(i, k, l)
			for j := k + 1; j < cols; j++ {
				want.set(i, j, want.at(i, j)-T(l*want.at(k, j)))
			}
		}
	}
	pivots := make([]int, cols)
	got := luLoops(a, pivots)
	same := func(x, y T) bool { return math.Float64bits(float64(x)) == math.Float64bits(float64(y)) }
	if got != zero || !slices.Equal(pivots, order) || !slices.EqualFunc(a.data, want.data, same) {
		t.Fatalf("%d x %d, zero columns %v: first zero pivot %d, want %d; pivots %v, want %v;\n%v, want\n%v", rows, cols, zeros, got, zero, pivots, order, a.data, want.data)
	}
}
