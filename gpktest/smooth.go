package gpktest

import (
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/bigmath"
	"github.com/gpk-go/gpk/internal/devicetest"
)

// smoothFunction is a function whose error is measured in ulp.
type smoothFunction struct {
	op        expr.Op
	max       float64 // ulp of float32
	max64     float64
	low, high float64 // where float64 arguments are drawn from
	anywhere  bool    // float64 arguments of any size too
}

// smoothFunctions are checked to be within 2 ulp, except for gpk's own functions in float64,
// which have a bound from an analysis of their roundings. An ulp of a result is one to two times
// 2^-53 of it, so half an ulp of a factor can be a whole ulp of the product. x e^x / (1 + e^x)
// has an exponential of at most 1 ulp, a product, a sum and a quotient; GELUTanh has one more
// rounding; GELU is CUDA's normcdf times x. docs/accuracy.md lists the largest errors that were
// measured.
var smoothFunctions = []smoothFunction{
	{expr.Exp, 2, 2, -745.1, 709.78, false},
	{expr.Log, 2, 2, 0.4, 2.5, true},
	{expr.Sin, 2, 2, -20, 20, true},
	{expr.Cos, 2, 2, -20, 20, true},
	{expr.Tanh, 2, 2, -3, 3, false},
	{expr.Erf, 2, 2, -6, 6, false},
	{expr.Expm1, 2, 2, -40, 709.78, false},
	{expr.Log1p, 2, 2, -1, 2, true},
	{expr.Sqrt, 0.5001, 0.5001, 0, 10, true},
	{expr.Rsqrt, 2, 2, 0, 10, true},
	{expr.Sigmoid, 2, 2, -750, 40, false},
	{expr.SiLU, 2, 4.5, -750, 50, false},
	{expr.GELU, 2, 5, -37, 8, false}, // float64: 4.5327 was met at -11.697
	{expr.GELUTanh, 2, 5, -21.6, 8, false},
}

// ulps returns |got - want| in units of the last place of want, in a format with the given number
// of digits and least exponent.
func ulps(got, want float64, digits, least int) float64 {
	switch {
	case want != want && got != got, got == want:
		return 0
	case want != want || got != got || math.IsInf(want, 0):
		return math.Inf(1)
	}
	e := least
	if want != 0 {
		_, e = math.Frexp(want)
		e = max(e-digits, least)
	}
	unit := math.Ldexp(1, e)
	if math.IsInf(got, 0) {
		got = math.Copysign(math.Ldexp(1, 3-least-digits), got) // the first number beyond the range
		if math.Abs(want) >= math.Abs(got)-unit/2 {
			return 0
		}
	}
	return math.Abs(got-want) / unit
}

// widest is the largest error that ulps returned, and its argument.
type widest struct {
	ulp float64
	at  float64
}

// across measures n values in parts, in one goroutine per processor.
func across(n int, measure func(i int) (ulp, at float64)) (worst widest) {
	parts := runtime.GOMAXPROCS(0)
	found := make([]widest, parts)
	var group sync.WaitGroup
	for p := range parts {
		group.Go(func() {
			for i := p; i < n; i += parts {
				if u, at := measure(i); u > found[p].ulp {
					found[p] = widest{u, at}
				}
			}
		})
	}
	group.Wait()
	for _, w := range found {
		if w.ulp > worst.ulp {
			worst = w
		}
	}
	return worst
}

// specials are arguments at which functions switch algorithms, overflow, underflow or leave their
// domain.
var specials = []float64{
	0, math.Inf(1), math.NaN(), 0x1p-1074, 1e-310, 0x1p-1022, 0x1p-149, 0x1p-126, 0x1p-24, 0x1p-12, 0.35, 0.5, math.Sqrt2 / 2, 1, math.Nextafter(1, 0), math.Nextafter(1, 2), math.Sqrt2, 2,
	math.Pi / 4, math.Pi / 2, math.Pi, 3.9, 4, 9, 12.5, 17, 87.3, 88.7, 89, 103.9, 104, 100 * math.Pi, 709.7, 710, 745.1, 746, 1 << 19, 1 << 26, 1e10, 1e20, 0x1p100, math.MaxFloat32,
}

