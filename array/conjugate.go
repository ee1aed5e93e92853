package array

import (
	"slices"

	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
)

// conjugates are the operands that a product reads for a and b: where one is a Conj,
// or a view of one, that has not started and that nothing else has taken, the array
// that it is the conjugate of. Kernels take conjugates as they read.
type conjugates struct {
	x, y         *Array
	conjA, conjB bool

	taken [2]*value // listed until there is the product
}

func conjugated(a, b *Array) (c conjugates) {
	c.x, c.y = a, b
	if !a.dt.IsComplex() {
		return c
	}
	if a.same(b) { // two uses in one operation are one
		if v, as := takeConj(a, b); v != nil {
			return conjugates{as[0], as[1], true, true, [2]*value{v, nil}}
		}
		return c
	}
	if v, as := takeConj(a); v != nil {
		c.taken[0], c.x, c.conjA = v, as[0], true
	}
	if v, as := takeConj(b); v != nil {
		c.taken[1], c.y, c.conjB = v, as[0], true
	}
	return c
}

// let takes from the list what was taken, once there is a product that reads what
// it read, or none comes. It reports whether nobody started it meanwhile: if
// somebody did, what it read may have been written before the product was listed.
func (c *conjugates) let() bool {
	as := true
	for _, v := range c.taken {
		if v != nil {
			v.mu.Lock()
			as = as && v.open
			v.limbo = false
			v.mu.Unlock()
			v.set.forget(v)
		}
	}
	return as
}

// store starts what was taken, for a product that comes to nothing, and reports
// whether there was any.
func (c *conjugates) store() bool {
	for _, v := range c.taken {
		if v != nil {
			_ = v.start() // kept in the value
		}
	}
	c.let()
	return c.taken != [2]*value{}
}

// takeConj takes an open Conj, of which as are views. It returns it, and its operand
// seen as they see the conjugate; nil where that cannot be.
func takeConj(as ...*Array) (*value, []*Array) {
	v := as[0].hold()
	defer v.mu.Unlock()
	op := &v.op
	if !v.open || v.taken || op.code != expr.Conj || op.n != 1 {
		return nil, nil
	}
	in := &op.in[0]
	out := make([]*Array, len(as))
	for i, a := range as {
		lay, ok := through(a.lay, v.lay, in.view.Layout)
		if !ok {
			return nil, nil
		}
		out[i] = &Array{v: in.of, gen: in.of.gen.Load(), lay: lay, dt: a.dt, stream: a.stream}
	}
	in.of.mu.Lock()
	in.of.shared = true
	in.of.mu.Unlock()
	v.taken, v.shared, v.limbo = true, true, true
	op.note(nil)
	return v, out
}

// through returns the layout by which memory of the layout source is seen as
// view sees a dense array, whole, of the same shape; false where none does.
func through(view, whole, source layout.Layout) (layout.Layout, bool) {
	switch {
	case source.IsDense():
		view.Offset += source.Offset
		return view, true
	case sameLayout(&view, &whole):
		return source, true
	case view.Offset == 0 && view.IsDense() && view.Size() == whole.Size():
		return source.Reshape(view.Shape)
	}
	// Every axis of the view is a step along one axis of the whole.
	out := layout.Layout{Shape: view.Shape, Strides: make([]int, len(view.Shape)), Offset: source.Offset}
	first := make([]int, len(whole.Shape)) // the place of the view's first element
	rest := view.Offset
	for d, n := range whole.Shape {
		if n > 1 {
			first[d] = rest / whole.Strides[d]
			rest %= whole.Strides[d]
		}
		out.Offset += first[d] * source.Strides[d]
	}
	low, high := slices.Clone(first), slices.Clone(first)
	for i, n := range view.Shape {
		if n <= 1 || view.Strides[i] == 0 {
			continue
		}
		d, k := stepAlong(whole, view.Strides[i], n)
		if d < 0 {
			return layout.Layout{}, false
		}
		out.Strides[i] = k * source.Strides[d]
		low[d] += min(k*(n-1), 0)
		high[d] += max(k*(n-1), 0)
	}
	for d, n := range whole.Shape {
		if low[d] < 0 || high[d] >= n {
			return layout.Layout{}, false
		}
	}
	return out, true
}

// stepAlong returns the axis of a dense layout along which n elements lie stride
// apart, and how many places apart that is; -1 where there is none.
func stepAlong(whole layout.Layout, stride, n int) (axis, step int) {
	for d, m := range whole.Shape {
		k := 0
		if m > 1 && stride%whole.Strides[d] == 0 {
			k = stride / whole.Strides[d]
		}
		if k != 0 && max(k, -k)*(n-1) < m {
			return d, k
		}
	}
	return -1, 0
}
