package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/dtype/bfloat16"
	"github.com/gpk-go/gpk/internal/testrand"
	"github.com/x448/float16"
)

// layouts are the layouts that the tests give to operands.
var layouts = []string{"row", "col", "row pitch", "col pitch", "strided", "reversed", "row reversed", "repeated row", "repeated col"}

// matrix is an operand and its values.
type matrix[E any] struct {
	Operand
	store []E // keeps Data reachable
	rows  int
	cols  int
}

func (m *matrix[E]) at(i, j int) E { return *offset((*E)(m.Data), i*m.RS+j*m.CS) }

// newMatrix makes a matrix with the given layout and fills the gaps between elements with poison.
func newMatrix[E any](rows, cols int, layout string, poison E, value func() E) *matrix[E] {
	m := &matrix[E]{rows: rows, cols: cols}
	switch layout {
	case "row":
		m.RS, m.CS = cols, 1
	case "col":
		m.RS, m.CS = 1, rows
	case "row pitch":
		m.RS, m.CS = cols+3, 1
	case "col pitch":
		m.RS, m.CS = 1, rows+5
	case "strided":
		m.RS, m.CS = 3*cols+1, 3
	case "reversed":
		m.RS, m.CS = -cols, -1
	case "row reversed":
		m.RS, m.CS = -cols, 1
	case "repeated row":
		m.RS, m.CS = 0, 1
	case "repeated col":
		m.RS, m.CS = 1, 0
	default:
		panic(layout)
	}
	low := min(0, (rows-1)*m.RS) + min(0, (cols-1)*m.CS)
	high := max(0, (rows-1)*m.RS) + max(0, (cols-1)*m.CS)
	if rows == 0 || cols == 0 {
		low, high = 0, 0
	}
	m.store = make([]E, high-low+1)
	for i := range m.store {
		m.store[i] = poison
	}
	m.Data = unsafe.Pointer(&m.store[-low])
	for i := range rows {
		for j := range cols {
			*offset((*E)(m.Data), i*m.RS+j*m.CS) = value()
		}
	}
	return m
}

// result is a poisoned row-major m x n matrix with guards on all sides.
type result[E comparable] struct {
	store      []E
	rows, cols int
	ld         int
	poison     E
}

const guard = 70 // elements before and after

func newResult[E comparable](rows, cols int, poison E) *result[E] {
	r := &result[E]{rows: rows, cols: cols, ld: cols + 3, poison: poison}
	r.store = make([]E, rows*r.ld+2*guard)
	for i := range r.store {
		r.store[i] = poison
	}
	return r
}

func (r *result[E]) ptr() *E { return &r.store[guard] }

func (r *result[E]) at(i, j int) E { return r.store[guard+i*r.ld+j] }

// checkGuards fails if anything outside the matrix was written. It compares bits, because
// NaN is not equal to itself.
func (r *result[E]) checkGuards(t *testing.T) {
	t.Helper()
	for x := range r.store {
		at := x - guard
		inside := at >= 0 && at < r.rows*r.ld && at%r.ld < r.cols
		if !inside && fmt.Sprint(r.store[x]) != fmt.Sprint(r.poison) {
			t.Fatalf("wrote %v outside, %d elements after C's first", r.store[x], at)
		}
	}
}

// pairwise returns triples of the values such that every pair of values
// meets in every two of the three places.
func pairwise(values []int) (triples [][3]int) {
	n := len(values)
	for i := range n {
		for j := range n {
			// A Latin square: the third is determined by the first two.
			triples = append(triples, [3]int{values[i], values[j], values[(i+j)%n]})
		}
	}
	return triples
}

var sizes = []int{0, 1, 2, 15, 16, 17, 31, 63, 100, 127, 129, 511}

// withVariants runs f once for each variant of the machine.
func withVariants(t *testing.T, f func(t *testing.T)) {
	for i := range variants32 {
		t.Run(variants32[i].name, func(t *testing.T) {
			old32, old64, old := use32, use64, use
			defer func() { use32, use64, use = old32, old64, old }()
			use32, use64 = variants32[i], variants64[i]
			if i == len(variants32)-1 {
				use = converters{}.loaders()
			}
			f(t)
		})
	}
}

