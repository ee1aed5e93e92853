package layout

import "slices"

// Equal reports whether two layouts have the same shape, strides and offset.
func (l *Layout) Equal(m *Layout) bool {
	return l.Offset == m.Offset && slices.Equal(l.Shape, m.Shape) && slices.Equal(l.Strides, m.Strides)
}

// Widens reports whether a shape broadcasts to the shape to, which must be the result of
// the broadcast.
func Widens(shape, to []int) bool {
	skip := len(to) - len(shape)
	if skip < 0 {
		return false
	}
	for i, n := range shape {
		if n != to[skip+i] && n != 1 {
			return false
		}
	}
	return true
}

// Through composes two layouts. view selects elements from whole, a dense layout. Through
// returns the layout that selects the same elements from memory of the layout source, which
// has whole's shape. It reports false if there is no such layout.
func Through(view, whole, source Layout) (Layout, bool) {
	switch {
	case source.IsDense():
		view.Offset += source.Offset
		return view, true
	case view.Equal(&whole):
		return source, true
	case view.Offset == 0 && view.IsDense() && view.Size() == whole.Size():
		return source.Reshape(view.Shape)
	}
	// Every axis of the view must step along a single axis of whole.
	out := Layout{Shape: view.Shape, Strides: make([]int, len(view.Shape)), Offset: source.Offset}
	first := make([]int, len(whole.Shape)) // the index of the view's first element
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
			return Layout{}, false
		}
		out.Strides[i] = k * source.Strides[d]
		low[d] += min(k*(n-1), 0)
		high[d] += max(k*(n-1), 0)
	}
	for d, n := range whole.Shape {
		if low[d] < 0 || high[d] >= n {
			return Layout{}, false
		}
	}
	return out, true
}

// stepAlong returns the axis of a dense layout along which n elements have the given
// stride, and the step between their indices. It returns axis -1 if there is none.
func stepAlong(whole Layout, stride, n int) (axis, step int) {
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
