package cpu

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestDotsOfRows compares variant.dots with variant.dot.
func TestDotsOfRows(t *testing.T) {
	rng := testrand.New(t)
	testDotsOfRows(t, rng, variants32, math.Float32bits)
	testDotsOfRows(t, rng, variants64, math.Float64bits)
}

func testDotsOfRows[T floating, B uint32 | uint64](t *testing.T, rng *rand.Rand, variants []*variant[T], bits func(T) B) {
	t.Helper()
	for _, v := range variants {
		if v.dots == nil {
			continue
		}
		for range 200 {
			k, n := 1+rng.IntN(150), 1+rng.IntN(9)
			ld := k + rng.IntN(5)
			x, a, got := make([]T, k), make([]T, n*ld), make([]T, n+1)
			for i := range x {
				x[i] = T(rng.NormFloat64())
			}
			for i := range a {
				a[i] = T(rng.NormFloat64())
			}
			if rng.IntN(8) == 0 { // sums of negative zeros
				clear(x)
			}
			got[n] = 77
			v.dots(&got[0], &x[0], &a[0], ld, k, n)
			for i, sum := range got[:n] {
				if want := 0 + v.dot(&x[0], &a[i*ld], k); bits(sum) != bits(want) {
					t.Fatalf("%s: row %d of %d times %d is %v, want %v", v.name, i, n, k, sum, want)
				}
			}
			if got[n] != 77 {
				t.Fatalf("%s: wrote behind %d sums", v.name, n)
			}
		}
	}
}

// TestHalfLinesEnd multiplies a vector by matrices of float16 whose last element is read alone. They do not fill their pages.
// With -race, Go reports a pointer to a float32 at that element.
func TestHalfLinesEnd(t *testing.T) {
	for _, c := range []struct{ k, n, rs, cs int }{{dotSteps + 1, 5, 1, dotSteps + 1}, {9, maxLines + 1, maxLines + 1, 1}} {
		a, b, out := slices.Repeat([]uint16{0x3c00}, c.k), slices.Repeat([]uint16{0x3c00}, c.k*c.n), make([]float32, c.n) // ones
		err := Gemm(dtype.Float16, dtype.Float32, 1, c.n, c.k, Operand{Data: at0(a), RS: c.k, CS: 1}, Operand{Data: at0(b), RS: c.rs, CS: c.cs}, at0(out), c.n, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, sum := range out {
			if sum != float32(c.k) {
				t.Fatalf("%d products: sum %d is %v", c.k, i, sum)
			}
		}
	}
}

// TestColumns compares variant.columns with variant.axpy4, four steps at a time.
func TestColumns(t *testing.T) {
	rng := testrand.New(t)
	testColumns(t, rng, variants32)
	testColumns(t, rng, variants64)
}

func testColumns[T floating](t *testing.T, rng *rand.Rand, variants []*variant[T]) {
	t.Helper()
	for _, v := range variants {
		if v.columns == nil {
			continue
		}
		for range 50 {
			k, n := 4*(1+rng.IntN(70)), v.columnsWidth
			ld := n + rng.IntN(5)
			x, a, got, want := make([]T, k), make([]T, k*ld), make([]T, n+1), make([]T, n+1)
			for i := range x {
				x[i] = T(rng.NormFloat64())
			}
			for i := range a {
				a[i] = T(rng.NormFloat64())
			}
			for i := range got {
				got[i] = T(rng.NormFloat64())
			}
			copy(want, got)
			v.columns(&got[0], &x[0], &a[0], ld, k)
			for q := 0; q < k; q += 4 {
				v.axpy4(&want[0], &x[q], &a[q*ld], ld, n)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%s: %d steps give %v, want %v", v.name, k, got, want)
			}
		}
	}
}

// TestStretches checks that a product whose stretches of k run in parallel has the bits of
// one goroutine.
func TestStretches(t *testing.T) {
	rng := testrand.New(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for n, long := range map[int]int{1: 70000, 5: 70000, 64: 70000, 255: 70000, 2000: 1100} {
		for _, k := range []int{300, long} {
			testStretches(t, dtype.Float32, n, k, func() float32 { return rng.Float32() - 0.5 })
			testStretches(t, dtype.Float64, n, k, func() float64 { return rng.Float64() - 0.5 })
			testStretches(t, dtype.BFloat16, n, k, func() uint16 { return floatToBFloat16(rng.Float32() - 0.5) })
		}
	}
}

func testStretches[E comparable](t *testing.T, dt dtype.DType, n, k int, value func() E) {
	t.Helper()
	a, b := make([]E, k*n), make([]E, k)
	for i := range a {
		a[i] = value()
	}
	for i := range b {
		b[i] = value()
	}
	var results [2][]E
	for i, workers := range []int{1, 4} {
		runtime.GOMAXPROCS(workers)
		results[i] = make([]E, n)
		// The transpose of a, [k, n], times b.
		if err := Gemm(dt, dt, n, 1, k, Operand{Data: at0(a), RS: 1, CS: n}, Operand{Data: at0(b), RS: 1, CS: 1}, at0(results[i]), 1, nil); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(results[0], results[1]) {
		t.Fatalf("%v: %d lines of %d have other bits on four goroutines", dt, n, k)
	}
}
