package layout

import (
	"slices"
	"sync/atomic"
)

// denses holds dense layouts by a hash of their shape.
var denses [256]atomic.Pointer[Layout]

// CachedDense is Dense of a shape that is not kept. It allocates nothing for a shape
// that it has met of late. Layouts are shared: their lists must not be written.
func CachedDense(shape []int) Layout {
	h := uint32(len(shape))
	for _, n := range shape {
		h = (h ^ uint32(n)) * 0x9e3779b1
	}
	place := &denses[h>>24]
	if l := place.Load(); l != nil && slices.Equal(l.Shape, shape) {
		return *l
	}
	l := Dense(slices.Clone(shape))
	place.Store(&l)
	return l
}

// cachedAxes is the number of dimensions up to which every set of axes is made once.
const cachedAxes = 6

// axisSets holds the sets of axes: of n dimensions, axisSets[n][mask] has the axes
// whose bit is set.
var axisSets = func() (all [cachedAxes + 1][][]bool) {
	for n := range all {
		for mask := range 1 << n {
			set := make([]bool, n)
			for d := range set {
				set[d] = mask>>d&1 == 1
			}
			all[n] = append(all[n], set)
		}
	}
	return all
}()

// AxisSet is Axes with nil for all and an empty list for none. It allocates nothing for
// up to 6 dimensions. Sets are shared: they must not be written.
func AxisSet(axes []int, ndim int) ([]bool, error) {
	if ndim > cachedAxes {
		if axes != nil && len(axes) == 0 {
			return make([]bool, ndim), nil
		}
		return Axes(axes, ndim)
	}
	mask := 0
	if axes == nil {
		mask = 1<<ndim - 1
	}
	for _, x := range axes {
		d, err := Axis(x, ndim)
		if err != nil || mask>>d&1 == 1 {
			return Axes(axes, ndim) // which says what is wrong
		}
		mask |= 1 << d
	}
	return axisSets[ndim][mask], nil
}
