package linalg

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gpk-go/gpk"
)

// all calls every function of one matrix argument, and returns their results with errors.
func all(a *gpk.Array) map[string]*gpk.Array {
	b := gpk.Ones(a.DType(), 1)
	if n := a.NDim(); n > 1 {
		b = gpk.Ones(a.DType(), a.Shape()[n-2], 1)
	}
	_, l, _ := LU(a)
	_, r := QR(a)
	_, z := Eigh(a)
	_, w := Eig(a)
	_, _, vh := SVD(a)
	x, _, _, _ := LstSq(a, b)
	_, log := SlogDet(a)
	return map[string]*gpk.Array{
		"Cholesky": Cholesky(a), "Solve": Solve(a, b), "SolveTriangular": SolveTriangular(a, b), "Inv": Inv(a), "LU": l, "QR": r, "Eigh": z, "EigvalsH": EigvalsH(a), "Eig": w, "Eigvals": Eigvals(a),
		"SVD": vh, "SVDVals": SVDVals(a), "LstSq": x, "Pinv": Pinv(a), "Det": Det(a), "SlogDet": log, "MatrixRank": MatrixRank(a), "Cond": Cond(a),
	}
}

// rectangular are the functions of matrices of any shape.
var rectangular = []string{"LU", "QR", "SVD", "SVDVals", "LstSq", "Pinv", "MatrixRank", "Cond"}

// is checks an error's cause, and that it names the function and a line of this file.
func is(t *testing.T, name string, a *gpk.Array, want error) {
	t.Helper()
	err := a.Err()
	var e *gpk.OpError
	if !errors.Is(err, want) || !errors.As(err, &e) || e.Op != "linalg."+name || !strings.HasPrefix(e.Site, "linalg/errors_test.go:") {
		t.Errorf("%s: %v, want %v", name, err, want)
	}
}

func TestRefused(t *testing.T) {
	for name, x := range all(gpk.Ones(gpk.Float32, 3)) {
		is(t, name, x, gpk.ErrShape)
	}
	for name, x := range all(gpk.Ones(gpk.Float32)) {
		is(t, name, x, gpk.ErrShape)
	}
	for name, x := range all(gpk.Ones(gpk.Int32, 2, 2)) {
		is(t, name, x, gpk.ErrDType)
	}
	for name, x := range all(gpk.Ones(gpk.Float16, 2, 2)) {
		is(t, name, x, gpk.ErrDType)
	}
	for name, x := range all(gpk.Ones(gpk.Float32, 2, 3)) {
		if slices.Contains(rectangular, name) {
			if x.Err() != nil {
				t.Errorf("%s: %v", name, x.Err())
			}
			continue
		}
		is(t, name, x, gpk.ErrShape)
	}
	a := gpk.Eye(gpk.Float64, 3)
	is(t, "Solve", Solve(a, gpk.Ones(gpk.Float64, 2)), gpk.ErrShape)
	is(t, "Solve", Solve(a, gpk.Ones(gpk.Float64)), gpk.ErrShape)
	is(t, "Solve", Solve(a, gpk.Ones(gpk.Float32, 3)), gpk.ErrDType)
	is(t, "Solve", Solve(gpk.Ones(gpk.Float64, 2, 3, 3), gpk.Ones(gpk.Float64, 3, 3, 1)), gpk.ErrShape)
	is(t, "Solve", Solve(a, a, Upper), gpk.ErrUnsupported)
	is(t, "Solve", Solve(a, a, 0), gpk.ErrUnsupported)
	is(t, "Cholesky", Cholesky(a, Option(1<<20)), gpk.ErrUnsupported)
	is(t, "Pinv", Pinv(a, -1), gpk.ErrUnsupported)
	is(t, "MatrixRank", MatrixRank(a, math.NaN()), gpk.ErrUnsupported)
	is(t, "Pinv", Pinv(a, 1, 2), gpk.ErrUnsupported)
	is(t, "Cond", Cond(a, 3), gpk.ErrUnsupported)
	is(t, "Cond", Cond(gpk.Ones(gpk.Float64, 2, 3), 1), gpk.ErrShape)
	is(t, "Cond", Cond(gpk.Ones(gpk.Float64, 0, 0)), gpk.ErrShape)
	failed := gpk.Ones(gpk.Float64, 2).Reshape(3) // an operand's own error stays
	if err := Det(failed).Err(); err == nil || err.Error() != failed.Err().Error() {
		t.Errorf("%v, want %v", err, failed.Err())
	}
}

