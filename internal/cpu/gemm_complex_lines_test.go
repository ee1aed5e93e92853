package cpu

import (
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/testrand"
)

// complexShapes returns shapes of every path of complex products: few rows or columns, short and long
// k, small products, and some that are packed.
func complexShapes(rng *rand.Rand) (shapes [][3]int) {
	few := func() int { return 1 + rng.IntN(maxVectors+1) }
	for range 150 {
		s := [3]int{few(), 1 + rng.IntN(90), 1 + rng.IntN(60)}
		if rng.IntN(2) == 0 {
			s[0], s[1] = s[1], s[0]
		}
		shapes = append(shapes, s, [3]int{1 + rng.IntN(20), 1 + rng.IntN(20), 1 + rng.IntN(20)})
	}
	return append(shapes, [3]int{1, 1, 5000}, [3]int{3, 2, 4099}, [3]int{2, 37, 2049}, [3]int{41, 1, 2100}, [3]int{1, 300, 700},
		[3]int{300, 1, 700}, [3]int{1200, 1, 33}, [3]int{1, 1500, 5}, [3]int{2, 1, 20000}, [3]int{40, 33, 70}, [3]int{90, 20, 129},
		[3]int{1, 40, 0}, [3]int{40, 2, 0}, [3]int{9, 9, 0}, [3]int{0, 1, 9}, [3]int{5, 0, 9})
}

// TestGemmComplexExact compares products of small complex integers, which are exact in any
// order of the additions, with sums of integers.
func TestGemmComplexExact(t *testing.T) {
	withVariants(t, func(t *testing.T) {
		rng := testrand.New(t)
		for _, s := range complexShapes(rng) {
			testComplexExact(t, rng, s, dtype.Complex64, func(re, im int) complex64 { return complex(float32(re), float32(im)) })
			testComplexExact(t, rng, s, dtype.Complex128, func(re, im int) complex128 { return complex(float64(re), float64(im)) })
		}
	})
}

func testComplexExact[C complex64 | complex128](t *testing.T, rng *rand.Rand, s [3]int, dt dtype.DType, join func(re, im int) C) {
	t.Helper()
	m, n, k := s[0], s[1], s[2]
	value := func() C { return join(rng.IntN(15)-7, rng.IntN(15)-7) } // sums stay below 2^24
	poison := C(complex(math.NaN(), 5e5))
	la, lb := layouts[rng.IntN(len(layouts))], layouts[rng.IntN(len(layouts))]
	a, b, c := newMatrix(m, k, la, poison, value), newMatrix(k, n, lb, poison, value), newResult(m, n, poison)
	a.Conj, b.Conj = rng.IntN(2) == 0, rng.IntN(2) == 0
	if n == 1 && rng.IntN(2) == 0 {
		c.ld = 1
	}
	old := runtime.GOMAXPROCS(1 + rng.IntN(4))
	err := Gemm(dt, dt, m, n, k, a.Operand, b.Operand, ptr(c.ptr()), c.ld, nil)
	runtime.GOMAXPROCS(old)
	if err != nil {
		t.Fatal(err)
	}
	c.checkGuards(t)
	parts := func(x C, conj bool) (re, im int) {
		v := complex128(x)
		if conj {
			return int(real(v)), -int(imag(v))
		}
		return int(real(v)), int(imag(v))
	}
	for i := range m {
		for j := range n {
			var re, im int
			for p := range k {
				x, y := parts(a.at(i, p), a.Conj)
				u, v := parts(b.at(p, j), b.Conj)
				re, im = re+x*u-y*v, im+x*v+y*u
			}
			if got := c.at(i, j); got != join(re, im) {
				t.Fatalf("%v %v, %s conj %v, %s conj %v: C[%d, %d] = %v, want %v", dt, s, la, a.Conj, lb, b.Conj, i, j, got, join(re, im))
			}
		}
	}
}

