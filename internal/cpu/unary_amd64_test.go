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

// TestUnaryVectors compares the vector code of operations on one operand with package math, bit for bit, at every length up to three
// vectors, in place and beside, of operands that are not aligned.
func TestUnaryVectors(t *testing.T) {
	if !vectorAVX {
		t.Skip("NOT RUN: this processor has no AVX2, which the assembly under test needs")
	}
	single := func(f func(float64) float64) func(float32) float32 {
		return func(v float32) float32 { return float32(f(float64(v))) }
	}
	for op, f := range map[expr.Op]func(float64) float64{
		expr.Neg: func(v float64) float64 { return -v }, expr.Abs: math.Abs, expr.Sqrt: math.Sqrt,
		expr.Square: func(v float64) float64 { return v * v }, expr.ReLU: func(v float64) float64 { return max(v, 0) },
		expr.Floor: math.Floor, expr.Ceil: math.Ceil, expr.Round: math.RoundToEven, expr.Trunc: math.Trunc,
	} {
		unaryVectors(t, op, dtype.Float32, single(f))
		unaryVectors(t, op, dtype.Float64, f)
	}
}

func unaryVectors[T float32 | float64](t *testing.T, op expr.Op, dt dtype.DType, f func(T) T) {
	t.Helper()
	if vectorUnary(op, dt) == nil {
		t.Fatalf("%v of %v has no vector code", op, dt)
	}
	rng := testrand.New(t)
	few := []T{0, T(math.Copysign(0, -1)), 0.5, -0.5, 1.5, -2.5, T(math.NaN()), T(math.Inf(1)), T(math.Inf(-1)), 1e-40, -1e-40, 1e30, -0x1p23, 0x1p23 - 0.5}
	kernel, _ := unaryKernel(op, dt)
	for n := 1; n <= 50; n++ {
		x, dst := make([]T, n+1)[1:], make([]T, n+2)
		for i := range x {
			if x[i] = few[rng.IntN(len(few))]; rng.IntN(2) == 0 {
				x[i] = T(rng.NormFloat64() * 10)
			}
		}
		for i := range dst {
			dst[i] = 77
		}
		check := func(got []T) {
			t.Helper()
			for i, v := range got {
				if want := f(x[i]); math.Float64bits(float64(v)) != math.Float64bits(float64(want)) && (v == v || want == want) {
					t.Fatalf("%v %v of %v, %d of %d: %v, want %v", dt, op, x[i], i, n, v, want)
				}
			}
		}
		kernel(unsafe.Pointer(&dst[1]), unsafe.Pointer(&x[0]), n)
		if dst[0] != 77 || dst[n+1] != 77 {
			t.Fatalf("%v of %d elements wrote beside them", op, n)
		}
		check(dst[1 : n+1])
		copy(dst[1:], x)
		kernel(unsafe.Pointer(&dst[1]), unsafe.Pointer(&dst[1]), n)
		check(dst[1 : n+1])
	}
}