// bound returns the largest error of a sum of k products whose absolute values add up to abs, in a
// precision of unit roundoff u, in any order.
func bound(k int, u, abs float64) float64 { return 1.01*float64(k+2)*u*abs + 1e-300 }

const (
	u32 = 1.0 / (1 << 24)
	u64 = 1.0 / (1 << 53)
)

func TestGemm32(t *testing.T) {
	withVariants(t, func(t *testing.T) {
		rng := testrand.New(t)
		nan := float32(math.NaN())
		value := func() float32 { return float32(rng.NormFloat64()) }
		for x, s := range pairwise(sizes) {
			m, n, k := s[0], s[1], s[2]
			la, lb := layouts[x%len(layouts)], layouts[(x/len(layouts))%len(layouts)]
			a, b := newMatrix(m, k, la, nan, value), newMatrix(k, n, lb, nan, value)
			c := newResult(m, n, nan)
			Gemm32(m, n, k, (*float32)(a.Data), a.RS, a.CS, (*float32)(b.Data), b.RS, b.CS, c.ptr(), c.ld)
			checkProduct(t, fmt.Sprintf("%dx%dx%d %s, %s", m, n, k, la, lb), rng, a, b, c, u32)
			if t.Failed() {
				return
			}
		}
	})
}

func TestGemm64(t *testing.T) {
	withVariants(t, func(t *testing.T) {
		rng := testrand.New(t)
		value := rng.NormFloat64
		for x, s := range pairwise(sizes) {
			m, n, k := s[0], s[1], s[2]
			la, lb := layouts[x%len(layouts)], layouts[(x/len(layouts))%len(layouts)]
			a, b := newMatrix(m, k, la, math.NaN(), value), newMatrix(k, n, lb, math.NaN(), value)
			c := newResult(m, n, math.NaN())
			Gemm64(m, n, k, (*float64)(a.Data), a.RS, a.CS, (*float64)(b.Data), b.RS, b.CS, c.ptr(), c.ld)
			checkProduct(t, fmt.Sprintf("%dx%dx%d %s, %s", m, n, k, la, lb), rng, a, b, c, 2*u64)
			if t.Failed() {
				return
			}
		}
	})
}

// sampler returns which elements of an m x n product over k to check: all of
// a small product's, 20,000 multiplications' worth of a larger one's, the
// last row and column always.
func sampler(rng *rand.Rand, m, n, k int) func(i, j int) bool {
	keep := 20000 / float64(m*n*k+1)
	return func(i, j int) bool { return i == m-1 || j == n-1 || rng.Float64() <= keep }
}

// checkProduct compares C with the product in float64.
func checkProduct[T floating](t *testing.T, what string, rng *rand.Rand, a, b *matrix[T], c *result[T], u float64) {
	t.Helper()
	c.checkGuards(t)
	m, n, k := a.rows, b.cols, a.cols
	checked := sampler(rng, m, n, k)
	for i := range m {
		for j := range n {
			if !checked(i, j) {
				if got := c.at(i, j); got != got {
					t.Fatalf("%s: C[%d, %d] is NaN", what, i, j)
				}
				continue
			}
			var want, abs float64
			for p := range k {
				x := float64(a.at(i, p)) * float64(b.at(p, j))
				want += x
				abs += math.Abs(x)
			}
			if got := float64(c.at(i, j)); !(math.Abs(got-want) <= bound(k, u, abs)) {
				t.Fatalf("%s: C[%d, %d] = %v, want %v", what, i, j, got, want)
			}
		}
	}
}

// Products of small integers are exact, so every variant must give the bits
// of mulLoop. The tile's neighbours must stay.
func TestMicroKernels(t *testing.T) {
	rng := testrand.New(t)
	for _, v := range variants32 {
		t.Run("float32 "+v.name, func(t *testing.T) { testMicroKernel(t, v, rng) })
	}
	for _, v := range variants64 {
		t.Run("float64 "+v.name, func(t *testing.T) { testMicroKernel(t, v, rng) })
	}
}

// TestVariants skips, by name, the variants that this processor cannot run.
func TestVariants(t *testing.T) {
	all := map[string][]string{"amd64": {"avx512 12x32", "avx2 6x16"}, "arm64": {"neon 8x12"}}[runtime.GOARCH]
	for _, name := range append(all, "go4x4") {
		t.Run(name, func(t *testing.T) {
			if !slices.ContainsFunc(variants32, func(v *variant[float32]) bool { return v.name == name }) {
				t.Skip("neither this processor nor this build has it: its kernels were not tested")
			}
		})
	}
}