// TestGemmComplexAccuracy compares products of real numbers of very different sizes with sums of 300 bits.
func TestGemmComplexAccuracy(t *testing.T) {
	withVariants(t, func(t *testing.T) {
		rng := testrand.New(t)
		part := func() float64 { return math.Ldexp(rng.NormFloat64(), rng.IntN(20)-10) }
		for range 60 {
			s := [3]int{1 + rng.IntN(6), 1 + rng.IntN(6), 1 + rng.IntN(300)}
			s[rng.IntN(2)] += rng.IntN(12)
			testComplexAccuracy(t, rng, s, dtype.Complex64, u32, func() complex64 { return complex64(complex(part(), part())) })
			testComplexAccuracy(t, rng, s, dtype.Complex128, u64, func() complex128 { return complex(part(), part()) })
		}
	})
}

func testComplexAccuracy[C complex64 | complex128](t *testing.T, rng *rand.Rand, s [3]int, dt dtype.DType, u float64, value func() C) {
	t.Helper()
	m, n, k := s[0], s[1], s[2]
	la, lb := layouts[rng.IntN(len(layouts))], layouts[rng.IntN(len(layouts))]
	poison := C(complex(math.NaN(), math.NaN()))
	a, b, c := newMatrix(m, k, la, poison, value), newMatrix(k, n, lb, poison, value), newResult(m, n, poison)
	a.Conj, b.Conj = rng.IntN(2) == 0, rng.IntN(2) == 0
	if err := Gemm(dt, dt, m, n, k, a.Operand, b.Operand, ptr(c.ptr()), c.ld, nil); err != nil {
		t.Fatal(err)
	}
	float := func(x float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(x) }
	for i := range m {
		for j := range n {
			re, im, absRe, absIm := float(0), float(0), 0.0, 0.0
			add := func(sum *big.Float, abs *float64, x, y float64) {
				sum.Add(sum, float(x).Mul(float(x), float(y)))
				*abs += math.Abs(x * y)
			}
			for p := range k {
				x, y := complex128(a.at(i, p)), complex128(b.at(p, j))
				if a.Conj {
					x = complex(real(x), -imag(x))
				}
				if b.Conj {
					y = complex(real(y), -imag(y))
				}
				add(re, &absRe, real(x), real(y))
				add(re, &absRe, -imag(x), imag(y))
				add(im, &absIm, real(x), imag(y))
				add(im, &absIm, imag(x), real(y))
			}
			got := complex128(c.at(i, j))
			for _, p := range []struct {
				got, abs float64
				want     *big.Float
			}{{real(got), absRe, re}, {imag(got), absIm, im}} {
				if p.got != p.got {
					t.Fatalf("%v %v, %s, %s: C[%d, %d] = %v", dt, s, la, lb, i, j, got)
				}
				d, _ := new(big.Float).Sub(float(p.got), p.want).Float64()
				if !(math.Abs(d) <= bound(2*k, u, p.abs)) {
					t.Fatalf("%v %v, %s conj %v, %s conj %v: C[%d, %d] = %v, want %g %gi", dt, s, la, a.Conj, lb, b.Conj, i, j, got, re, im)
				}
			}
		}
	}
}

