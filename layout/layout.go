// Package layout holds shapes and strides as values: the places of an array's elements in
// memory, and the views that need no copy.
//
// It is a leaf: it knows neither element types nor memory. Functions return a new Layout
// and never change their receiver; errors wrap ErrShape. They do not check that a Layout
// has as many strides as dimensions.
package layout

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrShape is the error of shapes, axes and indices that do not fit.
var ErrShape = errors.New("shape")

// maxElements bounds the number of elements of an array, so that its bytes (at most 16 for
// each element) and every stride fit an int.
const maxElements = math.MaxInt / 16

// Layout maps indices to elements: element (i0, i1, …) is at Offset + i0*Strides[0] +
// i1*Strides[1] + …, counted in elements. A stride may be 0 (broadcast) or negative. The
// zero value is a 0-d array at offset 0.
type Layout struct {
	Shape, Strides []int
	Offset         int
}

// Errorf returns an error that wraps ErrShape.
func Errorf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrShape, fmt.Sprintf(format, args...))
}

// Size returns the number of elements of a shape, and an error if a dimension is negative
// or the number overflows.
func Size(shape []int) (int, error) {
	n, zero := 1, false
	for _, d := range shape {
		if d < 0 {
			return 0, Errorf("negative dimension %d in %v", d, shape)
		}
		if d == 0 {
			zero = true
			continue
		}
		if n > maxElements/d {
			return 0, Errorf("%v has more than %d elements", shape, maxElements)
		}
		n *= d
	}
	if zero {
		return 0, nil
	}
	return n, nil
}

// Dense returns the row-major layout of a shape. It keeps the shape slice and does not copy
// it.
func Dense(shape []int) Layout {
	strides := make([]int, len(shape))
	n := 1
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = n
		n *= max(shape[i], 1)
	}
	return Layout{Shape: shape, Strides: strides}
}

// NDim returns the number of dimensions.
func (l Layout) NDim() int { return len(l.Shape) }

// Size returns the number of elements.
func (l Layout) Size() int {
	n := 1
	for _, d := range l.Shape {
		n *= d
	}
	return n
}

// IsDense reports whether the elements are in row-major order without gaps, from Offset on.
// Strides of dimensions of length 1 do not matter.
func (l Layout) IsDense() bool {
	n := 1
	for i := len(l.Shape) - 1; i >= 0; i-- {
		if l.Shape[i] == 0 {
			return true
		}
		if l.Shape[i] != 1 && l.Strides[i] != n {
			return l.Size() == 0
		}
		n *= l.Shape[i]
	}
	return true
}

// Span returns the lowest element of the layout and one past the highest; both are 0 for a
// layout without elements.
func (l Layout) Span() (lo, hi int) {
	lo, hi = l.Offset, l.Offset
	for i, d := range l.Shape {
		if d == 0 {
			return 0, 0
		}
		if s := l.Strides[i]; s > 0 {
			hi += s * (d - 1)
		} else {
			lo += s * (d - 1)
		}
	}
	return lo, hi + 1
}

// Repeats reports whether two indices may name the same element, so that a write through
// the layout is not defined. This happens in a broadcast dimension and in windows that
// overlap. The result is exact for views of dense layouts; for other strides it may be true
// although no two indices name the same element.
func (l Layout) Repeats() bool {
	for i, d := range l.Shape {
		if d <= 1 {
			continue
		}
		// All dimensions with smaller strides together must span less than this stride.
		s := max(l.Strides[i], -l.Strides[i])
		reach := 0
		for j, n := range l.Shape {
			if t := max(l.Strides[j], -l.Strides[j]); n > 1 && (t < s || t == s && j > i) {
				reach += t * (n - 1)
			}
		}
		if s <= reach || s == 0 {
			return l.Size() > 0
		}
	}
	return false
}

// Axis returns an axis counted from 0. A negative axis counts from the end.
func Axis(axis, ndim int) (int, error) {
	a := axis
	if a < 0 {
		a += ndim
	}
	if a < 0 || a >= ndim {
		return 0, Errorf("axis %d of an array with %d dimensions", axis, ndim)
	}
	return a, nil
}

