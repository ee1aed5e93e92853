package cpu

import (
	"math/rand/v2"
	"testing"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestVarianceColumns compares variances along columns with those along the rows of the transpose, bit for bit.
func TestVarianceColumns(t *testing.T) {
	rng := testrand.New(t)
	for i := range 40 {
		n, m := 1+rng.IntN(700), 2+rng.IntN(300)
		if i == 0 {
			n, m = foldGroup+rng.IntN(2000), 3
		}
		varianceColumns[float32](t, rng, n, m)
		varianceColumns[float64](t, rng, n, m)
	}
}

func varianceColumns[T float32 | float64](t *testing.T, rng *rand.Rand, n, m int) {
	t.Helper()
	x, turned := make([]T, n*m), make([]T, n*m)
	for i := range n {
		for j := range m {
			v := T(rng.NormFloat64() + 3)
			x[i*m+j], turned[j*n+i] = v, v
		}
	}
	dt, got, want := dtype.Of[T](), make([]T, m), make([]T, m)
	if err := Reduce(expr.Var, dt, dt, []int{n, m}, 1, at0(x), []int{m, 1}, at0(got)); err != nil {
		t.Fatal(err)
	}
	if err := Reduce(expr.Var, dt, dt, []int{m, n}, 2, at0(turned), []int{n, 1}, at0(want)); err != nil {
		t.Fatal(err)
	}
	for j := range m {
		if got[j] != want[j] || got[j] < 0.01 && n > 10 {
			t.Fatalf("%v [%d %d]: variance of column %d is %v, of the row %v", dt, n, m, j, got[j], want[j])
		}
	}
}

// TestTruthLoops compares the loops over truth values in bytes with one byte at a time.
func TestTruthLoops(t *testing.T) {
	rng := testrand.New(t)
	for range 3000 {
		x := make([]uint8, rng.IntN(400))
		a, want := make([]uint8, len(x)), make([]uint8, len(x))
		count := int64(0)
		for i := range x {
			if rng.IntN(3) > 0 {
				x[i] = uint8(rng.IntN(256))
			}
			a[i] = uint8(rng.IntN(2))
			if x[i] != 0 {
				count++
				want[i] = a[i]
			}
		}
		if got := trueBytes(x); got != count {
			t.Fatalf("%v: %d are true, want %d", x, got, count)
		}
		clearFalse(a, x)
		if string(a) != string(want) {
			t.Fatalf("%v: %v, want %v", x, a, want)
		}
	}
}
