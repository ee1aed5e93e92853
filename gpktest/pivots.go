package gpktest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/linalg"
)

// testPivots compares L U with the permuted rows of the matrix, within 4 n eps of |L| |U|, which
// partial pivoting keeps small. Determinants are compared with those of the CPU.
func testPivots(t *testing.T, s *suite) {
	for _, dt := range factorTypes {
		for _, n := range s.factorSizes() {
			for _, shape := range [][2]int{{n, n}, {n + 41, n}, {n, n + 41}} {
				m, cols := shape[0], shape[1]
				given := s.normals(t, dt, 2, m, cols).Cast(dt)
				for name, a := range strided(given, s.dev) {
					if name != "dense" && m != cols {
						continue
					}
					order, l, u := linalg.LU(a)
					checkLU(t, fmt.Sprintf("%v %s %v", dt, name, shape), given, order, l, u, epsilonOf(dt))
				}
				if m != cols || n > 300 {
					continue
				}
				wantSign, want := linalg.SlogDet(given)
				sign, log := linalg.SlogDet(given.To(s.dev))
				cpu := given.Device()
				e := frobeniusOf(t, log.To(cpu).Sub(want)) + frobeniusOf(t, sign.To(cpu).Sub(wantSign))
				// Each side has the determinant of a matrix near the given one: d log det A = tr(A^-1 dA).
				exact := given.Cast(gpk.Complex128)
				condition := frobeniusOf(t, exact) * frobeniusOf(t, linalg.Inv(exact))
				if bound := 2 * 4 * float64(n) * epsilonOf(dt) * condition; !(e <= bound) {
					t.Errorf("SlogDet of %v, order %d: %g from the CPU's, at most %g", dt, n, e, bound)
				}
			}
		}
	}
	for _, dt := range factorTypes {
		for _, n := range []int{3, 40, 70, 300} {
			if quick() && n > 100 {
				continue
			}
			k := s.rng.IntN(n)
			data := make([]complex128, 3*n*n)
			for i := range 3 * n {
				data[i*n+(i+1)%n] = complex(float64(1+i%7), 0) // a cyclic permutation
			}
			for i := range n {
				data[(2*n+i)*n+k] = 0 // column k of member 2
			}
			a := gpk.FromSlice(data, 3, n, n).Cast(dt)
			var e *linalg.SingularError
			for name, x := range map[string]*gpk.Array{"Solve": linalg.Solve(a, gpk.Ones(dt, n)), "Inv": linalg.Inv(a)} {
				if err := x.Err(); !errors.As(err, &e) || !slices.Equal(e.Member, []int{2}) {
					t.Errorf("%s of %v, column %d of %d is zero: %v", name, dt, k, n, err)
				}
			}
			regular := a.Slice(0, 0, 2)
			x := linalg.Inv(regular)
			d := x.MatMul(regular, gpk.FullPrecision).Sub(gpk.Eye(dt, n))
			cpu := devicetest.CPU(t)
			if r := frobeniusOf(t, d.To(cpu)); !(r <= 4*float64(n)*epsilonOf(dt)) {
				t.Errorf("the inverse of a permutation, %v, order %d: %g", dt, n, r)
			}
		}
	}
}

// checkLU checks factors of a matrix on the CPU.
func checkLU(t *testing.T, what string, a, order, l, u *gpk.Array, eps float64) {
	t.Helper()
	for _, x := range []*gpk.Array{order, l, u} {
		if x.Err() != nil {
			t.Errorf("LU %s: %v", what, x.Err())
			return
		}
	}
	cpu, wide := a.Device(), gpk.Complex128
	index := order.To(cpu)
	rows, err := gpk.ToSlice[int64](index)
	if err != nil {
		t.Fatal(err)
	}
	m := order.Shape()[1]
	for i := 0; i < len(rows); i += m {
		sorted := slices.Sorted(slices.Values(rows[i : i+m]))
		if sorted[0] != 0 || sorted[m-1] != int64(m-1) || len(slices.Compact(sorted)) != m {
			t.Errorf("LU %s: %v is no order", what, rows[i:i+m])
			return
		}
	}
	a, l, u = a.Cast(wide), l.To(cpu).Cast(wide), u.To(cpu).Cast(wide)
	permuted := a.TakeAlongAxis(index.Unsqueeze(-1).BroadcastTo(a.Shape()...), -2)
	n := min(l.Shape()[1], u.Shape()[2])
	size := frobeniusOf(t, l) * frobeniusOf(t, u)
	if e := frobeniusOf(t, l.MatMul(u).Sub(permuted)) / size; !(e <= 4*float64(n)*eps) {
		t.Errorf("LU %s: %g", what, e)
	}
	if largest, err := gpk.Item[float64](l.Abs().Max()); err != nil || largest > math.Sqrt2*(1+1e-6) {
		t.Errorf("LU %s: an element of L is %g, %v", what, largest, err)
	}
}