// TestNonFinite: NaN and Inf are named, also in a batch, but not in a triangle that is not read.
func TestNonFinite(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for _, dt := range types {
			data := make([]float64, 2*3*3)
			for i := range 18 {
				if i%9%4 == 0 {
					data[i] = 1
				}
			}
			data[9+2*3+1] = v
			a := gpk.FromSlice(data, 2, 3, 3).Cast(dt)
			for name, x := range all(a) {
				is(t, name, x, gpk.ErrNonFinite)
				if err := x.Err(); err == nil || !strings.Contains(err.Error(), "a[1 2 1] is ") {
					t.Errorf("%s: %v does not name the element", name, err)
				}
			}
			for name, x := range map[string]*gpk.Array{
				"Cholesky": Cholesky(a, Upper), "EigvalsH": EigvalsH(a, Upper), "SolveTriangular": SolveTriangular(a, gpk.Ones(dt, 3), Upper), "Solve": Solve(a.T(), gpk.Ones(dt, 3), Positive),
			} {
				if x.Err() != nil {
					t.Errorf("%s reads the other triangle: %v", name, x.Err())
				}
			}
			is(t, "Solve", Solve(gpk.Eye(dt, 2), gpk.FromSlice([]float64{1, v}).Cast(dt)), gpk.ErrNonFinite)
		}
	}
}

// TestNonFiniteFirst checks that an element that is not finite is the error also if an earlier matrix of the stack has no factors.
func TestNonFiniteFirst(t *testing.T) {
	for _, dt := range types {
		for _, n := range []int{3, 20, 200} {
			data := make([]float64, 2*n*n) // zeros: singular, and not positive definite
			data[2*n*n-1] = math.NaN()
			a, b := gpk.FromSlice(data, 2, n, n).Cast(dt), gpk.Ones(dt, n)
			for name, x := range map[string]*gpk.Array{"Cholesky": Cholesky(a), "Solve": Solve(a, b), "Solve, Positive": Solve(a, b, Positive), "Inv": Inv(a), "one b": Solve(a, gpk.Ones(dt, 2, n, 1)), "b too": Solve(a, gpk.Full(dt, math.NaN(), n)), "b too, Positive": Solve(a, gpk.Full(dt, math.NaN(), n), Positive)} {
				if err := x.Err(); !errors.Is(err, gpk.ErrNonFinite) || !strings.Contains(err.Error(), fmt.Sprintf("a[1 %d %d] is ", n-1, n-1)) {
					t.Errorf("%s of %d x %d: %v does not name the element", name, n, n, err)
				}
			}
			singular := gpk.Zeros(dt, 2, n, n)
			for name, x := range map[string]*gpk.Array{"Solve": Solve(singular, gpk.Full(dt, math.NaN(), n, 1)), "Solve, Positive": Solve(singular, gpk.Full(dt, math.NaN(), n, 1), Positive)} {
				if err := x.Err(); !errors.Is(err, gpk.ErrNonFinite) || !strings.Contains(err.Error(), "b[0 0 0] is ") {
					t.Errorf("%s of %d x %d: %v does not name the element of b", name, n, n, err)
				}
			}
		}
	}
}

// TestNonFiniteLarge is like TestNonFinite, for matrices of several blocks.
func TestNonFiniteLarge(t *testing.T) {
	const n = 20
	for _, dt := range types {
		for _, v := range []float64{math.NaN(), math.Inf(1)} {
			data := make([]float64, 2*n*n)
			for i := range 2 * n {
				data[i*n+i%n] = 1
			}
			data[n*n+15*n+3] = v
			a, b := gpk.FromSlice(data, 2, n, n).Cast(dt), gpk.Ones(dt, n)
			_, l, _ := LU(a)
			_, r := QR(a)
			for name, x := range map[string]*gpk.Array{"Cholesky": Cholesky(a), "Solve": Solve(a, b), "SolveTriangular": SolveTriangular(a, b), "Inv": Inv(a), "LU": l, "QR": r, "Det": Det(a)} {
				is(t, name, x, gpk.ErrNonFinite)
				if err := x.Err(); err == nil || !strings.Contains(err.Error(), "a[1 15 3] is ") {
					t.Errorf("%s: %v does not name the element", name, err)
				}
			}
			one := gpk.Eye(dt, n)
			for name, x := range map[string]*gpk.Array{"Solve": Solve(one, a), "Solve, Positive": Solve(one, a, Positive), "SolveTriangular": SolveTriangular(one, a)} {
				if err := x.Err(); !errors.Is(err, gpk.ErrNonFinite) || !strings.Contains(err.Error(), "b[1 15 3] is ") {
					t.Errorf("%s: %v does not name the element", name, err)
				}
			}
			for name, x := range map[string]*gpk.Array{"Cholesky": Cholesky(a, Upper), "SolveTriangular": SolveTriangular(a, b, Upper), "Solve": Solve(a.T(), b, Positive)} {
				if x.Err() != nil {
					t.Errorf("%s reads the other triangle: %v", name, x.Err())
				}
			}
		}
	}
}

