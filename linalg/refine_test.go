package linalg

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/gpk-go/gpk"
)

// TestRefine: the backward error is that of float64 whatever the condition, which is estimated within
// a factor of ten where float32 can tell, and beyond that the report says that it fell back.
func TestRefine(t *testing.T) {
	r := random(t)
	for _, dt := range []gpk.DType{gpk.Float64, gpk.Complex128} {
		for _, positive := range []bool{false, true} {
			for _, n := range []int{1, 5, 30} {
				for _, cond := range []float64{1, 100, 1e4, 1e12} {
					var list, right []wide
					for range 2 {
						u, v, d := unitary(r, dt, n), unitary(r, dt, n), newWide(n, n)
						if positive {
							v = u.adjoint()
						}
						for i := range n {
							d.set(i, i, complex(math.Pow(cond, -float64(i)/float64(max(1, n-1))), 0))
						}
						list = append(list, u.times(d).times(v))
						right = append(right, normal(r, dt, n, 3))
					}
					a, b := rounded(dt, []int{2}, list...), rounded(dt, []int{2}, right...)
					var opts []Option
					if positive {
						opts = []Option{Positive}
					}
					x, report := Refine(a, b, opts...)
					xs := widen(t, x)
					for i, m := range list {
						bound(t, "b - A x", dt, n, right[i].minus(m.times(xs[i])).norm(), m.norm()*xs[i].norm())
					}
					if fell := n > 1 && cond > 1e8; report.FellBack != fell || fell == (report.Reason == "") {
						t.Errorf("%v %v %d of condition %g: %+v", dt, positive, n, cond, report)
					}
					want, err := gpk.ToSlice[float64](Cond(a, 1))
					if err != nil {
						t.Fatal(err)
					}
					for i, c := range report.Condition {
						if cond < 1e8 && !(c >= want[i]/10 && c <= want[i]*1.01) {
							t.Errorf("%v %d: a condition of %g is reported as %g", dt, n, want[i], c)
						}
					}
				}
			}
		}
	}
}

// TestRefineErrors checks that a system that float64 cannot solve either is an error, and that one which only
// float32 cannot represent is not.
func TestRefineErrors(t *testing.T) {
	one := gpk.Ones(gpk.Float64, 2)
	refine := func(a, b *gpk.Array, opts ...Option) *gpk.Array { x, _ := Refine(a, b, opts...); return x }
	if err := refine(gpk.Ones(gpk.Float64, 2, 2), one).Err(); !errors.Is(err, ErrSingular) {
		t.Error(err)
	}
	if err := refine(gpk.Eye(gpk.Float64, 2).Neg(), one, Positive).Err(); !errors.Is(err, ErrNotPositiveDefinite) {
		t.Error(err)
	}
	if err := refine(gpk.Eye(gpk.Float32, 2), one.Cast(gpk.Float32)).Err(); !errors.Is(err, gpk.ErrDType) {
		t.Error(err)
	}
	if err := refine(gpk.Eye(gpk.Float64, 2).Mul(math.Inf(1)), one).Err(); !errors.Is(err, gpk.ErrNonFinite) {
		t.Error(err)
	}
	x, report := Refine(gpk.Eye(gpk.Float64, 2).Mul(1e300), one)
	if got, err := gpk.ToSlice[float64](x); err != nil || got[0] != 1/1e300 || !report.FellBack {
		t.Errorf("%v %v %+v", got, err, report)
	}
	x, report = Refine(gpk.Eye(gpk.Float64, 2), one.Mul(1e300))
	if got, err := gpk.ToSlice[float64](x); err != nil || got[0] != 1e300 || report.FellBack {
		t.Errorf("%v %v %+v", got, err, report)
	}
	if x, _ = Refine(gpk.Ones(gpk.Float64, 0, 3, 3), gpk.Ones(gpk.Float64, 3)); x.Err() != nil {
		t.Error(x.Err())
	}
}

// TestRefineRefused: where cuSOLVER fails to solve with a float32 factorization, Refine solves in float64, and its
// report says why.
func TestRefineRefused(t *testing.T) {
	withSolver(t)
	if onDevice != "" {
		t.Skip("NOT RUN on a GPU: cuSOLVER does not fail on request; the fake library does, in a run without a GPU")
	}
	r := random(t)
	const n = 20
	for _, dt := range []gpk.DType{gpk.Float64, gpk.Complex128} {
		for name, opts := range map[string][]Option{"Xgetrs": nil, "Xpotrs": {Positive}} {
			m, y := positive(r, dt, "random", n), normal(r, dt, n, 2)
			a, b := rounded(dt, nil, m), rounded(dt, nil, y)
			m, y = widen(t, a)[0], widen(t, b)[0]
			t.Setenv("GPK_FAKE_CUSOLVER", name+":7:0")
			x, report := Refine(a, b, opts...)
			t.Setenv("GPK_FAKE_CUSOLVER", "")
			if !report.FellBack || !strings.Contains(report.Reason, "a solution in float32 failed: cusolverDn"+name+": CUSOLVER_STATUS_INTERNAL_ERROR (7)") {
				t.Errorf("%s: %+v", name, report)
			}
			got := widen(t, x)[0]
			bound(t, name+" b - A x", dt, n, y.minus(m.times(got)).norm(), m.norm()*got.norm())
			t.Setenv("GPK_FAKE_CUSOLVER", name+":2:0")
			x, _ = Refine(a, b, opts...)
			t.Setenv("GPK_FAKE_CUSOLVER", "")
			if !errors.Is(x.Err(), gpk.ErrOutOfMemory) {
				t.Errorf("%s: no memory: %v", name, x.Err())
			}
		}
	}
}