// TestGemmComplexNonFinite checks that NaN and infinities reach every part that they take part in, and no other
// element, and that sums of zeros are positive.
func TestGemmComplexNonFinite(t *testing.T) {
	withVariants(t, func(t *testing.T) {
		inf, nan := math.Inf(1), math.NaN()
		for _, s := range [][3]int{{2, 3, 2}, {1, 40, 9}, {40, 1, 9}, {1, 1, 300}, {3, 50, 40}, {60, 2, 3000}, {8, 8, 8}, {40, 70, 300}} {
			m, n, k := s[0], s[1], s[2]
			for x, layout := range []string{"row", "col", "strided", "row", "col"} {
				ones := func() complex128 { return 1 }
				zero := func() complex128 { return complex(0, math.Copysign(0, -1)) }
				a, b := newMatrix(m, k, layout, 0, zero), newMatrix(k, n, layout, 0, ones)
				a.Conj, b.Conj = x > 2, x > 3
				set := func(x *matrix[complex128], i, j int, v complex128) { *offset((*complex128)(x.Data), i*x.RS+j*x.CS) = v }
				set(a, m-1, k-1, complex(inf, 0)) // row m-1: Inf * 1 = Inf, Inf * 0 = NaN
				if n > 1 {
					set(b, 0, n-1, complex(nan, 0)) // column n-1: 0 * NaN = NaN
				}
				c := newResult(m, n, complex128(7))
				if err := Gemm(dtype.Complex128, dtype.Complex128, m, n, k, a.Operand, b.Operand, ptr(c.ptr()), c.ld, nil); err != nil {
					t.Fatal(err)
				}
				for i := range m {
					for j := range n {
						got := c.at(i, j)
						re, im := real(got), imag(got)
						ok := re == 0 && im == 0 && !math.Signbit(re) && !math.Signbit(im)
						switch {
						case n > 1 && j == n-1:
							ok = re != re && im != im
						case i == m-1:
							ok = re == inf && im != im
						}
						if !ok {
							t.Fatalf("%v %s, conj %v %v: C[%d, %d] = %v", s, layout, a.Conj, b.Conj, i, j, got)
						}
					}
				}
			}
		}
	})
}

// TestGemmComplexSameBits checks that the bits depend neither on the number of goroutines, nor on the operands'
// addresses, nor on whether a product is one of a batch.
func TestGemmComplexSameBits(t *testing.T) {
	rng := testrand.New(t)
	testComplexSameBits(t, rng, dtype.Complex64, func() complex64 { return complex64(complex(rng.NormFloat64(), rng.NormFloat64())) })
	testComplexSameBits(t, rng, dtype.Complex128, func() complex128 { return complex(rng.NormFloat64(), rng.NormFloat64()) })
}

func testComplexSameBits[C complex64 | complex128](t *testing.T, rng *rand.Rand, dt dtype.DType, value func() C) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, s := range [][4]int{
		{1, 1500, 1, 300},
		{1, 1, 1500, 300},
		{1, 700, 3, 257},
		{1, 40, 1, 30000},
		{1, 40, 1, 3000},
		{500, 2, 2, 2},
		{300, 16, 1, 16},
		{300, 16, 16, 16},
		{100, 7, 6, 90},
		{3, 150, 70, 110},
	} {
		batch, m, n, k := s[0], s[1], s[2], s[3]
		for _, layout := range []string{"row", "col", "pitch"} {
			a, b := make([]C, 2*batch*m*k+1), make([]C, batch*k*n+1)
			for i := range a {
				a[i] = value()
			}
			for i := range b {
				b[i] = value()
			}
			left, right := Operand{Data: at0(a), RS: k, CS: 1}, Operand{Data: at0(b), RS: n, CS: 1, Conj: true}
			switch layout {
			case "col":
				left.RS, left.CS = 1, m
				right.RS, right.CS = 1, k
			case "pitch":
				left.RS, left.CS = 2*k, 2
			}
			want := make([]C, batch*m*n)
			runtime.GOMAXPROCS(1)
			for i := range batch {
				x, y := left, right
				x.Data, y.Data = ptr(&a[i*2*m*k]), ptr(&b[i*k*n])
				if err := Gemm(dt, dt, m, n, k, x, y, ptr(&want[i*m*n]), n, nil); err != nil {
					t.Fatal(err)
				}
			}
			for shift, procs := range []int{2, 3, 16} {
				a, b := append(make([]C, shift), a...), append(make([]C, shift+1), b...)
				left.Data, right.Data = ptr(&a[shift]), ptr(&b[shift+1])
				runtime.GOMAXPROCS(procs)
				c := make([]C, batch*m*n)
				if err := GemmBatch(dt, dt, batch, m, n, k, left, 2*m*k, right, k*n, at0(c), m*n, n, nil); err != nil {
					t.Fatal(err)
				}
				for i := range c {
					if c[i] != want[i] {
						t.Fatalf("%v %v %s: element %d is %v with %d goroutines, %v alone", dt, s, layout, i, c[i], procs, want[i])
					}
				}
			}
		}
	}
}
