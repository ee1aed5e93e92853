package gpktest

import (
	"math"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/bigmath"
)

// testVarianceRounding measures Var and Mean of rows and of columns against math/big. An error grows
// with the depth of the tree of sums, not with the number of terms.
func testVarianceRounding(t *testing.T, s *suite) {
	for _, n := range []int{1, 2, 33, 512, 1000, 20_000} {
		rows := 3
		x := tensor{dt: gpk.Float64, shape: []int{rows, n}, values: make([]complex128, rows*n)}
		for i := range x.values {
			x.values[i] = complex(0.1-0.2*float64(i%n&1), 0)
			if i >= n {
				x.values[i] = complex(s.rng.NormFloat64()+float64(i/n)*100, 0)
			}
		}
		limit := math.Log2(float64(n)) + 2
		for _, c := range []struct {
			name string
			got  tensor
		}{
			{"rows", evaluate(t, x.array().Var(1))},
			{"columns", evaluate(t, x.array().T().Contiguous().Var(0))},
			{"parts of complex rows", evaluate(t, x.array().Cast(gpk.Complex128).Var(1))},
		} {
			for r := range rows {
				mean, square := bigmath.New(), bigmath.New()
				for _, v := range x.values[r*n : (r+1)*n] {
					mean = bigmath.Add(mean, bigmath.Of(real(v)))
				}
				mean = bigmath.Quo(mean, bigmath.Of(float64(n)))
				for _, v := range x.values[r*n : (r+1)*n] {
					d := bigmath.Sub(bigmath.Of(real(v)), mean)
					square = bigmath.Add(square, bigmath.Mul(d, d))
				}
				want := bigmath.Quo(square, bigmath.Of(float64(n)))
				if u := bigmath.Ulps(real(c.got.values[r]), want, 53, -1074); !(u <= limit) {
					w, _ := want.Float64()
					t.Errorf("Var of %s, %d numbers, row %d: %v, not %v: %.3g ulp, at most %.3g", c.name, n, r, real(c.got.values[r]), w, u, limit)
				}
			}
		}
	}
}
