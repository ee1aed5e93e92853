package textual

import (
	"strings"

	"github.com/gpk-go/gpk/dtype"
)

// Edge is the number of elements that are printed at each end of an axis that is not
// printed completely.
const Edge = 3

// SummaryOver is the size of an array above which only the edges of each axis are printed,
// as in NumPy. If the edges have more than maxPrinted elements, no elements are printed.
const (
	SummaryOver = 1000
	maxPrinted  = 1 << 20
)

// EdgesFit reports whether the edges of all axes have few enough elements to be printed.
func EdgesFit(shape []int) bool {
	n := 1
	for _, d := range shape {
		if n *= min(d, 2*Edge); n > maxPrinted {
			return false
		}
	}
	return true
}

// lineWidth is the number of columns after which a row is continued on the next line.
const lineWidth = 75

// Array returns the text of an array: its elements in nested brackets, as NumPy's str
// writes them. raw holds the elements of shape in row-major order, with the bytes of
// memory. full is the shape of the whole array. If an axis is longer in full than in
// shape, only its ends are printed. format is a result of Verb.
func Array(dt dtype.DType, raw []byte, format string, shape, full []int) string {
	if len(raw) == 0 { // whatever the axes, which may be long
		return "[]"
	}
	if len(shape) == 0 && format == "" {
		return scalar(dt, raw)
	}
	return nested(cells(dt, raw, format), shape, full)
}

// nested writes cells, which are the elements of shape in row-major order.
func nested(cells []string, shape, full []int) string {
	p := printer{shape: shape, full: full}
	p.axis(0, cells)
	return p.text.String()
}

type printer struct {
	text  strings.Builder
	shape []int // shape of the printed elements
	full  []int // shape of the array
}

// axis prints the part of the array at one index of every axis before d.
func (p *printer) axis(d int, cells []string) {
	switch len(p.shape) - d {
	case 0:
		p.text.WriteString(cells[0])
	case 1:
		p.row(d, cells)
	default:
		n := p.shape[d]
		step := len(cells) / n
		separator := strings.Repeat("\n", len(p.shape)-1-d) + blanks(d+1)
		p.text.WriteByte('[')
		for i := range n {
			if i > 0 {
				p.text.WriteString(separator)
			}
			if p.omits(d, i) {
				p.text.WriteString("..." + separator)
			}
			p.axis(d+1, cells[i*step:(i+1)*step])
		}
		p.text.WriteByte(']')
	}
}

// row prints the last axis, d, in lines that leave room for the closing brackets. A line
// holds one cell at least.
func (p *printer) row(d int, cells []string) {
	width := lineWidth - (d + 1) - (d + 1) // without the indentation
	line := ""
	add := func(word string) {
		if line != "" && len(line)+len(word) > width {
			p.text.WriteString(strings.TrimRight(line, " ") + "\n" + blanks(d+1))
			line = ""
		}
		line += word
	}
	p.text.WriteByte('[')
	for i, s := range cells {
		if p.omits(d, i) {
			add("...")
			line += " "
		}
		add(s)
		if i < len(cells)-1 {
			line += " "
		}
	}
	p.text.WriteString(line + "]")
}

// omits reports whether elements of axis d are omitted before element i.
func (p *printer) omits(d, i int) bool { return i == Edge && p.full[d] != p.shape[d] }
