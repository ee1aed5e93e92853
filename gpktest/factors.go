package gpktest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/fft"
	"github.com/gpk-go/gpk/internal/devicetest"
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

var factorTypes = []gpk.DType{gpk.Float32, gpk.Float64, gpk.Complex64, gpk.Complex128}

// epsilonOf returns the distance from 1 to the next number of a type.
func epsilonOf(dt gpk.DType) float64 {
	if dt.Real() == gpk.Float32 {
		return 0x1p-23
	}
	return 0x1p-52
}

// factorSizes are the orders of matrices on both sides of the sizes of the kernels' blocks.
func (s *suite) factorSizes() []int {
	sizes := []int{1, 2, 7, 8, 9, 16, 17, 31, 32, 33, 48, 63, 64, 65, 128, 129}
	if !quick() {
		sizes = append(sizes, 300)
	}
	if s.dev.Kind() != device.CPU {
		sizes = append(sizes, 257, 513, 1000)
	}
	return sizes
}

// normals returns an array of normal numbers on the CPU, of a complex type if dt is complex, in its
// widest form.
func (s *suite) normals(t *testing.T, dt gpk.DType, shape ...int) *gpk.Array {
	t.Helper()
	cpu := devicetest.CPU(t)
	n := 1
	for _, d := range shape {
		n *= d
	}
	data := make([]complex128, n)
	for i := range data {
		re, im := s.rng.NormFloat64(), 0.0
		if dt.IsComplex() {
			im = s.rng.NormFloat64()
		}
		data[i] = complex(re, im)
	}
	return gpk.FromSliceOn(cpu, data, shape...)
}

// definite returns two positive definite matrices, on the CPU in complex128.
func (s *suite) definite(t *testing.T, dt gpk.DType, kind string, n int) *gpk.Array {
	t.Helper()
	g := s.normals(t, dt, 2, n, n)
	one := gpk.Eye(gpk.Complex128, n).To(g.Device())
	h := g.MatMul(g.Conj().T()).Div(n).Add(one)
	at := make([]complex128, n)
	switch kind {
	case "graded": // rows and columns fall by up to 1e5
		for i := range at {
			at[i] = complex(math.Pow(10, -5*float64(i)/float64(n)), 0)
		}
		d := gpk.FromSliceOn(g.Device(), at, n)
		h = h.Mul(d).Mul(d.Unsqueeze(-1))
	case "nearly singular": // eigenvalues from 1 to 8 n^2 eps: Higham's condition for success
		for i := range at {
			at[i] = complex(math.Pow(8*float64(n*n)*epsilonOf(dt), float64(i)/float64(max(1, n-1))), 0)
		}
		q, _ := linalg.QR(g)
		h = q.Mul(gpk.FromSliceOn(g.Device(), at, n)).MatMul(q.Conj().T())
	}
	return h
}

// frobeniusOf returns the Frobenius norm of a, computed in Go.
func frobeniusOf(t *testing.T, a *gpk.Array) float64 {
	t.Helper()
	data, err := gpk.ToSlice[complex128](a.Cast(gpk.Complex128))
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, v := range data {
		sum += real(v)*real(v) + imag(v)*imag(v)
	}
	return math.Sqrt(sum)
}

// strided returns copies of an array on a device: dense, transposed in memory, and as a part of
// another.
func strided(a *gpk.Array, d *device.Device) map[string]*gpk.Array {
	x := a.To(d)
	n := x.NDim()
	widths := make([][2]int, n)
	widths[n-1], widths[n-2] = [2]int{1, 2}, [2]int{2, 1}
	shape := x.Shape()
	return map[string]*gpk.Array{
		"dense":      x,
		"transposed": x.T().Contiguous().T(),
		"sliced":     x.Pad(widths, 7).Slice(-1, 1, 1+shape[n-1]).Slice(-2, 2, 2+shape[n-2]),
	}
}

// testCholesky compares L L^H with the matrix, within 4 n eps, on the sizes, matrices and layouts.
// The triangle that is not read holds NaN.
func testCholesky(t *testing.T, s *suite) {
	for _, dt := range factorTypes {
		for _, n := range s.factorSizes() {
			for _, kind := range []string{"random", "graded", "nearly singular"} {
				h := s.definite(t, dt, kind, n).Cast(dt).Cast(gpk.Complex128)
				low := h.Tril()
				h = low.Add(h.Tril(-1).Conj().T())
				poison := gpk.Ones(gpk.Complex128, n, n).To(h.Device()).Tril(-1).T()
				given := gpk.Where(poison.Ne(0), math.NaN(), h).Cast(dt)
				for name, a := range strided(given, s.dev) {
					l := linalg.Cholesky(a)
					s.checkCholesky(t, fmt.Sprintf("%s %v %s of order %d", kind, dt, name, n), h, l, dt)
					if name == "dense" {
						u := linalg.Cholesky(a.Conj().T(), linalg.Upper)
						s.checkCholesky(t, fmt.Sprintf("upper %s %v of order %d", kind, dt, n), h, u.Conj().T(), dt)
					}
				}
			}
		}
	}
}

