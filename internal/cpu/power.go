package cpu

import "math"

// Coefficients of (2 atanh(s) - 2s - 2/3 s^3)/s^5 in s^2 but the first, 2/5, as in
// smooth.go, to 2^-54.
const (
	powC1 = 0.28571428571428564
	powC2 = 0.2222222222222843
	powC3 = 0.18181818179656925
	powC4 = 0.15384615761170173
	powC5 = 0.13333296534432942
	powC6 = 0.11766813121034213
	powC7 = 0.10456327269484514
	powC8 = 0.107624244195648
)

// powF32 returns x^y, powF64 too; special cases are those of C and of math.Pow.
func powF32(x, y float32) float32 {
	a, b := float64(x), float64(y)
	if x == 1 || y == 0 || x == 0 || !(math.Abs(a) <= math.MaxFloat32) || !(math.Abs(b) <= math.MaxFloat32) {
		return float32(math.Pow(a, b))
	}
	return float32(power(a, b))
}

func powF64(x, y float64) float64 {
	if x == 1 || y == 0 || x == 0 || !(math.Abs(x) <= math.MaxFloat64) || !(math.Abs(y) <= math.MaxFloat64) {
		return math.Pow(x, y)
	}
	return power(x, y)
}

// power is powF64 for finite x and y, neither of them 0: e^(y log|x|), with a
// logarithm of more than 66 bits, and the sign.
func power(x, y float64) float64 {
	negative := false
	if x < 0 {
		half := 0.5 * y
		switch {
		case math.Trunc(y) != y:
			return math.NaN()
		case math.Trunc(half) != half:
			negative = true
		}
		x = -x
	}
	high, low := logarithm(x)
	p, rest := twoProduct(y, high)
	v := 0.0
	switch {
	case p > 710:
		v = math.Inf(1)
	case p >= -746:
		v = exp64(p, rest+y*low)
	}
	if negative {
		return -v
	}
	return v
}

// logarithm returns log(x), x > 0 and finite, as a sum of two numbers.
//
// With x = 2^k m, s = (m-1)/(m+1) and z = s^2, log(m) = 2s (1 + z/3 + z^2/5 + ...); the
// first three terms and their sums are computed in twice the precision.
func logarithm(x float64) (high, low float64) {
	m, k := math.Frexp(x)
	if m < sqrt1_2 {
		m, k = 2*m, k-1
	}
	f := m - 1
	d := f + 2
	d1 := f - (d - 2)
	s := f / d
	s1 := (math.FMA(-s, d, f) - s*d1) / d
	z, z1 := twoProduct(s, s)
	z1 += 2 * s * s1
	p := powC8*z + powC7
	p = p*z + powC6
	p = p*z + powC5
	p = p*z + powC4
	p = p*z + powC3
	p = p*z + powC2
	p = p*z + powC1
	// t = z (1/3 + z (1/5 + z p/2)), from within as sums of two numbers
	const (
		third, thirdRest = 0x1.5555555555555p-2, 1.0/3 - 0x1.5555555555555p-2
		fifth, fifthRest = 0x1.999999999999ap-3, 0.2 - 0x1.999999999999ap-3
	)
	e := float64(0.5 * z * p) // rounded: what u lacks of it is computed
	u := fifth + e
	u1 := (fifth - u) + e + fifthRest
	w, w1 := twoProduct(z, u)
	w1 += z*u1 + z1*u
	v := third + w
	v1 := (third - v) + w + (w1 + thirdRest)
	t, t1 := twoProduct(z, v)
	t1 += z*v1 + z1*v
	// 2s (1 + t)
	g, g1 := twoProduct(2*s, t)
	g1 += 2*s*t1 + 2*s1*t
	n := float64(k)
	a := float64(n * ln2High) // rounded, for the same reason
	sum := a + 2*s
	back := sum - a
	rest := (a - (sum - back)) + (2*s - back)
	high = sum + g
	back = high - sum
	rest += (sum - (high - back)) + (g - back)
	low = rest + (n*ln2Low + (g1 + 2*s1))
	return high, low
}
