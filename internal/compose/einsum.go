package compose

import (
	"fmt"
	"slices"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
)

// Einsum returns the sum of products that an equation describes, as NumPy's einsum. Each letter is an axis.
// The letters of the operands are separated by commas, and those of the result follow "->". A letter that the
// result does not have is summed over. A letter that occurs twice in one operand selects its diagonal. "..."
// stands for the other axes, which are broadcast. Without "->" the result has the axes of "..." and then the
// letters that occur once, in alphabetical order.
//
//	scores := gpk.Einsum("bhqd,bhkd->bhqk", q, k)
//
// An axis that only one operand has, and not the result, is summed first. Pairs of operands are multiplied in the order
// that needs the fewest multiplications, which Explain prints. A product with a sum is a MatMul in the precision of
// SetPrecision, on views if the strides allow it. Each step is rounded to the type. Int8 and Uint8 give Int32, and
// other integers wrap in their type. A single operand without a sum gives a view of its type.
//
// An equation that does not parse or does not fit the shapes is ErrShape, with a caret under the error.
// Operands of two types are ErrDType, and so is a sum or product of Bool.
//
//gpk:row Products | the same; int32 for int8 and uint8 | all but bool, int16, uint16, uint32, uint64 | the sum of products that an equation names, in the order that needs the fewest multiplications
func Einsum[A Operand](o Operation[A], equation string, as ...A) A {
	err := o.Check()
	shapes := make([][]int, len(as))
	for i, a := range as {
		if shapes[i] = a.Shape(); err == nil && a.DType() != as[0].DType() {
			err = fmt.Errorf("%w: %v and %v do not mix; Cast one", dtype.ErrDType, as[0].DType(), a.DType())
		}
	}
	if err != nil {
		return o.Failed(err)
	}
	e, err := parse(equation, shapes)
	if err != nil {
		return o.Failed(err)
	}
	return evaluate(o, e, as)
}

// term is an array whose axes have labels.
type term[A any] struct {
	a      A
	labels []rune
}

// evaluate computes a parsed equation.
func evaluate[A Operand](o Operation[A], e *equation, as []A) A {
	if _, err := layout.Size(e.shape()); err != nil {
		return o.Failed(err)
	}
	terms := make([]term[A], len(as))
	for i, a := range as {
		terms[i] = diagonal(o, a, e.inputs[i].labels, e.lengths)
	}
	uses, lone := labelUses(e, terms)
	operands, output, lengths, err := masks(e, terms)
	if dt := as[0].DType(); err == nil && dt == dtype.Bool && (lone || len(as) > 1) {
		err = fmt.Errorf("%w: bool has no sums of products; Cast(gpk.Int32) first", dtype.ErrDType)
	} else if err == nil && (lone || len(as) > 1) && !dt.HasProducts() {
		err = noProducts(dt)
	}
	if err != nil {
		return o.Failed(err)
	}
	order, cost := cheapest(operands, output, lengths)
	describe(o, e, order, cost)
	if dt := as[0].DType(); dt.Size() == 1 && dt != dtype.Bool && (lone || !oneProduct(terms, e.output.labels)) {
		for i := range terms {
			terms[i].a = o.Cast(terms[i].a, dtype.Int32)
		}
	}
	for i, t := range terms {
		terms[i] = summed(o, t, func(label rune) bool { return uses[label] > 1 })
	}
	t := contract(o, order, terms, e.output.labels)
	perm := make([]int, len(e.output.labels))
	for i, label := range e.output.labels {
		perm[i] = slices.Index(t.labels, label)
	}
	return permute(o, t.a, perm)
}

// shape returns the shape of the result.
func (e *equation) shape() []int {
	shape := make([]int, len(e.output.labels))
	for i, label := range e.output.labels {
		shape[i] = e.lengths[label]
	}
	return shape
}

// describe adds the equation to the text of Explain, and the order of its products if there are several.
func describe[A Operand](o Operation[A], e *equation, order *contraction, cost float64) {
	if len(e.inputs) > 2 {
		o.Step(fmt.Sprintf("%q, operands in the order %v, %.3g multiplications", e.text, order, cost))
	} else if e.text != "" {
		o.Step(fmt.Sprintf("%q", e.text))
	}
}

