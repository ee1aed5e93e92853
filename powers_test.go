package gpk_test

import (
	"math"
	"testing"

	"github.com/gpk-go/gpk"
)

// TestPowerOfNumber compares powers by numbers, some of which other operations compute, with Go's math.
func TestPowerOfNumber(t *testing.T) {
	x := []float64{0, math.Copysign(0, -1), 1, -1, 3, -3.25, 1e-170, 1e200, -1e308, 5e-324, math.Inf(1), math.Inf(-1), math.NaN()}
	for _, exponent := range []float64{2, -1, 1, 0, 3, 0.5, -2, 2.5} {
		got, err := gpk.ToSlice[float64](gpk.FromSlice(x).Pow(exponent))
		if err != nil {
			t.Fatal(err)
		}
		chained, err := gpk.ToSlice[float64](gpk.FromSlice(x).Neg().Pow(exponent).Add(0))
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range x {
			for _, c := range [][2]float64{{got[i], math.Pow(v, exponent)}, {chained[i], math.Pow(-v, exponent) + 0}} {
				near := math.Abs(c[0]-c[1]) <= 0x1p-52*math.Abs(c[1])
				if c[0] != c[1] && !near && !(math.IsNaN(c[0]) && math.IsNaN(c[1])) || math.Signbit(c[0]) != math.Signbit(c[1]) && c[1] == c[1] {
					t.Errorf("%v^%v is %v, not %v", v, exponent, c[0], c[1])
				}
			}
		}
	}
	whole, err := gpk.ToSlice[int32](gpk.FromSlice([]int32{-3, 7}).Pow(2))
	if err != nil || whole[0] != 9 || whole[1] != 49 {
		t.Error(whole, err)
	}
}
