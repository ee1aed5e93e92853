package linalg

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// tridiagonals are matrices that Cuppen's method finds hard: clusters, zeros, graded ones.
var tridiagonals = map[string]func(r *rand.Rand, n int) (d, e []float64){
	"random": func(r *rand.Rand, n int) (d, e []float64) {
		for range n {
			d, e = append(d, r.NormFloat64()), append(e, r.NormFloat64())
		}
		return d, e[:n-1]
	},
	"one": func(_ *rand.Rand, n int) (d, e []float64) {
		for range n {
			d, e = append(d, 1), append(e, 0)
		}
		return d, e[:n-1]
	},
	"Laplace": func(_ *rand.Rand, n int) (d, e []float64) {
		for range n {
			d, e = append(d, 2), append(e, -1)
		}
		return d, e[:n-1]
	},
	"Wilkinson": func(_ *rand.Rand, n int) (d, e []float64) { // pairs that agree to working precision
		for i := range n {
			d, e = append(d, math.Abs(float64(n-1)/2-float64(i))), append(e, 1)
		}
		return d, e[:n-1]
	},
	"glued": func(_ *rand.Rand, n int) (d, e []float64) { // Wilkinson's of 21, weakly coupled
		for i := range n {
			d, e = append(d, math.Abs(10-float64(i%21))), append(e, 1)
			if i%21 == 20 {
				e[i] = 1e-8
			}
		}
		return d, e[:n-1]
	},
	"graded": func(r *rand.Rand, n int) (d, e []float64) {
		for i := range n {
			s := math.Pow(10, -20*float64(i)/float64(n))
			d, e = append(d, s), append(e, s*r.NormFloat64()/4)
		}
		return d, e[:n-1]
	},
	"few values": func(r *rand.Rand, n int) (d, e []float64) {
		for range n {
			d, e = append(d, float64(r.IntN(2))), append(e, float64(r.IntN(2))*0x1p-30)
		}
		return d, e[:n-1]
	},
	"tiny": func(r *rand.Rand, n int) (d, e []float64) {
		for range n {
			d, e = append(d, 1e-300*r.NormFloat64()), append(e, 1e-300*r.NormFloat64())
		}
		return d, e[:n-1]
	},
}

// TestDivideAndConquer measures residuals and orthogonality by loops.
func TestDivideAndConquer(t *testing.T) {
	r := random(t)
	for name, draw := range tridiagonals {
		for _, n := range []int{33, 64, 101} {
			d, e := draw(r, n)
			size := 0.0
			for _, v := range append(append([]float64{}, d...), e...) {
				size = max(size, math.Abs(v))
			}
			values, q, err := divideAndConquer(append([]float64{}, d...), append([]float64{}, e...))
			if err != nil {
				t.Fatal(err)
			}
			worst, angle := 0.0, 0.0
			for j, value := range values {
				if j > 0 && value < values[j-1] {
					t.Errorf("%s %d: not ascending", name, n)
				}
				for i := range n {
					v := (d[i] - value) * q.at(i, j)
					if i > 0 {
						v += e[i-1] * q.at(i-1, j)
					}
					if i+1 < n {
						v += e[i] * q.at(i+1, j)
					}
					worst = max(worst, math.Abs(v))
				}
				for k := range j + 1 {
					sum := 0.0
					for i := range n {
						sum += q.at(i, j) * q.at(i, k)
					}
					if k == j {
						sum--
					}
					angle = max(angle, math.Abs(sum))
				}
			}
			what := fmt.Sprint(name, " ", n)
			if limit := 4 * float64(n) * eps64 * size; !(worst <= limit) {
				t.Errorf("%s: |T q - value q| is %g, the bound is %g", what, worst, limit)
			}
			if limit := 4 * float64(n) * eps64; !(angle <= limit) {
				t.Errorf("%s: |Q^T Q - I| is %g, the bound is %g", what, angle, limit)
			}
		}
	}
}
