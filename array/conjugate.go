package array

import (
	"slices"

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
