package cpu

import "math"

// Exponentials and logarithms to other bases, and hyperbolic functions.

// exp2F64 returns 2^x, exactly for integers: e^(x log 2), with the product in twice the
// precision.
func exp2F64(x float64) float64 {
	switch {
	case x == math.Trunc(x) && math.Abs(x) <= 1100:
		return math.Ldexp(1, int(x))
	case x != x:
		return x
	case x > 1025:
		return math.Inf(1)
	case x < -1076:
		return 0
	}
	high, low := twoProduct(x, math.Ln2)
	return exp64(high, math.FMA(x, ln2Rest, low))
}

// ln2Rest is log 2 minus its float64.
const ln2Rest = 0x1.abc9e3b39803fp-56

const (
	hyperbolicTiny = 0x1p-28 // below, sinh, asinh and atanh are x
	hyperbolicFar  = 0x1p28  // beyond, asinh and acosh are log(2x)
)

// sinhF64 returns (e^x - e^-x)/2; with e = e^|x| - 1 that is (e + e/(e + 1))/2.
func sinhF64(x float64) float64 {
	a := math.Abs(x)
	v := 0.0
	switch {
	case a < hyperbolicTiny:
		return x
	case a <= normalExponent:
		e := expm1F64(a)
		v = 0.5 * (e + e/(e+1))
	default:
		v = halfExp(a)
	}
	return math.Copysign(v, x)
}

// coshF64 returns (e^x + e^-x)/2.
func coshF64(x float64) float64 {
	a := math.Abs(x)
	if a <= normalExponent {
		e := expF64(a)
		return 0.5*e + 0.5/e
	}
	return halfExp(a)
}

// halfExp returns e^a/2, which may be finite when e^a is not.
func halfExp(a float64) float64 {
	if a > 709 {
		return exp64(a-700, 0) * (expStep / 2)
	}
	return 0.5 * expF64(a)
}

// The inverse hyperbolic functions are those of fdlibm (Sun Microsystems, 1993: s_asinh.c,
// e_acosh.c, e_atanh.c).

func asinhF64(x float64) float64 {
	a := math.Abs(x)
	v := 0.0
	switch {
	case a < hyperbolicTiny || a != a:
		return x
	case a > hyperbolicFar:
		v = logF64(a) + math.Ln2
	case a > 2:
		v = logF64(2*a + 1/(math.Sqrt(math.FMA(a, a, 1))+a))
	default:
		z := float64(a * a) // rounded here, not fused into a later sum
		v = log1pF64(a + z/(1+math.Sqrt(1+z)))
	}
	return math.Copysign(v, x)
}

func acoshF64(x float64) float64 {
	switch {
	case !(x >= 1):
		return math.NaN()
	case x > hyperbolicFar:
		return logF64(x) + math.Ln2
	case x > 2:
		return logF64(2*x - 1/(x+math.Sqrt(math.FMA(x, x, -1))))
	}
	t := x - 1
	return log1pF64(t + math.Sqrt(math.FMA(t, t, 2*t)))
}

func atanhF64(x float64) float64 {
	a := math.Abs(x)
	v := 0.0
	switch {
	case a < hyperbolicTiny:
		return x
	case a < 0.5:
		v = 0.5 * log1pF64(2*a+2*a*a/(1-a))
	default:
		v = 0.5 * log1pF64(2*a/(1-a)) // NaN from 1 on
	}
	return math.Copysign(v, x)
}

// logAddExpF64 returns log(e^x + e^y): the larger operand plus a correction from the other
// one.
func logAddExpF64(x, y float64) float64 {
	switch d := x - y; {
	case x == y: // infinities too
		return x + math.Ln2
	case d > 0:
		return x + log1pF64(expF64(-d))
	case d <= 0:
		return y + log1pF64(expF64(d))
	default:
		return d // NaN
	}
}
