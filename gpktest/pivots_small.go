package gpktest

import (
	"errors"
	"fmt"
	"math/cmplx"
	"slices"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/linalg"
)

// testSmallPivots factors batches of more than 64 matrices of up to 64 rows and columns. A GPU factors each in one CTA.
// L U, the solutions and the inverses are compared with the matrices, and determinants with Gaussian elimination in
// complex128.
func testSmallPivots(t *testing.T, s *suite) {
	orders := []int{1, 2, 3, 5, 8, 16, 31, 32, 33, 48, 63, 64}
	for i, dt := range factorTypes {
		for j, n := range orders {
			if (i+j)%3 != 0 && (quick() || s.dev.Kind() == device.CPU) {
				continue
			}
			batch := 65 + s.rng.IntN(236)
			if n > 16 {
				batch = 65 + s.rng.IntN(20)
			}
			other := 1 + s.rng.IntN(64)
			for _, shape := range [][2]int{{n, n}, {n, other}, {other, n}} {
				given := s.normals(t, dt, batch, shape[0], shape[1]).Cast(dt)
				what := fmt.Sprintf("%v, %d of %v", dt, batch, shape)
				for name, a := range strided(given, s.dev) {
					order, l, u := linalg.LU(a)
					checkLU(t, what+" "+name, given, order, l, u, epsilonOf(dt))
				}
				if shape[0] == shape[1] {
					s.smallSystems(t, what, dt, given)
				}
			}
			s.smallSingular(t, dt, n, batch)
		}
	}
}

// smallSystems checks Solve, Inv and, for small orders, Det.
func (s *suite) smallSystems(t *testing.T, what string, dt gpk.DType, given *gpk.Array) {
	t.Helper()
	batch, n := given.Shape()[0], given.Shape()[1]
	a, cpu, wide := given.To(s.dev), given.Device(), given.Cast(gpk.Complex128)
	columns := 1 + s.rng.IntN(5)
	side := s.normals(t, dt, batch, n, columns).Cast(dt)
	x, inverse := linalg.Solve(a, side.To(s.dev)), linalg.Inv(a)
	noError(t, x.Err())
	noError(t, inverse.Err())
	// Gaussian elimination with partial pivoting is backward stable for each member: Higham (2002), theorem 9.4. Its growth
	// factor is small for random matrices.
	residual := func(op string, x, b *gpk.Array) {
		t.Helper()
		y := x.To(cpu).Cast(gpk.Complex128)
		rests, sizes := wide.MatMul(y).Sub(b.Cast(gpk.Complex128)).Norm(-1, -2), wide.Norm(-1, -2).Mul(y.Norm(-1, -2))
		ratio, err := gpk.ToSlice[float64](rests.Div(sizes).Real())
		noError(t, err)
		for i, r := range ratio {
			if bound := 8 * float64(n) * epsilonOf(dt); !(r <= bound) {
				t.Errorf("%s of %s, member %d: the residual is %g, the bound %g", op, what, i, r, bound)
				return
			}
		}
	}
	residual("Solve", x, side)
	residual("Inv", inverse, gpk.Eye(gpk.Complex128, n).To(cpu))
	if n > 16 {
		return
	}
	elements, err := gpk.ToSlice[complex128](wide)
	noError(t, err)
	conditions, err := gpk.ToSlice[float64](wide.Norm(-1, -2).Mul(linalg.Inv(wide).Norm(-1, -2)).Real())
	noError(t, err)
	dets, err := gpk.ToSlice[complex128](linalg.Det(a).To(cpu).Cast(gpk.Complex128))
	noError(t, err)
	for i, got := range dets {
		want := eliminated(slices.Clone(elements[i*n*n:(i+1)*n*n]), n)
		if bound := 8 * float64(n) * epsilonOf(dt) * conditions[i]; !(cmplx.Abs(got-want) <= bound*cmplx.Abs(want)) {
			t.Errorf("Det of %s, member %d: %v, want %v, with a relative error up to %g", what, i, got, want, bound)
			return
		}
	}
}

// eliminated returns the determinant of a matrix, which it overwrites.
func eliminated(a []complex128, n int) complex128 {
	det := complex128(1)
	for j := range n {
		pivot := j
		for i := j; i < n; i++ {
			if cmplx.Abs(a[i*n+j]) > cmplx.Abs(a[pivot*n+j]) {
				pivot = i
			}
		}
		if pivot != j {
			det = -det
			for c := range n {
				a[j*n+c], a[pivot*n+c] = a[pivot*n+c], a[j*n+c]
			}
		}
		det *= a[j*n+j]
		for i := j + 1; i < n; i++ {
			f := a[i*n+j] / a[j*n+j]
			for c := j; c < n; c++ {
				a[i*n+c] -= f * a[j*n+c]
			}
		}
	}
	return det
}

// smallSingular checks that the error of a singular matrix names it, and that its determinant is 0. All matrices are
// permutations with factors, which are factored exactly.
func (s *suite) smallSingular(t *testing.T, dt gpk.DType, n, batch int) {
	t.Helper()
	member, column := s.rng.IntN(batch), s.rng.IntN(n)
	data := make([]complex128, batch*n*n)
	for b := range batch {
		for i, j := range s.rng.Perm(n) {
			if b != member || j != column {
				data[(b*n+i)*n+j] = complex(float64(1+s.rng.IntN(3)), 0)
			}
		}
	}
	a := gpk.FromSlice(data, batch, n, n).Cast(dt)
	var e *linalg.SingularError
	for name, x := range map[string]*gpk.Array{"Solve": linalg.Solve(a, gpk.Ones(dt, n)), "Inv": linalg.Inv(a)} {
		if err := x.Err(); !errors.As(err, &e) || !slices.Equal(e.Member, []int{member}) {
			t.Errorf("%s of %v, column %d of %d of member %d is zero: %v", name, dt, column, n, member, err)
		}
	}
	dets, err := gpk.ToSlice[complex128](linalg.Det(a).Cast(gpk.Complex128))
	noError(t, err)
	for b, det := range dets {
		if (det == 0) != (b == member) {
			t.Errorf("Det of %v, order %d: member %d is %v, and member %d is singular", dt, n, b, det, member)
		}
	}
}
