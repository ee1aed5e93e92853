package array

import (
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
)

// conjugated returns the operands that a product reads: where one is a Conj, or
// a view of one, that has not started and that nothing else has taken, the
// array that it is the conjugate of. Kernels take conjugates as they read.
func conjugated(a, b *Array) (x, y *Array, conjA, conjB bool) {
	x, y = a, b
	if !a.dt.IsComplex() {
		return x, y, false, false
	}
	if a.same(b) { // two uses in one operation are one
		if vs := takeConj(a, b); vs != nil {
			return vs[0], vs[1], true, true
		}
		return x, y, false, false
	}
	if vs := takeConj(a); vs != nil {
		x, conjA = vs[0], true
	}
	if vs := takeConj(b); vs != nil {
		y, conjB = vs[0], true
	}
	return x, y, conjA, conjB
}

// takeConj takes an open Conj, of which as are views, and returns its operand,
// seen as they see the conjugate; nil where that cannot be.
func takeConj(as ...*Array) []*Array {
	v := as[0].hold()
	defer v.mu.Unlock()
	op := &v.op
	if !v.open || v.taken || op.code != expr.Conj || op.n != 1 {
		return nil
	}
	in := &op.in[0]
	out := make([]*Array, len(as))
	for i, a := range as {
		lay, ok := through(a.lay, v.lay, in.view.Layout)
		if !ok {
			return nil
		}
		out[i] = &Array{v: in.of, gen: in.of.gen.Load(), lay: lay, dt: a.dt, stream: a.stream}
	}
	in.of.mu.Lock()
	in.of.shared = true
	in.of.mu.Unlock()
	v.taken, v.shared = true, true
	v.set.forget(v)
	op.note()
	return out
}

// through returns the layout by which memory of the layout source is seen as
// view sees a dense array, whole, of the same shape.
func through(view, whole, source layout.Layout) (layout.Layout, bool) {
	t := whole.T()
	switch {
	case source.IsDense():
		view.Offset += source.Offset
		return view, true
	case sameLayout(&view, &whole):
		return source, true
	case sameLayout(&view, &t):
		return source.T(), true
	}
	return layout.Layout{}, false
}
