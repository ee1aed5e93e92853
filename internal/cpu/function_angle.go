package cpu

import "math"

// Inverse trigonometric functions and functions of a right triangle.

// tanF64 returns the quotient of a sine and a cosine, each with an error of 1 ulp.
func tanF64(x float64) float64 { return sinF64(x) / cosF64(x) }

// An inverse function is base + s + s z P(z), where s is a tangent and z = s^2, or s is a sine, or twice a sine, and z the
// square of the sine.

const (
	atanLow  = 0.66                        // up to here, s is the argument
	atanHigh = 1 + math.Sqrt2              // from here on, s is a reciprocal: tan(3 pi/8)
	atanRest = 6.123233995736765886130e-17 // pi/2 minus its float64
)

// arcTangent are the coefficients of (atan(s) - s)/s^3 in s^2, lowest first, to 2^-59.5 of atan(s)/s for |s| <= 0.66.
var arcTangent = [15]float64{
	-0x1.5555555555545p-2, 0x1.99999999979fdp-3, -0x1.24924923e9c35p-3, 0x1.c71c718e17386p-4, -0x1.745d1183a8babp-4,
	0x1.3b134ff494b27p-4, -0x1.110ca17625295p-4, 0x1.e197a79f0893bp-5, -0x1.ad60ad24a93a9p-5, 0x1.7df46374c2f6dp-5,
	-0x1.4838af0651d06p-5, 0x1.fea83422bce33p-6, -0x1.43aa3d71d0267p-6, 0x1.1c5bbf201ce87p-7, -0x1.f50d7a840af5ep-10,
}

// arcSine are the coefficients of (asin(s) - s)/s^3 in s^2, lowest first, to 2^-59.8 of asin(s)/s for |s| <= 1/2.
var arcSine = [13]float64{
	0x1.5555555555578p-3, 0x1.333333332df7ep-4, 0x1.6db6db7226142p-5, 0x1.f1c71a8dbf844p-6, 0x1.6e8bdfa6df447p-6,
	0x1.1c49e2b35df1ep-6, 0x1.ca20cecfb3b52p-7, 0x1.757b74065281ep-7, 0x1.61741466e6b3cp-7, 0x1.e2bcb33ed582fp-9,
	0x1.649339b02d130p-6, -0x1.59553f852f0fbp-6, 0x1.0bb09c3cc267bp-5,
}

// arc returns base + rest + s + s z P(z). base is 0 or larger than s.
func arc(base, rest, s, z float64, p []float64) float64 {
	sum := base + s
	return sum + math.FMA(float64(s*z), estrin(p, z), ((base-sum)+s)+rest)
}

// atanOf returns the arctangent of a >= 0.
func atanOf(a float64) float64 {
	base, rest, s := math.Pi/4, 0.5*atanRest, 0.0
	switch {
	case a <= atanLow:
		base, rest, s = 0, 0, a
	case a > atanHigh:
		base, rest, s = math.Pi/2, atanRest, -1/a
	default:
		s = (a - 1) / (a + 1)
	}
	return arc(base, rest, s, float64(s*s), arcTangent[:])
}

func atanF64(x float64) float64 { return math.Copysign(atanOf(math.Abs(x)), x) }

// asinF64 returns pi/2 - 2 asin(sqrt((1 - x)/2)) for x > 1/2. It is NaN beyond 1.
func asinF64(x float64) float64 {
	a := math.Abs(x)
	base, rest, s, z := 0.0, 0.0, a, float64(a*a)
	if !(a <= 0.5) {
		z = math.FMA(-2, a, 2) // exact
		base, rest, s, z = math.Pi/2, atanRest, -math.Sqrt(z), 0.25*z
	}
	return math.Copysign(arc(base, rest, s, z, arcSine[:]), x)
}

// acosF64 returns pi/2 - asin(x), or 2 asin(sqrt((1 - |x|)/2)) for |x| > 1/2, which is subtracted from pi for negative x. It is
// NaN beyond 1.
func acosF64(x float64) float64 {
	a := math.Abs(x)
	base, rest, s, z := math.Pi/2, atanRest, -x, float64(a*a)
	if !(a <= 0.5) {
		z = math.FMA(-2, a, 2) // exact
		base, rest, s, z = 0, 0, math.Sqrt(z), 0.25*z
		if math.Signbit(x) {
			base, rest, s = math.Pi, 2*atanRest, -s
		}
	}
	return arc(base, rest, s, z, arcSine[:])
}

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
