package gpktest

import (
	"math"
	"math/big"
	"math/cmplx"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/bigmath"
)

// complexFunction is a function of complex numbers whose parts are held to max ulp each.
type complexFunction struct {
	op    expr.Op
	exact func(x complex128) bigmath.Complex
	draw  func(s *suite, digits, least int) complex128
	max   float64
}

// complexFunctions are measured at arguments for which the parts of the result nearly overflow or are
// subnormal. Each part of Exp has the errors of an exponential, of a sine and of three products.
var complexFunctions = []complexFunction{
	{expr.Exp, bigmath.ComplexExp, drawExponent, 6},
	{expr.Sqrt, bigmath.ComplexSqrt, (*suite).anySize, 4},
}

// anySize draws a complex number with parts of any size and sign that the format has.
func (s *suite) anySize(digits, least int) complex128 {
	one := func() float64 {
		v := math.Ldexp(1+s.rng.Float64(), s.rng.IntN(2-2*least-digits-1)+least)
		if s.rng.IntN(8) == 0 {
			v = 0
		}
		return v * float64(1-2*s.rng.IntN(2))
	}
	a := one()
	if s.rng.IntN(2) == 0 { // parts of nearly one size
		return complex(a, math.Ldexp(a, s.rng.IntN(5)-2)*float64(1-2*s.rng.IntN(2))*(1+s.rng.Float64()))
	}
	return complex(a, one())
}

// drawExponent draws an x whose power has a modulus near the largest number, or beyond it with
// a small sine.
func drawExponent(s *suite, digits, least int) complex128 {
	top := float64(3-least-digits) * math.Ln2
	b := s.rng.NormFloat64()
	a := top + 2*s.rng.NormFloat64()
	if s.rng.IntN(2) == 0 {
		e := s.rng.IntN(-least)
		b, a = math.Ldexp(b, -e), top+float64(e)*math.Ln2-3*s.rng.Float64()
	}
	return complex(a, b)
}

// testLimits measures functions at arguments for which their results leave the range of a type.
func testLimits(t *testing.T, s *suite) {
	n := 3000
	if quick() {
		n = 300
	}
	for _, c := range complexFunctions {
		for _, dt := range []gpk.DType{gpk.Complex64, gpk.Complex128} {
			digits, least := 53, -1074
			if dt == gpk.Complex64 {
				digits, least = 24, -149
			}
			x := tensor{dt: dt, shape: []int{n}, values: make([]complex128, n)}
			for i := range x.values {
				x.values[i] = round(dt, c.draw(s, digits, least))
				for v := x.values[i]; v == 0 || cmplx.IsInf(v) || c.op == expr.Exp && imag(v) == 0; v = x.values[i] {
					x.values[i] = round(dt, c.draw(s, digits, least))
				}
			}
			if c.op == expr.Exp && dt == gpk.Complex128 {
				copy(x.values, []complex128{complex(709.5, 1), complex(1420, 0x1p-1074), complex(710, 3*0x1p-1074)})
			}
			got := evaluate(t, unaryMethods[c.op](x.array())).values
			worst := across(2*n, func(i int) (float64, float64) {
				v, want, g := x.values[i/2], c.exact(x.values[i/2]), real(got[i/2])
				exact := want.Re
				if i%2 != 0 {
					exact, g = want.Im, imag(got[i/2])
				}
				u := bigmath.Ulps(g, exact, digits, least)
				if beyond := exact.MantExp(nil) > 3-least-digits; beyond && math.IsInf(g, exact.Sign()) {
					u = 0
				}
				if c.op == expr.Sqrt && i%2 != 0 && math.Signbit(g) != math.Signbit(imag(v)) || c.op == expr.Sqrt && i%2 == 0 && math.Signbit(g) || g != g {
					u = math.Inf(1)
				}
				return u, float64(i / 2)
			})
			t.Logf("%v of %v: %.4f ulp at %v", c.op, dt, worst.ulp, x.values[int(worst.at)])
			if !(worst.ulp <= c.max) {
				t.Errorf("%v of %v: %.4f ulp at %v: %v; at most %v", c.op, dt, worst.ulp, x.values[int(worst.at)], got[int(worst.at)], c.max)
			}
		}
	}
	t.Run("Annex G", func(t *testing.T) { testAnnexG(t, s) })
	t.Run("Expm1", func(t *testing.T) { testLastExponents(t, s) })
	t.Run("Signs", func(t *testing.T) { testGateSigns(t, s) })
}