// labelUses counts the terms and results that have each label. lone reports whether a label
// occurs once, so that its axis is summed before any product.
func labelUses[A any](e *equation, terms []term[A]) (uses map[rune]int, lone bool) {
	uses = map[rune]int{}
	for _, label := range e.output.labels {
		uses[label]++
	}
	for _, t := range terms {
		for _, label := range t.labels {
			uses[label]++
		}
	}
	for _, n := range uses {
		lone = lone || n == 1
	}
	return uses, lone
}

// oneProduct reports whether the equation is at most one matrix product, which sums 8-bit
// integers in 32 bits.
func oneProduct[A Operand](terms []term[A], output []rune) bool {
	return len(terms) < 2 || len(terms) == 2 && isProduct(terms[0], terms[1], output)
}

// masks returns the labels of operands and result as sets of bits, and their lengths.
func masks[A any](e *equation, terms []term[A]) (operands []uint64, output uint64, lengths []int, err error) {
	var all []rune
	bit := func(label rune) uint64 {
		i := slices.Index(all, label)
		if i < 0 {
			i, all, lengths = len(all), append(all, label), append(lengths, e.lengths[label])
		}
		if i > 63 {
			err = fmt.Errorf("%w: an equation of more than 64 labels", expr.ErrUnsupported)
			return 0
		}
		return 1 << i
	}
	for _, t := range terms {
		set := uint64(0)
		for _, label := range t.labels {
			set |= bit(label)
		}
		operands = append(operands, set)
	}
	for _, label := range e.output.labels {
		output |= bit(label)
	}
	return operands, output, lengths, err
}

// diagonal returns a view of a in which each label has one axis. Labels that a broadcasts have none.
func diagonal[A Operand](o Operation[A], a A, labels []rune, lengths map[rune]int) term[A] {
	var kept []rune
	view := o.View(a, func(l layout.Layout) (layout.Layout, error) {
		out := layout.Layout{Shape: []int{}, Strides: []int{}, Offset: l.Offset}
		for d, label := range labels {
			i := slices.Index(kept, label)
			switch {
			case l.Shape[d] == 1 && lengths[label] != 1:
			case i >= 0:
				out.Strides[i] += l.Strides[d]
			default:
				kept = append(kept, label)
				out.Shape, out.Strides = append(out.Shape, l.Shape[d]), append(out.Strides, l.Strides[d])
			}
		}
		return out, nil
	})
	return term[A]{view, kept}
}

// summed returns a term summed over the labels that are not kept.
func summed[A Operand](o Operation[A], t term[A], keep func(label rune) bool) term[A] {
	var axes []int
	var kept []rune
	for d, label := range t.labels {
		if keep(label) {
			kept = append(kept, label)
		} else {
			axes = append(axes, d)
		}
	}
	if axes == nil {
		return t
	}
	dt := t.a.DType()
	return term[A]{wrapped(o, o.Reduce(expr.Sum, t.a, axes), dt), kept}
}

// wrapped returns a sum in the type of its terms: Int64 wraps to Int32, where Cast would
// saturate.
func wrapped[A Operand](o Operation[A], a A, dt dtype.DType) A {
	if dt != dtype.Int32 || a.DType() != dtype.Int64 {
		return narrow(o, a, dt)
	}
	low := o.Elementwise(expr.And, o.Elementwise(expr.Add, a, int64(1)<<31), int64(1)<<32-1)
	return o.Cast(o.Elementwise(expr.Sub, low, int64(1)<<31), dt)
}

// contract multiplies terms in an order. The result has those labels of output that the terms have.
func contract[A Operand](o Operation[A], c *contraction, terms []term[A], output []rune) term[A] {
	if c.left == nil {
		return terms[c.operand]
	}
	// A subtree must keep the labels that occur outside of it.
	outside := func(of *contraction) []rune {
		keep := slices.Clone(output)
		in := of.members()
		for i, t := range terms {
			if !in[i] {
				keep = append(keep, t.labels...)
			}
		}
		return keep
	}
	x := contract(o, c.left, terms, outside(c.left))
	y := contract(o, c.right, terms, outside(c.right))
	return multiply(o, x, y, output)
}

// members returns the set of operands of a tree.
func (c *contraction) members() map[int]bool {
	if c.left == nil {
		return map[int]bool{c.operand: true}
	}
	in := c.left.members()
	for i := range c.right.members() {
		in[i] = true
	}
	return in
}
