package array

import (
	"slices"

	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
)

// conjugate returns, for a pending Conj of which in is a view, the operand of it seen
// in the same way: kernels conjugate as they read.
func (in *operand) conjugate() (operand, bool) {
	n := in.of.node
	if in.of.mem != nil || n.state > running || n.code != expr.Conj || !in.view.DType.IsComplex() {
		return *in, false
	}
	lay, ok := through(in.view.Layout, n.lay, n.in[0].view.Layout)
	if !ok {
		return *in, false
	}
	out := n.in[0]
	out.step, out.view.Layout = false, lay
	return out, true
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
