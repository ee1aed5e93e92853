package bigmath

import (
	"math"
	"math/big"
	"testing"

	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestFunctions compares with package math where that is nearly correctly rounded, and otherwise
// with published digits.
func TestFunctions(t *testing.T) {
	for name, c := range map[string]struct {
		exact func(x *big.Float) *big.Float
		f     func(x float64) float64
		at    []float64
	}{
		"exp":  {Exp, math.Exp, []float64{-700, -1, -0x1p-30, 0x1p-60, 0.5, 1, 10.25, 700}},
		"log":  {Log, math.Log, []float64{0x1p-1000, 0.5, 0.999, 1.001, 2, 1e10, 0x1p1000}},
		"sin":  {func(x *big.Float) *big.Float { return Sin(x, 0) }, math.Sin, []float64{-10, -1, 0x1p-40, 0.5, 1, 2, 3, 5}},
		"cos":  {func(x *big.Float) *big.Float { return Sin(x, 1) }, math.Cos, []float64{-10, -1, 0x1p-40, 0.5, 1, 2, 3, 5}},
		"tanh": {Tanh, math.Tanh, []float64{-3, -0.1, 0x1p-20, 0.7, 2, 15}},
		"erf":  {Erf, math.Erf, []float64{-3, -0.1, 0x1p-20, 0.7, 2, 5}},
		"logistic": {
			Logistic, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) },
			[]float64{-30, -1, 0x1p-20, 0.7, 20},
		},
	} {
		for _, x := range c.at {
			if u := Ulps(c.f(x), c.exact(Of(x)), 53, -1074); !(u < 2) {
				t.Errorf("%s of %v: package math is %.3g ulp off", name, x, u)
			}
		}
	}
	// The sine of the largest number, whose reduction cancels 1,024 bits:
	// 0.00496195478918406182... (Ng, Argument reduction for huge arguments, 1992).
	if v, _ := Sin(Of(math.MaxFloat64), 0).Float64(); math.Abs(v-0.004961954789184062) > 1e-18 {
		t.Errorf("the sine of the largest number is %v", v)
	}
	if v, _ := Pi().Float64(); v != math.Pi {
		t.Errorf("pi is %v", v)
	}
}

// TestSmooth checks that both references of a function agree to more than float32's precision.
func TestSmooth(t *testing.T) {
	rng := testrand.New(t)
	for op, r := range Smooth {
		for range 100 {
			x := rng.NormFloat64() * math.Exp2(float64(rng.IntN(12)-6))
			if op == expr.Log || op == expr.Log1p || op == expr.Sqrt || op == expr.Rsqrt {
				x = math.Abs(x)
			}
			want, _ := r.Exact(Of(x)).Float64()
			if got := r.Near(x); !(math.Abs(got-want) <= 0x1p-40*math.Abs(want)) && math.Abs(want) > 0x1p-149 {
				t.Errorf("%v of %v: %v, and %v exactly", op, x, got, want)
			}
		}
	}
}

// TestUlps counts between neighbours, at the ends of a format and beyond.
func TestUlps(t *testing.T) {
	for _, c := range []struct {
		got, want, ulps float64
		digits, least   int
	}{
		{1, 1, 0, 53, -1074},
		{1 + 0x1p-52, 1, 1, 53, -1074},
		{1 + 0x1p-23, 1, 1, 24, -149},
		{0, 0x1p-149, 1, 24, -149},
		{0, 0x1p-150, 0.5, 24, -149},
		{math.Inf(1), math.MaxFloat32, 1, 24, -149},
		{math.Inf(1), math.MaxFloat64, 1, 53, -1074},
		{math.Inf(-1), -65504, 1, 11, -24},
	} {
		if u := Ulps(c.got, Of(c.want), c.digits, c.least); u != c.ulps {
			t.Errorf("%v for %v: %v ulp, want %v", c.got, c.want, u, c.ulps)
		}
	}
}

// TestComplexSqrt squares the root, and checks its half plane and its sign. Squares of parts that
// differ by more than 2^700 would need a higher precision.
func TestComplexSqrt(t *testing.T) {
	rng := testrand.New(t)
	one := func() float64 {
		return math.Ldexp(rng.Float64()-0.5, rng.IntN(600)-300)
	}
	for range 100 {
		x := complex(one(), one())
		r := ComplexSqrt(x)
		re := Sub(Mul(r.Re, r.Re), Mul(r.Im, r.Im))
		im := Mul(Of(2), Mul(r.Re, r.Im))
		if got := (Complex{re, im}).Round(); got != x || r.Re.Sign() < 0 || r.Im.Signbit() != math.Signbit(imag(x)) {
			t.Errorf("the square of %v, root of %v, is %v", r.Round(), x, got)
		}
	}
}
