package cpu

import (
	"math"
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/testrand"
)

// singleOps are the functions computed in float32, their float64 references, and the error in ulps that is allowed.
var singleOps = []struct {
	op   expr.Op
	near func(x float64) float64
	max  float64
}{
	{expr.Exp2, math.Exp2, 0.9},
	{expr.Expm1, math.Expm1, 0.9},
	{expr.Tanh, math.Tanh, 0.75},
	{expr.Log, math.Log, 0.9},
	{expr.Log2, func(x float64) float64 { return math.Log(x) / math.Ln2 }, 0.99},
	{expr.Log10, func(x float64) float64 { return math.Log(x) / math.Ln10 }, 1.01},
	{expr.Log1p, math.Log1p, 0.98},
	{expr.Sin, math.Sin, 0.84},
	{expr.Cos, math.Cos, 0.86},
	{expr.Tan, math.Tan, 1.28},
	{expr.Asin, math.Asin, 1.2},
	{expr.Acos, math.Acos, 1.2},
	{expr.Atan, math.Atan, 1.25},
	{expr.Sinh, math.Sinh, 0.95},
	{expr.Cosh, math.Cosh, 0.77},
	{expr.Asinh, math.Asinh, 0.98},
	{expr.Acosh, math.Acosh, 1.2},
	{expr.Atanh, math.Atanh, 0.68},
	{expr.Cbrt, math.Cbrt, 0.501},
}

// errors32 returns the largest error in ulps of a kernel on the numbers whose bits are from + i step, i < n, and the number.
func errors32(f kernel1, near func(x float64) float64, from, step uint32, n int) (worst float64, at float32) {
	var x, y [blockLen]float32
	for ; n > 0; n -= blockLen {
		for i := range x {
			x[i], y[i] = math.Float32frombits(from), 42
			from += step
		}
		f(addr(&y), addr(&x), len(x))
		for i, v := range x {
			want := near(float64(v))
			if math.Float32bits(y[i]) == math.Float32bits(float32(want)) && worst > 0.5 {
				continue // at most half an ulp
			}
			if u := ulps32(y[i], want); u > worst {
				worst, at = u, v
			}
		}
	}
	return worst, at
}

type kernel1 = func(dst, x unsafe.Pointer, n int)

// TestSingleExhaustive measures the error on all 2^32 float32.
func TestSingleExhaustive(t *testing.T) {
	if !*exhaustive {
		t.Skip("NOT RUN: all 2^32 float32 of nineteen functions take half an hour; -exhaustive runs it")
	}
	for _, c := range singleOps {
		f, _ := unaryKernel(c.op, dtype.Float32)
		var mu sync.Mutex
		var wg sync.WaitGroup
		worst, at := 0.0, float32(0)
		const chunks = 1 << 8
		free := make(chan struct{}, runtime.GOMAXPROCS(0))
		for i := range uint32(chunks) {
			free <- struct{}{}
			wg.Go(func() {
				u, x := errors32(f, c.near, i*(1<<32/chunks), 1, 1<<32/chunks)
				mu.Lock()
				defer mu.Unlock()
				if u > worst {
					worst, at = u, x
				}
				<-free
			})
		}
		wg.Wait()
		t.Logf("%v float32: %.4f ulp at %g", c.op, worst, at)
		if !(worst <= c.max) {
			t.Errorf("%v of %g (%#08x): %.4f ulp", c.op, at, math.Float32bits(at), worst)
		}
	}
}

// TestSingle measures the error on a sample of all bit patterns.
func TestSingle(t *testing.T) {
	rng := testrand.New(t)
	for _, c := range singleOps {
		f, _ := unaryKernel(c.op, dtype.Float32)
		if u, at := errors32(f, c.near, rng.Uint32(), 1<<13-1, 1<<19); !(u <= c.max) {
			t.Errorf("%v of %g (%#08x): %.4f ulp", c.op, at, math.Float32bits(at), u)
		}
	}
}

// TestSingleExact checks the logarithms of powers and the powers of 2 that float32 holds exactly, and the signs of zeros.
func TestSingleExact(t *testing.T) {
	power := float32(1)
	for n := range 11 {
		if y := log10F32(power); y != float32(n) {
			t.Errorf("log10 of %g is %g", power, y)
		}
		power *= 10
	}
	for n := -149; n < 128; n++ {
		x := float32(math.Ldexp(1, n))
		if y := log2F32(x); y != float32(n) {
			t.Errorf("log2 of 2^%d is %g", n, y)
		}
		if y := exp2F32(float32(n)); y != x {
			t.Errorf("2^%d is %g", n, y)
		}
	}
	zero := float32(math.Copysign(0, -1))
	for name, f := range map[string]func(x float32) float32{
		"expm1": expm1F32, "tanh": tanhF32, "log1p": log1pF32, "sin": sinF32, "tan": tanF32, "asin": asinF32, "atan": atanF32,
		"sinh": sinhF32, "asinh": asinhF32, "atanh": atanhF32, "cbrt": cbrtF32,
	} {
		if y := f(zero); y != 0 || !math.Signbit(float64(y)) {
			t.Errorf("%s of -0 is %g", name, y)
		}
	}
}
