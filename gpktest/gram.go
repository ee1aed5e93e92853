package gpktest

import (
	"errors"
	"fmt"
	"math"
	"math/cmplx"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/matmul"
)

// conjugate returns the conjugates of the values.
func conjugate(x tensor) tensor {
	if exact(x.dt) {
		return x
	}
	y := x.permuted(x.shape, func(i int) int { return i })
	for i, v := range y.values {
		y.values[i] = cmplx.Conj(v)
	}
	return y
}

// checkSquares compares got with the squared moduli of the product of a and b.
// An error e of the product makes 2|P|e + e^2 of its square, whose two squares,
// sum and result are rounded too.
func (s *suite) checkSquares(t testing.TB, what string, got, a, b tensor, v variety) {
	t.Helper()
	m, k, n := a.shape[0], a.shape[1], b.shape[1]
	if exact(a.dt) {
		for i := range m {
			want := make([]int64, n)
			for j := range n {
				var sum int64
				for p := range k {
					sum += a.ints[i*k+p] * b.ints[p*n+j]
				}
				sum = wrap(got.dt, sum)
				want[j] = wrap(got.dt, sum*sum)
			}
			sameInts(t, fmt.Sprintf("%s, row %d", what, i), got.ints[i*n:(i+1)*n], want)
		}
		return
	}
	factor := v.rounding(s.dev.Kind()).factor(k, a.dt.IsComplex())
	sum := got.dt // type of the product before it is squared
	if sum.IsHalf() {
		sum = gpk.Float32
	}
	for i := range m {
		for j := range n {
			var p complex128
			var scale float64
			for l := range k {
				x, y := a.values[i*k+l], b.values[l*n+j]
				p += x * y
				scale += modulus(x) * modulus(y)
			}
			e := factor*scale + spacing(sum, modulus(p)+factor*scale)
			want := sqr(p)
			bound := 2*modulus(p)*e + e*e
			bound += 2*spacing(sum, want+bound) + spacing(got.dt, want+bound)
			if d := math.Abs(real(got.values[i*n+j]) - want); !(d <= bound) {
				t.Fatalf("%s: element %d, %d is %v, want %v: %.3g of its bound", what, i, j, got.values[i*n+j], want, d/bound)
			}
		}
	}
}

// hermitian fails unless every element is exactly the conjugate of its mirror
// image.
func hermitian(t testing.TB, what string, x tensor) {
	t.Helper()
	n := x.shape[len(x.shape)-1]
	for i := range size(x.shape) / max(n*n, 1) {
		for r := range n {
			for c := range n {
				p, q := i*n*n+r*n+c, i*n*n+c*n+r
				if exact(x.dt) && x.ints[p] != x.ints[q] || !exact(x.dt) && x.values[p] != cmplx.Conj(x.values[q]) {
					t.Fatalf("%s: element %d, %d is not the conjugate of %d, %d", what, r, c, c, r)
				}
			}
		}
	}
}

