package gorgonia

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/gpk-go/gpk"
	"gorgonia.org/tensor"
)

// strided describes the layout of a tensor's elements in its memory.
type strided struct {
	shape, strides []int
}

// stridesOf reads a tensor's access pattern. In the tensor package, column-major vectors
// have one stride, whatever their shape, and scalars have none. The result has a stride
// for every axis.
func stridesOf(t *tensor.Dense) strided {
	s := strided{slices.Clone([]int(t.Shape())), slices.Clone(t.Strides())}
	if len(s.strides) != len(s.shape) {
		step := 1
		if len(s.strides) == 1 {
			step = s.strides[0]
		}
		s.strides = slices.Repeat([]int{step}, len(s.shape))
	}
	return s
}

// fits returns an error for an access pattern that reaches outside n elements.
func (s strided) fits(n int) error {
	if slices.Contains(s.shape, 0) {
		return nil
	}
	last := 0
	for i, d := range s.shape {
		if s.strides[i] < 0 {
			return fmt.Errorf("%w: stride %d of a tensor", gpk.ErrShape, s.strides[i])
		}
		if s.strides[i] > 0 && d-1 > (n-last)/s.strides[i] {
			last = n
			break
		}
		last += (d - 1) * s.strides[i]
	}
	if last >= n {
		return fmt.Errorf("%w: shape %v with strides %v reaches outside the tensor's %d elements", gpk.ErrShape, s.shape, s.strides, n)
	}
	return nil
}

// order returns the axes from the outermost to the innermost in memory, and whether the
// elements have no gaps in that order. A row-major matrix has the order 0, 1, and a
// transposed one 1, 0. Axes of length 1, whose stride has no meaning, are first.
func (s strided) order() (axes []int, dense bool) {
	axes = make([]int, len(s.shape))
	for i := range axes {
		axes[i] = i
	}
	rank := func(axis int) int {
		if s.shape[axis] == 1 {
			return math.MaxInt
		}
		return s.strides[axis]
	}
	slices.SortStableFunc(axes, func(i, j int) int { return cmp.Compare(rank(j), rank(i)) })
	return axes, s.gapless(axes)
}

// rowMajor reports whether the elements have the layout of a Go slice of that shape.
func (s strided) rowMajor() bool {
	axes := make([]int, len(s.shape))
	for i := range axes {
		axes[i] = i
	}
	return s.gapless(axes)
}

// gapless reports whether the elements have no gaps in the order of axes.
func (s strided) gapless(axes []int) bool {
	want := 1
	for _, axis := range slices.Backward(axes) {
		if d := s.shape[axis]; d != 1 {
			if s.strides[axis] != want {
				return false
			}
			want *= d
		}
	}
	return true
}

// permuted returns the lengths of the axes in the given order.
func (s strided) permuted(axes []int) []int {
	shape := make([]int, len(axes))
	for i, axis := range axes {
		shape[i] = s.shape[axis]
	}
	return shape
}

// inverse returns the inverse permutation of axes.
func inverse(axes []int) []int {
	inv := make([]int, len(axes))
	for i, axis := range axes {
		inv[axis] = i
	}
	return inv
}

// rows calls visit for every row along the last axis, in row-major order. The n elements
// of a row are at start, start + step, …. A scalar is a row of one element.
func (s strided) rows(visit func(start, n, step int)) {
	if slices.Contains(s.shape, 0) {
		return
	}
	last := len(s.shape) - 1
	if last < 0 {
		visit(0, 1, 0)
		return
	}
	index := make([]int, last)
	start := 0
	for {
		visit(start, s.shape[last], s.strides[last])
		axis := last - 1
		for ; axis >= 0; axis-- {
			index[axis]++
			start += s.strides[axis]
			if index[axis] < s.shape[axis] {
				break
			}
			start -= index[axis] * s.strides[axis]
			index[axis] = 0
		}
		if axis < 0 {
			return
		}
	}
}
