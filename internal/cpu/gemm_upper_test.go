package cpu

import (
	"math/rand/v2"
	"testing"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestGemmUpper compares the elements on and above the diagonal with those of the whole product, bit by
// bit. Large products leave some elements below the diagonal unchanged.
func TestGemmUpper(t *testing.T) {
	rng := testrand.New(t)
	for _, c := range []struct{ m, n, k int }{{1, 1, 5}, {7, 9, 3}, {100, 100, 70}, {301, 301, 40}, {65, 200, 3000}, {200, 65, 1000}, {513, 513, 900}} {
		if testing.Short() && c.m > 500 {
			continue
		}
		testGemmUpper(t, rng, dtype.Float32, c.m, c.n, c.k, float32(-77))
		testGemmUpper(t, rng, dtype.Float64, c.m, c.n, c.k, float64(-77))
		testGemmUpper(t, rng, dtype.Complex64, c.m, c.n, c.k, complex64(-77))
	}
}

func testGemmUpper[T float32 | float64 | complex64](t *testing.T, rng *rand.Rand, dt dtype.DType, m, n, k int, poison T) {
	a, b := newMatrix(m, k, "col", poison, func() T { return anyNormal[T](rng) }), newMatrix(k, n, "row", poison, func() T { return anyNormal[T](rng) })
	whole, upper := make([]T, m*n), make([]T, m*n)
	for i := range upper {
		upper[i] = poison
	}
	if err := Gemm(dt, dt, m, n, k, a.Operand, b.Operand, at0(whole), n, nil); err != nil {
		t.Fatal(err)
	}
	if err := Gemm(dt, dt, m, n, k, a.Operand, b.Operand, at0(upper), n, &Epilogue{Upper: true}); err != nil {
		t.Fatal(err)
	}
	left := 0
	for i := range m {
		for j := range n {
			got, want := upper[i*n+j], whole[i*n+j]
			if j < i && got == poison {
				left++
			} else if got != want {
				t.Fatalf("%v %d x %d x %d: element %d, %d is %v, want %v", dt, m, n, k, i, j, got, want)
			}
		}
	}
	if m == 513 && dt != dtype.Complex64 && left < m*n/3 {
		t.Errorf("%v: %d of %d elements are left out", dt, left, m*n)
	}
}

// anyNormal returns a normally distributed number.
func anyNormal[T float32 | float64 | complex64](rng *rand.Rand) T {
	var v any = float32(rng.NormFloat64())
	switch any(T(0)).(type) {
	case float64:
		v = rng.NormFloat64()
	case complex64:
		v = complex(float32(rng.NormFloat64()), float32(rng.NormFloat64()))
	}
	return v.(T)
}
