package cpu

import "math"

// The trigonometric functions of float32 and their inverses are computed in float32, as the functions of exponential32.go are.

// Coefficients, lowest first, of near-minimax polynomials in z = x^2, each rounded to float32.
const (
	// (sin(x) - x)/x^3 for |x| <= pi/4, with sin(x) to 2^-32
	sin32C0 = -0x1.555556p-3
	sin32C1 = 0x1.111174p-7
	sin32C2 = -0x1.a058e4p-13
	sin32C3 = 0x1.7bf19ap-19

	// (cos(x) - 1 + x^2/2)/x^4 for |x| <= pi/4, with cos(x) to 2^-32
	cos32C0 = 0x1.55554ap-5
	cos32C1 = -0x1.6c0c14p-10
	cos32C2 = 0x1.99de6ep-16

	trig32Tiny  = 0x1p-13 // below, sin(x) and tan(x) are x
	trig32Limit = 0x1p19  // above, x is reduced in float64

	// 2/pi, and parts of pi/2 of 24 bits each
	twoOverPi32 = 0x1.45f306p-1
	halfPi32A   = 0x1.921fb4p+0
	halfPi32B   = 0x1.4442d2p-24
	halfPi32C   = -0x1.ee59dap-50

	// pi/2 as a sum of two numbers
	halfPi32     = 0x1.921fb6p+0
	halfPi32Rest = -0x1.777a5cp-25

	atan32Far = 0x1p64 // from here on, the arctangent is pi/2
)

// tan32P has the coefficients, highest first, of (tan(x) - x)/x^3 for |x| <= pi/4, with tan(x) to 2^-29; atan32P those of
// (atan(x) - x)/x^3 for |x| <= 1, with atan(x) to 2^-28.5; asin32P those of (asin(x) - x)/x^3 for |x| <= 1/2, with asin(x) to 2^-27.5.
var (
	tan32P = [7]float32{
		0x1.29a160p-8,
		-0x1.03538ep-12,
		0x1.6bd6aap-7,
		0x1.5afad2p-6,
		0x1.bb06b4p-5,
		0x1.110c98p-3,
		0x1.555564p-2,
	}
	atan32P = [9]float32{
		-0x1.d4984ap-10,
		0x1.64c1cep-7,
		-0x1.fdfc1cp-6,
		0x1.da5ed4p-5,
		-0x1.58155ep-4,
		0x1.c08f64p-4,
		-0x1.2420b6p-3,
		0x1.9991e6p-3,
		-0x1.55553ep-2,
	}
	asin32P = [5]float32{
		0x1.59cc5ep-5,
		0x1.8bb560p-6,
		0x1.748a2ap-5,
		0x1.33016ap-4,
		0x1.5555cap-3,
	}
)

// horner32 returns the polynomial in x with these coefficients, highest first.
func horner32(coefficients []float32, x float32) float32 {
	p := coefficients[0]
	for _, c := range coefficients[1:] {
		p = fma32(p, x, c)
	}
	return p
}

func abs32(x float32) float32 { return math.Float32frombits(math.Float32bits(x) &^ (1 << 31)) }

// copySign32 returns y with the sign of x.
func copySign32(y, x float32) float32 {
	return math.Float32frombits(math.Float32bits(y)&^(1<<31) | math.Float32bits(x)&(1<<31))
}

// reduceHalfPi32 returns x minus the nearest multiple q of pi/2 as a sum r + low, for |x| <= trig32Limit. x - q halfPi32A
// is exact, because it is a multiple of 2^-24 below 1.
func reduceHalfPi32(x float32) (r, low float32, q uint32) {
	t := fma32(x, twoOverPi32, shifter32)
	n := t - shifter32
	a := fma32(-n, halfPi32A, x)
	b := float32(n * halfPi32B)
	r = a - b
	low = ((a - r) - b) - fma32(n, halfPi32B, -b)
	return r, fma32(-n, halfPi32C, low), math.Float32bits(t)
}

// sinF32 returns the sine of any x, cosF32 the cosine.
func sinF32(x float32) float32 {
	a := abs32(x)
	switch {
	case !(a <= trig32Limit):
		return float32(sinF64(float64(x)))
	case a < trig32Tiny:
		return x
	}
	return sinQuarter32(x, 0)
}

func cosF32(x float32) float32 {
	if !(abs32(x) <= trig32Limit) {
		return float32(cosF64(float64(x)))
	}
	return sinQuarter32(x, 1)
}

