package layout

import (
	"slices"

	"github.com/gpk-go/gpk/internal/indextest"
)

// A model is a layout as a list of positions: entry i is the position of element i in
// row-major order. Its views are computed element by element.
type model struct {
	shape []int
	at    []int
}

// view returns a model of the new shape whose element at an index is m's element at
// from(index).
func (m model) view(shape []int, from func(ix []int) []int) model {
	out := model{shape: shape, at: []int{}}
	for i := range indextest.Size(shape) {
		out.at = append(out.at, m.at[indextest.Number(m.shape, from(indextest.Unravel(shape, i)))])
	}
	return out
}

// strided reports whether the list has strides. It computes them from the neighbours
// of the first element along each axis.
func (m model) strided(shape []int) bool {
	if len(m.at) == 0 {
		return true
	}
	strides := make([]int, len(shape))
	for d, n := range shape {
		if n > 1 {
			ix := make([]int, len(shape))
			ix[d] = 1
			strides[d] = m.at[indextest.Number(shape, ix)] - m.at[0]
		}
	}
	for i, at := range m.at {
		want := m.at[0]
		for d, x := range indextest.Unravel(shape, i) {
			want += x * strides[d]
		}
		if at != want {
			return false
		}
	}
	return true
}

// steps returns the positions that a slice selects from n, by Python's rules, and
// whether the bounds are inside.
func steps(n, start, stop, step int) (out []int, ok bool) {
	if step == 0 {
		return nil, false
	}
	if start < 0 {
		start += n
	}
	if stop < 0 {
		stop += n
	}
	low, high := 0, n // bounds of start and stop
	if step < 0 {
		low, high = -1, n-1
	}
	if stop < low || stop > max(high, 0) {
		return nil, false
	}
	if n > 0 && (start < max(low, 0) || start > high) || n == 0 && step > 0 && start != 0 {
		return nil, false
	}
	for i := start; n > 0 && (step > 0 && i < stop || step < 0 && i > stop); i += step {
		out = append(out, i)
	}
	return out, true
}

// broadcast returns m broadcast to shape, and whether that is possible.
func (m model) broadcast(shape []int) (model, bool) {
	skip := len(shape) - len(m.shape)
	if skip < 0 {
		return m, false
	}
	for d, n := range m.shape {
		if n != 1 && n != shape[skip+d] {
			return m, false
		}
	}
	return m.view(shape, func(ix []int) []int {
		old := slices.Clone(ix[skip:])
		for d, n := range m.shape {
			old[d] %= max(n, 1)
		}
		return old
	}), true
}
