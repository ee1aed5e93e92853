package cpu

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gpk-go/gpk/internal/testrand"
)

// TestSubtractProduct compares SubtractProduct with its definition, bit for bit, on a part of a matrix whose factors are
// columns and rows of it, in both orders.
func TestSubtractProduct(t *testing.T) {
	testSubtractProduct(t)
}

func testSubtractProduct(t *testing.T) {
	t.Helper()
	rng := testrand.New(t)
	for range 1000 {
		n, m, k := 1+rng.IntN(40), 1+rng.IntN(40), 1+rng.IntN(10)
		subtractProductTwins[float32](t, rng, n, m, k)
		subtractProductTwins[float64](t, rng, n, m, k)
	}
}

func subtractProductTwins[T float32 | float64](t *testing.T, rng *rand.Rand, n, m, k int) {
	t.Helper()
	pitch, down := k+m+rng.IntN(3), rng.IntN(2) == 0
	a := make([]T, (k+n)*pitch)
	for i := range a {
		a[i] = T(rng.NormFloat64())
	}
	want := slices.Clone(a)
	for q := range k {
		p := q
		if down {
			p = k - 1 - q
		}
		for i := k; i < k+n; i++ {
			for j := k; j < k+m; j++ {
				want[i*pitch+j] -= T(want[i*pitch+p] * want[p*pitch+j]) // without T, compilers for arm64 round once
			}
		}
	}
	transposed, start := make([]T, k*n), slices.Clone(a)
	for i := range n {
		for p := range k {
			transposed[p*n+i] = a[(k+i)*pitch+p]
		}
	}
	SubtractProduct(a[k*pitch+k:], pitch, n, m, a[k*pitch:], pitch, 1, a[k:], pitch, k, down)
	if !slices.Equal(a, want) {
		t.Fatalf("%d x %d x %d, down %v: differs from the definition", n, m, k, down)
	}
	SubtractProduct(start[k*pitch+k:], pitch, n, m, transposed, 1, n, start[k:], pitch, k, down)
	if !slices.Equal(start, want) {
		t.Fatalf("%d x %d x %d, down %v, factors by columns: differs from the definition", n, m, k, down)
	}
}
