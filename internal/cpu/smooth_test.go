package cpu

import (
	"flag"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/bigmath"
	"github.com/gpk-go/gpk/internal/testrand"
)

// exhaustive makes TestSmooth32 try every float32, two minutes a function, and TestSmooth64
// 60,000 numbers.
var exhaustive = flag.Bool("exhaustive", false, "try all 2^32 float32 values")

// smoothOps are the functions whose error is measured, and the error in ulps that is
// allowed in float32 and float64. docs/accuracy.md has the measured maxima.
var smoothOps = []struct {
	op         expr.Op
	max32      float64
	max64      float64
	low, high  float64 // where float64 arguments are drawn from
	everywhere bool    // tests float64 arguments of any size too
}{
	{expr.Exp, 1.1, 0.85, -745, 709, false},
	{expr.Expm1, 0.9, 0.75, -40, 700, false},
	{expr.Log, 0.9, 0.65, 0.4, 2.5, true},
	{expr.Log1p, 0.95, 0.75, -1, 2, true},
	{expr.Sin, 0.84, 0.85, -20, 20, true},
	{expr.Cos, 0.86, 0.85, -20, 20, true},
	{expr.Tanh, 0.75, 0.6, -3, 3, false},
	{expr.Erf, 0.51, 0.95, -6, 6, false},
	{expr.Sigmoid, 0.51, 1.9, -40, 40, false},
	{expr.SiLU, 0.51, 2, -50, 50, false},
	{expr.GELU, 0.51, 3.5, -37, 8, false},
	{expr.GELUTanh, 0.51, 2, -20, 8, false},
	{expr.Sqrt, 0.5001, 0.5001, 0, 10, true},
	{expr.Rsqrt, 0.51, 0.6, 0, 10, true},
}

// ulps32 returns the distance of a float32 from want, in units of its last place.
func ulps32(got float32, want float64) float64 {
	switch {
	case want != want:
		if got != got {
			return 0
		}
		return math.Inf(1)
	case got != got:
		return math.Inf(1)
	case float64(got) == want, float32(want) == got && math.IsInf(float64(got), 0):
		return 0
	}
	_, e := math.Frexp(want)
	return math.Abs(float64(got)-want) / math.Ldexp(1, max(e-24, -149))
}

// TestSmooth32 measures the error of float32: of special values, and of a random
// sample of all bit patterns and of ordinary numbers.
func TestSmooth32(t *testing.T) {
	rng := testrand.New(t)
	for _, c := range smoothOps {
		t.Run(c.op.String(), func(t *testing.T) {
			f, _ := unaryKernel(c.op, dtype.Float32)
			near := bigmath.Smooth[c.op].Near
			worst, at := 0.0, float32(0)
			const n = blockLen
			var x, y [n]float32
			try := func() {
				for i := range y {
					y[i] = float32(math.NaN()) // f must compute every element from x
				}
				f(addr(&y), addr(&x), n)
				for i, v := range x {
					if u := ulps32(y[i], near(float64(v))); u > worst {
						worst, at = u, v
					}
				}
			}
			if *exhaustive {
				for b := int64(0); b < 1<<32; b += int64(n) {
					for i := range x {
						x[i] = math.Float32frombits(uint32(b) + uint32(i))
					}
					try()
				}
			}
			rounds := 400
			if c.op == expr.Sin || c.op == expr.Cos {
				rounds = 40 // the reference is slow
			}
			for r := range rounds {
				for i := range x {
					switch {
					case r == 0:
						x[i] = specials32[i%len(specials32)]
					case r%2 == 0:
						x[i] = math.Float32frombits(rng.Uint32())
					default:
						x[i] = float32(rng.NormFloat64() * math.Exp2(float64(rng.IntN(16)-8)))
					}
				}
				try()
			}
			t.Logf("%v float32: %.4f ulp at %g", c.op, worst, at)
			if worst > c.max32 {
				t.Errorf("%v of %g (%#08x): %.4f ulp", c.op, at, math.Float32bits(at), worst)
			}
		})
	}
}

var specials32 = func() []float32 {
	v := []float32{
		0, float32(math.Inf(1)), float32(math.NaN()), 0x1p-149, 0x1p-126, 0x1p-24, 0x1p-12, 0.5, 1, math.Nextafter32(1, 0), math.Nextafter32(1, 2), 2,
		math.Pi, math.Pi / 2, math.Pi / 4, 100 * math.Pi, 1 << 19, 1<<19 + 1, 1e10, 1e20, 0x1p100, math.MaxFloat32, 87, 87.5, 88.72283, 88.7229, 89, 104, 103.9, 103.28, 17, 16.6, 9, 4, 3.9, 12.5, 14.4, 14.5,
		1.4142135, 0.70710677, 0.70710678, 0.35, 0.3466,
	}
	for _, x := range v {
		v = append(v, -x)
	}
	return v
}()

