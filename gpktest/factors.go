package gpktest

import (
	"math"
	"strings"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/fft"
	"github.com/gpk-go/gpk/linalg"
)

// applied returns the product of a matrix of an array [rows, columns] with a vector, by loops in
// complex128.
func applied(t *testing.T, a *gpk.Array, x []complex128) []complex128 {
	t.Helper()
	m, err := gpk.ToSlice[complex128](a.Cast(gpk.Complex128))
	if err != nil {
		t.Fatal(err)
	}
	y := make([]complex128, a.Shape()[0])
	for i := range y {
		for j, v := range x {
			y[i] += m[i*len(x)+j] * v
		}
	}
	return y
}

// apart returns |x - y| / |y|.
func apart(x, y []complex128) float64 {
	num, den := 0.0, 0.0
	for i, v := range y {
		d := x[i] - v
		num += real(d)*real(d) + imag(d)*imag(d)
		den += real(v)*real(v) + imag(v)*imag(v)
	}
	return math.Sqrt(num / den)
}

// testFactors factors matrices of more columns than a block on a GPU has, and compares the products
// of both sides with random vectors. The backward error of each factorization is below 4 n eps of
// the norm of a, which a random vector meets within a factor of 10.
func testFactors(t *testing.T, s *suite) {
	n := 300
	if quick() {
		n = 70
	}
	for _, dt := range []gpk.DType{gpk.Float32, gpk.Float64, gpk.Complex64, gpk.Complex128} {
		eps := 0x1p-52
		if dt.Real() == gpk.Float32 {
			eps = 0x1p-23
		}
		bound := 40 * float64(n) * eps
		r := gpk.NewRNG(s.rng.Uint64())
		a := r.Normal(gpk.Float64, 0, 1, 2, n, n).Cast(dt)
		if dt.IsComplex() {
			a = a.Add(r.Normal(gpk.Float64, 0, 1, 2, n, n).Cast(dt).Mul(complex(0, 1)))
		}
		a = a.Add(gpk.Eye(dt, n).Mul(3 * math.Sqrt(float64(n)))) // well conditioned: the eigenvalues of a random matrix reach sqrt(n)
		h := a.MatMul(a.Conj().T(), gpk.FullPrecision)
		x := make([]complex128, n)
		for i := range x {
			x[i] = complex(s.rng.NormFloat64(), s.rng.NormFloat64())
		}
		check := func(what string, got, want []complex128) {
			t.Helper()
			if e := apart(got, want); !(e <= bound) {
				t.Errorf("%s %v: %g, the bound is %g", what, dt, e, bound)
			}
		}
		chol := linalg.Cholesky(h)
		order, l, u := linalg.LU(a)
		q, right := linalg.QR(a)
		b := a.Slice(-1, 0, 3).Contiguous()
		solved, positive := linalg.Solve(a, b), linalg.Solve(h, b, linalg.Positive)
		rows, err := gpk.ToSlice[int64](order)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			m := a.At(i)
			want := applied(t, m, x)
			c := chol.At(i)
			check("Cholesky", applied(t, c, applied(t, c.Conj().T(), x)), applied(t, h.At(i), x))
			permuted := make([]complex128, n)
			for j := range n {
				permuted[j] = want[rows[i*n+j]]
			}
			check("LU", applied(t, l.At(i), applied(t, u.At(i), x)), permuted)
			check("QR", applied(t, q.At(i), applied(t, right.At(i), x)), want)
			side := applied(t, b.At(i), x[:3])
			check("Solve", applied(t, m, applied(t, solved.At(i), x[:3])), side)
			check("Solve of a positive definite matrix", applied(t, h.At(i), applied(t, positive.At(i), x[:3])), side)
		}
		if plan := chol.Explain(); s.dev.Kind() != device.CPU && (strings.Contains(plan, "fallback") || !strings.Contains(plan, "kernels") && !strings.Contains(plan, "cuSOLVER")) {
			t.Errorf("Cholesky on a GPU needs no CPU:\n%s", plan)
		}
		_, report := linalg.Refine(a.Cast(gpk.Complex128), b.Cast(gpk.Complex128))
		if report.FellBack {
			t.Errorf("Refine %v: %+v", dt, report)
		}
		if d := chol.Device(); d != s.dev {
			t.Errorf("the factor is on %v", d)
		}
	}
}

// testFourier compares transforms along both axes with the formula.
func testFourier(t *testing.T, s *suite) {
	for _, dt := range []gpk.DType{gpk.Float32, gpk.Float64, gpk.Complex64, gpk.Complex128} {
		for _, shape := range [][]int{{1, 1}, {3, 16}, {17, 5}} {
			a := gpk.NewRNG(s.rng.Uint64()).Normal(dt.Real(), 0, 1, shape...).Cast(dt)
			for axis := range 2 {
				n := shape[axis]
				roots := make([]complex128, n*n)
				for i := range roots {
					sin, cos := math.Sincos(-2 * math.Pi * float64(i/n*(i%n)%n) / float64(n))
					roots[i] = complex(cos, sin)
				}
				f := gpk.FromSlice(roots, n, n)
				y := fft.FFT(a, fft.Axes(axis))
				back := fft.IFFT(y, fft.Axes(axis))
				for j := range a.Size() / n {
					line, image, inverse := a.T().At(j), y.T().At(j), back.T().At(j)
					if axis == 1 {
						line, image, inverse = a.At(j), y.At(j), back.At(j)
					}
					x, err := gpk.ToSlice[complex128](line.Cast(gpk.Complex128))
					if err != nil {
						t.Fatal(err)
					}
					eps := 0x1p-52
					if dt.Real() == gpk.Float32 {
						eps = 0x1p-23
					}
					got, err := gpk.ToSlice[complex128](image.Cast(gpk.Complex128))
					if e := apart(got, applied(t, f, x)); err != nil || !(e <= 64*eps) {
						t.Errorf("FFT of %v %v along %d: %g %v", dt, shape, axis, e, err)
					}
					got, err = gpk.ToSlice[complex128](inverse.Cast(gpk.Complex128))
					if e := apart(got, x); err != nil || !(e <= 64*eps) {
						t.Errorf("IFFT of %v %v along %d: %g %v", dt, shape, axis, e, err)
					}
				}
				if plan := y.Explain(); s.dev.Kind() != device.CPU && !strings.Contains(plan, "cuFFT") {
					t.Errorf("what transforms is not explained:\n%s", plan)
				}
			}
		}
	}
}
