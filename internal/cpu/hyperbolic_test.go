package cpu

import (
	"math"
	"math/big"
	"testing"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/bigmath"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestHyperbolic64 measures the error of Sinh, Cosh, Asinh, Acosh, Atanh and Tan of float64 against math/big, in vectors and in
// single elements. The bounds are those of package ops.
func TestHyperbolic64(t *testing.T) {
	one, half := bigmath.Of(1), bigmath.Of(0.5)
	inverse := func(x *big.Float) *big.Float { return bigmath.Quo(one, x) }
	square := func(x *big.Float) *big.Float { return bigmath.Mul(x, x) }
	sqrt := func(x *big.Float) *big.Float { return new(big.Float).Sqrt(x) }
	for _, c := range []struct {
		op       expr.Op
		bound    float64
		argument func(u float64) float64 // maps u between -1 and 1 to an argument
		exact    func(x *big.Float) *big.Float
	}{
		{expr.Sinh, 2.5, func(u float64) float64 { return 710 * u * u * u }, func(x *big.Float) *big.Float {
			e := bigmath.Exp(x)
			return bigmath.Mul(half, bigmath.Sub(e, inverse(e)))
		}},
		{expr.Cosh, 2, func(u float64) float64 { return 710 * u * u * u }, func(x *big.Float) *big.Float {
			e := bigmath.Exp(x)
			return bigmath.Mul(half, bigmath.Add(e, inverse(e)))
		}},
		{expr.Asinh, 3, func(u float64) float64 { return u * math.Exp2(40*u*u) }, func(x *big.Float) *big.Float {
			return bigmath.Log(bigmath.Add(x, sqrt(bigmath.Add(square(x), one))))
		}},
		{expr.Acosh, 3, func(u float64) float64 { return 1 + u*u*math.Exp2(40*u) }, func(x *big.Float) *big.Float {
			return bigmath.Log(bigmath.Add(x, sqrt(bigmath.Sub(square(x), one))))
		}},
		{expr.Atanh, 2.5, func(u float64) float64 { return u }, func(x *big.Float) *big.Float {
			return bigmath.Mul(half, bigmath.Log(bigmath.Quo(bigmath.Add(one, x), bigmath.Sub(one, x))))
		}},
		{expr.Tan, 2.5, func(u float64) float64 { return u * math.Exp2(20*u) }, func(x *big.Float) *big.Float {
			return bigmath.Quo(bigmath.Sin(x, 0), bigmath.Sin(x, 1))
		}},
	} {
		t.Run(c.op.String(), func(t *testing.T) {
			rng := testrand.New(t)
			kernel, _ := unaryKernel(c.op, dtype.Float64)
			var x, y [203]float64
			for i := range x {
				x[i], y[i] = c.argument(2*rng.Float64()-1), 42
			}
			kernel(addr(&y), addr(&x), len(x))
			worst, at := 0.0, 0.0
			for i, v := range x {
				if u := bigmath.Ulps(y[i], c.exact(bigmath.Of(v)), 53, -1074); !(u <= worst) {
					worst, at = u, v
				}
			}
			t.Logf("%.4f ulp at %g", worst, at)
			if !(worst <= c.bound) {
				t.Errorf("%v of %g: %.4f ulp, at most %v", c.op, at, worst, c.bound)
			}
		})
	}
}