// TestSmoothSigns checks the sign of 0, which an error in ulps does not show.
func TestSmoothSigns(t *testing.T) {
	for _, op := range []expr.Op{expr.Expm1, expr.Log1p, expr.Sin, expr.Tanh, expr.Erf, expr.SiLU, expr.GELU, expr.GELUTanh, expr.Sqrt, expr.Floor, expr.Ceil, expr.Round} {
		for _, dt := range []dtype.DType{dtype.Float32, dtype.Float64, dtype.Float16, dtype.BFloat16} {
			for _, n := range []int{1, 9} {
				x, y := dense(dt, []int{n}), dense(dt, []int{n})
				x.each(func(_, k int) { put(dt, x.at(k), math.Copysign(0, -1)) })
				if err := Unary(op, dt, dt, x.shape, x.p(), x.strides, y.p(), y.strides); err != nil {
					t.Fatal(err)
				}
				for _, v := range y.values() {
					if !same(v, math.Copysign(0, -1)) {
						t.Fatalf("%v of -0 in %v is %v", op, dt, v)
					}
				}
			}
		}
	}
}

// TestSmooth64 measures the error of float64 against math/big.
func TestSmooth64(t *testing.T) {
	rng := testrand.New(t)
	n := 400
	switch {
	case *exhaustive:
		n = 60_000
	case testing.Short():
		n = 50
	}
	for _, c := range smoothOps {
		t.Run(c.op.String(), func(t *testing.T) {
			f, _ := unaryKernel(c.op, dtype.Float64)
			near, exact := bigmath.Smooth[c.op].Near, bigmath.Smooth[c.op].Exact
			worst, at := 0.0, 0.0
			for i := range n {
				x := c.low + (c.high-c.low)*rng.Float64()
				switch {
				case i%3 == 1:
					x = math.Ldexp(x, -rng.IntN(40))
				case i%12 == 2 && c.everywhere: // subnormal
					x = math.Copysign(math.Float64frombits(1+rng.Uint64N(1<<(1+rng.IntN(52))-1)), x)
				case i%3 == 2 && c.everywhere:
					x = math.Ldexp(math.Copysign(0.5+rng.Float64()/2, x), rng.IntN(2000)-1000)
				}
				if x <= 0 && (c.op == expr.Log || c.op == expr.Sqrt || c.op == expr.Rsqrt) || x <= -1 && c.op == expr.Log1p {
					continue
				}
				var y float64
				f(addr(&y), addr(&x), 1)
				if u := bigmath.Ulps(y, exact(bigmath.Of(x)), 53, -1074); u > worst {
					worst, at = u, x
				}
			}
			t.Logf("%v float64: %.4f ulp at %g", c.op, worst, at)
			if worst > c.max64 {
				t.Errorf("%v of %g: %.4f ulp", c.op, at, worst)
			}
			for _, x := range specials32 {
				v := float64(x)
				if !math.IsInf(v, 0) && v == v && v != 0 && math.Abs(v) < 1e3 {
					continue // measured above
				}
				var y float64
				f(addr(&y), addr(&v), 1)
				if want := near(v); !(y == want || y != y && want != want) && math.Abs(y-want) > 1e-15*math.Abs(want) {
					t.Errorf("%v of %g: %g, not %g", c.op, v, y, want)
				}
			}
		})
	}
}

// TestPow compares with math/big, and special cases with package math.
func TestPow(t *testing.T) {
	rng := testrand.New(t)
	var worst64, worst32 float64
	rounds := 600
	if *exhaustive {
		rounds = 60_000
	}
	for i := range rounds {
		x := math.Exp(rng.NormFloat64() * math.Exp2(float64(rng.IntN(16)-10)))
		if i%4 == 0 { // the logarithm is least accurate there
			x = 1 + (rng.Float64()-0.5)/8
		}
		y := (rng.Float64()*1400 - 700) / math.Log(x)
		if rng.IntN(2) == 0 {
			y = rng.NormFloat64() * 3
		}
		if l := math.Abs(y * math.Log(x)); !(l < 700) || x == 0 || x > 1e300 {
			continue
		}
		worst64 = max(worst64, bigmath.Ulps(powF64(x, y), bigmath.Exp(bigmath.Mul(bigmath.Of(y), bigmath.Log(bigmath.Of(x)))), 53, -1074))
		a, b := float32(x), float32(y)
		if l := float64(b) * math.Log(float64(a)); math.Abs(l) < 87 && a > 0 && a < math.MaxFloat32 {
			want, _ := bigmath.Exp(bigmath.Mul(bigmath.Of(float64(b)), bigmath.Log(bigmath.Of(float64(a))))).Float64()
			worst32 = max(worst32, ulps32(powF32(a, b), want))
		}
	}
	t.Logf("float32: %.4f ulp, float64: %.4f ulp", worst32, worst64)
	if worst64 > 1 || worst32 > 0.51 {
		t.Errorf("float32: %.4f ulp, float64: %.4f ulp", worst32, worst64)
	}
	for x := 2; x < 100; x++ { // what float64 holds exactly
		power := big.NewInt(1)
		for y := 1; y < 60; y++ {
			power.Mul(power, big.NewInt(int64(x)))
			if want, accuracy := new(big.Float).SetInt(power).Float64(); accuracy == big.Exact && powF64(float64(x), float64(y)) != want {
				t.Errorf("%d^%d is %v", x, y, powF64(float64(x), float64(y)))
			}
		}
	}
	for _, a := range specials32 {
		for _, b := range specials32 {
			want := math.Pow(float64(a), float64(b))
			if got := powF32(a, b); ulps32(got, want) > 0.51 {
				t.Errorf("float32 %g^%g: %g, not %g", a, b, got, want)
			}
			finite := a-a == 0 && b-b == 0 && a != 0 // measured above, and better than math.Pow
			if got := powF64(float64(a), float64(b)); !finite && got != want && (got == got || want == want) && math.Abs(got-want) > 1e-12*math.Abs(want) {
				t.Errorf("float64 %g^%g: %g, not %g", a, b, got, want)
			}
		}
	}
}

