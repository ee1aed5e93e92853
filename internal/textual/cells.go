package textual

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/gpk-go/gpk/dtype"
)

// Verb returns the format of one element for a verb of package fmt with its flags, width
// and precision; empty, which is the shortest text, for %v and %s.
func Verb(f fmt.State, verb rune) string {
	if verb == 'v' || verb == 's' {
		return ""
	}
	s := "%"
	for _, flag := range "+- 0#" {
		if f.Flag(int(flag)) {
			s += string(flag)
		}
	}
	if w, ok := f.Width(); ok {
		s += strconv.Itoa(w)
	}
	if p, ok := f.Precision(); ok {
		s += "." + strconv.Itoa(p)
	}
	return s + string(verb)
}

// cells returns the text of each element. raw is the memory of elements of type dt, which is
// valid. format is a result of Verb.
func cells(dt dtype.DType, raw []byte, format string) []string {
	re, im, k := numbers(dt, raw)
	switch {
	case re == nil:
		return alignRight(plain(dt, raw, format))
	case format != "":
		return alignRight(verbatim(re, im, format))
	case im == nil:
		return k.floats(re, false)
	}
	out := k.floats(re, false)
	for i, s := range k.floats(im, true) {
		number := strings.TrimRight(s, " ") // j follows the number, before the padding
		out[i] += number + "j" + s[len(number):]
	}
	return out
}

// numbers are the elements of a floating-point or complex type: real parts, and imaginary
// parts or nil. Both are nil for the other types.
func numbers(dt dtype.DType, raw []byte) (re, im []float64, k kind) {
	n := len(raw) / dt.Size()
	if h, ok := dt.Half(); ok {
		return widened(decode[uint16](raw, n), func(b uint16) float64 { return float64(h.Float32(b)) }), nil, kindOf(h)
	}
	switch dt {
	case dtype.Float32:
		return widened(decode[float32](raw, n), func(x float32) float64 { return float64(x) }), nil, single
	case dtype.Float64:
		return decode[float64](raw, n), nil, double
	case dtype.Complex64:
		data := decode[complex64](raw, n)
		return widened(data, func(x complex64) float64 { return float64(real(x)) }), widened(data, func(x complex64) float64 { return float64(imag(x)) }), single
	case dtype.Complex128:
		data := decode[complex128](raw, n)
		return widened(data, func(x complex128) float64 { return real(x) }), widened(data, func(x complex128) float64 { return imag(x) }), double
	}
	return nil, nil, k
}

func widened[T any](data []T, wide func(T) float64) []float64 {
	out := make([]float64, len(data))
	for i, x := range data {
		out[i] = wide(x)
	}
	return out
}

// plain returns the texts of integers and booleans.
func plain(dt dtype.DType, raw []byte, format string) []string {
	n := len(raw) / dt.Size()
	if t, ok := integerTypes[dt]; ok {
		return t.cells(raw, n, format)
	}
	if format != "" {
		return formatted(decode[bool](raw, n), format)
	}
	out := make([]string, n)
	for i, x := range decode[bool](raw, n) {
		out[i] = "False"
		if x {
			out[i] = " True"
		}
	}
	return out
}

func formatted[T dtype.Elem](data []T, format string) []string {
	if format == "" {
		format = "%v"
	}
	out := make([]string, len(data))
	for i, x := range data {
		out[i] = fmt.Sprintf(format, x)
	}
	return out
}

// verbatim returns the texts of numbers in a format of package fmt. The imaginary part, if
// there is one, has a sign and a j.
func verbatim(re, im []float64, format string) []string {
	out := formatted(re, format)
	for i, s := range formatted(im, format) {
		if !strings.HasPrefix(s, "-") && !strings.HasPrefix(s, "+") {
			s = "+" + s
		}
		number := strings.TrimRight(s, " ")
		out[i] += number + "j" + s[len(number):]
	}
	return out
}

// decode returns n elements from memory.
func decode[T any](raw []byte, n int) []T {
	out := make([]T, n)
	_, _ = binary.Decode(raw, binary.NativeEndian, out) // T has a fixed size
	return out
}
