package cpu

import (
	"math"
	"testing"

	"github.com/gpk-go/gpk/internal/testrand"
)

// TestSoftmaxVectors compares sums and factors of vectors with their loops.
func TestSoftmaxVectors(t *testing.T) {
	rng := testrand.New(t)
	for n := 1; n < 300; n++ {
		x := make([]float32, n)
		for i := range x {
			x[i] = rng.Float32()
		}
		if got, want := sumOf32(x), sumOf(x); math.Float64bits(got) != math.Float64bits(want) {
			t.Fatalf("the sum of %d is %v, want %v", n, got, want)
		}
		if whole := n &^ (pickVector - 1); vectorAVX {
			got, scale := append([]float32(nil), x...), rng.Float64()
			scale32(at0(got), scale, whole)
			for i, v := range x {
				want := v
				if i < whole {
					want = float32(float64(v) * scale)
				}
				if got[i] != want {
					t.Fatalf("%v times %v is %v, want %v", v, scale, got[i], want)
				}
			}
		}
	}
}