// checkCholesky checks one factor: its product, and that it is lower triangular.
func (s *suite) checkCholesky(t *testing.T, what string, h, l *gpk.Array, dt gpk.DType) {
	t.Helper()
	if err := l.Err(); err != nil {
		t.Errorf("Cholesky %s: %v", what, err)
		return
	}
	n := l.Shape()[1]
	w := l.To(h.Device()).Cast(gpk.Complex128)
	if e, bound := frobeniusOf(t, w.MatMul(w.Conj().T()).Sub(h))/frobeniusOf(t, h), 4*float64(n)*epsilonOf(dt); !(e <= bound) {
		t.Errorf("Cholesky %s: %g, the bound is %g", what, e, bound)
	}
	if above := frobeniusOf(t, w.Sub(w.Tril())); above != 0 {
		t.Errorf("Cholesky %s: %g above the diagonal", what, above)
	}
}

// testIndefinite checks that the error of an indefinite matrix names the order and the batch member,
// and that the error of NaN and Inf names the element.
func testIndefinite(t *testing.T, s *suite) {
	for _, dt := range factorTypes {
		for _, n := range []int{1, 5, 32, 33, 64, 65, 130, 300} {
			if quick() && n > 100 {
				continue
			}
			order := 1 + s.rng.IntN(n)
			data := make([]complex128, 6*n*n)
			for i := range 6 * n {
				data[i*n+i%n] = 1
			}
			for _, member := range []int{4, 5} {
				data[(member*n+order-1)*n+order-1] = -1
			}
			data[(5*n)*n] = -1 // member 5 fails at order 1, and comes later
			a := gpk.FromSlice(data, 2, 3, n, n).Cast(dt)
			var e *linalg.DefiniteError
			for name, x := range map[string]*gpk.Array{"Cholesky": linalg.Cholesky(a), "Solve": linalg.Solve(a, gpk.Ones(dt, n), linalg.Positive)} {
				if err := x.Err(); !errors.As(err, &e) || e.Order != order || !slices.Equal(e.Member, []int{1, 1}) {
					t.Errorf("%s of %v, order %d of %d: %v", name, dt, order, n, err)
				}
			}
			for _, v := range []float64{math.NaN(), math.Inf(1)} {
				i := s.rng.IntN(n)
				j := s.rng.IntN(i + 1)
				data[(2*n+i)*n+j] = complex(v, 0)
				a := gpk.FromSlice(data, 2, 3, n, n).Cast(dt)
				want := fmt.Sprintf("a[0 2 %d %d] is", i, j)
				if err := linalg.Cholesky(a).Err(); !errors.Is(err, gpk.ErrNonFinite) || !strings.Contains(err.Error(), want) {
					t.Errorf("Cholesky of %v, order %d: %v, want %q", dt, n, err, want)
				}
				data[(2*n+i)*n+j] = 0
				if i == j {
					data[(2*n+i)*n+j] = 1
				}
			}
		}
	}
}

// testTriangular compares T X with B, within 4 n eps of |T| |X| + |B|, and solves positive systems with
// few and with many right-hand sides, also by refinement.
func testTriangular(t *testing.T, s *suite) {
	for _, dt := range factorTypes {
		for _, n := range s.factorSizes() {
			for _, columns := range []int{1, 3, 40} {
				if columns == 40 && n > 300 && dt != gpk.Float32 && dt != gpk.Complex128 {
					continue
				}
				h := s.definite(t, dt, "random", n)
				b := s.normals(t, dt, 2, n, columns).Cast(dt)
				low := h.Tril().Cast(dt)
				bound := 4 * float64(n) * epsilonOf(dt)
				check := func(what string, a, x *gpk.Array) {
					t.Helper()
					if x.Err() != nil {
						t.Errorf("%s %v, order %d: %v", what, dt, n, x.Err())
						return
					}
					wide, right := x.To(b.Device()).Cast(gpk.Complex128), b.Cast(gpk.Complex128)
					a = a.Cast(gpk.Complex128)
					if e := frobeniusOf(t, a.MatMul(wide).Sub(right)) / (frobeniusOf(t, a)*frobeniusOf(t, wide) + frobeniusOf(t, right)); !(e <= bound) {
						t.Errorf("%s %v, order %d, %d columns: %g, the bound is %g", what, dt, n, columns, e, bound)
					}
				}
				side := b.To(s.dev)
				for name, a := range strided(low, s.dev) {
					check("lower "+name, low, linalg.SolveTriangular(a, side))
					check("adjoint "+name, low.Conj().T(), linalg.SolveTriangular(a, side, linalg.Adjoint))
				}
				up := low.Conj().T()
				check("upper", up, linalg.SolveTriangular(up.Contiguous().To(s.dev), side.T().Contiguous().T(), linalg.Upper))
				unit := low.Sub(low.Mul(gpk.Eye(dt, n).To(low.Device()))).Add(gpk.Eye(dt, n).To(low.Device()))
				check("unit", unit, linalg.SolveTriangular(low.To(s.dev), side, linalg.Unit))
				narrow := h.Cast(dt)
				check("positive", narrow, linalg.Solve(narrow.To(s.dev), side, linalg.Positive))
				if dt == gpk.Float64 || dt == gpk.Complex128 {
					x, report := linalg.Refine(narrow.To(s.dev), side, linalg.Positive)
					check("refined", narrow, x)
					if report.FellBack {
						t.Errorf("Refine %v, order %d: %+v", dt, n, report)
					}
				}
			}
		}
	}
}
