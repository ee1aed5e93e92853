package compose

import (
	"slices"

	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
)

// roles sorts the labels of two terms for a batched matrix product. Batch labels are in both
// terms and in the result; inner labels are in both and are summed over. Row labels are only
// in the left term, and column labels only in the right one.
type roles struct{ batch, inner, rows, columns []rune }

// rolesOf sorts the labels. Those in keep are in the order of keep.
func rolesOf(x, y, keep []rune) (r roles) {
	for _, label := range keep {
		inX, inY := slices.Contains(x, label), slices.Contains(y, label)
		switch {
		case inX && inY && !slices.Contains(r.batch, label):
			r.batch = append(r.batch, label)
		case inX && !inY && !slices.Contains(r.rows, label):
			r.rows = append(r.rows, label)
		case inY && !inX && !slices.Contains(r.columns, label):
			r.columns = append(r.columns, label)
		}
	}
	for _, label := range x {
		if slices.Contains(y, label) && !slices.Contains(keep, label) {
			r.inner = append(r.inner, label)
		}
	}
	return r
}

// isProduct reports whether a pair of terms is a matrix product.
func isProduct[A any](x, y term[A], keep []rune) bool {
	r := rolesOf(x.labels, y.labels, keep)
	return len(r.inner) > 0 && len(r.rows)+len(r.columns) > 0
}

// multiply returns the product of two terms, summed over the labels that are not in keep.
// Its labels are in the order of keep, unless that would require a copy.
func multiply[A Operand](o Operation[A], x, y term[A], keep []rune) term[A] {
	r := rolesOf(x.labels, y.labels, keep)
	if len(r.inner) == 0 || len(r.rows)+len(r.columns) == 0 {
		return elementwise(o, x, y, keep, r)
	}
	if len(r.columns) > 0 && len(r.rows) > 0 && slices.Index(keep, r.columns[0]) < slices.Index(keep, r.rows[0]) {
		x, y = y, x
		r.rows, r.columns = r.columns, r.rows
	}
	r.rows = mergeable(x, r.rows)
	r.columns = mergeable(y, r.columns)
	r.inner = innerOrder(x, y, r.inner)
	product := o.Product(matrix(o, x, r.batch, r.rows, r.inner), matrix(o, y, r.batch, r.inner, r.columns))
	labels := slices.Concat(r.batch, r.rows, r.columns)
	shape := make([]int, len(labels))
	for i, label := range labels {
		shape[i] = lengthOf(x, y, label)
	}
	return term[A]{reshape(o, product, shape...), labels}
}

// lengthOf returns the length of a label that at least one of two terms has.
func lengthOf[A Operand](x, y term[A], label rune) int {
	if d := slices.Index(x.labels, label); d >= 0 {
		return x.a.Shape()[d]
	}
	return y.a.Shape()[slices.Index(y.labels, label)]
}

// elementwise multiplies terms for which there is no matrix product: nothing is summed, or
// all labels except the batch are. Sums of half types are computed in Float32.
func elementwise[A Operand](o Operation[A], x, y term[A], keep []rune, r roles) term[A] {
	var labels []rune
	for _, label := range keep {
		if slices.Contains(x.labels, label) || slices.Contains(y.labels, label) {
			if !slices.Contains(labels, label) {
				labels = append(labels, label)
			}
		}
	}
	n := len(labels)
	labels = append(labels, r.inner...)
	aligned := func(t term[A]) A {
		return o.View(t.a, func(l layout.Layout) (layout.Layout, error) {
			out := layout.Layout{Shape: make([]int, len(labels)), Strides: make([]int, len(labels)), Offset: l.Offset}
			for i, label := range labels {
				out.Shape[i] = 1
				if d := slices.Index(t.labels, label); d >= 0 {
					out.Shape[i], out.Strides[i] = l.Shape[d], l.Strides[d]
				}
			}
			return out, nil
		})
	}
	left, right := aligned(x), aligned(y)
	if len(r.inner) == 0 {
		return term[A]{o.Elementwise(expr.Mul, left, right), labels}
	}
	dt := left.DType()
	product := o.Elementwise(expr.Mul, wide(o, left), wide(o, right))
	axes := sequence(len(labels))[n:]
	return term[A]{wrapped(o, o.Reduce(expr.Sum, product, axes), dt), labels[:n]}
}

// matrix returns a term as [batch..., rows, columns].
func matrix[A Operand](o Operation[A], t term[A], batch, rows, columns []rune) A {
	order, shape := make([]int, 0, len(t.labels)), make([]int, len(batch), len(batch)+2)
	lengths := t.a.Shape()
	for i, group := range [][]rune{batch, rows, columns} {
		product := 1
		for j, label := range group {
			d := slices.Index(t.labels, label)
			order = append(order, d)
			if product *= lengths[d]; i == 0 {
				shape[j] = lengths[d]
			}
		}
		if i > 0 {
			shape = append(shape, product)
		}
	}
	return reshape(o, permute(o, t.a, order), shape...)
}

// oneStride reports whether the axes of labels, in this order, can be merged into one axis
// of a view.
func (t term[A]) oneStride(l layout.Layout, labels []rune) bool {
	var of layout.Layout
	for _, label := range labels {
		d := slices.Index(t.labels, label)
		of.Shape, of.Strides = append(of.Shape, l.Shape[d]), append(of.Strides, l.Strides[d])
	}
	_, ok := of.Reshape([]int{of.Size()})
	return ok
}

// falling returns labels sorted by descending strides in a term.
func (t term[A]) falling(l layout.Layout, labels []rune) []rune {
	out := slices.Clone(labels)
	stride := func(label rune) int {
		s := l.Strides[slices.Index(t.labels, label)]
		return max(s, -s)
	}
	slices.SortStableFunc(out, func(a, b rune) int { return stride(b) - stride(a) })
	return out
}

// mergeable returns labels of a term in an order in which their axes can be merged into one
// axis of a view. If there is none, it returns them unchanged.
func mergeable[A Operand](t term[A], labels []rune) []rune {
	l := layoutOf(t.a)
	if f := t.falling(l, labels); !t.oneStride(l, labels) && t.oneStride(l, f) {
		return f
	}
	return labels
}

// innerOrder returns labels of two terms in an order that is mergeable for both or, if there
// is none, for the one whose copy is larger.
func innerOrder[A Operand](x, y term[A], labels []rune) []rune {
	of, with := layoutOf(x.a), layoutOf(y.a)
	best, least := labels, -1
	for _, order := range [][]rune{labels, x.falling(of, labels), y.falling(with, labels)} {
		copied := 0
		if !x.oneStride(of, order) {
			copied += x.a.Size()
		}
		if !y.oneStride(with, order) {
			copied += y.a.Size()
		}
		if least < 0 || copied < least {
			best, least = order, copied
		}
	}
	return best
}
