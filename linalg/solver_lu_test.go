package linalg

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gpk-go/gpk"
)

// TestManyLU: where a device has no kernels for LU, cuSOLVER factors stacks of matrices of order 65 and more, and
// smaller ones are left to blocked.
func TestManyLU(t *testing.T) {
	withSolver(t)
	if onDevice != "" {
		t.Skip("NOT RUN: the device may have kernels for LU")
	}
	for dt, e := range engines {
		s := e.(solver)
		engines[dt] = solver{blocked{s.engine, s.tiles, deviceBlock}, solverLeast}
	}
	r := random(t)
	const batch = 20
	for _, dt := range types {
		for _, n := range []int{64, 65} {
			var list []wide
			for range batch {
				list = append(list, normal(r, dt, n, n))
			}
			a := rounded(dt, []int{batch}, list...)
			b := rounded(dt, nil, normal(r, dt, n, 2))
			x, y := Solve(a, b), widen(t, b)[0]
			for name, z := range map[string]*gpk.Array{"Solve": x, "Inv": Inv(a)} {
				if got := strings.Contains(z.Explain(), "cusolverDnXget"); got != (n >= solverLeast) {
					t.Errorf("%s %v %d: %s", name, dt, n, z.Explain())
				}
			}
			xs := widen(t, x)
			for i, m := range widen(t, a) {
				bound(t, fmt.Sprint("b - A x ", dt, n), dt, n, y.minus(m.times(xs[i])).norm(), m.norm()*xs[i].norm())
			}
			order, l, u := LU(a)
			ls, us := widen(t, l), widen(t, u)
			orders, err := gpk.ToSlice[int64](order)
			if err != nil {
				t.Fatal(err)
			}
			for i, m := range widen(t, a) {
				moved := newWide(n, n)
				for p, from := range orders[i*n : (i+1)*n] {
					copy(moved.data[p*n:(p+1)*n], m.data[int(from)*n:][:n])
				}
				bound(t, fmt.Sprint("P A - L U ", dt, n), dt, n, moved.minus(ls[i].times(us[i])).norm(), ls[i].norm()*us[i].norm())
			}
		}
	}
}
