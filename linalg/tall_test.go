package linalg

import (
	"fmt"
	"math"
	"testing"
)

// TestTall checks QR, SVD and LstSq of matrices that are factored by blocks of rows, of which the last is larger than the others,
// also of a matrix with equal columns and a zero block. The R of 4,500 x 32 float64 are stacked twice.
func TestTall(t *testing.T) {
	r := random(t)
	for _, dt := range types {
		for _, size := range [][2]int{{4500, 32}, {3501, 10}, {33000, 1}} {
			for _, kind := range []string{"random", "equal columns"} {
				m, n := size[0], size[1]
				draw := normal(r, dt, m, n)
				if kind == "equal columns" {
					clear(draw.data[:m/2*n])
					for i := range m {
						draw.set(i, n-1, draw.at(i, 0))
					}
				}
				a := rounded(dt, nil, draw)
				want := widen(t, a)[0]
				what := fmt.Sprint(dt, size, kind)
				most := max(n, 16) // the error of the norm of a block's columns does not depend on n

				q, upper := QR(a)
				qs, rs := widen(t, q)[0], widen(t, upper)[0]
				bound(t, "A - Q R, "+what, dt, most, want.minus(qs.times(rs)).norm(), want.norm())
				bound(t, "Q^H Q - I, "+what, dt, most, qs.adjoint().times(qs).minus(eye(n)).norm(), math.Sqrt(float64(n)))
				for x := range n {
					for y := range x {
						if rs.at(x, y) != 0 {
							t.Fatalf("%s: element %d, %d of R is %v", what, x, y, rs.at(x, y))
						}
					}
				}

				u, s, vh := SVD(a)
				us, values, vs := widen(t, u)[0], widen(t, s.Reshape(1, n))[0], widen(t, vh)[0]
				scaled := newWide(m, n)
				for i := range scaled.data {
					scaled.data[i] = us.data[i] * values.data[i%n]
				}
				bound(t, "A - U S V^H, "+what, dt, 2*most, want.minus(scaled.times(vs)).norm(), want.norm())
				bound(t, "U^H U - I, "+what, dt, 2*most, us.adjoint().times(us).minus(eye(n)).norm(), math.Sqrt(float64(n)))

				b := rounded(dt, nil, normal(r, dt, m, 2))
				x, _, _, _ := LstSq(a, b)
				got, y := widen(t, x)[0], widen(t, b)[0]
				rest := y.minus(want.times(got))
				bound(t, "A^H r, "+what, dt, 2*most, want.adjoint().times(rest).norm(), want.norm()*(want.norm()*got.norm()+y.norm()))
			}
		}
	}
}