func testMicroKernel[T floating](t *testing.T, v *variant[T], rng *rand.Rand) {
	for k := 1; k <= 21; k++ {
		for _, add := range []bool{false, true} {
			a, b := make([]T, v.mr*k), make([]T, v.nr*k)
			for _, x := range [][]T{a, b} {
				for i := range x {
					x[i] = T(rng.IntN(19) - 9)
				}
			}
			ld := v.nr + 5
			want := make([]T, v.mr*ld)
			for i := range want {
				want[i] = T(rng.IntN(100))
			}
			got := append([]T(nil), want...)
			mulLoop(v.mr, v.nr, k, &a[0], &b[0], &want[0], ld, add)
			v.mul(k, &a[0], &b[0], &got[0], ld, add)
			for i := range want {
				if got[i] != want[i] {
					t.Fatalf("k=%d add=%v: element (%d, %d) is %v, want %v", k, add, i/ld, i%ld, got[i], want[i])
				}
			}
			if v.mulHalf == nil {
				continue
			}
			// Each half has the same bits as mul's result, and writes no other elements.
			for _, x := range [][]T{a, b, want} {
				for i := range x {
					x[i] = T(rng.NormFloat64())
				}
			}
			half := v.nr / 2
			for _, from := range []int{0, half} {
				whole, got := slices.Clone(want), slices.Clone(want)
				v.mul(k, &a[0], &b[0], &whole[0], ld, add)
				v.mulHalf(k, &a[0], &b[from], &got[from], ld, add)
				for i := range got {
					w := want[i]
					if j := i % ld; j >= from && j < from+half {
						w = whole[i]
					}
					if got[i] != w {
						t.Fatalf("k=%d add=%v, half from %d: element (%d, %d) is %v, want %v", k, add, from, i/ld, i%ld, got[i], w)
					}
				}
			}
		}
	}
}

func TestVectorKernels(t *testing.T) {
	rng := testrand.New(t)
	for _, v := range variants32 {
		t.Run("float32 "+v.name, func(t *testing.T) { testVectorKernels(t, v, rng) })
	}
	for _, v := range variants64 {
		t.Run("float64 "+v.name, func(t *testing.T) { testVectorKernels(t, v, rng) })
	}
}

func testVectorKernels[T floating](t *testing.T, v *variant[T], rng *rand.Rand) {
	integers := func(n int) []T {
		x := make([]T, n)
		for i := range x {
			x[i] = T(rng.IntN(19) - 9)
		}
		return x
	}
	for n := 1; n <= 70; n++ {
		x, y := integers(n), integers(n+1)
		if got, want := v.dot(&x[0], &y[0], n), dotGo(&x[0], &y[0], n); got != want {
			t.Fatalf("dot of %d elements is %v, want %v", n, got, want)
		}
		ld := n + 3
		a, want := integers(4*ld), integers(n+1)
		got, x := append([]T(nil), want...), integers(4)
		axpy4Go(&want[0], &x[0], &a[0], ld, n)
		v.axpy4(&got[0], &x[0], &a[0], ld, n)
		if !slices.Equal(got, want) {
			t.Fatalf("axpy4 of %d elements is %v, want %v", n, got, want)
		}
	}
}

// The chain of additions runs along k in every variant: with real numbers
// they differ from mulLoop only by the rounding of the products.
func TestMicroKernelOrder(t *testing.T) {
	const k = 64
	for _, v := range variants32 {
		a, b := make([]float32, v.mr*k), make([]float32, v.nr*k)
		// 1, then 63 times half a unit in the last place of 1: a chain that
		// starts with 1 stays there, any other order adds them up first.
		for p := range k {
			for i := range v.mr {
				a[p*v.mr+i] = u32
				if p == 0 {
					a[i] = 1
				}
			}
			for j := range v.nr {
				b[p*v.nr+j] = 1
			}
		}
		c := make([]float32, v.mr*v.nr)
		v.mul(k, &a[0], &b[0], &c[0], v.nr, false)
		for i, x := range c {
			if x != 1 {
				t.Fatalf("%s: element %d is %v, want 1", v.name, i, x)
			}
		}
	}
}

