package textual

import "strings"

// Edge is how many elements are kept at either end of an axis of which not all is
// printed.
const Edge = 3

// Nested writes cells, the elements of shape in row-major order, in nested brackets. An
// axis that is longer in full, the shape of the whole array, shows its ends.
func Nested(b *strings.Builder, cells []string, shape, full []int) {
	if len(cells) == 0 { // whatever the axes, which may be long
		b.WriteString("[]")
		return
	}
	p := printer{b: b, cells: cells, shape: shape, full: full}
	for _, s := range cells {
		p.width = max(p.width, len(s))
	}
	p.axis(0, 0, len(cells))
}

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
		if i == Edge && p.full[d] != n {
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
