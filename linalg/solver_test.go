package linalg

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/cusolver"
	"github.com/gpk-go/gpk/internal/cusolver/cusolvertest"
	"github.com/gpk-go/gpk/internal/devicetest"
)

var (
	fakeOnce sync.Once
	fakeWhy  string // there is no fake library
)

// withSolver lets every function of matrices of any size be computed by cuSOLVER until the test ends: on a
// GPU by the library of the machine, on the CPU by a fake one over the host's memory.
func withSolver(t *testing.T) {
	t.Helper()
	if onDevice != "" {
		if err := cusolver.Load(); err != nil {
			t.Skipf("NOT RUN: %v", err)
		}
		old := onGPU
		t.Cleanup(func() { onGPU = old })
		onGPU = func(_ *operation, e engine) engine { return solver{blocked{e, e.(tiles), 8}, 0} }
		return
	}
	fakeOnce.Do(func() {
		var file string
		if file, fakeWhy = cusolvertest.Build(t.TempDir()); fakeWhy == "" {
			t.Setenv("GPK_CUSOLVER", file)
			if err := cusolver.Load(); err != nil {
				fakeWhy = err.Error()
			}
		}
	})
	if fakeWhy != "" {
		t.Skipf("NOT RUN: there is no fake cuSOLVER: %s", fakeWhy)
	}
	old := engines
	t.Cleanup(func() { engines = old })
	engines = map[dtype.DType]engine{}
	for dt, e := range old {
		engines[dt] = solver{blocked{e, e.(tiles), 8}, 0}
	}
}

// TestSolver repeats the tests with cuSOLVER.
func TestSolver(t *testing.T) {
	withSolver(t)
	for name, f := range map[string]func(t *testing.T){
		"Cholesky": TestCholesky, "LU": TestLU, "QR": TestQR, "Solve": TestSolve, "Refine": TestRefine, "RefineErrors": TestRefineErrors, "SolvePositive": TestSolvePositive,
		"SolveTriangular": TestSolveTriangular, "Inv": TestInv, "Eigh": TestEigh, "SVD": TestSVD, "NumPy": TestNumPy,
		"Refused": TestRefused, "NonFinite": TestNonFinite, "NonFiniteLarge": TestNonFiniteLarge, "NonFiniteParts": TestNonFiniteParts, "Range": TestRange, "Singular": TestSingular, "Empty": TestEmpty,
	} {
		t.Run(name, f)
	}
}

