//go:build !noasm

package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gpk-go/gpk/internal/testrand"
)

// TestVarianceTwins compares the assembly of means and variances with loops, bit for bit.
func TestVarianceTwins(t *testing.T) {
	if !vectorAVX {
		t.Skip("this processor has no AVX2, which the assembly needs; addWhole runs the Go loops, and TestFold covers them")
	}
	rng := testrand.New(t)
	for range 3000 {
		varianceTwins[float32](t, rng)
		varianceTwins[float64](t, rng)
	}
}

func varianceTwins[T float32 | float64](t *testing.T, rng *rand.Rand) {
	t.Helper()
	x := make([]T, 1+rng.IntN(130))[1:]
	for i := range x {
		x[i] = T(math.Ldexp(rng.NormFloat64(), rng.IntN(20)))
	}
	a := deviations{mean: rng.NormFloat64()}
	for i := range lanes {
		a.rest[i], a.squares[i] = rng.NormFloat64(), rng.ExpFloat64()
	}
	sums, b, want := a.rest, a, a.rest
	for k, v := range x[:len(x)&^(lanes-1)] {
		d := float64(v) - b.mean
		want[k%lanes] += float64(v)
		b.rest[k%lanes] += d
		b.squares[k%lanes] += float64(d * d)
	}
	if rest := addWhole(&sums, x); sums != want || len(rest) != len(x)%lanes {
		t.Fatalf("sums of %v: %v, want %v; %d are left", x, sums, want, len(rest))
	}
	if rest := addWholeDeviations(&a, x); a != b || len(rest) != len(x)%lanes {
		t.Fatalf("deviations of %v: %v, want %v; %d are left", x, a, b, len(rest))
	}
}