func TestGemmHalf(t *testing.T) {
	withVariants(t, func(t *testing.T) {
		rng := testrand.New(t)
		for _, in := range []dtype.DType{dtype.Float16, dtype.BFloat16} {
			encode := func(x float64) uint16 {
				if in == dtype.Float16 {
					return float16.Fromfloat32(float32(x)).Bits()
				}
				return bfloat16.FromFloat32(float32(x)).Bits()
			}
			decode := func(b uint16) float64 {
				if in == dtype.Float16 {
					return float64(float16.Frombits(b).Float32())
				}
				return float64(bfloat16.FromBits(b).Float32())
			}
			ulp := map[dtype.DType]float64{dtype.Float16: 1.0 / (1 << 11), dtype.BFloat16: 1.0 / (1 << 8)}[in]
			const poison = 0x7fff // a NaN in both
			value := func() uint16 { return encode(rng.NormFloat64()) }
			for x, s := range pairwise([]int{0, 1, 2, 7, 17, 33, 129, 300}) {
				m, n, k := s[0], s[1], s[2]
				la, lb := layouts[x%len(layouts)], layouts[(x/len(layouts))%len(layouts)]
				a, b := newMatrix(m, k, la, uint16(poison), value), newMatrix(k, n, lb, uint16(poison), value)
				bias := make([]uint16, n+1)
				for j := range bias {
					bias[j] = value()
				}
				half, single := newResult(m, n, uint16(poison)), newResult(m, n, float32(math.NaN()))
				ep := &Epilogue{Alpha: 0.5, Bias: unsafe.Pointer(&bias[0])}
				if err := GemmHalf(in, in, m, n, k, a.Operand, b.Operand, ptr(half.ptr()), half.ld, ep); err != nil {
					t.Fatal(err)
				}
				if err := GemmHalf(in, dtype.Float32, m, n, k, a.Operand, b.Operand, ptr(single.ptr()), single.ld, nil); err != nil {
					t.Fatal(err)
				}
				half.checkGuards(t)
				single.checkGuards(t)
				checked := sampler(rng, m, n, k)
				for i := range m {
					for j := range n {
						if !checked(i, j) {
							continue
						}
						var want, abs float64
						for p := range k {
							y := decode(a.at(i, p)) * decode(b.at(p, j))
							want += y
							abs += math.Abs(y)
						}
						limit := bound(k, u32, abs)
						if got := float64(single.at(i, j)); !(math.Abs(got-want) <= limit) {
							t.Fatalf("%v %v %s, %s: float32 C[%d, %d] = %v, want %v", in, s, la, lb, i, j, got, want)
						}
						want = want/2 + decode(bias[j])
						if got := decode(half.at(i, j)); !(math.Abs(got-want) <= limit+ulp*math.Abs(want)*1.001+1e-7) {
							t.Fatalf("%v %v %s, %s: C[%d, %d] = %v, want %v", in, s, la, lb, i, j, got, want)
						}
					}
				}
			}
		}
	})
}

func TestGemmComplex(t *testing.T) {
	withVariants(t, func(t *testing.T) {
		rng := testrand.New(t)
		nan := math.NaN()
		for x, s := range pairwise([]int{0, 1, 2, 7, 13, 40, 129, 200}) {
			conjA, conjB := x&1 > 0, x&2 > 0
			la, lb := layouts[x%len(layouts)], layouts[(x/len(layouts))%len(layouts)]
			testComplex(t, rng, s, la, lb, conjA, conjB, complex(nan, nan), u64,
				func() complex128 { return complex(rng.NormFloat64(), rng.NormFloat64()) },
				func(a, b *matrix[complex128], c *result[complex128]) {
					GemmComplex128(s[0], s[1], s[2], (*complex128)(a.Data), a.RS, a.CS, conjA, (*complex128)(b.Data), b.RS, b.CS, conjB, c.ptr(), c.ld)
				})
			testComplex(t, rng, s, la, lb, conjA, conjB, complex64(complex(nan, nan)), u32,
				func() complex64 { return complex64(complex(rng.NormFloat64(), rng.NormFloat64())) },
				func(a, b *matrix[complex64], c *result[complex64]) {
					GemmComplex64(s[0], s[1], s[2], (*complex64)(a.Data), a.RS, a.CS, conjA, (*complex64)(b.Data), b.RS, b.CS, conjB, c.ptr(), c.ld)
				})
		}
	})
}

