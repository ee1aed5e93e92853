//go:build !noasm

package cpu

import (
	"math"
	"testing"

	"github.com/gpk-go/gpk/internal/testrand"
)

// TestEpilogueRows compares the rows of AVX2 and AVX-512 with the formula, bit by bit. On a
// processor with AVX-512 no other test calls those of AVX2.
func TestEpilogueRows(t *testing.T) {
	if !vectorAVX {
		t.Skip("needs AVX2")
	}
	type curve struct {
		name  string
		act   Activation
		f     func(x *float32, bias *float64, alpha float64, table *float64, n int) (done int)
		limit float64
	}
	curves := []curve{{"gelu AVX2", ActGELU, geluRowAVX2, epilogueLimit}, {"gelu tanh AVX2", ActGELUTanh, geluTanhRowAVX2, epilogueLimit}, {"silu AVX2", ActSiLU, siluRowAVX2, siluLimit}}
	if vectorAVX512 {
		curves = append(curves, curve{"gelu AVX-512", ActGELU, geluRowAVX512, epilogueLimit}, curve{"gelu tanh AVX-512", ActGELUTanh, geluTanhRowAVX512, epilogueLimit},
			curve{"silu AVX-512", ActSiLU, siluRowAVX512, siluLimit})
	}
	rng := testrand.New(t)
	for n := 8; n < 200; n += 8 {
		for _, c := range curves {
			x, bias := make([]float32, n), make([]float64, n)
			stop := n // index of the first element beyond the limit
			for i := range x {
				x[i], bias[i] = float32(c.limit/6*rng.NormFloat64()), rng.NormFloat64()
				if math.Abs(float64(0.5*float64(x[i]))+bias[i]) > c.limit {
					x[i] = 0
				}
			}
			if n%3 == 0 {
				stop = rng.IntN(n)
				x[stop] = []float32{2100, -2100, float32(math.NaN()), float32(math.Inf(-1))}[rng.IntN(4)]
			}
			plain, curved := append([]float32(nil), x...), append([]float32(nil), x...)
			biasRowAVX2(&plain[0], &bias[0], 0.5, n)
			done := c.f(&curved[0], &bias[0], 0.5, &epilogueTable[0][0], n)
			if done > stop || done < stop&^7 {
				t.Fatalf("%s: %d of %d elements are done, and element %d is beyond the limit", c.name, done, n, stop)
			}
			for i, v := range x {
				y := float64(0.5*float64(v)) + bias[i]
				if want := float32(y); math.Float32bits(plain[i]) != math.Float32bits(want) && v == v {
					t.Fatalf("element %d with its bias is %v, want %v", i, plain[i], want)
				}
				want := v
				if i < done {
					want = float32(c.act.approximate(y))
				}
				if math.Float32bits(curved[i]) != math.Float32bits(want) {
					t.Fatalf("%s: element %d of %d is %v, want %v", c.name, i, n, curved[i], want)
				}
			}
		}
	}
}
