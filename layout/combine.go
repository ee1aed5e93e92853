package layout

import "slices"

// Concat returns the shape of arrays that are joined along an axis, and that axis counted
// from 0. The arrays have the same number of dimensions, and their lengths differ only
// along the axis. There must be at least one shape.
func Concat(axis int, shapes ...[]int) ([]int, int, error) {
	first := shapes[0]
	at, err := Axis(axis, len(first))
	if err != nil {
		return nil, 0, err
	}
	out := slices.Clone(first)
	for _, s := range shapes[1:] {
		if len(s) != len(first) {
			return nil, 0, Errorf("%v and %v differ in their number of axes", first, s)
		}
		for d, n := range s {
			switch {
			case d == at:
				if out[d] += n; out[d] < 0 {
					return nil, 0, Errorf("%d arrays along axis %d are too long", len(shapes), axis)
				}
			case n != out[d]:
				return nil, 0, Errorf("%v and %v differ along axis %d", first, s, d)
			}
		}
	}
	_, err = Size(out)
	return out, at, err
}

// Stack returns the shape of arrays of one shape that are joined along a new axis, and that
// axis counted from 0. The new axis comes before axis, which may be the number of
// dimensions. There must be at least one shape.
func Stack(axis int, shapes ...[]int) ([]int, int, error) {
	first := shapes[0]
	at, err := Axis(axis, len(first)+1)
	if err != nil {
		return nil, 0, err
	}
	for _, s := range shapes[1:] {
		if !slices.Equal(first, s) {
			return nil, 0, Errorf("%v and %v differ", first, s)
		}
	}
	out := slices.Insert(slices.Clone(first), at, len(shapes))
	_, err = Size(out)
	return out, at, err
}

// Take returns the shape of the elements that indices select along an axis, and that
// axis counted from 0. The shape of the indices replaces the axis.
func Take(shape, indices []int, axis int) ([]int, int, error) {
	at, err := Axis(axis, len(shape))
	if err != nil {
		return nil, 0, err
	}
	if shape[at] == 0 && !slices.Contains(indices, 0) {
		return nil, 0, Errorf("indices into axis %d, which has length 0", at)
	}
	out := slices.Concat(shape[:at], indices, shape[at+1:])
	_, err = Size(out)
	return out, at, err
}

// Repeat returns the shape of an array in which every element is repeated n times along an
// axis, and that axis counted from 0.
func Repeat(shape []int, n, axis int) ([]int, int, error) {
	at, err := Axis(axis, len(shape))
	if err != nil {
		return nil, 0, err
	}
	if n < 0 {
		return nil, 0, Errorf("cannot repeat every element %d times", n)
	}
	// Checked before out[at]*n is computed, because that may overflow.
	if _, err := Size(slices.Insert(slices.Clone(shape), at+1, n)); err != nil {
		return nil, 0, err
	}
	out := slices.Clone(shape)
	out[at] *= n
	return out, at, nil
}

// Pad returns the shape of an array with widths[d] additional elements before and after
// along axis d.
func Pad(shape []int, widths [][2]int) ([]int, error) {
	if len(widths) != len(shape) {
		return nil, Errorf("%d pairs of widths for the %d axes of %v", len(widths), len(shape), shape)
	}
	out := slices.Clone(shape)
	for d, w := range widths {
		if w[0] < 0 || w[1] < 0 {
			return nil, Errorf("negative width in %v along axis %d", w, d)
		}
		if out[d] += w[0] + w[1]; out[d] < 0 || w[0] > out[d] || w[1] > out[d] {
			return nil, Errorf("widths %v along axis %d are too long", w, d)
		}
	}
	_, err := Size(out)
	return out, err
}

// Fold divides a shape at the axes of a set, as AxisSet returns it. It appends the lengths
// of the other axes to kept, and returns the product of the lengths in the set.
func Fold(kept, shape []int, set []bool) ([]int, int) {
	terms := 1
	for d, n := range shape {
		if set[d] {
			terms *= n
		} else {
			kept = append(kept, n)
		}
	}
	return kept, terms
}

// Row returns the last axis of a layout whose elements are one dense row that is the same
// at all indices of the other axes. For other layouts it reports false.
func (l Layout) Row() (Layout, bool) {
	last := l.NDim() - 1
	for d, n := range l.Shape {
		if n > 1 && (d < last && l.Strides[d] != 0 || d == last && l.Strides[d] != 1) {
			return Layout{}, false
		}
	}
	if last < 0 {
		return Layout{}, false
	}
	return Layout{Shape: l.Shape[last:], Strides: []int{1}, Offset: l.Offset}, true
}

// Diagonal returns the elements (i, i) of a matrix, for i below the shorter of its sides.
func (l Layout) Diagonal() Layout {
	return Layout{Shape: []int{min(l.Shape[0], l.Shape[1])}, Strides: []int{l.Strides[0] + l.Strides[1]}, Offset: l.Offset}
}
