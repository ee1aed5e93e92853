//go:build !noasm

package cpu

import (
	"math"
	"testing"

	"github.com/gpk-go/gpk/internal/testrand"
)

// TestEpilogueAVX2 compares the AVX2 rows with the formula, bit by bit. On a processor with
// AVX-512 no other test calls them.
func TestEpilogueAVX2(t *testing.T) {
	if !vectorAVX {
		t.Skip("needs AVX2")
	}
	rng := testrand.New(t)
	for n := 8; n < 200; n += 8 {
		x, bias := make([]float32, n), make([]float64, n)
		stop := n // index of the first element beyond the limit
		for i := range x {
			x[i], bias[i] = float32(3*rng.NormFloat64()), rng.NormFloat64()
		}
		if n%3 == 0 {
			stop = rng.IntN(n)
			x[stop] = []float32{60, -60, float32(math.NaN()), float32(math.Inf(-1))}[rng.IntN(4)]
		}
		plain, curved := append([]float32(nil), x...), append([]float32(nil), x...)
		biasRowAVX2(&plain[0], &bias[0], 0.5, n)
		done := geluRowAVX2(&curved[0], &bias[0], 0.5, &epilogueTable[0][0], n)
		if done > stop || done < stop&^3 {
			t.Fatalf("%d of %d elements are done, and element %d is beyond the limit", done, n, stop)
		}
		for i, v := range x {
			y := float64(0.5*float64(v)) + bias[i]
			if want := float32(y); math.Float32bits(plain[i]) != math.Float32bits(want) && v == v {
				t.Fatalf("element %d with its bias is %v, want %v", i, plain[i], want)
			}
			want := v
			if i < done {
				want = float32(ActGELU.approximate(y))
			}
			if math.Float32bits(curved[i]) != math.Float32bits(want) {
				t.Fatalf("element %d of %d is %v, want %v", i, n, curved[i], want)
			}
		}
	}
}
