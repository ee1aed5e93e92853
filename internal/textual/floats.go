package textual

import (
	"math"
	"strconv"
	"strings"
)

// maxFraction is the maximum number of digits after the point, NumPy's default precision.
const maxFraction = 8

// floats returns one text a number, all of the same width and with the points in one
// column, as NumPy's FloatingFormat does with floatmode maxprec. plus writes the sign of
// positive numbers too.
func (k kind) floats(values []float64, plus bool) []string {
	if k.needsExponent(values) {
		return k.scientific(values, plus)
	}
	return k.positional(values, plus)
}

// needsExponent reports whether the numbers are printed with an exponent, which is the
// case if a number is large or small, or if the largest is more than 1000 times the
// smallest. Zeros, infinities and NaN do not count. The comparisons are made in the
// numbers' own type.
func (k kind) needsExponent(values []float64) bool {
	lo, hi := math.Inf(1), 0.0
	for _, x := range values {
		if x = math.Abs(x); x != 0 && finite(x) {
			lo, hi = min(lo, x), max(hi, x)
		}
	}
	return hi > 0 && (hi >= math.Pow10(min(8, k.precision)) || lo < k.round(1e-4) || k.round(hi/lo) > 1000)
}

// positional prints numbers without an exponent. Blanks stand for zeros at the end.
func (k kind) positional(values []float64, plus bool) []string {
	out := make([]string, len(values))
	left, right := 0, 0
	for i, x := range values {
		if !finite(x) {
			out[i] = nonFinite(x, plus)
			continue
		}
		s := k.shortest(x, 'f')
		whole, fraction, _ := strings.Cut(s, ".")
		if len(fraction) > maxFraction {
			whole, fraction, _ = strings.Cut(strconv.FormatFloat(x, 'f', maxFraction, 64), ".")
			fraction = strings.TrimRight(fraction, "0")
		}
		whole = signed(whole, plus)
		left, right = max(left, len(whole)), max(right, len(fraction))
		out[i] = whole + "." + fraction
	}
	for i, x := range values {
		if finite(x) {
			point := strings.IndexByte(out[i], '.')
			out[i] = blanks(left-point) + out[i] + blanks(right-(len(out[i])-point-1))
		}
	}
	return alignRight(out) // NaN and the infinities may be the widest
}

// scientific prints numbers with an exponent, all with the same number of digits.
func (k kind) scientific(values []float64, plus bool) []string {
	out := make([]string, len(values))
	short := make([]int, len(values)) // digits after the point that identify a number
	left, digits, exponents := 0, 0, 0
	for i, x := range values {
		if !finite(x) {
			out[i] = nonFinite(x, plus)
			continue
		}
		out[i] = k.shortest(x, 'e')
		whole, fraction, exponent := parts(out[i])
		short[i] = len(fraction)
		if short[i] > maxFraction {
			whole, fraction, exponent = parts(strconv.FormatFloat(x, 'e', maxFraction, 64))
			fraction = strings.TrimRight(fraction, "0")
		}
		left = max(left, len(signed(whole, plus)))
		digits, exponents = max(digits, len(fraction)), max(exponents, len(exponent)-1)
	}
	for i, x := range values {
		if !finite(x) {
			continue
		}
		// The digits after the identifying ones are those of the exact value, not zeros.
		if short[i] != digits {
			out[i] = strconv.FormatFloat(x, 'e', digits, 64)
		}
		whole, fraction, exponent := parts(out[i])
		whole = signed(whole, plus)
		out[i] = blanks(left-len(whole)) + whole + "." + fraction +
			"e" + exponent[:1] + strings.Repeat("0", exponents-len(exponent)+1) + exponent[1:]
	}
	return alignRight(out)
}

// alignRight writes blanks before the shorter texts.
func alignRight(texts []string) []string {
	width := 0
	for _, s := range texts {
		width = max(width, len(s))
	}
	for i, s := range texts {
		texts[i] = blanks(width-len(s)) + s
	}
	return texts
}

// parts are the digits before and after the point and the exponent with its sign.
func parts(s string) (whole, fraction, exponent string) {
	s, exponent, _ = strings.Cut(s, "e")
	whole, fraction, _ = strings.Cut(s, ".")
	return whole, fraction, exponent
}

// nonFinite returns the text of NaN or an infinity.
func nonFinite(x float64, plus bool) string {
	switch {
	case math.IsNaN(x):
		return signed("nan", plus)
	case x < 0:
		return "-inf"
	}
	return signed("inf", plus)
}

// signed writes the sign of a positive number if plus is set.
func signed(s string, plus bool) string {
	if plus && s[0] != '-' {
		return "+" + s
	}
	return s
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

func blanks(n int) string { return strings.Repeat(" ", n) }
