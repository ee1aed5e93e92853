package cpu

import (
	"math"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestClampBetweenNumbers clamps between all pairs of zeros, infinities, NaN and other numbers.
func TestClampBetweenNumbers(t *testing.T) {
	testClamp[float32](t, dtype.Float32, math.SmallestNonzeroFloat32)
	testClamp[float64](t, dtype.Float64, math.SmallestNonzeroFloat64)
}

func testClamp[T float32 | float64](t *testing.T, dt dtype.DType, tiny T) {
	rng := testrand.New(t)
	negative := T(math.Copysign(0, -1))
	special := []T{T(math.Inf(-1)), -1.5, -tiny, negative, 0, tiny, 1, T(math.Inf(1)), T(math.NaN())}
	for _, lo := range special {
		for _, hi := range special {
			for _, n := range []int{1, 15, 16, 40, 1000} {
				x, got := make([]T, n), make([]T, n+1)
				for i := range x {
					if x[i] = special[rng.IntN(len(special))]; rng.IntN(2) == 0 {
						x[i] = T(rng.NormFloat64())
					}
					got[i] = 77
				}
				got[n] = 77
				err := Ternary(expr.Clamp, dt, []int{n}, unsafe.Pointer(&x[0]), []int{1}, unsafe.Pointer(&lo), []int{0}, unsafe.Pointer(&hi), []int{0}, unsafe.Pointer(&got[0]), []int{1})
				if err != nil {
					t.Fatal(err)
				}
				for i, v := range x {
					want := min(max(v, lo), hi) // Go orders -0 below 0, and gives NaN for NaN
					if g := got[i]; g != want && (g == g || want == want) || math.Signbit(float64(g)) != math.Signbit(float64(want)) && g == g {
						t.Fatalf("%v: %v between %v and %v is %v, want %v (element %d of %d)", dt, v, lo, hi, g, want, i, n)
					}
				}
				if got[n] != 77 {
					t.Fatalf("%v: the element after %d was written", dt, n)
				}
			}
		}
	}
}
