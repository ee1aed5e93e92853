package linalg

import (
	"fmt"
	"testing"

	"github.com/gpk-go/gpk"
)

// BenchmarkFactor factors float64 matrices.
func BenchmarkFactor(b *testing.B) {
	r := gpk.NewRNG(1)
	wait := func(b *testing.B, as ...*gpk.Array) {
		for _, a := range as {
			if err := a.Err(); err != nil {
				b.Fatal(err)
			}
		}
	}
	for _, n := range []int{256, 512, 1024} {
		a := r.Normal(gpk.Float64, 0, 1, n, n)
		s := a.MatMul(a.T()).Add(gpk.Eye(gpk.Float64, n).Mul(n))
		x := gpk.Ones(gpk.Float64, n, 1)
		wait(b, a, s, x)
		for name, f := range map[string]func() []*gpk.Array{
			"Cholesky": func() []*gpk.Array { return []*gpk.Array{Cholesky(s)} },
			"LU":       func() []*gpk.Array { p, l, u := LU(a); return []*gpk.Array{p, l, u} },
			"Det":      func() []*gpk.Array { return []*gpk.Array{Det(a)} },
			"Solve":    func() []*gpk.Array { return []*gpk.Array{Solve(a, x)} },
			"Inv":      func() []*gpk.Array { return []*gpk.Array{Inv(a)} },
			"QR":       func() []*gpk.Array { q, r := QR(a); return []*gpk.Array{q, r} },
			"Eigh":     func() []*gpk.Array { v, z := Eigh(s); return []*gpk.Array{v, z} },
			"SVD":      func() []*gpk.Array { u, s, v := SVD(a); return []*gpk.Array{u, s, v} },
		} {
			if (name == "Eigh" || name == "SVD") != (n == 256) {
				continue
			}
			b.Run(fmt.Sprint(name, "/", n), func(b *testing.B) {
				for range b.N {
					wait(b, f()...)
				}
			})
		}
	}
}