func testComplex[C complex64 | complex128](t *testing.T, rng *rand.Rand, s [3]int, la, lb string, conjA, conjB bool, poison C, u float64,
	value func() C, run func(a, b *matrix[C], c *result[C]),
) {
	t.Helper()
	m, n, k := s[0], s[1], s[2]
	a, b, c := newMatrix(m, k, la, poison, value), newMatrix(k, n, lb, poison, value), newResult(m, n, poison)
	run(a, b, c)
	c.checkGuards(t)
	conj := func(x complex128, yes bool) complex128 {
		if yes {
			return complex(real(x), -imag(x))
		}
		return x
	}
	checked := sampler(rng, m, n, k)
	for i := range m {
		for j := range n {
			if !checked(i, j) {
				continue
			}
			var want complex128
			var abs float64
			for p := range k {
				x, y := conj(complex128(a.at(i, p)), conjA), conj(complex128(b.at(p, j)), conjB)
				want += x * y
				abs += (math.Abs(real(x)) + math.Abs(imag(x))) * (math.Abs(real(y)) + math.Abs(imag(y)))
			}
			d := complex128(c.at(i, j)) - want
			if limit := 2 * bound(2*k, u, abs); !(math.Abs(real(d)) <= limit && math.Abs(imag(d)) <= limit) {
				t.Fatalf("%v %s conj %v, %s conj %v: C[%d, %d] = %v, want %v", s, la, conjA, lb, conjB, i, j, c.at(i, j), want)
			}
		}
	}
}

func TestGemmInt(t *testing.T) {
	withVariants(t, func(t *testing.T) {
		rng := testrand.New(t)
		shapes := pairwise([]int{0, 1, 2, 9, 33, 129, 300})
		for _, s := range [][3]int{{2500, 1, 100}, {1, 2500, 100}, {2500, 4, 37}, {3, 2500, 37}} { // several goroutines
			for range layouts {
				shapes = append(shapes, s)
			}
		}
		for x, s := range shapes {
			la, lb := layouts[x%len(layouts)], layouts[(x/len(layouts))%len(layouts)]
			// Extremes often, so that sums are as long as they can be.
			testInt[int8, int32](t, rng, dtype.Int8, s, la, lb, func() int8 { return int8(-128 + rng.IntN(2)*rng.IntN(256)) })
			testInt[uint8, int32](t, rng, dtype.Uint8, s, la, lb, func() uint8 { return uint8(255 - rng.IntN(2)*rng.IntN(256)) })
			testInt[int32, int32](t, rng, dtype.Int32, s, la, lb, func() int32 { return int32(rng.Uint32()) })
			testInt[int64, int64](t, rng, dtype.Int64, s, la, lb, func() int64 { return int64(rng.Uint64()) })
		}
	})
}

func testInt[E int8 | uint8 | int32 | int64, O int32 | int64](t *testing.T, rng *rand.Rand, d dtype.DType, s [3]int, la, lb string, value func() E) {
	t.Helper()
	m, n, k := s[0], s[1], s[2]
	a, b, c := newMatrix(m, k, la, 77, value), newMatrix(k, n, lb, 77, value), newResult(m, n, O(-12345))
	if err := GemmInt(d, m, n, k, a.Operand, b.Operand, ptr(c.ptr()), c.ld); err != nil {
		t.Fatal(err)
	}
	c.checkGuards(t)
	checked := sampler(rng, m, n, k)
	for i := range m {
		for j := range n {
			if !checked(i, j) {
				continue
			}
			var want O
			for p := range k {
				want += O(a.at(i, p)) * O(b.at(p, j))
			}
			if got := c.at(i, j); got != want {
				t.Fatalf("%v %v %s, %s: C[%d, %d] = %v, want %v", d, s, la, lb, i, j, got, want)
			}
		}
	}
}

