package compose

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gpk-go/gpk/layout"
)

// equation is an einsum equation with the ellipses written out: the labels of every axis.
type equation struct {
	text    string
	inputs  []subscript
	output  subscript
	lengths map[rune]int // length of each label's axis
}

// subscript holds the labels of an array's axes, with their positions in the text.
type subscript struct {
	labels []rune
	at     []int
	start  int
}

// ellipsis stands for "..." until the axes of the operands are known. An axis of it becomes
// the label ellipsis + 1 + its distance from the last.
const ellipsis = unicode.MaxRune + 1

// fault returns an error with a caret under a byte of the text.
func (e *equation) fault(at int, format string, args ...any) error {
	line := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, e.text)
	before := strings.Repeat(" ", utf8.RuneCountInString(e.text[:min(at, len(e.text))]))
	return layout.Errorf(format+"\n\t%s\n\t%s^", append(args, line, before)...)
}

// parse parses an equation for operands of given shapes.
func parse(text string, shapes [][]int) (*equation, error) {
	e := &equation{text: text, lengths: map[rune]int{}}
	if !utf8.ValidString(text) {
		return nil, layout.Errorf("the equation %q is not UTF-8", text)
	}
	explicit, err := e.scan()
	if err != nil {
		return nil, err
	}
	if n := len(e.inputs); n != len(shapes) {
		at := len(text)
		if n > len(shapes) {
			at = e.inputs[len(shapes)].start
		}
		return nil, e.fault(at, "the equation has %d operands, but there are %d arrays", n, len(shapes))
	}
	widest := 0 // maximum number of axes that an ellipsis stands for
	for i := range e.inputs {
		n, err := e.expand(i, shapes[i])
		if err != nil {
			return nil, err
		}
		widest = max(widest, n)
	}
	if !explicit {
		e.imply(widest)
		return e, nil
	}
	return e, e.check(widest)
}

// scan splits the text into labels, and reports whether it names the output.
func (e *equation) scan() (explicit bool, err error) {
	s := &subscript{}
	end := func(next int) {
		if explicit {
			e.output = *s
		} else {
			e.inputs = append(e.inputs, *s)
		}
		s = &subscript{start: next}
	}
	for i := 0; i < len(e.text); {
		r, width := utf8.DecodeRuneInString(e.text[i:])
		switch {
		case r == ' ':
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z':
			s.labels, s.at = append(s.labels, r), append(s.at, i)
		case strings.HasPrefix(e.text[i:], "..."):
			if slices.Contains(s.labels, ellipsis) {
				return explicit, e.fault(i, "a second ... of one operand")
			}
			s.labels, s.at = append(s.labels, ellipsis), append(s.at, i)
			width = 3
		case r == ',' && !explicit:
			end(i + 1)
		case strings.HasPrefix(e.text[i:], "->") && !explicit:
			end(i + 2)
			explicit = true
			width = 2
		default:
			return explicit, e.fault(i, "%q is not expected here; an equation is letters, commas, ... and one ->", r)
		}
		i += width
	}
	end(len(e.text))
	return explicit, nil
}

// expand replaces the ellipsis of an operand by labels for a shape, and records the lengths
// of its labels. It returns the number of axes that the ellipsis stands for.
func (e *equation) expand(i int, shape []int) (int, error) {
	s := &e.inputs[i]
	at := slices.Index(s.labels, ellipsis)
	axes := len(shape) - len(s.labels)
	if at >= 0 {
		axes++
	}
	if axes < 0 || at < 0 && axes > 0 {
		place := s.start
		if len(s.at) > 0 {
			place = s.at[0]
		}
		return 0, e.fault(place, "operand %d has %d axes, of shape %v", i, len(shape), shape)
	}
	if at >= 0 {
		s.write(at, axes)
	} else {
		axes = 0
	}
	for d, label := range s.labels {
		n := shape[d]
		old, seen := e.lengths[label]
		if first := slices.Index(s.labels, label); first < d && shape[first] != n {
			return 0, e.fault(s.at[d], "axes %d and %d of operand %d, of shape %v, have the same label but different lengths", first, d, i, shape)
		}
		switch {
		case !seen || old == 1:
			e.lengths[label] = n
		case n != old && n != 1:
			return 0, e.fault(s.at[d], "axis %d of operand %d has length %d, but another axis with its label has %d", d, i, n, old)
		}
	}
	return axes, nil
}

// write replaces the ellipsis at an index by the labels of its axes.
func (s *subscript) write(at, axes int) {
	labels, places := make([]rune, axes), make([]int, axes)
	for j := range labels {
		labels[j], places[j] = rune(ellipsis+axes-j), s.at[at]
	}
	s.labels = slices.Concat(s.labels[:at], labels, s.labels[at+1:])
	s.at = slices.Concat(s.at[:at], places, s.at[at+1:])
}

// imply sets the output of an equation without ->: the axes of the ellipsis, and then the
// letters that occur once, in alphabetical order.
func (e *equation) imply(ellipses int) {
	count := map[rune]int{}
	for _, s := range e.inputs {
		for _, label := range s.labels {
			count[label]++
		}
	}
	var once []rune
	for label, n := range count {
		if n == 1 && label < ellipsis {
			once = append(once, label)
		}
	}
	slices.Sort(once)
	for j := range ellipses {
		e.output.labels = append(e.output.labels, rune(ellipsis+ellipses-j))
	}
	e.output.labels = append(e.output.labels, once...)
}

// check returns an error for an output with a label that no operand has or that occurs
// twice, and for one without the ellipsis of the operands.
func (e *equation) check(ellipses int) error {
	s := &e.output
	if at := slices.Index(s.labels, ellipsis); at >= 0 {
		s.write(at, ellipses)
	} else if ellipses > 0 {
		return e.fault(s.start, "the result lacks the ... of the operands")
	}
	for d, label := range s.labels {
		if _, ok := e.lengths[label]; !ok {
			return e.fault(s.at[d], "no operand has the label %q", label)
		}
		if slices.Index(s.labels, label) < d {
			return e.fault(s.at[d], "the label %q is twice in the result", label)
		}
	}
	return nil
}