// testGram checks AbsSquare and Symmetric, alone and together, for every variety and for
// every way to write the conjugate transpose.
func testGram(t *testing.T, s *suite) {
	sizes := []struct{ n, k int }{{1, 1}, {2, 3}, {17, 33}, {64, 64}, {130, 40}, {257, 24}, {600, 7}, {3, 0}, {0, 4}}
	for _, v := range varieties {
		for _, d := range sizes {
			if quick() && d.n > 200 {
				continue
			}
			a := s.random(v.in, d.n, d.k)
			b := transposed(conjugate(a))
			x := a.array()
			what := fmt.Sprintf("%s %dx%d", v.name, d.n, d.k)
			with := func(opts ...matmul.Option) []matmul.Option { return append(opts, v.opts...) }

			c := evaluate(t, x.MatMul(x.Conj().T(), with(matmul.Symmetric)...))
			s.check(t, what+" symmetric", c, a, b, v, epilogue{})
			hermitian(t, what, c)

			c = evaluate(t, x.MatMul(x.Conj().T(), with(matmul.AbsSquare, matmul.Symmetric)...))
			s.checkSquares(t, what+" squared, symmetric", c, a, b, v)
			hermitian(t, what+" squared", c)

			// A column-major operand, and a destination that is no row of rows.
			y := transposed(a).array().T()
			dst := poison(c.dt, d.n, d.n)
			if err := gpk.Into(dst.T(), y.MatMul(y.T().Conj(), with(matmul.AbsSquare, matmul.Symmetric)...)); err != nil {
				t.Fatal(err)
			}
			c = read(t, dst.T())
			s.checkSquares(t, what+" squared into a transposed view", c, a, b, v)
			hermitian(t, what+" squared into a transposed view", c)
		}
		for _, d := range [][3]int{{1, 5, 7}, {33, 17, 130}, {70, 64, 65}, {129, 300, 2}} {
			a, b := s.random(v.in, d[0], d[1]), s.random(v.in, d[1], d[2])
			for _, f := range arrangements {
				what := fmt.Sprintf("%s %v %s squared", v.name, d, f.name)
				s.checkSquares(t, what, evaluate(t, f.make(s, a).MatMul(f.make(s, b), append([]matmul.Option{matmul.AbsSquare}, v.opts...)...)), a, b, v)
			}
		}
		// A batch of Gram matrices.
		a := s.random(v.in, 3, 40, 19)
		c := evaluate(t, a.array().MatMul(a.array().Conj().T(), append([]matmul.Option{matmul.Symmetric}, v.opts...)...))
		s.checkBatch(t, v.name+" batch, symmetric", c, a, transposed(conjugate(a)), v)
		hermitian(t, v.name+" batch", c)
	}
	x := gpk.Ones(gpk.Float32, 3, 4)
	if err := x.MatMul(gpk.Ones(gpk.Float32, 4, 5), matmul.Symmetric).Err(); !errors.Is(err, gpk.ErrShape) {
		t.Errorf("a symmetric product of 3 x 5: %v", err)
	}
	if err := gpk.LinearBiasReLU(x, gpk.Ones(gpk.Float32, 3, 4), nil, matmul.Symmetric).Err(); !errors.Is(err, gpk.ErrUnsupported) {
		t.Errorf("ReLU of a symmetric product: %v", err)
	}
	if dt := gpk.Ones(gpk.Complex128, 2, 2).MatMul(gpk.Ones(gpk.Complex128, 2, 2), matmul.AbsSquare).DType(); dt != gpk.Float64 {
		t.Errorf("the squared modulus of complex128 is %v", dt)
	}
	s.gramKernels(t)
}