// products checks factorizations of a batch of matrices of m rows and n columns by the product of the
// factors.
func products(t *testing.T, dt gpk.DType, m, n int) {
	r := random(t)
	list := []wide{normal(r, dt, m, n), normal(r, dt, m, n)}
	a := rounded(dt, []int{2, 1}, list...)
	list = widen(t, a)
	k, big := min(m, n), max(m, n)
	what := fmt.Sprint(dt, m, n)
	u, s, vh := SVD(a)
	alone := widen(t, SVDVals(a))
	q, right := QR(a)
	b := rounded(dt, []int{3}, normal(r, dt, m, 2), normal(r, dt, m, 2), normal(r, dt, m, 2)) // under leading axes 2, 3
	x, residuals, rank, values := LstSq(a, b)
	us, vs, ss, qs, rs, bs, xs := widen(t, u), widen(t, vh), widen(t, s), widen(t, q), widen(t, right), widen(t, b), widen(t, x)
	squares := widen(t, residuals.Unsqueeze(-1))
	for i, w := range list {
		d := newWide(k, k)
		for j := range k {
			d.set(j, j, ss[i].data[j])
		}
		bound(t, "A - U S V^H "+what, dt, big+23, w.minus(us[i].times(d).times(vs[i])).norm(), w.norm())
		bound(t, "U^H U - I "+what, dt, big, us[i].adjoint().times(us[i]).minus(eye(k)).norm(), math.Sqrt(float64(k)))
		bound(t, "V^H V - I "+what, dt, big, vs[i].times(vs[i].adjoint()).minus(eye(k)).norm(), math.Sqrt(float64(k)))
		bound(t, "SVDVals "+what, dt, big, alone[i].minus(ss[i]).norm(), alone[i].norm())
		bound(t, "A - Q R "+what, dt, big, w.minus(qs[i].times(rs[i])).norm(), w.norm())
		bound(t, "Q^H Q - I "+what, dt, big, qs[i].adjoint().times(qs[i]).minus(eye(k)).norm(), math.Sqrt(float64(k)))
		for j := range bs {
			rest := bs[j].minus(w.times(xs[3*i+j]))
			size := w.norm() * (w.norm()*xs[3*i+j].norm() + bs[j].norm())
			// The normal equations hold up to the condition of A, which for such matrices is some thousand.
			bound(t, "A^H (b - A x) "+what, dt, 30*big, w.adjoint().times(rest).norm(), size)
			for c := range 2 {
				sum := 0.0
				for p := range m {
					sum += real(rest.at(p, c))*real(rest.at(p, c)) + imag(rest.at(p, c))*imag(rest.at(p, c))
				}
				if got := real(squares[3*i+j].data[c]); math.Abs(got-sum) > 1000*float64(big)*eps(dt)*size {
					t.Errorf("%s: a residual of %g, want %g", what, got, sum)
				}
			}
		}
	}
	if got, err := gpk.ToSlice[int64](rank); err != nil || !slices.Equal(got, []int64{int64(k), int64(k)}) {
		t.Errorf("%s: ranks %v %v", what, got, err)
	}
	if got := fmt.Sprint(x.Shape(), values.Shape(), s.Explain()); !strings.HasPrefix(got, fmt.Sprint([]int{2, 3, n, 2}, []int{2, 1, k})) || !strings.Contains(got, "cuSOLVER") {
		t.Errorf("%s: %s", what, got)
	}
}

// hermitian checks factorizations of a batch of Hermitian matrices.
func hermitian(t *testing.T, dt gpk.DType, n int) {
	r := random(t)
	a := rounded(dt, []int{3}, positive(r, dt, "random", n), positive(r, dt, "random", n), positive(r, dt, "random", n))
	what := fmt.Sprint(dt, n)
	values, vectors := Eigh(a)
	ds, vs, ls := widen(t, values.Unsqueeze(-2)), widen(t, vectors), widen(t, Cholesky(a))
	alone := widen(t, EigvalsH(a).Unsqueeze(-2))
	for i, w := range widen(t, a) {
		d := newWide(n, n)
		for j := range n {
			d.set(j, j, ds[i].data[j])
		}
		bound(t, "A V - V D "+what, dt, n, w.times(vs[i]).minus(vs[i].times(d)).norm(), w.norm())
		bound(t, "V^H V - I "+what, dt, n, vs[i].adjoint().times(vs[i]).minus(eye(n)).norm(), math.Sqrt(float64(n)))
		bound(t, "EigvalsH "+what, dt, n, alone[i].minus(ds[i]).norm(), w.norm())
		bound(t, "A - L L^H "+what, dt, n, w.minus(ls[i].times(ls[i].adjoint())).norm(), w.norm())
	}
}

// TestSolverBatches: batches, of one call and of many, and rectangles.
func TestSolverBatches(t *testing.T) {
	withSolver(t)
	for _, dt := range types {
		for _, size := range [][2]int{{20, 20}, {48, 40}, {33, 50}} {
			products(t, dt, size[0], size[1])
		}
		for _, n := range []int{1, 6, 40} {
			hermitian(t, dt, n)
		}
	}
}

// TestLargeSolver chooses as programs do: large matrices go to cuSOLVER, small ones do not.
func TestLargeSolver(t *testing.T) {
	withSolver(t)
	sizes := [][2]int{{90, 70}, {66, 80}}
	if onDevice != "" {
		onGPU = func(_ *operation, e engine) engine { return solver{blocked{e, e.(tiles), deviceBlock}, solverLeast} }
		sizes = [][2]int{{300, 200}, {128, 400}, {333, 333}}
	} else {
		for dt, e := range engines {
			s := e.(solver)
			engines[dt] = solver{blocked{s.engine, s.tiles, deviceBlock}, solverLeast}
		}
	}
	for _, dt := range types {
		for _, size := range sizes {
			products(t, dt, size[0], size[1])
			hermitian(t, dt, size[0])
		}
		if x := triangular(gpk.Ones(dt, 5, 5)); strings.Contains(x.Explain(), "cuSOLVER") {
			t.Errorf("a small matrix: %s", x.Explain())
		}
	}
}

