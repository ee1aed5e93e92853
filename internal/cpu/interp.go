package cpu

import (
	"fmt"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// InterpCall is a linear interpolation of a function that has the values Y at the ascending places X. All arrays are dense
// and of one type.
type InterpCall struct {
	X, Y   unsafe.Pointer
	N      int // the length of X and Y, at least 1
	Values unsafe.Pointer
	Count  int
	Dst    unsafe.Pointer // Count elements
}

// Interp writes the function at each value, as compose.Interp composes it. The types are Float32 and Float64.
func Interp(dt dtype.DType, c InterpCall) error {
	switch dt {
	case dtype.Float32:
		interp[float32](c)
	case dtype.Float64:
		interp[float64](c)
	default:
		return fmt.Errorf("%w: Interp of %v", expr.ErrUnsupported, dt)
	}
	return nil
}

func interp[T floating](c InterpCall) {
	values, dst := unsafe.Slice((*T)(c.Values), c.Count), unsafe.Slice((*T)(c.Dst), c.Count)
	l := polyline[T]{x: unsafe.Slice((*T)(c.X), c.N), y: unsafe.Slice((*T)(c.Y), c.N)}
	numbers := l.x[:notNaN(l.x)]
	Parallel(c.Count, searchPart, func(lo, hi int) {
		f := newFinder(numbers, true)
		f.blocks(values[lo:hi], func(from int, values []T, places []int64) {
			out := dst[lo+from:][:len(values)]
			for i, v := range values {
				out[i] = l.at(v, int(places[i]))
			}
		})
	})
}

// polyline is a function that is linear between places.
type polyline[T floating] struct{ x, y []T }

// at returns the value at v. place is the number of places not above v.
func (l *polyline[T]) at(v T, place int) T {
	last := len(l.x) - 1
	switch {
	case v != v:
		return v
	case v < l.x[0]:
		return l.y[0]
	case v >= l.x[last] || last == 0:
		return l.y[last]
	}
	i := min(max(place, 1), last) - 1
	x0, y0, x1, y1 := l.x[i], l.y[i], l.x[i+1], l.y[i+1]
	if v == x0 {
		return y0
	}
	slope := (y1 - y0) / (x1 - x0)
	y := T(slope*(v-x0)) + y0
	if y != y { // infinite places or values, as in NumPy
		y = T(slope*(v-x1)) + y1
		if y != y && y0 == y1 {
			y = y0
		}
	}
	return y
}
