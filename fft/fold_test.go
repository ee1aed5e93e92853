package fft

import (
	"math"
	"math/cmplx"
	"slices"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestFold compares fold with its formula, and the assembly with the loop, for lines of all short lengths. Zeros of both signs
// and equal elements at mirrored places show the signs of results that are zero.
func TestFold(t *testing.T) {
	r := testrand.New(t)
	for h := 1; h <= 70; h++ {
		z := append(draw(r, gpk.Complex128, h), cmplx.NaN()) // the last element is set from the first
		for k := range h {
			switch r.IntN(4) {
			case 0:
				z[k] = complex(math.Copysign(0, float64(r.IntN(2))-0.5), math.Copysign(0, float64(r.IntN(2))-0.5))
			case 1:
				z[k] = z[(h-k)%h]
			}
		}
		turns := newPlan[complex128](h).turns()
		got, loop := slices.Clone(z), slices.Clone(z)
		foldParts(parts[float64](got), parts[float64](turns), vector)
		foldParts(parts[float64](loop), parts[float64](turns), false)
		for i, v := range parts[float64](got) {
			if w := parts[float64](loop)[i]; math.Float64bits(v) != math.Float64bits(w) {
				t.Fatalf("%d pairs: number %d is %v, the loop has %v", h, i, v, w)
			}
		}
		z[h] = z[0]
		for k, v := range got {
			a, b := z[k], cmplx.Conj(z[h-k])
			want := (a+b)/2 - complex(0, 0.5)*root(k, 2*h)*(a-b)
			if e := cmplx.Abs(v - want); !(e <= 8*0x1p-52*(cmplx.Abs(a)+cmplx.Abs(b))) {
				t.Fatalf("%d pairs: element %d is %v, want %v", h, k, v, want)
			}
		}
	}
}
