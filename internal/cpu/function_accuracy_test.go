package cpu

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/gpk-go/gpk/internal/bigmath"
	"github.com/gpk-go/gpk/internal/testrand"
)

// errorOf returns the difference of f's result y and the exact result for x, nearly exactly: of an inverse function by a Newton
// step from y.
type errorOf func(x, y *big.Float) *big.Float

// functionErrors are functions of float64 whose error is measured, and the largest error in ulps that is allowed. worst is
// the argument with the largest error of 2 million in the range where errors are largest, or 0. docs/accuracy.md has the
// measured maxima.
var functionErrors = []struct {
	name     string
	f        func(x float64) float64
	worst    float64
	error    errorOf
	max      float64
	argument func(rng *rand.Rand, round int) float64
}{
	{"log2", log2F64, 0x1.0872a44ff5e4ap+0, logError(2), 0.55, positiveNumber},
	{"log10", log10F64, 0x1.083270710e957p+0, logError(10), 0.55, positiveNumber},
	{"cbrt", cbrtF64, 0x1.d19f5c773d8eep+2, func(x, y *big.Float) *big.Float {
		square := bigmath.Mul(y, y)
		return bigmath.Quo(bigmath.Sub(bigmath.Mul(square, y), x), bigmath.Mul(bigmath.Of(3), square))
	}, 0.501, func(rng *rand.Rand, _ int) float64 { return math.Float64frombits(rng.Uint64()) }},
	{"asin", asinF64, 0x1.1c9f5342a903ap-1, func(x, y *big.Float) *big.Float {
		return bigmath.Quo(bigmath.Sub(bigmath.Sin(y, 0), x), bigmath.Sin(y, 1))
	}, 1.2, sineNumber},
	{"acos", acosF64, 0x1.2ab37c11d1a7cp-1, func(x, y *big.Float) *big.Float {
		return bigmath.Quo(bigmath.Sub(x, bigmath.Sin(y, 1)), bigmath.Sin(y, 0))
	}, 1.15, sineNumber},
	{"atan", atanF64, 0x1.17a0bd0f221c2p-1, func(x, y *big.Float) *big.Float {
		sin, cos := bigmath.Sin(y, 0), bigmath.Sin(y, 1)
		return bigmath.Quo(bigmath.Sub(sin, bigmath.Mul(x, cos)), bigmath.Add(cos, bigmath.Mul(x, sin)))
	}, 0.95, func(rng *rand.Rand, round int) float64 {
		switch round % 4 {
		case 0:
			return math.Exp2(40 * (2*rng.Float64() - 1))
		case 1:
			return 0.5 + 0.16*rng.Float64() // where errors are largest
		}
		return math.Exp2(4 * (2*rng.Float64() - 1))
	}},
}

// logError is the error of a logarithm to the given base.
func logError(base float64) errorOf {
	log := bigmath.Log(bigmath.Of(base))
	return func(x, y *big.Float) *big.Float { return bigmath.Sub(y, bigmath.Quo(bigmath.Log(x), log)) }
}

// positiveNumber draws numbers of any size, numbers near 1 and subnormal numbers.
func positiveNumber(rng *rand.Rand, round int) float64 {
	switch round % 5 {
	case 0:
		return math.Float64frombits(rng.Uint64() >> 1)
	case 1:
		return math.Exp2(0.2*rng.Float64() - 0.1)
	case 2:
		return math.Float64frombits(1 + rng.Uint64N(1<<(1+rng.IntN(52))-1))
	case 3:
		return 1.03 + 0.02*rng.Float64() // where errors are largest
	}
	return 3*rng.Float64() + 1e-3
}

// sineNumber draws numbers between -1 and 1.
func sineNumber(rng *rand.Rand, round int) float64 {
	x := 2*rng.Float64() - 1
	switch round % 4 {
	case 1:
		return math.Copysign(1-math.Exp2(-40*rng.Float64()), x)
	case 2:
		return math.Copysign(math.Exp2(-30*rng.Float64()), x)
	case 3:
		return math.Copysign(0.5+0.1*rng.Float64(), x) // where errors are largest
	}
	return x
}

// TestFunctionAccuracy64 measures errors against math/big.
func TestFunctionAccuracy64(t *testing.T) {
	rng := testrand.New(t)
	n := 400
	switch {
	case *exhaustive:
		n = 8_000
	case testing.Short():
		n = 50
	}
	for _, c := range functionErrors {
		worst, at := 0.0, 0.0
		for i := range n {
			x := c.argument(rng, i)
			if i == 0 {
				x = c.worst
			}
			if y := c.f(x); y-y == 0 {
				exact := bigmath.Sub(bigmath.Of(y), c.error(bigmath.Of(x), bigmath.Of(y)))
				if u := bigmath.Ulps(y, exact, 53, -1074); u > worst {
					worst, at = u, x
				}
			} else if x-x == 0 {
				t.Fatalf("%s of %g is %g", c.name, x, y)
			}
		}
		t.Logf("%s: %.4f ulp at %g", c.name, worst, at)
		if worst > c.max {
			t.Errorf("%s of %g: %.4f ulp", c.name, at, worst)
		}
	}
}

// TestFunctionsExact64 compares with results that float64 holds exactly.
func TestFunctionsExact64(t *testing.T) {
	for n := -1074; n <= 1023; n++ {
		if got := log2F64(math.Ldexp(1, n)); got != float64(n) {
			t.Errorf("log2 of 2^%d is %v", n, got)
		}
	}
	for n, x := 0, 1.0; n <= 22; n, x = n+1, 10*x {
		if got := log10F64(x); got != float64(n) {
			t.Errorf("log10 of 10^%d is %v", n, got)
		}
	}
	for n := range 1 << 17 {
		x := math.Ldexp(float64(n*n*n), 3*(n%600)-1020)
		if got, want := cbrtF64(x), math.Ldexp(float64(n), n%600-340); got != want {
			t.Errorf("the cube root of %v is %v, not %v", x, got, want)
		}
	}
	for _, c := range []struct{ got, want float64 }{
		{asinF64(1), math.Pi / 2},
		{asinF64(-1), -math.Pi / 2},
		{acosF64(1), 0},
		{acosF64(-1), math.Pi},
		{acosF64(0), math.Pi / 2},
		{atanF64(1), math.Pi / 4},
		{atanF64(math.Inf(1)), math.Pi / 2},
		{atanF64(math.Inf(-1)), -math.Pi / 2},
	} {
		if c.got != c.want {
			t.Errorf("%v, not %v", c.got, c.want)
		}
	}
}