// TestConverters compares the converters with their scalar forms, for vectors of every
// length and every value of the halves.
func TestConverters(t *testing.T) {
	same := func(a, b float32) bool { return a == b || a != a && b != b }
	n := 1 << 16
	f16, b16 := make([]float16.Float16, n), make([]bfloat16.BFloat16, n)
	for i := range n {
		f16[i], b16[i] = float16.Frombits(uint16(i)), bfloat16.FromBits(uint16(i))
	}
	got := make([]float32, n)
	use.real[dtype.Float16](got, nil, ptr(&f16[0]), 1, n)
	for i, v := range got {
		if !same(v, f16[i].Float32()) {
			t.Fatalf("float16 %#04x is %v, want %v", i, v, f16[i].Float32())
		}
	}
	use.real[dtype.BFloat16](got, nil, ptr(&b16[0]), 1, n)
	for i, v := range got {
		if !same(v, b16[i].Float32()) {
			t.Fatalf("bfloat16 %#04x is %v, want %v", i, v, b16[i].Float32())
		}
	}

	// Down: a random float32, one of few fraction bits (ties), and the like.
	rng := testrand.New(t)
	for i := range got {
		got[i] = math.Float32frombits(rng.Uint32() & (0xffffffff << rng.IntN(24)))
	}
	one := region[float32]{data: &got[0], ld: len(got), rows: 1, cols: len(got)}
	narrow(&f16[0], len(got), one, nil, use.storeF16, float16.Fromfloat32)
	narrow(&b16[0], len(got), one, nil, use.storeBF16, bfloat16.FromFloat32)
	for i, v := range got {
		if want := float16.Fromfloat32(v); !same(f16[i].Float32(), want.Float32()) {
			t.Fatalf("%v as float16 is %v, want %v", v, f16[i], want)
		}
		if want := bfloat16.FromFloat32(v); !same(b16[i].Float32(), want.Float32()) {
			t.Fatalf("%v as bfloat16 is %v, want %v", v, b16[i], want)
		}
	}
}

func TestEpilogue(t *testing.T) {
	reference := map[Activation]func(x float64) float64{
		ActNone: func(x float64) float64 { return x },
		ActReLU: func(x float64) float64 { return math.Max(x, 0) },
		ActGELU: func(x float64) float64 { return x * (1 + math.Erf(x/math.Sqrt2)) / 2 },
		ActGELUTanh: func(x float64) float64 {
			return x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x))) / 2
		},
		ActSiLU: func(x float64) float64 { return x / (1 + math.Exp(-x)) },
	}
	withVariants(t, func(t *testing.T) {
		rng := testrand.New(t)
		for act, f := range reference {
			for _, s := range [][3]int{{1, 1, 1}, {1, 300, 40}, {300, 1, 40}, {5, 7, 0}, {50, 70, 20}, {130, 67, 600}} {
				m, n, k := s[0], s[1], s[2]
				value := func() float64 { return rng.NormFloat64() / math.Sqrt(float64(k+1)) }
				a, b := newMatrix(m, k, "row", math.NaN(), value), newMatrix(k, n, "col", math.NaN(), value)
				a32 := newMatrix(m, k, "row", float32(math.NaN()), func() float32 { return 0 })
				b32 := newMatrix(k, n, "col", float32(math.NaN()), func() float32 { return 0 })
				bias, bias32 := make([]float64, n), make([]float32, n)
				for i := range a32.store {
					a32.store[i] = float32(a.store[i])
					a.store[i] = float64(a32.store[i])
				}
				for i := range b32.store {
					b32.store[i] = float32(b.store[i])
					b.store[i] = float64(b32.store[i])
				}
				for j := range bias {
					bias32[j] = float32(rng.NormFloat64())
					bias[j] = float64(bias32[j])
				}
				c, c32 := newResult(m, n, math.NaN()), newResult(m, n, float32(math.NaN()))
				const alpha = 1.5
				if err := Gemm(dtype.Float64, dtype.Float64, m, n, k, a.Operand, b.Operand, ptr(c.ptr()), c.ld,
					&Epilogue{Alpha: alpha, Bias: ptr(&bias[0]), Act: act}); err != nil {
					t.Fatal(err)
				}
				if err := Gemm(dtype.Float32, dtype.Float32, m, n, k, a32.Operand, b32.Operand, ptr(c32.ptr()), c32.ld,
					&Epilogue{Alpha: alpha, Bias: ptr(&bias32[0]), Act: act}); err != nil {
					t.Fatal(err)
				}
				c.checkGuards(t)
				c32.checkGuards(t)
				checked := sampler(rng, m, n, k)
				for i := range m {
					for j := range n {
						if !checked(i, j) {
							continue
						}
						var sum, abs float64
						for p := range k {
							sum += a.at(i, p) * b.at(p, j)
							abs += math.Abs(a.at(i, p) * b.at(p, j))
						}
						want := f(alpha*sum + bias[j])
						// No activation's slope exceeds 1.13.
						limit := 3*bound(k, u64, abs) + 1e-14
						if got := c.at(i, j); !(math.Abs(got-want) <= limit) {
							t.Fatalf("float64 %v act %d: C[%d, %d] = %v, want %v", s, act, i, j, got, want)
						}
						limit = 2*bound(k, u32, abs) + u32*math.Abs(want)
						if got := float64(c32.at(i, j)); !(math.Abs(got-want) <= limit+1e-14) {
							t.Fatalf("float32 %v act %d: C[%d, %d] = %v, want %v", s, act, i, j, got, want)
						}
					}
				}
			}
		}
	})
}

