package textual

import (
	"math"
	"strconv"

	"github.com/gpk-go/gpk/dtype"
)

// kind is a floating-point type. Its values are passed as float64, which holds each of
// them exactly.
type kind struct {
	fraction  int                   // stored bits of the significand
	minimum   int                   // exponent of the smallest normal number
	precision int                   // decimal digits that every number of the type keeps
	round     func(float64) float64 // to the nearest number of the type
}

var (
	single = kind{23, -126, 6, func(x float64) float64 { return float64(float32(x)) }}
	double = kind{52, -1022, 15, func(x float64) float64 { return x }}
)

// kindOf returns the kind of a 16-bit type.
func kindOf(h *dtype.Half) kind {
	return kind{
		h.Fraction, h.MinExponent(), int(float64(h.Fraction) * math.Log10(2)),
		func(x float64) float64 { return float64(h.Float32(h.Round(float32(x)))) },
	}
}

// shortest formats a finite x with the fewest digits that identify it among the numbers of
// its type. The verb is 'f' or 'e', as in package strconv.
func (k kind) shortest(x float64, verb byte) string {
	switch k.fraction {
	case double.fraction:
		return strconv.FormatFloat(x, verb, -1, 64)
	case single.fraction:
		if math.Abs(x) == 0x1p-12 {
			// Both 2.4414062e-04 and 2.4414063e-04 are equally near. Of all powers of two,
			// this is the only one for which strconv takes the odd one.
			x = math.Copysign(2.4414062e-04, x)
			return strconv.FormatFloat(x, verb, -1, 64)
		}
		return strconv.FormatFloat(x, verb, -1, 32)
	}
	return strconv.FormatFloat(k.shortestDecimal(x), verb, -1, 64)
}

// shortestDecimal returns, for a type of 16 bits, the shortest decimal that rounds to x,
// and of several the nearest to x. A decimal of so few digits is the shortest text of the
// float64 nearest to it.
func (k kind) shortestDecimal(x float64) float64 {
	if x == 0 {
		return x
	}
	value := math.Abs(x)
	inside := k.interval(value)
	for scale := -int(math.Floor(math.Log10(value))); ; scale++ { // digits after the point
		down := math.Floor(shifted(value, scale))
		a, b := shifted(down, -scale), shifted(down+1, -scale)
		up := b-value < value-a || b-value == value-a && math.Mod(down, 2) == 1
		switch {
		case inside(b) && (up || !inside(a)):
			down++
		case !inside(a):
			continue
		}
		y, _ := strconv.ParseFloat(strconv.Itoa(int(down))+"e"+strconv.Itoa(-scale), 64)
		return math.Copysign(y, x)
	}
}

// interval returns the function that reports whether a decimal rounds to a positive x.
func (k kind) interval(x float64) func(float64) bool {
	fraction, exponent := math.Frexp(x)
	exponent = max(exponent-1, k.minimum)
	ulp := math.Ldexp(1, exponent-k.fraction)
	low, high := x-ulp/2, x+ulp/2
	if fraction == 0.5 && exponent > k.minimum {
		low = x - ulp/4 // below a power of two the distance of numbers is half as large
	}
	even := math.Mod(x/ulp, 2) == 0 // ties round to an even significand
	return func(y float64) bool { return low < y && y < high || even && (y == low || y == high) }
}

// shifted returns x times ten to the power of n. It is correctly rounded for n from -22 to
// 22.
func shifted(x float64, n int) float64 {
	if n < 0 {
		return x / math.Pow10(-n)
	}
	return x * math.Pow10(n)
}
