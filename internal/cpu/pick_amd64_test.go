//go:build !noasm

package cpu

import (
	"math"
	"testing"

	"github.com/gpk-go/gpk/internal/testrand"
)

// TestExtremeVectors compares the functions for AVX2 and for AVX-512 with loops. TestPick tests only those that this
// processor uses.
func TestExtremeVectors(t *testing.T) {
	if !vectorAVX {
		t.Skip("NOT RUN: this processor has no AVX2, which the assembly under test needs")
	}
	rng := testrand.New(t)
	few := []float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN()}
	for trial := range 4000 {
		x, y := make([]float32, extremeVector*(1+rng.IntN(12))), []float64(nil)
		kinds := 2 + trial%(len(few)-1) // number of elements of few to use, in their order
		for i := range x {
			x[i] = float32(few[rng.IntN(min(kinds, len(few)-1))])
		}
		if trial%3 == 0 {
			x[rng.IntN(len(x))] = float32(math.NaN())
		}
		for _, v := range x {
			y = append(y, float64(v))
		}
		check := func(name string, got, want float64) {
			t.Helper()
			if math.Float64bits(got) != math.Float64bits(want) && (got == got || want == want) {
				t.Fatalf("%s of %v is %v, want %v", name, x, got, want)
			}
		}
		check("largest32", float64(largest32(at0(x), len(x))), float64(largest(x)))
		check("smallest32", float64(smallest32(at0(x), len(x))), float64(smallest(x)))
		check("largest64", largest64(at0(y), len(y)), largest(y))
		check("smallest64", smallest64(at0(y), len(y)), smallest(y))
		if castAVX512 {
			check("largest32AVX512", float64(largest32AVX512(at0(x), len(x))), float64(largest(x)))
			check("smallest32AVX512", float64(smallest32AVX512(at0(x), len(x))), float64(smallest(x)))
			check("largest64AVX512", largest64AVX512(at0(y), len(y)), largest(y))
			check("smallest64AVX512", smallest64AVX512(at0(y), len(y)), smallest(y))
		}
	}
}
