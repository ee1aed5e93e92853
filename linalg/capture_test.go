package linalg_test

import (
	"errors"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/linalg"
)

// TestCapture checks that a factorization is refused in a capture: a replay could not report
// an error that depends on the elements.
func TestCapture(t *testing.T) {
	a := gpk.FromSlice([]float64{4, 1, 1, 3}, 2, 2)
	for _, c := range []struct {
		name string
		f    func(a *gpk.Array) *gpk.Array
	}{
		{"Cholesky", func(a *gpk.Array) *gpk.Array { return linalg.Cholesky(a) }},
		{"Inv", func(a *gpk.Array) *gpk.Array { return linalg.Inv(a) }},
		{"Solve", func(a *gpk.Array) *gpk.Array { return linalg.Solve(a, a) }},
		{"QR", func(a *gpk.Array) *gpk.Array { q, _ := linalg.QR(a); return q }},
		{"SVDVals", func(a *gpk.Array) *gpk.Array { return linalg.SVDVals(a) }},
	} {
		g, err := gpk.Capture([]*gpk.Array{a.Clone()}, func(in []*gpk.Array) []*gpk.Array { return []*gpk.Array{c.f(in[0])} })
		if !errors.Is(err, gpk.ErrUnsupported) {
			t.Errorf("%s in a capture: %v, want ErrUnsupported", c.name, err)
		}
		if g != nil {
			g.Free()
		}
		if err := gpk.Eval(c.f(a)); err != nil {
			t.Errorf("%s after the capture: %v", c.name, err)
		}
	}
}