// triangular returns R alone.
func triangular(a *gpk.Array) *gpk.Array { _, r := QR(a); return r }

// TestSolverRefused: where cuSOLVER fails, blocked computes the same, and Explain says why; where its
// iteration does not converge, the next method is tried, or the member is named.
func TestSolverRefused(t *testing.T) {
	withSolver(t)
	if onDevice != "" {
		t.Skip("NOT RUN on a GPU: cuSOLVER does not fail on request; the fake library does, in a run without a GPU")
	}
	r := random(t)
	a := rounded(gpk.Float64, []int{2}, positive(r, gpk.Float64, "random", 20), positive(r, gpk.Float64, "random", 20))
	b := gpk.Ones(gpk.Float64, 20, 2)
	first := func(x, _ *gpk.Array) *gpk.Array { return x }
	all := map[string]func() *gpk.Array{
		"potrfBatched": func() *gpk.Array { return Cholesky(a) },
		"Xgetrf":       func() *gpk.Array { return Solve(a, b) },
		"Xgetrs":       func() *gpk.Array { return Inv(a) },
		"Xpotrs":       func() *gpk.Array { return Solve(a, b, Positive) },
		"Xgeqrf":       func() *gpk.Array { return first(QR(a)) },
		"orgqr":        func() *gpk.Array { return first(QR(a)) },
		"XsyevBatched": func() *gpk.Array { return EigvalsH(a) },
		"Xsyevd":       func() *gpk.Array { return EigvalsH(a.At(1)) },
		"gesvdj":       func() *gpk.Array { return SVDVals(a.At(1)) },
	}
	for name, f := range all {
		want := widen(t, f().Unsqueeze(0))
		t.Setenv("GPK_FAKE_CUSOLVER", name+":7:0")
		x := f()
		t.Setenv("GPK_FAKE_CUSOLVER", "")
		got := widen(t, x.Unsqueeze(0))
		for i, w := range want {
			if e := got[i].minus(w).norm() / w.norm(); !(e < 1e-10) && name != "Xgeqrf" && name != "orgqr" { // Q's columns have any signs
				t.Errorf("%s: %g", name, e)
			}
		}
	}
	t.Setenv("GPK_FAKE_CUSOLVER", "gesvdj:0:21")
	if x := SVDVals(a.At(0)); x.Err() != nil { // the QR method is next
		t.Error(x.Err())
	}
	t.Setenv("GPK_FAKE_CUSOLVER", "XsyevBatched:0:5")
	if err := EigvalsH(a).Err(); !errors.Is(err, ErrNoConvergence) || !strings.Contains(err.Error(), "batch member [1]") {
		t.Errorf("no convergence: %v", err)
	}
	t.Setenv("GPK_FAKE_CUSOLVER", "Xgetrf:2:0")
	if err := Inv(a).Err(); !errors.Is(err, gpk.ErrOutOfMemory) {
		t.Errorf("no memory: %v", err)
	}
}