// Axes turns a list of axes into a set. An empty list means all axes. An axis that is named
// twice is an error.
func Axes(axes []int, ndim int) ([]bool, error) {
	set := make([]bool, ndim)
	if len(axes) == 0 {
		for i := range set {
			set[i] = true
		}
		return set, nil
	}
	for _, x := range axes {
		a, err := Axis(x, ndim)
		if err != nil {
			return nil, err
		}
		if set[a] {
			return nil, Errorf("axis %d is named twice", x)
		}
		set[a] = true
	}
	return set, nil
}

// Infer returns a copy of a shape of size elements, in which a single -1 is replaced by the
// length that size requires. It returns an error if no length fits.
func Infer(shape []int, size int) ([]int, error) {
	out, hole, known := slices.Clone(shape), -1, 1
	for i, d := range shape {
		switch {
		case d == -1 && hole >= 0:
			return nil, Errorf("more than one -1 in %v", shape)
		case d == -1:
			hole = i
		case d < 0:
			return nil, Errorf("negative dimension %d in %v", d, shape)
		case d > 0 && known > maxElements/d:
			return nil, Errorf("%v has more than %d elements", shape, maxElements)
		default:
			known *= d
		}
	}
	if hole >= 0 {
		if known == 0 || size%known != 0 {
			return nil, Errorf("%d elements do not fill %v", size, shape)
		}
		out[hole] = size / known
		known *= out[hole]
	}
	if known != size {
		return nil, Errorf("%d elements do not fill %v", size, shape)
	}
	return out, nil
}

// Broadcast returns the shape to which two shapes broadcast: they are aligned at their last
// axes, and two lengths are equal or one of them is 1.
func Broadcast(a, b []int) ([]int, error) {
	n := max(len(a), len(b))
	out := make([]int, n)
	for i := 1; i <= n; i++ {
		x, y := 1, 1
		if i <= len(a) {
			x = a[len(a)-i]
		}
		if i <= len(b) {
			y = b[len(b)-i]
		}
		switch {
		case x == y || y == 1:
			out[n-i] = x
		case x == 1:
			out[n-i] = y
		default:
			return nil, Errorf("%v and %v do not broadcast: axis %d from the end has lengths %d and %d", a, b, i, x, y)
		}
	}
	return out, nil
}

// BroadcastTo stretches axes of length 1, and missing leading ones, to shape.
func (l Layout) BroadcastTo(shape []int) (Layout, error) {
	if _, err := Size(shape); err != nil {
		return Layout{}, err
	}
	out := Layout{Shape: shape, Strides: make([]int, len(shape)), Offset: l.Offset}
	d := len(shape) - len(l.Shape)
	if d < 0 {
		return Layout{}, Errorf("%v does not broadcast to %v", l.Shape, shape)
	}
	for i, n := range l.Shape {
		switch {
		case n == shape[d+i]:
			out.Strides[d+i] = l.Strides[i]
		case n != 1:
			return Layout{}, Errorf("%v does not broadcast to %v", l.Shape, shape)
		}
	}
	return out, nil
}

// Collapse merges neighbouring dimensions that have one common stride in every stride list,
// and drops dimensions of length 1. It returns the new shape and stride lists, which have
// one dimension of length 1 for a single element. Kernels receive collapsed operands: a
// dense array of any rank has one dimension. The result may share memory with the arguments.
func Collapse(shape []int, strides ...[]int) ([]int, [][]int) {
	if len(shape) == 1 && shape[0] != 1 {
		for i := range strides {
			strides[i] = strides[i][:1:1] // so that append copies
		}
		return shape[:1:1], strides
	}
	n := len(shape) + 1
	backing := make([]int, n*(1+len(strides))) // memory of all lists
	outShape := backing[:0:n]
	out := make([][]int, len(strides))
	for i := range out {
		out[i] = backing[n*(1+i) : n*(1+i) : n*(2+i)]
	}
	for d, n := range shape {
		if n == 1 {
			continue
		}
		last := len(outShape) - 1
		merge := last >= 0
		for i := range strides {
			if merge && out[i][last] != strides[i][d]*n {
				merge = false
			}
		}
		if merge {
			outShape[last] *= n
			for i := range strides {
				out[i][last] = strides[i][d]
			}
			continue
		}
		outShape = append(outShape, n)
		for i := range strides {
			out[i] = append(out[i], strides[i][d])
		}
	}
	if len(outShape) == 0 {
		outShape = append(outShape, 1)
		for i := range out {
			out[i] = append(out[i], 0)
		}
	}
	return outShape, out
}