// TestActivations checks that the fast activations agree with the exact ones to 4e-9, and that
// results which are not finite are equal.
func TestActivations(t *testing.T) {
	for act := ActNone; act <= ActSiLU; act++ {
		for x := -40.0; x <= 40; x += 1.0 / 512 {
			want, got := act.exact(x), act.approximate(x)
			if !(math.Abs(got-want) <= 4e-9*math.Abs(want)+1e-60) {
				t.Fatalf("act %d of %v is %v, want %v", act, x, got, want)
			}
		}
		for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e300, -1e300, 1e-300, 0} {
			want, got := act.exact(x), act.approximate(x)
			if !(got == want || got != got && want != want || math.Abs(got/want-1) < 4e-9) {
				t.Fatalf("act %d of %v is %v, want %v", act, x, got, want)
			}
		}
	}
}

// TestGemmNonFinite checks that NaN and infinities propagate as IEEE 754 says: nothing skips a zero.
func TestGemmNonFinite(t *testing.T) {
	withVariants(t, func(t *testing.T) {
		inf, nan := float32(math.Inf(1)), float32(math.NaN())
		for _, s := range [][3]int{{1, 40, 9}, {40, 1, 9}, {3, 3, 3}, {40, 70, 300}} {
			m, n, k := s[0], s[1], s[2]
			for _, layout := range []string{"row", "col"} {
				zero := func() float32 { return 0 }
				a, b := newMatrix(m, k, layout, 0, zero), newMatrix(k, n, layout, 0, zero)
				set := func(x *matrix[float32], i, j int, v float32) { *offset((*float32)(x.Data), i*x.RS+j*x.CS) = v }
				set(a, m-1, k-1, inf) // row m-1: Inf * 0 = NaN
				set(b, 0, n-1, nan)   // column n-1: 0 * NaN = NaN
				c := newResult(m, n, float32(7))
				Gemm32(m, n, k, (*float32)(a.Data), a.RS, a.CS, (*float32)(b.Data), b.RS, b.CS, c.ptr(), c.ld)
				for i := range m {
					for j := range n {
						got := c.at(i, j)
						if i == m-1 || j == n-1 {
							if got == got {
								t.Fatalf("%v %s: C[%d, %d] = %v, want NaN", s, layout, i, j, got)
							}
						} else if got != 0 {
							t.Fatalf("%v %s: C[%d, %d] = %v, want 0", s, layout, i, j, got)
						}
					}
				}
			}
		}
	})
}

// TestGemmDeterministic checks that the bits do not depend on the number of goroutines.
func TestGemmDeterministic(t *testing.T) {
	withVariants(t, func(t *testing.T) {
		rng := testrand.New(t)
		value := func() float32 { return float32(rng.NormFloat64()) }
		for _, s := range [][3]int{{130, 140, 300}, {1, 3000, 400}, {3000, 1, 400}, {3, 1500, 300}, {600, 20, 500}} {
			m, n, k := s[0], s[1], s[2]
			for _, layout := range []string{"row", "col"} {
				a, b := newMatrix(m, k, layout, 0, value), newMatrix(k, n, layout, 0, value)
				var first *result[float32]
				for _, procs := range []int{1, 2, 3, 16} {
					c := newResult(m, n, float32(math.NaN()))
					old := runtime.GOMAXPROCS(procs)
					Gemm32(m, n, k, (*float32)(a.Data), a.RS, a.CS, (*float32)(b.Data), b.RS, b.CS, c.ptr(), c.ld)
					runtime.GOMAXPROCS(old)
					if first == nil {
						first = c
						continue
					}
					for i := range m {
						for j := range n {
							if c.at(i, j) != first.at(i, j) {
								t.Fatalf("%v %s: C[%d, %d] is %v with %d goroutines, %v with one", s, layout, i, j, c.at(i, j), procs, first.at(i, j))
							}
						}
					}
				}
			}
		}
	})
}

