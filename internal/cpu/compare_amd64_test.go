//go:build !noasm

package cpu

import (
	"bytes"
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
		t.Skip("NOT RUN: this processor has no AVX2, which the assembly under test needs")
	}
	negative := math.Copysign(0, -1)
	testComparisons(t, dtype.Float32, []float32{0, float32(negative), 1, -1, float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 1e-40})
	testComparisons(t, dtype.Float64, []float64{0, negative, 1, -1, math.NaN(), math.Inf(1), math.Inf(-1), 1e-310})
	testComparisons(t, dtype.Int32, []int32{0, 1, -1, math.MinInt32, math.MaxInt32})
	testComparisons(t, dtype.Int64, []int64{0, 1, -1, math.MinInt64, math.MaxInt64, math.MinInt32, 1 << 32, 1<<32 + 1})
	testComparisons(t, dtype.Uint32, []uint32{0, 1, math.MaxInt32, math.MaxInt32 + 1, math.MaxUint32})
	testComparisons(t, dtype.Uint64, []uint64{0, 1, 1 << 32, math.MaxInt64, math.MaxInt64 + 1, math.MaxUint64})
}

// TestMagnitudes compares IsInf and IsFinite with package math, at every length up to three vectors.
func TestMagnitudes(t *testing.T) {
	testMagnitudes(t, dtype.Float32, []float32{0, -1, float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), math.MaxFloat32, -math.MaxFloat32, 1e-40})
	testMagnitudes(t, dtype.Float64, []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, 1e-310})
}

func testMagnitudes[T float32 | float64](t *testing.T, dt dtype.DType, few []T) {
	rng := testrand.New(t)
	for _, op := range []expr.Op{expr.IsInf, expr.IsFinite} {
		f := quickTest(op, dt)
		for n := 1; n <= 3*compareVector+1; n++ {
			x, dst := make([]T, n+1)[1:], bytes.Repeat([]byte{77}, n+2)
			for i := range x {
				x[i] = few[rng.IntN(len(few))]
			}
			f(unsafe.Pointer(&dst[1]), unsafe.Pointer(&x[0]), n)
			if dst[0] != 77 || dst[n+1] != 77 {
				t.Fatalf("%v of %d elements wrote beside them", op, n)
			}
			for i, v := range x {
				infinite := math.IsInf(float64(v), 0)
				if want := infinite == (op == expr.IsInf) && v == v; dst[1+i] != bit(want) {
					t.Fatalf("%v %v of %v, %d of %d: %d", dt, op, v, i, n, dst[1+i])
				}
			}
		}
	}
}

func testComparisons[T number](t *testing.T, dt dtype.DType, few []T) {
	rng := testrand.New(t)
	draw := func() T {
		if rng.IntN(3) > 0 {
			return few[rng.IntN(len(few))]
		}
		return T(rng.IntN(100))
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
