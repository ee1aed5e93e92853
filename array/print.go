package array

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/dtype/bfloat16"
	"github.com/gpk-go/gpk/internal/callsite"
	"github.com/gpk-go/gpk/internal/textual"
	"github.com/x448/float16"
)

// summaryOver is the size from which only the edges of each axis are printed,
// as NumPy does. Of many axes that is much
// all the same: beyond mostPrinted nothing is printed.
const (
	summaryOver = 1000
	mostPrinted = 1 << 20
)

// Format implements fmt.Formatter: %v prints the elements as NumPy does, %+v
// with type, shape and device, and verbs like %.3f, %e or %d set the format
// of an element. It waits for the elements; an error is printed in their
// place.
func (a *Array) Format(f fmt.State, verb rune) {
	if a == nil {
		_, _ = io.WriteString(f, "<nil>")
		return
	}
	if a.err != nil || a.stream == nil || a.packed != nil {
		fmt.Fprintf(f, "gpk.Array(%s)", strings.TrimSpace(a.Explain()))
		return
	}
	format, op := elementFormat(f, verb), newOp("Print", callsite.Search(), a)
	c := a
	if a.Size() > summaryOver {
		n := 1
		for _, d := range a.lay.Shape {
			if n *= min(d, 2*textual.Edge); n > mostPrinted {
				fmt.Fprintf(f, "gpk.Array(%v %v: the edges of its axes have too many elements to print)", a.dt, a.lay.Shape)
				return
			}
		}
		if err := a.start(); err != nil {
			fmt.Fprintf(f, "gpk.Array(%v)", op.wrap(err))
			return
		}
		c = a.edges(0)
	}
	cells, err := cells(op, c, format)
	if err != nil {
		fmt.Fprintf(f, "gpk.Array(%v)", err)
		return
	}
	var b strings.Builder
	textual.Nested(&b, cells, c.lay.Shape, a.lay.Shape)
	if verb == 'v' && f.Flag('+') {
		fmt.Fprintf(&b, "\n%v %v on %v", a.dt, a.lay.Shape, a.on())
	}
	_, _ = io.WriteString(f, b.String())
}

// edges is what is printed of a large array, from axis d on. Nothing larger is made on
// the way.
func (a *Array) edges(d int) *Array {
	if d == len(a.lay.Shape) {
		return a
	}
	n := a.lay.Shape[d]
	if n <= 2*textual.Edge {
		return a.edges(d + 1)
	}
	return Concat(d, a.Slice(d, 0, textual.Edge).edges(d+1), a.Slice(d, n-textual.Edge, n).edges(d+1))
}

// elementFormat is the fmt verb for one element, empty for the shortest.
func elementFormat(f fmt.State, verb rune) string {
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

func cells(op *node, a *Array, format string) ([]string, error) {
	switch a.dt {
	case dtype.Float32:
		return floatCells[float32](op, a, format, 32, func(x float32) float64 { return float64(x) })
	case dtype.Float64:
		return floatCells[float64](op, a, format, 64, func(x float64) float64 { return x })
	case dtype.Float16:
		return floatCells[float16.Float16](op, a, format, 16, func(x float16.Float16) float64 { return float64(x.Float32()) })
	case dtype.BFloat16:
		return floatCells[bfloat16.BFloat16](op, a, format, 8, func(x bfloat16.BFloat16) float64 { return float64(x.Float32()) })
	case dtype.Int8:
		return plainCells[int8](op, a, format)
	case dtype.Uint8:
		return plainCells[uint8](op, a, format)
	case dtype.Int32:
		return plainCells[int32](op, a, format)
	case dtype.Int64:
		return plainCells[int64](op, a, format)
	case dtype.Bool:
		return plainCells[bool](op, a, format)
	case dtype.Complex64:
		return complexCells[complex64](op, a, format, 32, func(x complex64) complex128 { return complex128(x) })
	}
	return complexCells[complex128](op, a, format, 64, func(x complex128) complex128 { return x })
}

func plainCells[T dtype.Elem](op *node, a *Array, format string) ([]string, error) {
	data, err := toSlice[T](op, a)
	out := make([]string, len(data))
	if format == "" {
		format = "%v"
	}
	for i, x := range data {
		out[i] = fmt.Sprintf(format, x)
	}
	return out, err
}

func floatCells[T dtype.Elem](op *node, a *Array, format string, bits int, wide func(T) float64) ([]string, error) {
	data, err := toSlice[T](op, a)
	if err != nil {
		return nil, err
	}
	values := make([]float64, len(data))
	for i, x := range data {
		values[i] = wide(x)
	}
	return textual.Floats(values, format, bits), nil
}

func complexCells[T dtype.Elem](op *node, a *Array, format string, bits int, wide func(T) complex128) ([]string, error) {
	data, err := toSlice[T](op, a)
	if err != nil {
		return nil, err
	}
	re, im := make([]float64, len(data)), make([]float64, len(data))
	for i, x := range data {
		re[i], im[i] = real(wide(x)), imag(wide(x))
	}
	out := textual.Floats(re, format, bits)
	for i, s := range textual.Floats(im, format, bits) {
		if !strings.HasPrefix(s, "-") && !strings.HasPrefix(s, "+") {
			s = "+" + s
		}
		number := strings.TrimRight(s, " ") // the j stands at the number
		out[i] += number + "j" + s[len(number):]
	}
	return out, nil
}
