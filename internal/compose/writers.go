package compose

import "github.com/gpk-go/gpk/expr"

// writers describes which elements are written to each of n positions.
type writers[A Operand] struct {
	count  int // number of elements
	order  A   // the elements sorted by position; those with the same position keep their order
	places A   // the positions in that order
	last   A   // for each position the last element written to it, as an index into order; 0 if there is none
	hit    A   // whether an element is written to each position
}

// writersOf sorts elements by the position to which they are written. Position n stands for none.
func writersOf[A Operand](o Operation[A], place A, n int) writers[A] {
	w := writers[A]{count: place.Size()}
	w.order = argsorted(o, place, 0, w.count, false)
	w.places = take(o, place, w.order, 0, nil)
	to := counted(o, n)
	w.last = o.Elementwise(expr.Maximum, o.Elementwise(expr.Sub, searched(o, w.places, to, true), 1), 0)
	w.hit = o.Elementwise(expr.Eq, take(o, w.places, w.last, 0, nil), to)
	w.order = o.Elementwise(expr.Where, o.Elementwise(expr.Ge, w.places, n), w.count, w.order)
	return w
}

// take returns the elements of x along its first axis in the order of their positions. If an element has no
// position, the cause of the error is outside.
func (w writers[A]) take(o Operation[A], x A, outside error) A {
	return take(o, x, w.order, 0, outside)
}
