package quantum

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// longestAngle is the length up to which an angle is shown in the drawing; longer ones are
// replaced by a number and listed below.
const longestAngle = 14

// String draws the circuit: a line per qubit, gates from left to right, * on a control. The
// format is for people. A circuit with an error prints the error.
//
//	0: -H--*--------
//	1: ----X--P(x1)-
func (c *Circuit) String() string {
	if err := c.Err(); err != nil {
		return "circuit in error: " + err.Error()
	}
	const most = 4096
	if len(c.gates) > most || c.qubits > most {
		return fmt.Sprintf("%d gates on %d qubits", len(c.gates), c.qubits)
	}
	d := drawing{free: make([]int, c.qubits)}
	for _, g := range c.gates {
		d.add(g)
	}
	return d.render()
}

// drawing holds gates in columns, with at most one gate per wire in each.
type drawing struct {
	columns []map[int]string // by wire
	links   []map[int]bool   // by wire, whether a gate of the column connects it to the next one
	free    []int            // by wire: the first column after its last gate
	angles  []string         // listed below the drawing
}

func (d *drawing) label(g gate) string {
	name := strings.TrimPrefix(g.kind.String(), "C")
	if !g.kind.hasAngle() {
		return name
	}
	a := g.angle.String()
	if len(a) > longestAngle {
		at := slices.Index(d.angles, a)
		if at < 0 {
			at = len(d.angles)
			d.angles = append(d.angles, a)
		}
		a = fmt.Sprintf("a%d", at)
	}
	return name + "(" + a + ")"
}

func (d *drawing) add(g gate) {
	lo, hi := g.a, g.a
	marks := map[int]string{}
	switch g.kind {
	case gateSWAP:
		marks[g.a], marks[g.b] = "x", "x"
	case gateCZ:
		marks[g.a], marks[g.b] = "*", "*"
	case gateRZZ:
		marks[g.a], marks[g.b] = "ZZ", strings.Replace(d.label(g), "RZZ", "ZZ", 1)
	default:
		marks[g.a] = d.label(g)
		if g.b >= 0 {
			marks[g.a], marks[g.b] = "*", d.label(g)
		}
	}
	if g.b >= 0 {
		lo, hi = min(g.a, g.b), max(g.a, g.b)
	}
	at := 0
	for w := lo; w <= hi; w++ {
		at = max(at, d.free[w])
	}
	if at == len(d.columns) {
		d.columns, d.links = append(d.columns, map[int]string{}), append(d.links, map[int]bool{})
	}
	for w := lo; w <= hi; w++ {
		d.columns[at][w], d.free[w] = "|", at+1
		if w < hi {
			d.links[at][w] = true
		}
	}
	for w, m := range marks {
		d.columns[at][w] = m
	}
}

func (d *drawing) render() string {
	digits := len(fmt.Sprint(len(d.free) - 1))
	lines := make([]strings.Builder, len(d.free))
	between := make([]strings.Builder, len(d.free)) // below each wire
	for w := range lines {
		fmt.Fprintf(&lines[w], "%*d: ", digits, w)
		fmt.Fprintf(&between[w], "%*s", digits+2, "")
	}
	for c, column := range d.columns {
		width := 1
		for _, m := range column {
			width = max(width, utf8.RuneCountInString(m))
		}
		for w := range lines {
			mark, link := column[w], " "
			if mark == "" {
				mark = "-"
			}
			if d.links[c][w] {
				link = "|"
			}
			lines[w].WriteString("-" + mark + strings.Repeat("-", width-utf8.RuneCountInString(mark)+1))
			between[w].WriteString(" " + link + strings.Repeat(" ", width))
		}
	}
	var b strings.Builder
	for w := range lines {
		b.WriteString(lines[w].String() + "\n")
		if below := strings.TrimRight(between[w].String(), " "); below != "" {
			b.WriteString(below + "\n")
		}
	}
	for i, a := range d.angles {
		fmt.Fprintf(&b, "a%d = %s\n", i, a)
	}
	return b.String()
}
