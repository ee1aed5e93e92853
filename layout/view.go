package layout

import (
	"math"
	"slices"
	"strconv"
)

// Reshape returns the same elements with another shape (without -1). It reports false if
// the strides do not allow this without a copy.
func (l Layout) Reshape(shape []int) (Layout, bool) {
	if l.Size() == 0 || l.IsDense() {
		out := Dense(shape)
		out.Offset = l.Offset
		return out, true
	}
	// Traverse both shapes together. Each run of old dimensions with the same product
	// as a run of new dimensions must be addressable with one stride.
	old := squeezed(l)
	strides := make([]int, len(shape))
	i, j := 0, 0
	for i < len(old.Shape) && j < len(shape) {
		i1, j1 := i+1, j+1
		m, n := old.Shape[i], shape[j]
		for m != n {
			if m < n {
				m *= old.Shape[i1]
				i1++
			} else {
				n *= shape[j1]
				j1++
			}
		}
		for x := i; x < i1-1; x++ {
			if old.Strides[x] != old.Strides[x+1]*old.Shape[x+1] {
				return Layout{}, false
			}
		}
		s := old.Strides[i1-1]
		for x := j1 - 1; x >= j; x-- {
			strides[x] = s
			s *= shape[x]
		}
		i, j = i1, j1
	}
	for ; j < len(shape); j++ {
		strides[j] = 1
	}
	return Layout{Shape: shape, Strides: strides, Offset: l.Offset}, true
}

func squeezed(l Layout) Layout {
	out := Layout{Offset: l.Offset}
	for i, d := range l.Shape {
		if d != 1 {
			out.Shape = append(out.Shape, d)
			out.Strides = append(out.Strides, l.Strides[i])
		}
	}
	return out
}

// Transpose permutes the axes. No axes means the reverse order.
func (l Layout) Transpose(axes []int) (Layout, error) {
	n := len(l.Shape)
	out := Layout{Shape: make([]int, n), Strides: make([]int, n), Offset: l.Offset}
	if len(axes) == 0 {
		for i := range n {
			out.Shape[i], out.Strides[i] = l.Shape[n-1-i], l.Strides[n-1-i]
		}
		return out, nil
	}
	if len(axes) != n {
		return Layout{}, Errorf("%v does not permute the %d axes of %v", axes, n, l.Shape)
	}
	if _, err := Axes(axes, n); err != nil {
		return Layout{}, err
	}
	for i, x := range axes {
		a, _ := Axis(x, n)
		out.Shape[i], out.Strides[i] = l.Shape[a], l.Strides[a]
	}
	return out, nil
}

// T swaps the last two axes. With fewer than two axes it returns l.
func (l Layout) T() Layout {
	n := len(l.Shape)
	if n < 2 {
		return l
	}
	out := Layout{Shape: slices.Clone(l.Shape), Strides: slices.Clone(l.Strides), Offset: l.Offset}
	out.Shape[n-1], out.Shape[n-2] = l.Shape[n-2], l.Shape[n-1]
	out.Strides[n-1], out.Strides[n-2] = l.Strides[n-2], l.Strides[n-1]
	return out
}

// Slice selects the elements start, start+step, … before stop of one axis. Negative start
// and stop count from the end, as in Python. Bounds beyond the axis are an error; they are
// not clipped. Two are allowed: stop = len and, for a negative step, stop = -len-1, which
// selects everything down to the first element. A stop of End means len for a positive step, and -len-1 for a negative
// one. A step of 0 is an error.
func (l Layout) Slice(axis, start, stop, step int) (Layout, error) {
	a, err := Axis(axis, len(l.Shape))
	if err != nil {
		return Layout{}, err
	}
	n := l.Shape[a]
	end := stop
	switch {
	case stop == End && step > 0:
		end = n
	case stop == End:
		end = -n - 1
	}
	lo, count, ok := sliceRange(n, start, end, step)
	if !ok {
		return Layout{}, Errorf("slice %v:%v:%d of axis %d, which has length %d", bound(start), bound(stop), step, axis, n)
	}
	out := Layout{Shape: slices.Clone(l.Shape), Strides: slices.Clone(l.Strides), Offset: l.Offset}
	out.Shape[a] = count
	if out.Size() > 0 { // an empty view keeps its offset, which stays inside the buffer
		out.Offset += lo * l.Strides[a]
	}
	if count > 1 {
		out.Strides[a] *= step
	}
	return out, nil
}

