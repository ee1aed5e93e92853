package cpu

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestUnpacked checks that an unpacked product has the bits of the packed one, for every
// variant, shape, layout and number of goroutines, and that it writes nothing outside C.
func TestUnpacked(t *testing.T) {
	rng := testrand.New(t)
	for _, v := range variants32 {
		t.Run("float32 "+v.name, func(t *testing.T) { testUnpacked(t, v, rng, float32(math.NaN())) })
	}
	for _, v := range variants64 {
		t.Run("float64 "+v.name, func(t *testing.T) { testUnpacked(t, v, rng, math.NaN()) })
	}
}

func testUnpacked[T floating](t *testing.T, v *variant[T], rng *rand.Rand, nan T) {
	if v.mulUnpacked == nil {
		if v.name != "go4x4" {
			t.Fatal("a variant in assembly packs every product")
		}
		t.Skip("the variant in Go packs every product")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	value := func() T { return T(rng.NormFloat64()) }
	direct := 0
	for _, s := range unpackedShapes(rng, v.kc) {
		m, n, k := s[0], s[1], s[2]
		la, lb := layouts[rng.IntN(len(layouts))], layouts[rng.IntN(len(layouts))]
		if rng.IntN(2) == 0 {
			lb = "row"
		}
		a, b := newMatrix(m, k, la, nan, value), newMatrix(k, n, lb, nan, value)
		c, want := newResult(m, n, nan), newResult(m, n, nan)
		if n == 1 && rng.IntN(2) == 0 { // its transpose is a row
			c.ld, want.ld = 1, 1
		}
		runtime.GOMAXPROCS(1 + rng.IntN(3))
		if !v.gemmUnpacked(m, n, k, a.Operand, b.Operand, c.ptr(), c.ld) {
			continue
		}
		direct++
		p := product[T]{
			v: v, m: m, n: n, k: k, c: want.ptr(), ldc: want.ld,
			a: linesOf[T](a.Operand, int(unsafe.Sizeof(nan)), nil), b: columnsOf[T](b.Operand, int(unsafe.Sizeof(nan)), nil),
		}
		p.runPacked()
		what := fmt.Sprintf("%d x %d x %d, %s, %s", m, n, k, la, lb)
		for i := range m {
			for j := range n {
				if got, want := c.at(i, j), want.at(i, j); !sameBits(got, want) {
					t.Fatalf("%s: C[%d, %d] = %v, packed %v", what, i, j, got, want)
				}
			}
		}
		c.checkGuards(t)
	}
	if direct < 200 {
		t.Errorf("only %d products were not packed", direct)
	}
}

// unpackedShapes returns shapes with every kind of row and column panel, and some that are
// large enough for several goroutines.
func unpackedShapes(rng *rand.Rand, kc int) (shapes [][3]int) {
	for m := 1; m <= 20; m++ {
		for n := 1; n <= 70; n += 1 + rng.IntN(3) {
			shapes = append(shapes, [3]int{m, n, 1 + rng.IntN(20)})
		}
	}
	for range 60 {
		shapes = append(shapes, [3]int{1 + rng.IntN(140), 1 + rng.IntN(140), 1 + rng.IntN(kc)})
	}
	return append(shapes, [3]int{300, 130, 100}, [3]int{2100, 100, kc}, [3]int{33, 250, 140}, [3]int{5000, 1, 3})
}

func sameBits[T floating](a, b T) bool {
	if unsafe.Sizeof(a) == 4 {
		return math.Float32bits(float32(a)) == math.Float32bits(float32(b))
	}
	return math.Float64bits(float64(a)) == math.Float64bits(float64(b))
}

// TestDots checks that gemmDots, which uses no scratch memory, has the bits of runVectors.
func TestDots(t *testing.T) {
	rng := testrand.New(t)
	for _, v := range variants32 {
		t.Run("float32 "+v.name, func(t *testing.T) { testDots(t, v, rng, float32(math.NaN())) })
	}
	for _, v := range variants64 {
		t.Run("float64 "+v.name, func(t *testing.T) { testDots(t, v, rng, math.NaN()) })
	}
}

func testDots[T floating](t *testing.T, v *variant[T], rng *rand.Rand, nan T) {
	value := func() T { return T(rng.NormFloat64()) }
	for range 200 {
		m, n, k := 1+rng.IntN(maxVectors), 1+rng.IntN(100), 1+rng.IntN(300) // at most vectorWork multiplications
		if rng.IntN(2) == 0 {
			m, n = n, m
		}
		a, b := newMatrix(m, k, "row pitch", nan, value), newMatrix(k, n, "col pitch", nan, value)
		if rng.IntN(5) == 0 { // every product rounds to a negative zero
			tiny := T(1e-30)
			if unsafe.Sizeof(nan) == 8 {
				tiny = T(math.SmallestNonzeroFloat64)
			}
			k = 32 * (1 + rng.IntN(4))
			a = newMatrix(m, k, "row pitch", nan, func() T { return -tiny })
			b = newMatrix(k, n, "col pitch", nan, func() T { return tiny })
		}
		c, want := newResult(m, n, nan), newResult(m, n, nan)
		if !v.gemmDots(m, n, k, a.Operand, b.Operand, c.ptr(), c.ld) {
			t.Fatalf("%d x %d x %d was not computed", m, n, k)
		}
		p := product[T]{
			v: v, m: m, n: n, k: k, c: want.ptr(), ldc: want.ld,
			a: linesOf[T](a.Operand, int(unsafe.Sizeof(nan)), nil), b: columnsOf[T](b.Operand, int(unsafe.Sizeof(nan)), nil),
		}
		if !p.runVectors() {
			t.Fatalf("%d x %d x %d is not one of vectors", m, n, k)
		}
		for i := range m {
			for j := range n {
				if got, want := c.at(i, j), want.at(i, j); !sameBits(got, want) {
					t.Fatalf("%d x %d x %d: C[%d, %d] = %v, with memory %v", m, n, k, i, j, got, want)
				}
			}
		}
		c.checkGuards(t)
	}
}

// TestGemmBatch checks that a batch has the bits of its products computed one by one,
// whichever goroutines share it.
func TestGemmBatch(t *testing.T) {
	rng := testrand.New(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	nan := float32(math.NaN())
	value := func() float32 { return float32(rng.NormFloat64()) }
	for _, s := range [][4]int{{1, 9, 9, 9}, {50, 7, 5, 3}, {90, 40, 33, 17}, {300, 16, 16, 16}, {40, 1, 64, 900}, {3, 70, 120, 300}, {5, 6, 7, 0}} {
		batch, m, n, k := s[0], s[1], s[2], s[3]
		as, bs, cs := m*k, k*n+1, m*n+2
		if rng.IntN(2) == 0 {
			bs = 0 // one B for all
		}
		a, b := newMatrix(1, batch*as+1, "row", nan, value), newMatrix(1, batch*bs+k*n+1, "row", nan, value)
		first := Operand{Data: ptr(offset((*float32)(a.Data), (batch-1)*as)), RS: k, CS: 1} // backwards
		second := Operand{Data: b.Data, RS: n, CS: 1}
		bias := newMatrix(1, n, "row", nan, value)
		ep := &Epilogue{Bias: bias.Data, Act: ActReLU}
		c, want := newResult(1, batch*cs, nan), newResult(1, batch*cs, nan)
		for _, procs := range []int{1, 2, 5} {
			runtime.GOMAXPROCS(procs)
			if err := GemmBatch(dtype.Float32, dtype.Float32, batch, m, n, k, first, -as, second, bs, ptr(c.ptr()), cs, n, ep); err != nil {
				t.Fatal(err)
			}
			for i := range batch {
				x, y := first, second
				x.Data, y.Data = ptr(offset((*float32)(x.Data), -i*as)), ptr(offset((*float32)(y.Data), i*bs))
				if err := Gemm(dtype.Float32, dtype.Float32, m, n, k, x, y, ptr(offset(want.ptr(), i*cs)), n, ep); err != nil {
					t.Fatal(err)
				}
			}
			for i := range c.store {
				if !sameBits(c.store[i], want.store[i]) {
					t.Fatalf("%v with %d goroutines: element %d is %v, one by one %v", s, procs, i-guard, c.store[i], want.store[i])
				}
				c.store[i] = nan
			}
		}
	}
	if err := GemmBatch(dtype.Float32, dtype.Float64, 2, 1, 1, 1, Operand{}, 0, Operand{}, 0, nil, 0, 1, nil); !errors.Is(err, dtype.ErrDType) {
		t.Errorf("float64 from float32: %v", err)
	}
}

// TestUnpackedRefuses checks that a product is packed if it is too large for the cache or too
// deep for one stretch.
func TestUnpackedRefuses(t *testing.T) {
	x := make([]float32, 1)
	for _, v := range variants32 {
		for _, s := range [][3]int{{8, 8, v.kc + 1}, {8, unpackedBytes, 8}, {8, 8, 0}} {
			if v.gemmUnpacked(s[0], s[1], s[2], Operand{Data: ptr(&x[0]), RS: s[2], CS: 1}, Operand{Data: ptr(&x[0]), RS: s[1], CS: 1}, &x[0], s[1]) {
				t.Errorf("%s: %v is not packed", v.name, s)
			}
		}
	}
}