// TestSolverKinds: the choice of functions.
func TestSolverKinds(t *testing.T) {
	for _, c := range []struct{ got, want fmt.Stringer }{
		{eighKind(1, 500, true), cusolver.Syevd},
		{eighKind(2, 500, true), cusolver.SyevBatched},
		{eighKind(2, 32, false), cusolver.SyevjBatched},
		{eighKind(2, 33, false), cusolver.Syevd},
		{svdKinds(32, 32, 2, false, true)[0], cusolver.GesvdjBatched},
		{svdKinds(32, 20, 2, false, false)[0], cusolver.Gesvdj},
		{svdKinds(32, 20, 2, true, false)[0], cusolver.GesvdjBatched},
		{svdKinds(33, 33, 2, false, false)[0], cusolver.Gesvdj},
		{svdKinds(33, 33, 2, false, true)[0], cusolver.Gesvdp},
		{svdKinds(33, 33, 2, false, true)[1], cusolver.Gesvdj},
		{svdKinds(20, 20, 1, false, false)[1], cusolver.Gesvd},
		{choleskyKind(1, 100), cusolver.Potrf},
		{choleskyKind(2, 100), cusolver.PotrfBatched},
		{choleskyKind(2, 1000), cusolver.Potrf},
	} {
		if c.got != c.want {
			t.Errorf("%v, want %v", c.got, c.want)
		}
	}
}

// TestStable: factors that are a little wrong are refused, at any scale.
func TestStable(t *testing.T) {
	withSolver(t)
	r := random(t)
	for _, dt := range types {
		for _, scale := range []float64{1, 1e-30, 1e30} {
			a := rounded(dt, []int{2}, normal(r, dt, 30, 20), normal(r, dt, 30, 20)).Mul(scale)
			u, s, vh := SVD(a)
			want := "cusolverDnXgesvdp"
			if dt.Real() == gpk.Float32 {
				want = "eigenvalues of A^H A"
			}
			if !strings.Contains(s.Explain(), want) {
				t.Errorf("%v, scale %g: %s", dt, scale, s.Explain())
			}
			by := solver{blocked{engines[dt], engines[dt].(tiles), 8}, 0}
			if err := by.checkSVD(a, u, s, vh, 4); err != nil {
				t.Errorf("%v, scale %g: %v", dt, scale, err)
			}
			off := gpk.Ones(dt.Real(), 2, 20)
			if err := off.At(1).Slice(0, 3, 4).CopyFrom(1 + 2000*eps(dt)); err != nil {
				t.Fatal(err)
			}
			columns := off.Unsqueeze(-2).Cast(dt)
			for name, err := range map[string]error{
				"s": by.checkSVD(a, u, s.Mul(off), vh, 4), "u": by.checkSVD(a, u.Mul(columns), s.Div(off), vh, 4), "v": by.checkSVD(a, u, s.Div(off), vh.Mul(columns.T()), 4),
			} {
				if !errors.Is(err, ErrNoConvergence) {
					t.Errorf("%v, scale %g: wrong %s: %v", dt, scale, name, err)
				}
			}
		}
	}
	zero := gpk.Zeros(gpk.Float32, 9, 9)
	if _, s, _ := SVD(zero); fmt.Sprint(s) != "[0. 0. 0. 0. 0. 0. 0. 0. 0.]" {
		t.Errorf("zero: %v", s)
	}
}

// TestSolverMissing: where cuSOLVER is not used, Explain says why.
func TestSolverMissing(t *testing.T) {
	gpu := devicetest.NewFake(device.Info{Name: "fake", Kind: device.CUDA, SM: 90, TotalMemory: 1 << 30}, device.CapabilitiesOf(90))
	op := &operation{dev: gpu}
	if got := op.how("LU"); !strings.Contains(got, "because there is no kernel for it") {
		t.Error(got)
	}
	op.refused = errors.New("cuSOLVER was not found")
	if got := op.how("LU"); !strings.Contains(got, "fallback: LU on the CPU") || !strings.Contains(got, "because cuSOLVER was not found") {
		t.Error(got)
	}
	e := onGPU(op, host[float32]{})
	switch err := cusolver.Load(); e.(type) {
	case solver:
		if err != nil || op.refused != nil {
			t.Errorf("%v, %v", err, op.refused)
		}
	case blocked:
		if err == nil || op.refused != err {
			t.Errorf("%v, %v", err, op.refused)
		}
	}
	if op.refuses(nil) || op.refuses(gpk.ErrShape) || op.refuses(errors.Join(gpk.ErrOutOfMemory, cusolver.Failure("a", 2))) || !op.refuses(cusolver.Failure("a", 7)) {
		t.Error("what is refused")
	}
}
