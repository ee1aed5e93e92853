package linalg

import (
	"fmt"
	"math"
	"testing"
)

// TestLstSq compares solutions of tall systems with their definition, of stacks that broadcast: A^H (b - A x) is 0, the squares are
// those of b - A x, and the squares of the singular values add up to those of the elements.
func TestLstSq(t *testing.T) {
	r := random(t)
	for _, dt := range types {
		for _, size := range [][2]int{{2, 1}, {4, 2}, {12, 5}, {40, 9}, {120, 33}, {9, 8}, {6, 9}} {
			for _, scale := range []float64{1, 0x1p-40, 0x1p40} {
				m, n := size[0], size[1]
				first, second := normal(r, dt, m, n), normal(r, dt, m, n)
				for i := range first.data {
					first.data[i] *= complex(scale, 0)
				}
				a := rounded(dt, []int{2, 1}, first, second)
				b := rounded(dt, []int{3}, normal(r, dt, m, 2), normal(r, dt, m, 2), normal(r, dt, m, 2))
				x, squares, rank, s := LstSq(a, b)
				xs, as, bs, values := widen(t, x), widen(t, a), widen(t, b), widen(t, s.Reshape(2, 1, min(m, n)))
				sums := widen(t, squares.Reshape(6, 1, 2))
				if got := fmt.Sprint(rank.Reshape(2)); got != fmt.Sprintf("[%d %d]", min(m, n), min(m, n)) {
					t.Fatalf("%v %v: ranks %s", dt, size, got)
				}
				for i, got := range xs {
					own, y := as[i/3], bs[i%3]
					what := fmt.Sprint(dt, size, scale, " system ", i)
					rest := y.minus(own.times(got))
					bound(t, "A^H r of "+what, dt, max(m, n), own.adjoint().times(rest).norm(), own.norm()*(own.norm()*got.norm()+y.norm()))
					for c := range 2 {
						want, all := 0.0, 0.0
						for j := range m {
							want += squared(rest.at(j, c))
							all += squared(y.at(j, c))
						}
						// The rest has an error of eps times b and A x.
						size := math.Sqrt(all) + own.norm()*got.norm()
						if e, most := math.Abs(real(sums[i].at(0, c))-want), 8*float64(m)*eps(dt)*size*size; !(e <= most) {
							t.Errorf("squares of %s: error %v, at most %v", what, e, most)
						}
					}
				}
				for i, v := range values {
					want, got := squareSum(as[i]), squareSum(v)
					if e := math.Abs(got - want); !(e <= 8*float64(max(m, n))*eps(dt)*want) {
						t.Errorf("singular values of %v %v: the squares add up to %v, want %v", dt, size, got, want)
					}
				}
			}
		}
	}
}

func squared(v complex128) float64 { return real(v)*real(v) + imag(v)*imag(v) }

// squareSum returns the sum of the squares of all elements.
func squareSum(m wide) (sum float64) {
	for _, v := range m.data {
		sum += squared(v)
	}
	return sum
}
