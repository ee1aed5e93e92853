//go:build !noasm

package cpu

import (
	"math"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestVectorComparisons compares the vector comparisons with Go's operators, in every
// form, at every length up to three vectors, and for operands that are not aligned.
func TestVectorComparisons(t *testing.T) {
	if !vectorAVX {
		t.Skip("no AVX2: there are no vector comparisons")
	}
	testComparisons[float32](t, dtype.Float32)
	testComparisons[float64](t, dtype.Float64)
}

func testComparisons[T float32 | float64](t *testing.T, dt dtype.DType) {
	rng := testrand.New(t)
	few := []T{0, T(math.Copysign(0, -1)), 1, -1, T(math.NaN()), T(math.Inf(1)), T(math.Inf(-1)), 1e-40}
	draw := func() T {
		if rng.IntN(3) > 0 {
			return few[rng.IntN(len(few))]
		}
		return T(rng.NormFloat64())
	}
	operators := map[expr.Op]func(x, y T) bool{
		expr.Eq: func(x, y T) bool { return x == y }, expr.Ne: func(x, y T) bool { return x != y },
		expr.Lt: func(x, y T) bool { return x < y }, expr.Le: func(x, y T) bool { return x <= y },
		expr.Gt: func(x, y T) bool { return x > y }, expr.Ge: func(x, y T) bool { return x >= y },
	}
	for op, want := range operators {
		k := comparison(op, dt)
		for n := 1; n <= 3*compareVector+1; n++ {
			x, y, dst := make([]T, n+1)[1:], make([]T, n+1)[1:], make([]byte, n+2)
			for i := range x {
				x[i], y[i] = draw(), draw()
			}
			for form, f := range []func(dst, x, y unsafe.Pointer, n int){k.vv, k.vs, k.sv} {
				for i := range dst {
					dst[i] = 77
				}
				f(unsafe.Pointer(&dst[1]), unsafe.Pointer(&x[0]), unsafe.Pointer(&y[0]), n)
				if dst[0] != 77 || dst[n+1] != 77 {
					t.Fatalf("%v of %d elements wrote beside them", op, n)
				}
				for i := range n {
					a, b := x[i], y[i]
					switch form {
					case 1:
						b = y[0]
					case 2:
						a = x[0]
					}
					truth := byte(0)
					if want(a, b) {
						truth = 1
					}
					if dst[1+i] != truth {
						t.Fatalf("%v %v of %v and %v, form %d, %d of %d: %d", dt, op, a, b, form, i, n, dst[1+i])
					}
				}
			}
		}
	}
}