// testSmooth measures the error of the smooth functions on float32 and float64: on
// special values, on numbers of every size and on ordinary ones.
func testSmooth(t *testing.T, s *suite) {
	for _, c := range smoothFunctions {
		want := bigmath.Smooth[c.op]
		n, n64 := 400_000, 400
		if s.dev.Kind() == device.CUDA {
			n64 = 4000 // nothing else measures it
		}
		if c.op == expr.Sin || c.op == expr.Cos {
			n = 20_000 // the reference of large angles is slow
		}
		if quick() {
			n, n64 = n/20, n64/20
		}
		x := make([]float32, n)
		for i := range x {
			switch {
			case i < 2*len(specials):
				x[i] = float32(specials[i/2]) * float32(1-2*(i&1))
			case i%2 == 0:
				x[i] = math.Float32frombits(s.rng.Uint32())
			default:
				x[i] = float32(s.rng.NormFloat64() * math.Exp2(float64(s.rng.IntN(16)-8)))
			}
		}
		got := evaluate(t, unaryMethods[c.op](gpk.FromSlice(x))).values
		single := across(n, func(i int) (float64, float64) {
			v := float64(x[i])
			return ulps(real(got[i]), want.Near(v), 24, -149), v
		})

		var y []float64
		for len(y) < n64 {
			v := c.low + (c.high-c.low)*s.rng.Float64()
			switch i := len(y); {
			case i < 2*len(specials):
				v = specials[i/2] * float64(1-2*(i&1))
			case i%3 == 1:
				v = math.Ldexp(v, -s.rng.IntN(40))
			case i%12 == 2 && c.anywhere: // subnormal
				v = math.Copysign(math.Float64frombits(1+s.rng.Uint64N(1<<(1+s.rng.IntN(52))-1)), v)
			case i%3 == 2 && c.anywhere:
				v = math.Ldexp(math.Copysign(0.5+s.rng.Float64()/2, v), s.rng.IntN(2000)-1000)
			}
			y = append(y, v)
		}
		got64 := evaluate(t, unaryMethods[c.op](gpk.FromSlice(y))).values
		double := across(n64, func(i int) (float64, float64) {
			v, g := y[i], real(got64[i])
			if near := want.Near(v); near != near || math.IsInf(near, -1) || v == 0 || !c.anywhere && !(c.low <= v && v <= c.high) || v-v != 0 { // by definition, or a limit
				return ulps(g, near, 53, -1074), v
			}
			return bigmath.Ulps(g, want.Exact(bigmath.Of(v)), 53, -1074), v
		})
		t.Logf("%v: float32 %.4f ulp at %v, float64 %.4f ulp at %v", c.op, single.ulp, single.at, double.ulp, double.at)
		if !(single.ulp <= c.max) || !(double.ulp <= c.max64) {
			t.Errorf("%v: float32 %.4f ulp at %v, float64 %.4f ulp at %v; at most %v and %v", c.op, single.ulp, single.at, double.ulp, double.at, c.max, c.max64)
		}
	}
}

// testLongSmooth compares smooth operations on many elements, which have a kernel of their own,
// with the same operations on pieces. After the addition of a row, on whole groups of rows and on
// the remaining rows, it compares them with the separate steps. The bits are the same.
func testLongSmooth(t *testing.T, s *suite) {
	for _, op := range []expr.Op{expr.GELU, expr.GELUTanh, expr.SiLU} {
		for _, dt := range []gpk.DType{gpk.Float32, gpk.Float16, gpk.BFloat16} {
			n, piece := 1<<20+1021*4+3, 1<<18
			if dt.IsHalf() {
				n, piece = 2*n, 2*piece
			}
			// Some arguments are outside the ranges of float32's short forms.
			x := evaluate(t, s.random(dt, n).array().Mul(5)).array()
			whole := evaluate(t, unaryMethods[op](x))
			for from := 0; from < n; from += piece {
				to := min(n, from+piece)
				part := evaluate(t, unaryMethods[op](x.Slice(0, from, to)))
				if !slices.Equal(part.values, whole.values[from:to]) {
					t.Errorf("%v %v: elements %d to %d differ from what they are on their own", op, dt, from, to)
				}
			}
			if dt != gpk.Float32 {
				continue
			}
			for _, shape := range [][]int{{1003, 1028}, {8, 1028}, {300, 24}, {7, 260}, {129, 4}} {
				x, row := s.random(dt, shape...).array(), s.random(dt, shape[1]).array()
				sum := evaluate(t, x.Add(row))
				want := evaluate(t, unaryMethods[op](sum.array()))
				evaluate(t, unaryMethods[op](x.Add(row)))
				if err := devicetest.AwaitCompiled(s.dev, context.Background()); err != nil {
					t.Fatal(err)
				}
				got := evaluate(t, unaryMethods[op](x.Add(row)))
				if !slices.Equal(got.values, want.values) {
					t.Errorf("%v of %v and a row differs from its steps", op, shape)
				}
			}
		}
	}
}