// TestHalfUnary tries all 65,536 values of both half types: float32's result,
// rounded once.
func TestHalfUnary(t *testing.T) {
	const n = 1 << 16
	step := 1
	if testing.Short() {
		step = 17 // the references take most of the time
	}
	for _, dt := range []dtype.DType{dtype.Float16, dtype.BFloat16} {
		x, y := dense(dt, []int{n}), dense(dt, []int{n})
		for i := range n {
			*(*uint16)(x.at(i)) = uint16(i)
		}
		for op := expr.Neg; op <= expr.AbsSquare; op++ {
			reference := unaryReference(op)
			if reference == nil || op == expr.Real || op == expr.Imag || op == expr.Conj {
				continue
			}
			if err := Unary(op, dt, dt, x.shape, x.p(), x.strides, y.p(), y.strides); err != nil {
				t.Fatalf("%v of %v: %v", op, dt, err)
			}
			// The bound is 0.501 ulp of the half type: one rounding, and the error of float32.
			digits, least := 11, -24
			if dt == dtype.BFloat16 {
				digits, least = 8, -133
			}
			for i := 0; i < n; i += step {
				v, got := load(dt, x.at(i)).(float64), load(dt, y.at(i)).(float64)
				want := reference(v)
				if same(got, want) || same(got, convertValue(want, dt)) || got == 0 && want == 0 {
					continue
				}
				_, e := math.Frexp(want)
				if !(math.Abs(got-want) <= 0.501*math.Ldexp(1, max(e-digits, least))) {
					t.Fatalf("%v of %v %v: %v, not %v", op, dt, v, got, want)
				}
			}
		}
	}
}

// unaryReference returns the float64 definition of an operation on a real number.
func unaryReference(op expr.Op) func(x float64) float64 {
	if r, ok := bigmath.Smooth[op]; ok {
		return r.Near
	}
	switch op {
	case expr.Neg:
		return func(x float64) float64 { return -x }
	case expr.Conj, expr.Real:
		return func(x float64) float64 { return x }
	case expr.Imag:
		return func(float64) float64 { return 0 }
	case expr.ReLU:
		return func(x float64) float64 {
			if x > 0 || x != x {
				return x
			}
			return 0
		}
	case expr.Abs:
		return math.Abs
	case expr.Sign:
		return func(x float64) float64 {
			switch {
			case x > 0:
				return 1
			case x < 0:
				return -1
			}
			return x + 0
		}
	case expr.Square, expr.AbsSquare:
		return func(x float64) float64 { return x * x }
	case expr.Floor:
		return math.Floor
	case expr.Ceil:
		return math.Ceil
	case expr.Round:
		return math.RoundToEven
	}
	return nil
}

func BenchmarkSmooth(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	const n = 1 << 16
	for _, c := range smoothOps {
		for _, dt := range []dtype.DType{dtype.Float32, dtype.Float64} {
			b.Run(fmt.Sprintf("%v/%v", c.op, dt), func(b *testing.B) {
				x, z := dense(dt, []int{n}), dense(dt, []int{n})
				x.each(func(_, k int) { put(dt, x.at(k), math.Abs(rng.NormFloat64())) })
				b.SetBytes(int64(2 * n * dt.Size()))
				for b.Loop() {
					_ = Unary(c.op, dt, dt, x.shape, x.p(), x.strides, z.p(), z.strides)
				}
			})
		}
	}
}

// TestLargeAngle: the reduction of this angle lost its lower half where the
// compiler fused a product into a sum, as it may on arm64.
func TestLargeAngle(t *testing.T) {
	const x = 1.3753462319400446e+245
	for quarter, f := range []func(float64) float64{sinF64, cosF64} {
		if u := bigmath.Ulps(f(x), bigmath.Sin(bigmath.Of(x), int64(quarter)), 53, -1074); u > 0.6 {
			t.Errorf("quarter %d: %.4f ulp", quarter, u)
		}
	}
}
