package linalg_test

import (
	"errors"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/linalg"
)

// TestScope checks that results belong to the scope of their operand: those that are not kept
// cannot be read after Close.
func TestScope(t *testing.T) {
	a := gpk.FromSlice([]float64{4, 1, 1, 3}, 2, 2)
	b := gpk.FromSlice([]float64{1, 2}, 2)
	for name, f := range map[string]func(a *gpk.Array) []*gpk.Array{
		"Cholesky": func(a *gpk.Array) []*gpk.Array { return []*gpk.Array{linalg.Cholesky(a)} },
		"Solve":    func(a *gpk.Array) []*gpk.Array { return []*gpk.Array{linalg.Solve(a, b)} },
		"Inv":      func(a *gpk.Array) []*gpk.Array { return []*gpk.Array{linalg.Inv(a)} },
		"Det":      func(a *gpk.Array) []*gpk.Array { return []*gpk.Array{linalg.Det(a)} },
		"LstSq":    func(a *gpk.Array) []*gpk.Array { x, _, _, s := linalg.LstSq(a, b); return []*gpk.Array{x, s} },
		"QR":       func(a *gpk.Array) []*gpk.Array { q, r := linalg.QR(a); return []*gpk.Array{q, r} },
		"LU":       func(a *gpk.Array) []*gpk.Array { p, l, u := linalg.LU(a); return []*gpk.Array{p, l, u} },
		"Eigh":     func(a *gpk.Array) []*gpk.Array { w, v := linalg.Eigh(a); return []*gpk.Array{w, v} },
		"SVD":      func(a *gpk.Array) []*gpk.Array { u, s, v := linalg.SVD(a); return []*gpk.Array{u, s, v} },
		"SVDVals":  func(a *gpk.Array) []*gpk.Array { return []*gpk.Array{linalg.SVDVals(a)} },
		"Pinv":     func(a *gpk.Array) []*gpk.Array { return []*gpk.Array{linalg.Pinv(a)} },
	} {
		s := gpk.NewScope()
		dropped := f(s.In(a))
		kept := f(s.In(a))
		for i, x := range kept {
			kept[i] = s.Keep(x)
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for i := range kept {
			if err := gpk.Eval(dropped[i]); !errors.Is(err, gpk.ErrFreed) {
				t.Errorf("%s: result %d after Close: %v, want ErrFreed", name, i, err)
			}
			if err := gpk.Eval(kept[i]); err != nil {
				t.Errorf("%s: result %d, kept: %v", name, i, err)
			}
		}
	}
}