// testAnnexG checks Sqrt and Exp of zeros, infinities and NaN against the tables of C99, G.6.4.2 and
// G.6.3.1. A part that the standard leaves unspecified is not compared.
func testAnnexG(t *testing.T, _ *suite) {
	inf, nan, zero := math.Inf(1), math.NaN(), math.Copysign(0, -1)
	const unsigned = 1 // the sign is unspecified
	type row struct {
		x, want     complex128
		unspecified int
	}
	tables := map[expr.Op][]row{
		expr.Sqrt: {
			{complex(0, 0), complex(0, 0), 0},
			{complex(zero, 0), complex(0, 0), 0},
			{complex(3, inf), complex(inf, inf), 0},
			{complex(-inf, inf), complex(inf, inf), 0},
			{complex(nan, inf), complex(inf, inf), 0},
			{complex(3, nan), complex(nan, nan), 0},
			{complex(-inf, 3), complex(0, inf), 0},
			{complex(inf, 3), complex(inf, 0), 0},
			{complex(-inf, nan), complex(nan, inf), unsigned},
			{complex(inf, nan), complex(inf, nan), 0},
			{complex(nan, 3), complex(nan, nan), 0},
			{complex(nan, nan), complex(nan, nan), 0},
			{complex(-4, 0), complex(0, 2), 0},
			{complex(4, 0), complex(2, 0), 0},
			{complex(0, 8), complex(2, 2), 0},
			{complex(zero, 8), complex(2, 2), 0},
		},
		expr.Exp: {
			{complex(0, 0), complex(1, 0), 0},
			{complex(zero, 0), complex(1, 0), 0},
			{complex(3, inf), complex(nan, nan), 0},
			{complex(3, nan), complex(nan, nan), 0},
			{complex(inf, 0), complex(inf, 0), 0},
			{complex(-inf, 2), complex(zero, 0), 0},
			{complex(inf, 2), complex(-inf, inf), 0},
			{complex(-inf, inf), complex(0, 0), unsigned},
			{complex(inf, inf), complex(inf, nan), unsigned},
			{complex(-inf, nan), complex(0, 0), unsigned},
			{complex(inf, nan), complex(inf, nan), unsigned},
			{complex(nan, 0), complex(nan, 0), 0},
			{complex(nan, 3), complex(nan, nan), 0},
			{complex(nan, nan), complex(nan, nan), 0},
		},
	}
	for op, table := range tables {
		var x []complex128
		for _, r := range table {
			x = append(x, r.x, complex(real(r.x), -imag(r.x)))
		}
		for _, dt := range []gpk.DType{gpk.Complex64, gpk.Complex128} {
			got := evaluate(t, unaryMethods[op](gpk.FromSlice(x).Cast(dt))).values
			for i, r := range table {
				for j, g := range got[2*i : 2*i+2] {
					want := r.want
					if j == 1 {
						want = complex(real(want), -imag(want))
					}
					if r.unspecified == unsigned {
						g, want = complex(math.Abs(real(g)), math.Abs(imag(g))), complex(math.Abs(real(want)), math.Abs(imag(want)))
					}
					if !sameFloat(real(g), real(want)) || !sameFloat(imag(g), imag(want)) {
						t.Errorf("%v of %v in %v is %v, not %v", op, x[2*i+j], dt, got[2*i+j], want)
					}
				}
			}
		}
	}
}

// sameFloat reports whether two numbers are equal, zeros with their signs, or both NaN.
func sameFloat(a, b float64) bool {
	return a != a && b != b || a == b && math.Signbit(a) == math.Signbit(b)
}

