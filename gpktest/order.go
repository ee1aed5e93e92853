package gpktest

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/ops"
)

// compareElements orders elements p and q of x, NaN above all. signed: -0 is below 0.
func (x tensor) compareElements(p, q int, signed bool) int {
	if exact(x.dt) {
		return cmp.Compare(x.ints[p], x.ints[q])
	}
	a, b := real(x.values[p]), real(x.values[q])
	switch {
	case math.IsNaN(a) || math.IsNaN(b):
		return -cmp.Compare(a, b) // cmp.Compare orders NaN below all
	case signed && a == b:
		return cmp.Compare(bool01(!math.Signbit(a)), bool01(!math.Signbit(b)))
	}
	return cmp.Compare(a, b)
}

func bool01(b bool) int {
	if b {
		return 1
	}
	return 0
}

// testOrder tries Sort and TopK on every type they have a meaning for, on lines of
// lengths about those at which kernels change.
func testOrder(t *testing.T, s *suite) {
	shapes := [][]int{{0}, {1}, {2}, {9}, {33, 31}, {5, 0}, {0, 5}, {255}, {256}, {257}, {513, 2}, {2, 1025}, {2047}, {2048}, {2, 2049}, {3, 4097}, {4099, 3}, {3, 40, 17}, {3, 6145}, {20011}, {2, 1, 2, 3, 1, 2, 2, 1, 3, 2}}
	if !quick() {
		shapes = append(shapes, []int{2, 140003})
	}
	for _, dt := range ops.Lookup(expr.Sort).Types {
		for _, shape := range shapes {
			for axis, n := range shape {
				x := s.mixed(dt, shape...)
				descending := s.rng.IntN(2) == 0
				what := name(dt, shape, axis)

				byLine, lines := x.lines(axis)
				sorted, ranked := x, tensor{dt: dt, shape: slices.Clone(shape)}
				sorted.values, sorted.ints = slices.Clone(x.values), slices.Clone(x.ints)
				k := 0
				if n > 0 {
					k = 1 + s.rng.IntN(n)
					if s.rng.IntN(2) == 0 {
						k = 1 + s.rng.IntN(min(n, 5))
					}
				}
				ranked.shape[axis] = k
				places := tensor{dt: gpk.Int64, shape: ranked.shape}
				ranked.values, ranked.ints = make([]complex128, lines*k), make([]int64, lines*k)
				places.ints = make([]int64, lines*k)
				step := size(shape[axis+1:])
				for l := range lines {
					line := byLine(l)
					order := slices.Clone(line)
					slices.SortStableFunc(order, func(p, q int) int {
						if descending {
							return x.compareElements(q, p, true)
						}
						return x.compareElements(p, q, true)
					})
					for i, p := range order {
						sorted.put(line[i], x, p)
					}
					slices.Sort(order)
					slices.SortStableFunc(order, func(p, q int) int { return x.compareElements(q, p, false) })
					for i, p := range order[:k] {
						to := l/step*step*k + i*step + l%step
						ranked.put(to, x, p)
						places.ints[to] = int64((p - line[0]) / step)
					}
				}
				a := s.arranged(x)
				sameElements(t, name("Sort", what, descending), evaluate(t, a.Sort(axis-len(shape), descending)), sorted)
				values, indices := a.TopK(k, axis)
				sameElements(t, name("TopK", what, k), read(t, values), ranked)
				equal(t, name("TopK places", what, k), read(t, indices), places)
			}
		}
	}
	x := gpk.Zeros(gpk.Float32, 3, 4)
	top := func(a *gpk.Array, k, axis int) *gpk.Array {
		v, i := a.TopK(k, axis)
		if (v.Err() == nil) != (i.Err() == nil) {
			t.Errorf("TopK answers %v and %v", v.Err(), i.Err())
		}
		return i
	}
	for what, a := range map[string]*gpk.Array{
		"Sort along no axis": x.Sort(2, false),
		"Sort of one number": gpk.Zeros(gpk.Float32).Sort(0, false),
		"TopK of too many":   top(x, 4, 0),
		"TopK of -1":         top(x, -1, 0),
		"TopK along no axis": top(x, 1, -3),
	} {
		if !errors.Is(a.Err(), gpk.ErrShape) {
			t.Errorf("%s: %v", what, a.Err())
		}
	}
	for what, a := range map[string]*gpk.Array{
		"Sort of complex": gpk.Zeros(gpk.Complex64, 3).Sort(0, false),
		"TopK of complex": top(gpk.Zeros(gpk.Complex64, 3), 1, 0),
	} {
		if !errors.Is(a.Err(), gpk.ErrDType) {
			t.Errorf("%s: %v", what, a.Err())
		}
	}
	if v, i := x.TopK(0, 1); v.Err() != nil || v.Size() != 0 || i.Size() != 0 {
		t.Errorf("TopK of 0: %v", v.Err())
	}
}

// lines lists the elements of each line along an axis.
func (x tensor) lines(axis int) (line func(l int) []int, count int) {
	n, step := x.shape[axis], size(x.shape[axis+1:])
	return func(l int) []int {
		out := make([]int, n)
		for i := range out {
			out[i] = l/step*step*n + i*step + l%step
		}
		return out
	}, size(x.shape[:axis]) * step
}

// put sets element i of y to element p of x.
func (y tensor) put(i int, x tensor, p int) {
	if exact(y.dt) {
		y.ints[i] = x.ints[p]
	} else {
		y.values[i] = x.values[p]
	}
}

// sameElements is like equal, but distinguishes -0 from 0.
func sameElements(t testing.TB, what string, got, want tensor) {
	t.Helper()
	equal(t, what, got, want)
	if !exact(want.dt) {
		for i, w := range want.values {
			if g := got.values[i]; !math.IsNaN(real(w)) && math.Signbit(real(g)) != math.Signbit(real(w)) {
				t.Fatalf("%s: element %d is %v, want %v", what, i, real(g), real(w))
			}
		}
	}
}
