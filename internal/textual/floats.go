package textual

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Floats prints numbers as NumPy does: at most 8 digits after the point (3 or
// 4 for halves), as many as any of them needs, or all with an exponent when
// their sizes lie far apart.
func Floats(values []float64, format string, bits int) []string {
	out := make([]string, len(values))
	if format != "" {
		for i, x := range values {
			out[i] = fmt.Sprintf(format, x)
		}
		return out
	}
	digits, size := 8, bits
	switch bits {
	case 16:
		digits, size = 4, 32
	case 8:
		digits, size = 3, 32
	}
	lo, hi := math.Inf(1), 0.0
	for _, x := range values {
		if x = math.Abs(x); x != 0 && !math.IsInf(x, 0) && !math.IsNaN(x) {
			lo, hi = min(lo, x), max(hi, x)
		}
	}
	verb := byte('f')
	if hi >= 1e8 || hi > 0 && lo < 1e-4 {
		verb = 'e'
	}
	need := 0
	for _, x := range values {
		need = max(need, fraction(x, verb, digits, size))
	}
	for i, x := range values {
		switch {
		case math.IsNaN(x):
			out[i] = "nan"
		case math.IsInf(x, 1):
			out[i] = "inf"
		case math.IsInf(x, -1):
			out[i] = "-inf"
		default:
			out[i] = trimmed(strconv.FormatFloat(x, verb, need, 64), need)
		}
	}
	return out
}

// trimmed writes a number with the point that NumPy always shows and, without
// an exponent, blanks for the zeros at its end.
func trimmed(s string, need int) string {
	mantissa, exponent, scientific := strings.Cut(s, "e")
	if need == 0 {
		mantissa += "."
	}
	if scientific {
		return mantissa + "e" + exponent
	}
	short := strings.TrimRight(mantissa, "0")
	return short + strings.Repeat(" ", len(mantissa)-len(short))
}

// fraction is how many digits after the point show x, at most digits.
func fraction(x float64, verb byte, digits, size int) int {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	s := strconv.FormatFloat(x, verb, -1, size)
	if i := strings.IndexByte(s, 'e'); i >= 0 {
		s = s[:i]
	}
	i := strings.IndexByte(s, '.')
	if i < 0 {
		return 0
	}
	if n := len(s) - i - 1; n <= digits {
		return n
	}
	s = strings.TrimRight(strconv.FormatFloat(x, verb, digits, 64), "0")
	if j := strings.IndexByte(s, 'e'); j >= 0 {
		return digits
	}
	return max(len(s)-strings.IndexByte(s, '.')-1, 0)
}