// testLastExponents measures Expm1 and Exp at the last arguments before they overflow, and at the first
// ones for which they are infinite.
func testLastExponents(t *testing.T, _ *suite) {
	for _, op := range []expr.Op{expr.Expm1, expr.Exp} {
		const n = 2000
		var x []float64
		for v := 709.782712893384; len(x) < n; v = math.Nextafter(v, 0) {
			x = append(x, v)
		}
		for v := math.Nextafter(x[0], 1000); len(x) < n+100; v = math.Nextafter(v, 1000) {
			x = append(x, v)
		}
		y := make([]float32, 0, n)
		for v := float32(88.7229); len(y) < n; v = math.Nextafter32(v, 0) {
			y = append(y, v)
		}
		long := evaluate(t, unaryMethods[op](gpk.FromSlice(x))).values
		short := evaluate(t, unaryMethods[op](gpk.FromSlice(y))).values
		exact := bigmath.Smooth[op].Exact
		worst := across(len(x), func(i int) (float64, float64) {
			return ulpsInRange(real(long[i]), exact(bigmath.Of(x[i])), 53, -1074), x[i]
		})
		worst32 := across(len(y), func(i int) (float64, float64) {
			return ulpsInRange(real(short[i]), exact(bigmath.Of(float64(y[i]))), 24, -149), float64(y[i])
		})
		t.Logf("%v: float32 %.4f ulp at %v, float64 %.4f ulp at %v", op, worst32.ulp, worst32.at, worst.ulp, worst.at)
		if !(worst.ulp <= 2) || !(worst32.ulp <= 2) {
			t.Errorf("%v: float32 %.4f ulp at %v, float64 %.4f ulp at %v", op, worst32.ulp, worst32.at, worst.ulp, worst.at)
		}
	}
}

// ulpsInRange returns the error of got in ulps, or 0 if got is infinite and want exceeds the range of the format.
func ulpsInRange(got float64, want *big.Float, digits, least int) float64 {
	if math.IsInf(got, 0) {
		largest := bigmath.New().SetMantExp(bigmath.Of(1-math.Ldexp(1, -digits)), 3-least-digits)
		if bigmath.New().Abs(want).Cmp(largest) > 0 {
			return 0
		}
	}
	return bigmath.Ulps(got, want, digits, least)
}

// testGateSigns checks that GELU, GELUTanh and SiLU of a negative number are negative, and -0 if they
// underflow, since they are the number times a positive one. The same holds in a product's epilogue.
func testGateSigns(t *testing.T, _ *suite) {
	x := []float32{
		float32(math.Copysign(0, -1)), -0x1p-149, -1, -5, -9.5, -12, -13, -14.5, -16, -40, -80, -87, -88, -104, -120, -200, -745, -746, -1000, -65504, -1e30, -3e38,
	}
	for _, op := range []expr.Op{expr.GELU, expr.GELUTanh, expr.SiLU} {
		for _, dt := range []gpk.DType{gpk.Float32, gpk.Float64, gpk.Float16, gpk.BFloat16} {
			in := gpk.FromSlice(x)
			if dt == gpk.Float16 {
				in = in.Clamp(-65504, 0)
			}
			check := func(what string, a *gpk.Array, x []float32) {
				for i, g := range evaluate(t, a).values {
					if !math.Signbit(real(g)) || real(g) != real(g) {
						t.Errorf("%s of %v in %v is %v", what, x[i], dt, real(g))
					}
				}
			}
			check(op.String(), unaryMethods[op](in.Cast(dt)), x)
			for _, l := range linears {
				if l.op == op {
					wide := in.Slice(0, 3, len(x)).Cast(dt).Reshape(len(x)-3, 1) // a row of a product each
					check(l.name, l.f(wide, gpk.Ones(dt, 1, 1), nil).Reshape(len(x)-3), x[3:])
				}
			}
		}
	}
}
