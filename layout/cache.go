package layout

import (
	"slices"
	"sync/atomic"
)

// denseCache holds dense layouts, indexed by a hash of their shape.
var denseCache [256]atomic.Pointer[Layout]

// CachedDense is Dense, but does not keep the shape slice, and allocates nothing for a
// shape in the cache. Layouts are shared: their slices must not be modified.
func CachedDense(shape []int) Layout {
	h := uint32(len(shape))
	for _, n := range shape {
		h = (h ^ uint32(n)) * 0x9e3779b1
	}
	slot := &denseCache[h>>24]
	if l := slot.Load(); l != nil && slices.Equal(l.Shape, shape) {
		return *l
	}
	l := Dense(slices.Clone(shape))
	slot.Store(&l)
	return l
}

// cachedAxes is the largest number of dimensions whose sets of axes are cached.
const cachedAxes = 6

// axisSets holds the sets of axes: axisSets[n][mask] contains, of n axes, those whose bit
// is set in mask.
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

// AxisSet is Axes, except that nil means all axes and an empty list no axis. It allocates
// nothing for up to 6 dimensions. Sets are shared: they must not be modified.
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
			return Axes(axes, ndim) // called for its error
		}
		mask |= 1 << d
	}
	return axisSets[ndim][mask], nil
}
