package array

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/dtype/bfloat16"
	"github.com/gpk-go/gpk/internal/callsite"
	"github.com/x448/float16"
)

// summaryOver is the size from which only the edges of each axis are printed,
// edge the elements kept at either end: NumPy's defaults. Of many axes that is much
// all the same: beyond mostPrinted nothing is printed.
const (
	summaryOver = 1000
	edge        = 3
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
			if n *= min(d, 2*edge); n > mostPrinted {
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
	width := 0
	for _, s := range cells {
		width = max(width, len(s))
	}
	var b strings.Builder
	if len(cells) == 0 { // whatever the axes, which may be long
		b.WriteString("[]")
	} else {
		p := printer{b: &b, cells: cells, width: width, shape: c.lay.Shape, full: a.lay.Shape}
		p.axis(0, 0, len(cells))
	}
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
	if n <= 2*edge {
		return a.edges(d + 1)
	}
	return Concat(d, a.Slice(d, 0, edge).edges(d+1), a.Slice(d, n-edge, n).edges(d+1))
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
	return floats(values, format, bits), nil
}

// floats prints numbers as NumPy does: at most 8 digits after the point (3 or
// 4 for halves), as many as any of them needs, or all with an exponent when
// their sizes lie far apart.
func floats(values []float64, format string, bits int) []string {
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

func complexCells[T dtype.Elem](op *node, a *Array, format string, bits int, wide func(T) complex128) ([]string, error) {
	data, err := toSlice[T](op, a)
	if err != nil {
		return nil, err
	}
	re, im := make([]float64, len(data)), make([]float64, len(data))
	for i, x := range data {
		re[i], im[i] = real(wide(x)), imag(wide(x))
	}
	out := floats(re, format, bits)
	for i, s := range floats(im, format, bits) {
		if !strings.HasPrefix(s, "-") && !strings.HasPrefix(s, "+") {
			s = "+" + s
		}
		number := strings.TrimRight(s, " ") // the j stands at the number
		out[i] += number + "j" + s[len(number):]
	}
	return out, nil
}

// printer lays cells out in nested brackets.
type printer struct {
	b     *strings.Builder
	cells []string
	width int
	shape []int // of what is printed
	full  []int // of the array
}

// axis prints the cells lo to hi, the part of the array at one index of every
// axis before d.
func (p printer) axis(d, lo, hi int) {
	if d == len(p.shape) {
		p.b.WriteString(strings.Repeat(" ", p.width-len(p.cells[lo])) + p.cells[lo])
		return
	}
	p.b.WriteByte('[')
	n := p.shape[d]
	for i := range n {
		if i > 0 {
			p.separate(d)
		}
		if i == edge && p.full[d] != n {
			p.b.WriteString("...")
			p.separate(d)
		}
		step := (hi - lo) / n
		p.axis(d+1, lo+i*step, lo+(i+1)*step)
	}
	p.b.WriteByte(']')
}

// separate prints what stands between two parts of axis d.
func (p printer) separate(d int) {
	if d == len(p.shape)-1 {
		p.b.WriteByte(' ')
		return
	}
	p.b.WriteString(strings.Repeat("\n", len(p.shape)-1-d) + strings.Repeat(" ", d+1))
}