// sinQuarter32 returns sin(x + quarter pi/2) for |x| <= trig32Limit.
func sinQuarter32(x float32, quarter uint32) float32 {
	r, low, q := reduceHalfPi32(x)
	q += quarter
	z := float32(r * r)
	var y float32
	if q&1 == 0 {
		p := fma32(sin32C3, z, sin32C2)
		p = fma32(p, z, sin32C1)
		p = fma32(p, z, sin32C0)
		y = r + fma32(p, float32(z*r), low)
	} else {
		p := fma32(cos32C2, z, cos32C1)
		p = fma32(p, z, cos32C0)
		h := float32(0.5 * z)
		w := 1 - h
		y = w + fma32(p, float32(z*z), fma32(-r, low, (1-w)-h))
	}
	return math.Float32frombits(math.Float32bits(y) ^ q&2<<30)
}

// tanF32 returns the tangent of any x: of the reduced number r, or -1/tan(r).
func tanF32(x float32) float32 {
	a := abs32(x)
	switch {
	case !(a <= trig32Limit):
		return float32(tanF64(float64(x)))
	case a < trig32Tiny:
		return x
	}
	s, low, q := reduceHalfPi32(x)
	r := s + low // near a multiple of pi/2, low is not small beside s
	low = (s - r) + low
	z := float32(r * r)
	small := fma32(horner32(tan32P[:], z), float32(z*r), fma32(low, z, low))
	y := r + small
	if q&1 == 0 {
		return y
	}
	rest := (r - y) + small
	w := 1 / y
	e := fma32(-w, rest, fma32(-w, y, 1))
	return -fma32(w, e, w)
}

// atanF32 returns the arctangent: with the reciprocal of |x| above 1, as pi/2 minus that of the reciprocal.
func atanF32(x float32) float32 {
	a := abs32(x)
	y, base, rest := a, float32(0), float32(0)
	if a > 1 {
		y, base, rest = -1/min(a, atan32Far), halfPi32, halfPi32Rest
	}
	z := float32(y * y)
	return copySign32(sumOfThree32(base, y, fma32(horner32(atan32P[:], z), float32(z*y), rest)), x)
}

// atan2F32 is the angle of the point (x, y) with the sign of y. The arctangent of the smaller coordinate over the larger one
// is its distance from the nearest axis.
func atan2F32(y, x float32) float32 {
	a, b := abs32(x), abs32(y)
	if !atan2Inside(y, x) {
		return float32(atan2F64(float64(y), float64(x)))
	}
	t := min(a, b) / max(a, b)
	left, base, rest := math.Signbit(float64(x)), float32(0), float32(0)
	if left {
		base, rest = 2*halfPi32, 2*halfPi32Rest
	}
	if b > a {
		base, rest = halfPi32, halfPi32Rest
	}
	if left != (b > a) {
		t = -t
	}
	z := float32(t * t)
	return copySign32(sumOfThree32(base, t, fma32(horner32(atan32P[:], z), float32(z*t), rest)), y)
}

// atan2Inside reports whether atan2F32 computes in float32: neither for (0, 0) nor for coordinates whose sum is not finite.
func atan2Inside(y, x float32) bool {
	s := abs32(x) + abs32(y)
	return s > 0 && s <= math.MaxFloat32
}

// asinF32 returns the arcsine. Above 1/2 it is pi/2 - 2 asin(sqrt((1 - |x|)/2)).
func asinF32(x float32) float32 {
	a := abs32(x)
	z, y, base, rest := float32(a*a), a, float32(0), float32(0)
	if a > 0.5 {
		z = float32(0.5 * (1 - a))
		y = sqrt32(z)
		y, base, rest = -(y + y), halfPi32, halfPi32Rest
	}
	return copySign32(sumOfThree32(base, y, fma32(horner32(asin32P[:], z), float32(z*y), rest)), x)
}

// acosF32 returns the arccosine: pi/2 - asin(x), or above 1/2 twice the arcsine of sqrt((1 - |x|)/2), from pi if x is negative.
func acosF32(x float32) float32 {
	a := abs32(x)
	z, y, base, rest := float32(a*a), -x, float32(halfPi32), float32(halfPi32Rest)
	if a > 0.5 {
		z = float32(0.5 * (1 - a))
		y = sqrt32(z)
		y += y
		base, rest = 0, 0
		if x < 0 {
			y, base, rest = -y, 2*halfPi32, 2*halfPi32Rest
		}
	}
	return sumOfThree32(base, y, fma32(horner32(asin32P[:], z), float32(z*y), rest))
}