// gramKernels forces every kernel that squares or conjugates in its epilogue.
func (s *suite) gramKernels(t *testing.T) {
	if s.dev.Kind() == device.CPU {
		return
	}
	for _, k := range cutlass.Kernels() {
		if _, ok := s.dev.Library().KernelIndex(k.Name); !ok || !k.AbsSquare && !k.ConjA && !k.ConjB {
			continue
		}
		v := variety{"c64", gpk.Complex64, []matmul.Option{gpk.FullPrecision}, 3e-6}
		if k.Scaled {
			v = variety{"tc64", gpk.Complex64, []matmul.Option{gpk.TF32}, 4e-4}
		}
		for _, d := range [][3]int{{200, 72, 264}, {131, 65, 133}, {1, 64, 1}, {65, 2, 34}} {
			for _, conj := range [][2]bool{{k.ConjA, k.ConjB}, {!k.ConjA, !k.ConjB}, {true, false}, {false, true}} {
				fits := conj == [2]bool{k.ConjA, k.ConjB}
				if k.AbsSquare {
					fits = k.Scaled || k.Split || (conj[0] != conj[1]) == k.ConjB
				}
				if !fits {
					continue
				}
				a, b := s.random(v.in, d[0], d[1]), s.random(v.in, d[1], d[2])
				x, y := as(a, k.MajorA), as(b, k.MajorB)
				if conj[0] {
					a, x = conjugate(a), x.Conj()
				}
				if conj[1] {
					b, y = conjugate(b), y.Conj()
				}
				opts := append([]matmul.Option{matmul.WithKernel(k.Name)}, v.opts...)
				what := fmt.Sprintf("%s %v conjugated %v", k.Name, d, conj)
				if k.AbsSquare {
					s.checkSquares(t, what, evaluate(t, x.MatMul(y, append(opts, matmul.AbsSquare)...)), a, b, v)
				} else {
					s.check(t, what, evaluate(t, x.MatMul(y, opts...)), a, b, v, epilogue{})
				}
			}
		}
		if !k.AbsSquare {
			continue
		}
		// Blocks of a symmetric result, and data that do not fit the form.
		for _, spread := range []float64{0, 40} {
			a := s.random(v.in, 700, 33).scaleBy(func(i int) float64 { return math.Ldexp(1, -int(spread)*(i%2)) })
			b, x := transposed(conjugate(a)), a.array()
			y := x.Conj().T()
			if !k.Scaled && !k.Split && !k.ConjB { // a product with the transpose has symmetric squares too
				b, y = transposed(a), x.T()
			}
			what := fmt.Sprintf("%s symmetric, spread %v", k.Name, spread)
			c := evaluate(t, x.MatMul(y, append([]matmul.Option{matmul.WithKernel(k.Name), matmul.AbsSquare, matmul.Symmetric}, v.opts...)...))
			s.checkSquares(t, what, c, a, b, v)
			hermitian(t, what, c)
		}
	}
}

// testConj checks the values of products of conjugates, which the product's kernel
// conjugates itself, and checks that the conjugates remain ordinary arrays.
func testConj(t *testing.T, s *suite) {
	for _, v := range varieties {
		if !v.in.IsComplex() {
			continue
		}
		for _, d := range [][3]int{{17, 24, 31}, {70, 64, 40}, {1, 9, 1}, {130, 70, 66}} {
			a, b := s.random(v.in, d[0], d[1]), s.random(v.in, d[1], d[2])
			for conj := range 4 {
				for _, f := range arrangements {
					p, q := a, b
					x, y := f.make(s, a), f.make(s, b)
					if conj&1 != 0 {
						p, x = conjugate(a), x.Conj()
					}
					if conj&2 != 0 {
						q, y = conjugate(b), f.make(s, transposed(b)).Conj().T()
					}
					what := fmt.Sprintf("%s %v %s conjugated %b", v.name, d, f.name, conj)
					s.check(t, what, evaluate(t, x.MatMul(y, v.opts...)), p, q, v, epilogue{})
				}
			}
		}
		a := s.random(v.in, 20, 20)
		x := a.array()
		c := x.Conj()
		p := c.MatMul(c.T(), v.opts...)
		again := evaluate(t, c)
		equal(t, v.name+" a conjugate that a product has taken", again, conjugate(a))
		noError(t, x.AddInPlace(1)) // p keeps the contents of x that it reads
		s.check(t, v.name+" before the write", evaluate(t, p), conjugate(a), transposed(conjugate(a)), v, epilogue{})
		y := a.array()
		c = y.Conj()
		p = y.MatMul(c.T(), v.opts...)
		noError(t, y.MulInPlace(0))
		s.check(t, v.name+" of an operand and its conjugate", evaluate(t, p), a, transposed(conjugate(a)), v, epilogue{})
		equal(t, v.name+" a conjugate whose operand was written after a product had consumed it", evaluate(t, c), conjugate(a))
		batch := s.random(v.in, 3, 5, 6)
		got := evaluate(t, batch.array().MatMul(batch.array().Conj().T(), v.opts...))
		s.checkBatch(t, v.name+" batch", got, batch, transposed(conjugate(batch)), v)
	}
}
