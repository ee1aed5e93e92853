package textual

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/x448/float16"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/dtype/bfloat16"
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

// Cells returns one text an element. raw holds elements of a valid type as memory does,
// and format is as Verb returns it.
func Cells(dt dtype.DType, raw []byte, format string) []string {
	n := len(raw) / dt.Size()
	switch dt {
	case dtype.Float32:
		return floats(decode[float32](raw, n), format, 32, func(x float32) float64 { return float64(x) })
	case dtype.Float64:
		return floats(decode[float64](raw, n), format, 64, func(x float64) float64 { return x })
	case dtype.Float16:
		return floats(decode[float16.Float16](raw, n), format, 16, func(x float16.Float16) float64 { return float64(x.Float32()) })
	case dtype.BFloat16:
		return floats(decode[bfloat16.BFloat16](raw, n), format, 8, func(x bfloat16.BFloat16) float64 { return float64(x.Float32()) })
	case dtype.Int8:
		return plain(decode[int8](raw, n), format)
	case dtype.Uint8:
		return plain(decode[uint8](raw, n), format)
	case dtype.Int32:
		return plain(decode[int32](raw, n), format)
	case dtype.Int64:
		return plain(decode[int64](raw, n), format)
	case dtype.Bool:
		return plain(decode[bool](raw, n), format)
	case dtype.Complex64:
		return complexes(decode[complex64](raw, n), format, 32, func(x complex64) complex128 { return complex128(x) })
	}
	return complexes(decode[complex128](raw, n), format, 64, func(x complex128) complex128 { return x })
}

// decode returns n elements from memory.
func decode[T dtype.Elem](raw []byte, n int) []T {
	out := make([]T, n)
	_, _ = binary.Decode(raw, binary.NativeEndian, out) // T has a fixed size
	return out
}

func plain[T dtype.Elem](data []T, format string) []string {
	if format == "" {
		format = "%v"
	}
	out := make([]string, len(data))
	for i, x := range data {
		out[i] = fmt.Sprintf(format, x)
	}
	return out
}

func floats[T dtype.Elem](data []T, format string, bits int, wide func(T) float64) []string {
	values := make([]float64, len(data))
	for i, x := range data {
		values[i] = wide(x)
	}
	return Floats(values, format, bits)
}

func complexes[T dtype.Elem](data []T, format string, bits int, wide func(T) complex128) []string {
	re, im := make([]float64, len(data)), make([]float64, len(data))
	for i, x := range data {
		re[i], im[i] = real(wide(x)), imag(wide(x))
	}
	out := Floats(re, format, bits)
	for i, s := range Floats(im, format, bits) {
		if !strings.HasPrefix(s, "-") && !strings.HasPrefix(s, "+") {
			s = "+" + s
		}
		number := strings.TrimRight(s, " ") // the j stands at the number
		out[i] += number + "j" + s[len(number):]
	}
	return out
}
