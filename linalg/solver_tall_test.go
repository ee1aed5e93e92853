package linalg

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gpk-go/gpk"
)

// TestTallSVD: matrices of few columns or rows and many elements are decomposed by A^H A where programs choose, and on the CPU
// if A^H A has an eigenvalue of 0.
func TestTallSVD(t *testing.T) {
	withSolver(t)
	chosen := func(e engine) engine { return solver{blocked{e, e.(tiles), deviceBlock}, solverLeast} }
	if onDevice != "" {
		onGPU = func(_ *operation, e engine) engine { return chosen(e) }
	} else {
		for dt, e := range engines {
			engines[dt] = chosen(e.(solver).engine)
		}
	}
	r := random(t)
	for _, dt := range []gpk.DType{gpk.Float32, gpk.Complex64, gpk.Float64} {
		for _, size := range [][2]int{{tallElements/9 + 1, 9}, {5, tallElements/5 + 1}} {
			m, n := size[0], size[1]
			k, big := min(m, n), max(m, n)
			what := fmt.Sprint(dt, size)
			a := rounded(dt, nil, normal(r, dt, m, n))
			w := widen(t, a)[0]
			u, s, vh := SVD(a)
			us, ss, vs := widen(t, u)[0], widen(t, s.Unsqueeze(-2))[0], widen(t, vh)[0]
			d := newWide(k, k)
			for j := range k {
				d.set(j, j, ss.data[j])
			}
			bound(t, "A - U S V^H "+what, dt, big, w.minus(us.times(d).times(vs)).norm(), w.norm())
			// The long factor of float64 is that of the engine's QR: off by up to a multiple of m k eps (Higham, Accuracy and
			// Stability of Numerical Algorithms, 2nd edition, theorem 19.4). A^H A gives one that is as good as the short factor.
			ofU, ofV := k, k
			if dt == gpk.Float64 {
				ofU, ofV = m, n
			}
			bound(t, "U^H U - I "+what, dt, ofU, us.adjoint().times(us).minus(eye(k)).norm(), math.Sqrt(float64(k)))
			bound(t, "V^H V - I "+what, dt, ofV, vs.times(vs.adjoint()).minus(eye(k)).norm(), math.Sqrt(float64(k)))
			if got := strings.Contains(s.Explain(), "A^H A"); got != (dt != gpk.Float64) {
				t.Errorf("SVD of %s: %s", what, s.Explain())
			}

			inverse := Pinv(a)
			p := widen(t, inverse)[0]
			if m > n {
				bound(t, "A^+ A - I "+what, dt, big, p.times(w).minus(eye(k)).norm(), w.norm()*p.norm())
			} else {
				bound(t, "A A^+ - I "+what, dt, big, w.times(p).minus(eye(k)).norm(), w.norm()*p.norm())
			}
			b := rounded(dt, nil, normal(r, dt, m, 2))
			x, _, rank, values := LstSq(a, b)
			got, y := widen(t, x)[0], widen(t, b)[0]
			rest := y.minus(w.times(got))
			bound(t, "A^H (b - A x) "+what, dt, big, w.adjoint().times(rest).norm(), w.norm()*(w.norm()*got.norm()+y.norm()))
			if n, err := gpk.Item[int64](rank); n != int64(k) || err != nil || values.Err() != nil {
				t.Errorf("LstSq of %s: rank %d, %v, %v", what, n, err, values.Err())
			}

			// The second row or column is the first.
			axis := 0
			if m > n {
				axis = 1
			}
			one := a.Slice(axis, 0, 1)
			twice := gpk.Concat(axis, one, one, a.Slice(axis, 2, k))
			_, _, rank, _ = LstSq(twice, b)
			if n, err := gpk.Item[int64](rank); n != int64(k-1) || err != nil {
				t.Errorf("LstSq of %s with two equal vectors: rank %d, %v", what, n, err)
			}
			p, w = widen(t, Pinv(twice))[0], widen(t, twice)[0]
			var again wide
			if m > n { // the product of a tall and a wide matrix would need gigabytes
				again = p.times(w).times(p)
			} else {
				again = p.times(w.times(p))
			}
			bound(t, "A^+ A A^+ - A^+ "+what, dt, big, again.minus(p).norm(), p.norm()*w.norm()*p.norm())
		}
	}
}

// TestTallSingular checks that the columns of U are orthogonal for a singular tall matrix, for which A^H A would give one of
// them by a difference of equal numbers. With so many rows the bound of 4 n eps for n rows would not find that.
func TestTallSingular(t *testing.T) {
	withSolver(t)
	if onDevice == "" {
		for dt, e := range engines {
			e = e.(solver).engine
			engines[dt] = solver{blocked{e, e.(tiles), deviceBlock}, solverLeast}
		}
	}
	const m = 400_000
	x := rounded(gpk.Float32, nil, normal(random(t), gpk.Float32, m, 1))
	u, _, _ := SVD(gpk.Concat(1, x, x.Mul(2)))
	us := widen(t, u)[0]
	bound(t, "U^H U - I", gpk.Float32, 2, us.adjoint().times(us).minus(eye(2)).norm(), math.Sqrt2)
}
