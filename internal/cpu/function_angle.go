package cpu

import "math"

// Inverse trigonometric functions and functions of a right triangle.

// tanF64 is the quotient of a sine and a cosine with an error of 1 ulp each.
func tanF64(x float64) float64 { return sinF64(x) / cosF64(x) }

// asinF64 is the angle of the point (sqrt(1 - x^2), x).
func asinF64(x float64) float64 { return math.Atan2(x, cathetus(x)) }

// acosF64 is the angle of the point (x, sqrt(1 - x^2)), which avoids cancellation near 1.
func acosF64(x float64) float64 { return math.Atan2(cathetus(x), x) }

// cathetus returns sqrt(1 - x^2), with 1 - x^2 rounded once.
func cathetus(x float64) float64 { return math.Sqrt(math.FMA(-x, x, 1)) }

func atanF64(x float64) float64 { return math.Atan(x) }

// atan2F64 is math.Atan2 with the sign of y. math.Atan2 takes the sign from y / x, so it gives pi
// for -pi where that quotient underflows, as for y = -1e-308 and x = -1e308.
func atan2F64(y, x float64) float64 { return math.Copysign(math.Atan2(math.Abs(y), x), y) }

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

// angleF64 is 0 or pi, NaN for NaN.
func angleF64(x float64) float64 { return math.Atan2(0, x) }

func angleC128(x complex128) float64 { return atan2F64(imag(x), real(x)) }
