package layout

import "math"

// Strided returns a layout with the given shape and strides that begins offset elements
// after the first element of l. A layout with an element outside the span of l is an error.
func (l Layout) Strided(shape, strides []int, offset int) (Layout, error) {
	size, err := Size(shape)
	if err == nil && len(strides) != len(shape) {
		err = Errorf("%d strides for %d axes", len(strides), len(shape))
	}
	if err != nil {
		return Layout{}, err
	}
	out := Layout{Shape: append([]int{}, shape...), Strides: append([]int{}, strides...), Offset: l.Offset}
	if size == 0 {
		return out, nil
	}
	lo, hi := l.Span()
	outside := Errorf("shape %v with strides %v from element %d on leaves the %d elements from %d on that the array spans", shape, strides, offset, hi-lo, lo-l.Offset)
	if l.Size() == 0 || offset < lo-l.Offset || offset >= hi-l.Offset {
		return Layout{}, outside
	}
	out.Offset += offset
	if !reachesWithin(shape, strides, out.Offset-lo, hi-1-out.Offset) {
		return Layout{}, outside
	}
	return out, nil
}

// reachesWithin reports whether all elements of a shape with strides are at most `below`
// elements before the first one and at most `above` elements after it.
func reachesWithin(shape, strides []int, below, above int) bool {
	for i, n := range shape {
		s := strides[i]
		switch {
		case n == 1 || s == 0:
		case s > 0 && s <= above/(n-1):
			above -= s * (n - 1)
		case s < 0 && s != math.MinInt && -s <= below/(n-1):
			below += s * (n - 1)
		default:
			return false
		}
	}
	return true
}

// Windows returns the windows of a length along an axis, one beginning every step elements.
// The elements of a window are along a new last axis.
func (l Layout) Windows(length, step, axis int) (Layout, error) {
	d, err := Axis(axis, len(l.Shape))
	if err != nil {
		return Layout{}, err
	}
	n := l.Shape[d]
	switch {
	case length < 1 || length > n:
		return Layout{}, Errorf("windows of %d elements along axis %d, which has length %d", length, axis, n)
	case step < 1:
		return Layout{}, Errorf("a window begins every %d elements; want at least 1", step)
	}
	count := (n-length)/step + 1
	out := Layout{Offset: l.Offset}
	for i := range l.Shape {
		m, s := l.Shape[i], l.Strides[i]
		if i == d {
			m = count
			if count > 1 {
				s *= step
			}
		}
		out.Shape, out.Strides = append(out.Shape, m), append(out.Strides, s)
	}
	out.Shape, out.Strides = append(out.Shape, length), append(out.Strides, l.Strides[d])
	_, err = Size(out.Shape)
	return out, err
}

// DiagonalAt returns the elements (i, i+k) of a matrix.
func (l Layout) DiagonalAt(k int) (Layout, error) {
	rows, cols := l.Shape[0], l.Shape[1]
	out := Layout{Shape: []int{0}, Strides: []int{l.Strides[0] + l.Strides[1]}, Offset: l.Offset}
	switch {
	case k < -rows || k > cols:
		return out, Errorf("diagonal %d lies outside a %d x %d matrix", k, rows, cols)
	case k >= 0:
		out.Shape[0] = min(rows, cols-k)
	default:
		out.Shape[0] = min(rows+k, cols)
	}
	if out.Shape[0] > 0 {
		out.Offset += max(k, 0)*l.Strides[1] + max(-k, 0)*l.Strides[0]
	}
	return out, nil
}
