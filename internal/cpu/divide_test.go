package cpu

import (
	"math"
	"slices"
	"testing"

	"github.com/gpk-go/gpk/internal/testrand"
)

// TestDivide compares Divide with quotients of single elements, bit for bit, and checks that it leaves the elements after x.
func TestDivide(t *testing.T) {
	rng := testrand.New(t)
	for n := range 70 {
		got := make([]float64, n+1)
		for i := range got {
			got[i] = math.Ldexp(rng.NormFloat64(), rng.IntN(2000)-1000)
		}
		d := math.Ldexp(rng.NormFloat64(), rng.IntN(2000)-1000)
		want := slices.Clone(got)
		narrow, wantNarrow, d32 := make([]float32, n+1), make([]float32, n+1), float32(rng.NormFloat64())
		for i := range n {
			want[i] = got[i] / d
			narrow[i] = float32(rng.NormFloat64())
			wantNarrow[i] = narrow[i] / d32
		}
		Divide(got[:n], &d)
		Divide(narrow[:n], &d32)
		if !slices.Equal(got, want) || !slices.Equal(narrow, wantNarrow) {
			t.Fatalf("%d elements: %v and %v, want %v and %v", n, got, narrow, want, wantNarrow)
		}
	}
}
