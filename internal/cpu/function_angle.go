package cpu

import "math"

// Inverse trigonometric functions and functions of a right triangle.

// tanF64 returns the quotient of a sine and a cosine, each with an error of 1 ulp.
func tanF64(x float64) float64 { return sinF64(x) / cosF64(x) }

// The arctangent is that of the Cephes library (Moshier, 1984 to 2000), as in Go's package math. Every product is rounded
// before it is added to something, so that all processors give the same bits.

const (
	atanP0 = -8.750608600031904122785e-01
	atanP1 = -1.615753718733365076637e+01
	atanP2 = -7.500855792314704667340e+01
	atanP3 = -1.228866684490136173410e+02
	atanP4 = -6.485021904942025371773e+01
	atanQ0 = +2.485846490142306297962e+01
	atanQ1 = +1.650270098316988542046e+02
	atanQ2 = +4.328810604912902668951e+02
	atanQ3 = +4.853903996359136964868e+02
	atanQ4 = +1.945506571482613964425e+02

	atanLow  = 0.66                        // up to here, the arctangent is atanNear
	atanHigh = 1 + math.Sqrt2              // from here on, it is computed from the reciprocal: tan(3 pi/8)
	atanRest = 6.123233995736765886130e-17 // pi/2 minus its float64
)

// atanNear returns the arctangent of |x| <= 0.66.
func atanNear(x float64) float64 {
	z := float64(x * x)
	p := horner2(horner2(atanP0, z, atanP1, atanP2), z, atanP3, atanP4)
	q := horner2(horner3(1, z, atanQ0, atanQ1, atanQ2), z, atanQ3, atanQ4)
	return float64(x*(float64(z*p)/q)) + x
}

// atanOf returns the arctangent of a >= 0.
func atanOf(a float64) float64 {
	switch {
	case a <= atanLow:
		return atanNear(a)
	case a > atanHigh:
		return math.Pi/2 - atanNear(1/a) + atanRest
	}
	return math.Pi/4 + atanNear((a-1)/(a+1)) + 0.5*atanRest
}

func atanF64(x float64) float64 { return math.Copysign(atanOf(math.Abs(x)), x) }

// asinF64 returns the angle of the point (sqrt(1 - x^2), x).
func asinF64(x float64) float64 {
	if !(math.Abs(x) <= 1) {
		return math.NaN()
	}
	return atanF64(x / cathetus(x))
}

// acosF64 returns the angle of the point (x, sqrt(1 - x^2)), which avoids cancellation near 1.
func acosF64(x float64) float64 {
	if !(math.Abs(x) <= 1) {
		return math.NaN()
	}
	return turn(atanOf(cathetus(x)/math.Abs(x)), x)
}

// cathetus returns sqrt(1 - x^2), with 1 - x^2 rounded once.
func cathetus(x float64) float64 { return math.Sqrt(math.FMA(-x, x, 1)) }

// turn returns pi - a if x is negative, or -0, and a otherwise.
func turn(a, x float64) float64 {
	if math.Signbit(x) {
		return math.Pi - a
	}
	return a
}

// atan2F64 returns the angle of the point (x, y), with the sign of y.
func atan2F64(y, x float64) float64 {
	q := math.Abs(y / x)
	if q != q { // two zeros, two infinities or NaN
		return math.Copysign(math.Atan2(math.Abs(y), x), y)
	}
	return math.Copysign(turn(atanOf(q), x), y)
}

// hypotF64 returns sqrt(x^2 + y^2). The result is infinite if either operand is, even if
// the other is NaN. Operands at the ends of the range are scaled by a power of two.
func hypotF64(x, y float64) float64 {
	a, b := math.Abs(x), math.Abs(y)
	switch m := max(a, b); {
	case m > 0x1p1000:
		return modulus(a*0x1p-200, b*0x1p-200) * 0x1p200
	case m < 0x1p-900:
		return modulus(a*0x1p200, b*0x1p200) * 0x1p-200
	}
	return modulus(a, b)
}

// hypotF32 computes hypotF64 of float32 numbers. Their squares neither overflow nor underflow in float64.
func hypotF32(x, y float32) float32 {
	a, b := float64(x), float64(y)
	if v := math.Sqrt(float64(a*a) + float64(b*b)); v == v {
		return float32(v)
	}
	return float32(hypotF64(a, b))
}

// angleF64 returns 0 or pi, and NaN for NaN.
func angleF64(x float64) float64 { return math.Atan2(0, x) }

func angleC128(x complex128) float64 { return atan2F64(imag(x), real(x)) }
