package quantum

import (
	"math"
	"slices"
	"testing"

	"github.com/gpk-go/gpk/internal/testrand"
)

// TestSincos compares with the standard library's, for lengths with and without a
// rest.
func TestSincos(t *testing.T) {
	rng := testrand.New(t)
	for n := range 40 {
		for _, scale := range []float64{1e-300, 1e-3, 1, 100, 1 << 20, 1e15} {
			x := make([]float64, n)
			for i := range x {
				x[i] = scale * rng.NormFloat64()
				if rng.IntN(4) == 0 { // near a multiple of pi/4
					x[i] = math.Nextafter(math.Round(scale*rng.NormFloat64())*math.Pi/4, scale*rng.NormFloat64())
				}
			}
			nan := []float64{math.NaN()}
			sin, cos := slices.Repeat(nan, n+1), slices.Repeat(nan, n+1)
			sincos(sin[:n], cos[:n], x)
			for i, v := range x {
				s, c := math.Sincos(v)
				if !(math.Abs(sin[i]-s) <= 3e-16) || !(math.Abs(cos[i]-c) <= 3e-16) {
					t.Fatalf("%v: %v and %v, want %v and %v", v, sin[i], cos[i], s, c)
				}
			}
			for i := range x { // each angle alone, and among others
				s, c := make([]float64, 1), make([]float64, 1)
				sincos(s, c, x[i:i+1])
				if s[0] != sin[i] || c[0] != cos[i] {
					t.Fatalf("%v: %v and %v alone, %v and %v among others", x[i], s[0], c[0], sin[i], cos[i])
				}
			}
			if sin[n] == sin[n] || cos[n] == cos[n] {
				t.Fatalf("%d: wrote behind them", n)
			}
		}
	}
	// An angle that is not finite is placed among finite ones.
	for at := range 9 {
		x, sin, cos := make([]float64, 9), make([]float64, 9), make([]float64, 9)
		x[at] = math.Inf(1)
		sincos(sin, cos, x)
		for i := range x {
			if i == at && (sin[i] == sin[i] || cos[i] == cos[i]) || i != at && (sin[i] != 0 || cos[i] != 1) {
				t.Fatalf("infinity at %d: entry %d is %v and %v", at, i, sin[i], cos[i])
			}
		}
	}
}
