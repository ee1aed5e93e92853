package linalg

import (
	"fmt"
	"math"
	"testing"
)

// TestBidiagonalSVD measures residuals and orthogonality by loops.
func TestBidiagonalSVD(t *testing.T) {
	r := random(t)
	for name, draw := range tridiagonals {
		for _, n := range []int{1, 2, 24, 25, 33, 64, 101} {
			d, e := draw(r, n)
			testBidiagonal(t, fmt.Sprint(name, " ", n), d, e)
			testBidiagonal(t, fmt.Sprint(name, " over a zero ", n), append(append([]float64{}, d[:n-1]...), 0), e)
			testBidiagonal(t, fmt.Sprint(name, " of diagonal 0 ", n), make([]float64, n), e)
		}
	}
}

func testBidiagonal(t *testing.T, what string, d, e []float64) {
	n := len(d)
	size := maxAbs(d, e)
	values, u, v, err := bidiagonalSVD(append([]float64{}, d...), append([]float64{}, e...))
	if err != nil {
		t.Fatal(what, err)
	}
	worst := 0.0
	for j, value := range values {
		if !(value >= 0) || j > 0 && value > values[j-1] {
			t.Errorf("%s: %v is not descending", what, values)
		}
		for i := range n {
			x := d[i]*v.at(i, j) - value*u.at(i, j) // B v - value u
			if i+1 < n {
				x += e[i] * v.at(i+1, j)
			}
			y := d[i]*u.at(i, j) - value*v.at(i, j) // B^T u - value v
			if i > 0 {
				y += e[i-1] * u.at(i-1, j)
			}
			worst = max(worst, math.Abs(x), math.Abs(y))
		}
	}
	// Blocks of few columns are solved by gonum's Dbdsqr. It treats a superdiagonal element as zero if it is below
	// 91 eps times a singular value, which adds 4 * 23 eps to the bound.
	if limit := 4 * float64(n+23) * eps64 * size; !(worst <= limit) {
		t.Errorf("%s: a residual of %g, the bound is %g", what, worst, limit)
	}
	for side, q := range map[string]matrix[float64]{"left": u, "right": v} {
		if angle := worstAngle(q); !(angle <= 4*float64(n)*eps64) {
			t.Errorf("%s: |Q^T Q - I| of the %s vectors is %g, the bound is %g", what, side, angle, 4*float64(n)*eps64)
		}
	}
}

// worstAngle returns the largest element of |Q^T Q - I|, NaN if there is one.
func worstAngle(q matrix[float64]) float64 {
	worst := 0.0
	for j := range q.cols {
		for k := range j + 1 {
			sum := 0.0
			for i := range q.rows {
				sum += q.at(i, j) * q.at(i, k)
			}
			if k == j {
				sum--
			}
			worst = max(worst, math.Abs(sum))
		}
	}
	return worst
}