func TestSingular(t *testing.T) {
	r := random(t)
	for _, dt := range types {
		for _, n := range []int{2, 5, 20, 40} {
			data := make([]float64, 3*n*n)
			for i := range 3 * n {
				data[i*n+i%n] = 1
			}
			k := r.IntN(n) // a zero row and column in member 2
			data[2*n*n+k*n+k] = 0
			a := gpk.FromSlice(data, 3, n, n).Cast(dt)
			for name, x := range map[string]*gpk.Array{"Solve": Solve(a, gpk.Ones(dt, n)), "Inv": Inv(a), "SolveTriangular": SolveTriangular(a, gpk.Ones(dt, n))} {
				is(t, name, x, ErrSingular)
				var e *SingularError
				if !errors.As(x.Err(), &e) || e.Pivot != k || !slices.Equal(e.Member, []int{2}) {
					t.Errorf("%s: %+v", name, x.Err())
				}
			}
			x := Cholesky(a)
			is(t, "Cholesky", x, ErrNotPositiveDefinite)
			var e *DefiniteError
			if !errors.As(x.Err(), &e) || e.Order != k+1 || !slices.Equal(e.Member, []int{2}) {
				t.Errorf("Cholesky: %+v", x.Err())
			}
			is(t, "Solve", Solve(a, gpk.Ones(dt, n), Positive), ErrNotPositiveDefinite)
			sign, log := SlogDet(a)
			if got := fmt.Sprint(sign.Real(), log, Det(a).Real(), MatrixRank(a)); got != fmt.Sprintf("[1. 1. 0.] [  0.   0. -inf] [1. 1. 0.] [%d %d %d]", n, n, n-1) {
				t.Errorf("determinants and ranks: %s", got)
			}
			if got := fmt.Sprint(Cond(a, 1), Cond(a)); got != "[ 1.  1. inf] [ 1.  1. inf]" {
				t.Errorf("conditions: %s", got)
			}
		}
	}
}

func TestEmpty(t *testing.T) {
	for _, dt := range types {
		for name, x := range all(gpk.Ones(dt, 0, 3, 3)) {
			if x.Err() != nil || x.Size() != 0 {
				t.Errorf("%s of no matrices: %v %v", name, x.Shape(), x.Err())
			}
		}
		for name, x := range all(gpk.Ones(dt, 2, 0, 0)) {
			if name == "Cond" {
				continue // which has none: TestRefused
			}
			if x.Err() != nil {
				t.Errorf("%s of matrices of no elements: %v", name, x.Err())
			}
		}
		if got := fmt.Sprint(Det(gpk.Ones(dt, 2, 0, 0)).Real()); got != "[1. 1.]" {
			t.Errorf("empty determinants: %s", got)
		}
		for _, s := range [][2]int{{0, 3}, {3, 0}} {
			q, r := QR(gpk.Ones(dt, s[0], s[1]), Complete)
			u, _, vh := SVD(gpk.Ones(dt, s[0], s[1]), Complete)
			x, _, _, _ := LstSq(gpk.Ones(dt, s[0], s[1]), gpk.Ones(dt, s[0], 2))
			if got := fmt.Sprint(q.Shape(), r.Shape(), u.Shape(), vh.Shape(), x.Shape(), Pinv(gpk.Ones(dt, s[0], s[1])).Shape()); got !=
				fmt.Sprint([]int{s[0], s[0]}, s, []int{s[0], s[0]}, []int{s[1], s[1]}, []int{s[1], 2}, []int{s[1], s[0]}) {
				t.Errorf("%v: %s", s, got)
			}
			for _, m := range []*gpk.Array{q, u, vh} {
				for _, w := range widen(t, m) {
					if w.minus(eye(w.rows)).norm() != 0 {
						t.Errorf("%v: %v is no identity", s, m)
					}
				}
			}
		}
	}
}
