package ops

import (
	"math"
	"math/big"
	"math/cmplx"
)

// The float64 definitions of the operations. Every kernel is tested against them.

func refReLU(x, _ complex128) complex128 {
	if v := real(x); v > 0 || math.IsNaN(v) {
		return complex(v, 0)
	}
	return 0
}

func refGELU(x, _ complex128) complex128 {
	v := real(x)
	// erfc keeps its relative accuracy where 1+erf cancels.
	return complex(0.5*v*math.Erfc(-v/math.Sqrt2), 0)
}

func refGELUTanh(x, _ complex128) complex128 {
	v := real(x)
	u := math.Sqrt(2/math.Pi) * (v + 0.044715*v*v*v)
	// 1/2 (1 + tanh u) = 1 / (1 + exp(-2u)), without the cancellation.
	return complex(v/(1+math.Exp(-2*u)), 0)
}

func refSiLU(x, _ complex128) complex128 {
	v := real(x)
	return complex(v/(1+math.Exp(-v)), 0)
}

func refSigmoid(x, _ complex128) complex128 { return complex(1/(1+math.Exp(-real(x))), 0) }

// refReal makes a reference from a function of real numbers.
func refReal(f func(float64) float64) func(x, _ complex128) complex128 {
	return func(x, _ complex128) complex128 { return complex(f(real(x)), 0) }
}

// refLog is math.Log, with a correction for subnormal numbers, for which math.Log is wrong
// on amd64.
func refLog(x float64) float64 {
	if f, e := math.Frexp(x); 0 < x && e < -1021 {
		return math.Log(f) + float64(e)*math.Ln2
	}
	return math.Log(x)
}

func refTruth(f func(x, y complex128) bool) func(x, y complex128) complex128 {
	return func(x, y complex128) complex128 {
		if f(x, y) {
			return 1
		}
		return 0
	}
}

func refSign(x, _ complex128) complex128 {
	switch v := real(x); {
	case v > 0:
		return 1
	case v < 0:
		return -1
	case v == 0:
		return 0
	}
	return x
}

// refSqrt returns the real square root for non-negative real numbers, and cmplx.Sqrt otherwise.
func refSqrt(x, _ complex128) complex128 {
	if imag(x) == 0 && real(x) >= 0 {
		return complex(math.Sqrt(real(x)), imag(x))
	}
	return cmplx.Sqrt(x)
}

func refExp(x, _ complex128) complex128 {
	if imag(x) == 0 {
		return complex(math.Exp(real(x)), imag(x))
	}
	return cmplx.Exp(x)
}

// refPow is math.Pow for real numbers whose power is real. Other powers are cmplx.Pow, or, for |x| near 1, more accurate.
func refPow(x, y complex128) complex128 {
	if imag(x) == 0 && imag(y) == 0 && (real(x) >= 0 || real(y) == math.Trunc(real(y))) {
		return complex(math.Pow(real(x), real(y)), 0)
	}
	if m := cmplx.Abs(x); m > 0.5 && m < 2 && cmplx.Abs(y) < 100 { // cmplx.Pow rounds the modulus, and the power multiplies that error
		return cmplx.Exp(y * complex(refLogModulus(x), cmplx.Phase(x)))
	}
	return cmplx.Pow(x, y)
}

// refLogModulus returns log|x|, also near |x| = 1, where the logarithm of the rounded modulus has few correct digits.
func refLogModulus(x complex128) float64 {
	square := func(v float64) *big.Float {
		f := new(big.Float).SetPrec(300).SetFloat64(v)
		return f.Mul(f, f)
	}
	sum := square(real(x))
	sum.Add(sum, square(imag(x))).Sub(sum, big.NewFloat(1))
	excess, _ := sum.Float64() // |x|^2 - 1
	return math.Log1p(excess) / 2
}

// refComplex makes a reference from a function of real numbers and its complex
// continuation.
func refComplex(f func(float64) float64, g func(complex128) complex128) func(x, _ complex128) complex128 {
	return func(x, _ complex128) complex128 {
		if imag(x) == 0 {
			return complex(f(real(x)), 0)
		}
		return g(x)
	}
}

// refAtan2 is math.Atan2 with the sign of y. math.Atan2 takes the sign from y / x, so it gives pi
// for -pi where the quotient underflows and x is negative.
func refAtan2(y, x float64) float64 { return math.Copysign(math.Atan2(math.Abs(y), x), y) }

// refLogOf is refLog for real numbers that are not negative, and cmplx.Log otherwise.
func refLogOf(x, _ complex128) complex128 {
	if imag(x) == 0 && !(real(x) < 0) {
		return complex(refLog(real(x)), imag(x))
	}
	return cmplx.Log(x)
}

func refMaximum(x, y complex128) complex128 { return complex(max(real(x), real(y)), 0) }

func refMinimum(x, y complex128) complex128 { return complex(min(real(x), real(y)), 0) }
