package cpu

import "math"

// powF64 returns x^y. Special cases are those of C and of math.Pow.
func powF64(x, y float64) float64 {
	if x == 1 || y == 0 || x == 0 || !(math.Abs(x) <= math.MaxFloat64) || !(math.Abs(y) <= math.MaxFloat64) {
		return math.Pow(x, y)
	}
	return powFinite(x, y)
}

// powFinite is powF64 for finite x and y that are not 0: e^(y log|x|), with a logarithm of 65
// bits, and the sign.
func powFinite(x, y float64) float64 {
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
	var high, low float64
	if x < leastNormal {
		high, low = logSum(x*0x1p54, -54)
	} else {
		high, low = logSum(x, 0)
	}
	p, rest := twoProduct(y, high)
	rest = math.FMA(y, low, rest)
	v := 0.0
	switch {
	case math.Abs(p) <= normalExponent:
		w, t := expParts64(p, rest)
		v = w * powerOf(t)
	case p > 710:
		v = math.Inf(1)
	case p >= -746:
		v = exp64(p, rest)
	}
	if negative {
		return -v
	}
	return v
}
