package cpu

import (
	"slices"
	"testing"

	"github.com/gpk-go/gpk/internal/testrand"
)

// TestSubtractOuter compares SubtractOuter with its definition, bit for bit, on a part of a matrix whose factors are a
// column and a row of it.
func TestSubtractOuter(t *testing.T) {
	rng := testrand.New(t)
	for range 2000 {
		n, k := 1+rng.IntN(40), 1+rng.IntN(40)
		a, b := make([]float64, n*k), make([]float32, n*k)
		for i := range a {
			a[i] = rng.NormFloat64()
			b[i] = float32(a[i])
		}
		subtractOuterTwins(t, a, n, k)
		subtractOuterTwins(t, b, n, k)
	}
}

func subtractOuterTwins[T float32 | float64](t *testing.T, a []T, n, k int) {
	t.Helper()
	want := slices.Clone(a)
	for i := 1; i < n; i++ {
		for j := 1; j < k; j++ {
			want[i*k+j] = a[i*k+j] - T(a[i*k]*a[j]) // without T, compilers for arm64 round once
		}
	}
	if n > 1 && k > 1 {
		SubtractOuter(a[k+1:], k, n-1, a[k:], k, a[1:k])
	}
	if !slices.Equal(a, want) {
		t.Fatalf("%d x %d: %v, want %v", n, k, a, want)
	}
}
