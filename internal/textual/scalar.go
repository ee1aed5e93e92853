package textual

import (
	"math"
	"strings"

	"github.com/gpk-go/gpk/dtype"
)

// scalar returns the text of an array without axes, which NumPy prints as it prints the
// element: all digits that identify it, and no blanks.
func scalar(dt dtype.DType, raw []byte) string {
	re, im, k := numbers(dt, raw)
	switch {
	case re == nil:
		return strings.TrimSpace(plain(dt, raw, "")[0])
	case im == nil:
		s := k.scalar(re[0], false)
		if finite(re[0]) && !strings.ContainsAny(s, ".e") {
			s += ".0"
		}
		return s
	case re[0] == 0 && !math.Signbit(re[0]):
		return k.scalar(im[0], false) + "j"
	}
	return "(" + k.scalar(re[0], false) + k.scalar(im[0], true) + "j)"
}

// scalar returns the shortest text of a number, with an exponent below 1e-4 and from 1e16
// on, or from the power of ten up to which the type holds every digit.
func (k kind) scalar(x float64, plus bool) string {
	if !finite(x) {
		return nonFinite(x, plus)
	}
	verb := byte('f')
	large := math.Pow10(k.precision)
	if k.fraction == double.fraction {
		large = 1e16
	}
	if size := math.Abs(x); size != 0 && (size < 1e-4 || size >= large) {
		verb = 'e'
	}
	return signed(k.shortest(x, verb), plus)
}
