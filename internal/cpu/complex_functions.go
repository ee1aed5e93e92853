package cpu

import "math"

// complexLog returns log|x| + i Angle(x). If |x| is near 1, log|x| is half of log1p(|x|^2 -
// 1), with |x|^2 - 1 = (a - 1)(a + 1) + b^2 for the larger part a.
func complexLog(x complex128) complex128 {
	a, b := math.Abs(real(x)), math.Abs(imag(x))
	if a < b {
		a, b = b, a
	}
	re := 0.0
	switch {
	case a > 0.7 && a < 1.5:
		p, p1 := twoProduct(a-1, a+1)
		q, q1 := twoProduct(b, b)
		re = 0.5 * log1pF64(p+q+(p1+q1))
	case a > 0x1p1000 && a <= math.MaxFloat64:
		re = logF64(modulus(a*0x1p-4, b*0x1p-4)) + 4*math.Ln2
	case a < 0x1p-900 && a > 0:
		re = logF64(modulus(a*0x1p200, b*0x1p200)) - 200*math.Ln2
	default:
		re = logF64(modulus(a, b))
	}
	return complex(re, angleC128(x))
}

// complexSin returns sin(a) cosh(b) + i cos(a) sinh(b), with the signs of zeros and the
// infinities of C99's csinh(ix).
func complexSin(x complex128) complex128 {
	a, b := real(x), imag(x)
	if math.IsInf(b, 0) && a-a != 0 {
		return complex(math.NaN(), b)
	}
	re, im := timesHyperbolic(sinF64(a), cosF64(a), b)
	if a == 0 {
		re = a
	}
	if b == 0 {
		im = math.Copysign(b, b*math.Copysign(1, cosF64(a)))
	}
	return complex(re, im)
}

// complexCos returns cos(a) cosh(b) - i sin(a) sinh(b).
func complexCos(x complex128) complex128 {
	a, b := real(x), imag(x)
	if math.IsInf(b, 0) && a-a != 0 {
		return complex(math.Inf(1), math.NaN())
	}
	re, im := timesHyperbolic(cosF64(a), sinF64(a), b)
	if a == 0 || b == 0 {
		im = math.Copysign(0, math.Copysign(1, sinF64(a))*math.Copysign(1, b))
	}
	return complex(re, -im)
}

// timesHyperbolic returns c cosh(b) and s sinh(b). Where both hyperbolic functions equal
// e^|b|/2, c and s are multiplied by powers of e one after the other, as in complexExp.
func timesHyperbolic(c, s, b float64) (re, im float64) {
	a := math.Abs(b)
	if !(a > 709) {
		return c * coshF64(b), s * sinhF64(b)
	}
	c, s = 0.5*c, math.Copysign(0.5, b)*s
	for range 2 {
		if a > 709 {
			a, c, s = a-700, c*expStep, s*expStep
		}
	}
	e := exp64(a, 0)
	return c * e, s * e
}

// maxComplexPower is the largest integer power that complexPow computes by products.
const maxComplexPower = 64

// complexPow returns x^y: by products for small integers y, otherwise e^(y log x), whose
// error grows with |y log x|. x^0 is 1; a power of 0 is 0 if the real part of y is
// positive, otherwise NaN.
func complexPow(x, y complex128) complex128 {
	switch {
	case y == 0:
		return 1
	case x == 0 && real(y) > 0:
		return 0
	case x == 0:
		return complex(math.NaN(), math.NaN())
	}
	n := real(y)
	if imag(y) == 0 && n == math.Trunc(n) && math.Abs(n) <= maxComplexPower {
		p := complex128(1)
		square := x
		first := true
		for k := int(math.Abs(n)); k > 0; k /= 2 {
			switch {
			case k%2 == 1 && first:
				p, first = square, false
			case k%2 == 1:
				p = mul128(p, square)
			}
			square = mul128(square, square)
		}
		if n < 0 {
			return div128(1, p)
		}
		return p
	}
	return complexExp(mul128(y, complexLog(x)))
}
