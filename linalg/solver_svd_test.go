package linalg

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gpk-go/gpk"
)

// TestGramSVDFails: Jacobi's method follows if the eigenvalues of A^H A do not converge, and no other error.
func TestGramSVDFails(t *testing.T) {
	withSolver(t)
	if onDevice != "" {
		t.Skip("NOT RUN on a GPU: cuSOLVER does not fail on request; the fake library does, in a run without a GPU")
	}
	for _, dt := range []gpk.DType{gpk.Float32, gpk.Complex64} {
		a := rounded(dt, nil, normal(random(t), dt, 20, 12))
		t.Setenv("GPK_FAKE_CUSOLVER", "Xsyevd:2:0")
		_, s, _ := SVD(a)
		if err := s.Err(); !errors.Is(err, gpk.ErrOutOfMemory) {
			t.Errorf("%v, no memory: %v", dt, err)
		}
		t.Setenv("GPK_FAKE_CUSOLVER", "Xsyevd:0:5")
		_, s, _ = SVD(a)
		t.Setenv("GPK_FAKE_CUSOLVER", "")
		if !strings.Contains(s.Explain(), "gesvdj") || s.Err() != nil {
			t.Errorf("%v, no convergence: %v, %s", dt, s.Err(), s.Explain())
		}
	}
}

// TestSkewed: singular vectors of a batch that are not orthonormal to 4 n eps are improved, and where that is not
// enough, the QR method follows.
func TestSkewed(t *testing.T) {
	withSolver(t)
	if onDevice != "" {
		t.Skip("NOT RUN: only the fake library leaves columns that are not orthonormal when it is asked to")
	}
	r := random(t)
	for _, dt := range types {
		for _, size := range [][2]int{{3, 3}, {5, 3}, {3, 5}} {
			m, n := size[0], size[1]
			k := float64(max(m, n))
			for _, c := range []struct {
				skew float64
				kind string
			}{{0, "gesvdjBatched"}, {4.5 * k * eps(dt), "gesvdjBatched"}, {0.01, "cusolverDnXgesvd of"}} {
				what := fmt.Sprint(dt, size, c.skew)
				a := rounded(dt, []int{4}, normal(r, dt, m, n), normal(r, dt, m, n), normal(r, dt, m, n), normal(r, dt, m, n))
				t.Setenv("GPK_FAKE_CUSOLVER_SKEW", fmt.Sprint(c.skew))
				u, s, vh := SVD(a, Complete)
				t.Setenv("GPK_FAKE_CUSOLVER_SKEW", "")
				if !strings.Contains(s.Explain(), c.kind) {
					t.Errorf("%s: %s", what, s.Explain())
				}
				us, ss, vs := widen(t, u), widen(t, s.Unsqueeze(-2)), widen(t, vh)
				for i, w := range widen(t, a) {
					d := newWide(m, n)
					for j := range min(m, n) {
						d.set(j, j, ss[i].data[j])
					}
					bound(t, "A - U S V^H "+what, dt, max(m, n), w.minus(us[i].times(d).times(vs[i])).norm(), w.norm())
					bound(t, "U^H U - I "+what, dt, max(m, n), us[i].adjoint().times(us[i]).minus(eye(m)).norm(), math.Sqrt(float64(m)))
					bound(t, "V^H V - I "+what, dt, max(m, n), vs[i].times(vs[i].adjoint()).minus(eye(n)).norm(), math.Sqrt(float64(n)))
				}
			}
		}
	}
}

// TestPolar: columns that are nearly orthonormal become so up to rounding.
func TestPolar(t *testing.T) {
	r := random(t)
	for _, dt := range types {
		for _, n := range []int{1, 3, 8, 32} {
			m := n + 2
			q := unitary(r, dt, m)
			x := newWide(m, n)
			for i := range m {
				for j := range n {
					x.set(i, j, q.at(i, j)+complex(10*eps(dt)*r.NormFloat64(), 0))
				}
			}
			got := widen(t, polar(rounded(dt, nil, x)))[0]
			bound(t, fmt.Sprint("Q^H Q - I ", dt, n), dt, m, got.adjoint().times(got).minus(eye(n)).norm(), math.Sqrt(float64(n)))
			bound(t, fmt.Sprint("Q - Q0 ", dt, n), dt, 10*m, got.minus(x).norm(), x.norm())
		}
	}
}