func BenchmarkGemm32(b *testing.B) {
	for _, n := range []int{8, 16, 32, 64, 128, 256, 512, 1024, 2048} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) { benchmarkSquare(b, n, Gemm32) })
	}
}

func BenchmarkGemm64(b *testing.B) {
	for _, n := range []int{64, 256, 512, 1024, 2048} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) { benchmarkSquare(b, n, Gemm64) })
	}
}

func BenchmarkGemv32(b *testing.B) {
	const n = 4096
	m, x, y := normal[float32](n*n), normal[float32](n), make([]float32, n)
	for _, c := range []struct {
		name   string
		rs, cs int
	}{{"row", n, 1}, {"col", 1, n}} {
		b.Run(fmt.Sprintf("layout=%s/n=%d", c.name, n), func(b *testing.B) {
			b.SetBytes(4 * n * n)
			for b.Loop() {
				Gemm32(n, 1, n, &m[0], c.rs, c.cs, &x[0], 1, 1, &y[0], 1)
			}
		})
	}
}

func BenchmarkGemmKinds(b *testing.B) {
	const n = 1024
	for _, t := range []dtype.DType{dtype.Float16, dtype.BFloat16, dtype.Int8, dtype.Int32, dtype.Complex64, dtype.Complex128} {
		b.Run(fmt.Sprintf("dtype=%v/n=%d", t, n), func(b *testing.B) {
			out := t
			if t == dtype.Int8 {
				out = dtype.Int32
			}
			x, y, z := make([]byte, n*n*t.Size()), make([]byte, n*n*t.Size()), make([]byte, n*n*out.Size())
			for b.Loop() {
				if err := Gemm(t, out, n, n, n, Operand{Data: ptr(&x[0]), RS: n, CS: 1}, Operand{Data: ptr(&y[0]), RS: n, CS: 1}, ptr(&z[0]), n, nil); err != nil {
					b.Fatal(err)
				}
			}
			flops := 2.0 * n * n * n
			if t.IsComplex() {
				flops *= 4
			}
			b.ReportMetric(flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}

func benchmarkSquare[T floating](b *testing.B, n int, gemm func(m, n, k int, a *T, ars, acs int, b *T, brs, bcs int, c *T, crs int)) {
	x, y, z := normal[T](n*n), normal[T](n*n), make([]T, n*n)
	for b.Loop() {
		gemm(n, n, n, &x[0], n, 1, &y[0], n, 1, &z[0], n)
	}
	b.ReportMetric(2*float64(n)*float64(n)*float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

func normal[T floating](n int) []T {
	rng := rand.New(rand.NewPCG(1, 2))
	x := make([]T, n)
	for i := range x {
		x[i] = T(rng.NormFloat64())
	}
	return x
}

// TestCutForWorkers checks that products of few rows are cut into at least two tasks for each
// worker, if there are enough tiles.
func TestCutForWorkers(t *testing.T) {
	for _, c := range []struct{ m, n, workers int }{{253, 384, 8}, {253, 1152, 8}, {614, 384, 8}, {1149, 1536, 8}, {100, 1536, 4}} {
		v := use32
		p := product[float32]{v: v, m: c.m, n: c.n, k: 384}
		panels := ceilDiv(c.n, v.nr)
		mc, jc := p.cut(panels, 192*4, c.workers)
		if tasks := ceilDiv(c.m, mc) * ceilDiv(panels, jc); tasks < 2*c.workers {
			t.Errorf("%d x %d is cut into %d tasks for %d workers", c.m, c.n, tasks, c.workers)
		}
		if mc%v.mr != 0 {
			t.Errorf("a task of %d rows does not end with a tile of %d", mc, v.mr)
		}
	}
}