// bound is a bound of a slice, as an error prints it.
type bound int

func (b bound) String() string {
	if b == End {
		return "End"
	}
	return strconv.Itoa(int(b))
}

// sliceRange returns the first index and the number of the elements start, start+step, …
// before stop of n. ok is false if step is 0 or a bound is out of range.
func sliceRange(n, start, stop, step int) (lo, count int, ok bool) {
	if step == 0 {
		return 0, 0, false
	}
	lo, hi := fromEnd(start, n), fromEnd(stop, n)
	if step > 0 {
		if hi > lo {
			count = (hi-lo-1)/step + 1
		}
		return lo, count, 0 <= lo && lo <= n && 0 <= hi && hi <= n
	}
	if lo > hi && n > 0 {
		count = 1
		if step != math.MinInt { // -step would not fit an int
			count = (lo-hi-1)/-step + 1
		}
	}
	return lo, count, (0 <= lo && lo < n || n == 0) && -1 <= hi && hi < max(n, 1)
}

// fromEnd returns the index of an element among n elements, where a negative i counts from
// the end.
func fromEnd(i, n int) int {
	if i < 0 {
		return i + n
	}
	return i
}

// Flip reverses the named axes. No axes means all.
func (l Layout) Flip(axes []int) (Layout, error) {
	set, err := Axes(axes, len(l.Shape))
	if err != nil {
		return Layout{}, err
	}
	out := Layout{Shape: l.Shape, Strides: slices.Clone(l.Strides), Offset: l.Offset}
	empty := l.Size() == 0
	for i, flipped := range set {
		if flipped && !empty { // an empty view keeps its offset
			out.Offset += (l.Shape[i] - 1) * l.Strides[i]
			out.Strides[i] = -l.Strides[i]
		}
	}
	return out, nil
}

// Squeeze removes the named axes, which must have length 1. No axes removes all axes of
// length 1.
func (l Layout) Squeeze(axes []int) (Layout, error) {
	drop := make([]bool, len(l.Shape))
	if len(axes) == 0 {
		for i, d := range l.Shape {
			drop[i] = d == 1
		}
	} else {
		var err error
		if drop, err = Axes(axes, len(l.Shape)); err != nil {
			return Layout{}, err
		}
	}
	out := Layout{Offset: l.Offset}
	for i, d := range l.Shape {
		if !drop[i] {
			out.Shape, out.Strides = append(out.Shape, d), append(out.Strides, l.Strides[i])
		} else if d != 1 {
			return Layout{}, Errorf("axis %d of %v has length %d, not 1", i, l.Shape, d)
		}
	}
	return out, nil
}

// Unsqueeze inserts an axis of length 1 before axis. axis may be the number of dimensions;
// a negative axis counts from behind the last.
func (l Layout) Unsqueeze(axis int) (Layout, error) {
	a, err := Axis(axis, len(l.Shape)+1)
	if err != nil {
		return Layout{}, err
	}
	return l.inserted(a), nil
}

// inserted returns the layout with an axis of length 1 and stride 0 before axis a. It makes a
// single allocation.
func (l Layout) inserted(a int) Layout {
	n := len(l.Shape) + 1
	lists := make([]int, 2*n)
	shape, strides := lists[:n:n], lists[n:]
	copy(shape, l.Shape[:a])
	copy(strides, l.Strides[:a])
	shape[a] = 1
	copy(shape[a+1:], l.Shape[a:])
	copy(strides[a+1:], l.Strides[a:])
	return Layout{Shape: shape, Strides: strides, Offset: l.Offset}
}
