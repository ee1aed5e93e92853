package fft

import (
	"math/cmplx"
	"slices"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestStage compares stages of each radix with their formula, and the assembly with the Go loops. It covers first and later
// stages, sizes that are multiples of a vector and sizes that are not, and stages divided as several threads divide them.
func TestStage(t *testing.T) {
	r := testrand.New(t)
	for _, p := range []int{2, 3, 5, 7, 11, 13} {
		for range 40 {
			s, m := 1, 1+r.IntN(20)
			if r.IntN(3) > 0 {
				s = 1 + r.IntN(30)
			}
			n := p * s * m
			x := draw(r, gpk.Complex128, n)
			narrow := make([]complex64, n)
			for i, v := range x {
				narrow[i] = complex64(v)
			}
			cut := 4 * r.IntN(s*m/4+1)
			if s*m-cut < 4 {
				cut = 0
			}
			stageAgrees(t, newStage[complex128](p, s, m), x, eps(gpk.Complex128), cut)
			stageAgrees(t, newStage[complex64](p, s, m), narrow, eps(gpk.Complex64), cut)
		}
	}
}

// stageAgrees compares one stage. cut is the butterfly at which its computation is cut in two.
func stageAgrees[C number](t *testing.T, g stage[C], x []C, eps float64, cut int) {
	t.Helper()
	got, cuts, loops := make([]C, len(x)), make([]C, len(x)), make([]C, len(x))
	g.run(x, got, 0, g.s*g.m)
	g.run(x, cuts, 0, cut)
	g.run(x, cuts, cut, g.s*g.m)
	if !slices.Equal(got, cuts) {
		t.Errorf("%d * %d * %d %T: the bits depend on the cut at %d", g.p, g.s, g.m, x[0], cut)
	}
	g.vector = false
	g.run(x, loops, 0, g.s*g.m)
	if !slices.Equal(got, loops) {
		t.Errorf("%d * %d * %d %T: the assembly differs from the loops", g.p, g.s, g.m, x[0])
	}
	for k := range g.m {
		for q := range g.s {
			var in []complex128
			for j := range g.p {
				in = append(in, complex128(x[g.s*(k+g.m*j)+q]))
			}
			limit := float64(4*g.p) * eps * norm(in)
			for i, v := range definition(in, -1) {
				v *= root(k*i, g.m*g.p)
				if e := cmplx.Abs(complex128(got[g.s*(g.p*k+i)+q]) - v); !(e <= limit) {
					t.Fatalf("%d * %d * %d %T: row %d, number %d, output %d is off by %g, the bound is %g", g.p, g.s, g.m, x[0], k, q, i, e, limit)
				}
			}
		}
	}
}

// TestThreads checks that several threads share the stages of one line, without changing a bit.
func TestThreads(t *testing.T) {
	r := testrand.New(t)
	for _, n := range []int{10000, 19683, 30030, 44100, 1 << 14, 3 << 13, 2 * 16807} {
		x := draw(r, gpk.Complex128, n)
		narrow := make([]complex64, n)
		for i, v := range x {
			narrow[i] = complex64(v)
		}
		if p := newPlan[complex128](n); !slices.Equal(apply(p, x, true), apply(p, x, false)) {
			t.Errorf("%d: the bits of complex128 depend on the threads", n)
		}
		if p := newPlan[complex64](n); !slices.Equal(apply(p, narrow, true), apply(p, narrow, false)) {
			t.Errorf("%d: the bits of complex64 depend on the threads", n)
		}
	}
}
