package gpktest

import (
	"slices"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/layout"
)

// testBorders compares Pad by its modes and RollAxes with loops over indices.
func testBorders(t *testing.T, s *suite) {
	for range rounds(40, 8) {
		for _, dt := range allTypes {
			s.bordered(t, dt)
		}
	}
	x, empty := gpk.Zeros(gpk.Float32, 3, 4), gpk.Zeros(gpk.Int32, 0, 2)
	for what, c := range map[string]struct {
		got  *gpk.Array
		want error
	}{
		"Pad of an empty axis":    {empty.Pad([][2]int{{0, 1}, {0, 0}}, gpk.PadEdge), gpk.ErrShape},
		"Pad by a mode, one axis": {x.Pad([][2]int{{0, 1}}, gpk.PadWrap), gpk.ErrShape},
		"Pad by a mode by less":   {x.Pad([][2]int{{0, 1}, {-1, 0}}, gpk.PadReflect), gpk.ErrShape},
		"Pad by mode 0":           {x.Pad([][2]int{{0, 1}, {0, 0}}, layout.PadMode(0)), gpk.ErrUnsupported},
		"Pad by mode 9":           {x.Pad([][2]int{{0, 1}, {0, 0}}, layout.PadMode(9)), gpk.ErrUnsupported},
	} {
		s.refusedAs(t, what, "Pad", []*gpk.Array{c.got}, c.want)
	}
	s.refusedAs(t, "RollAxes, one shift", "RollAxes", []*gpk.Array{x.RollAxes([]int{1}, []int{0, 1})}, gpk.ErrShape)
	s.refusedAs(t, "RollAxes along no axis", "RollAxes", []*gpk.Array{x.RollAxes([]int{1, 1}, []int{0, 2})}, gpk.ErrShape)
	copied := x.RollAxes(nil, nil)
	if err := x.AddInPlace(1); err != nil {
		t.Fatal(err)
	}
	equal(t, "RollAxes without axes is a copy", read(t, copied), read(t, gpk.Zeros(gpk.Float32, 3, 4)))
	equal(t, "Pad of an empty array", evaluate(t, empty.Pad([][2]int{{0, 0}, {1, 2}}, gpk.PadSymmetric)), read(t, gpk.Zeros(gpk.Int32, 0, 5)))
}

func (s *suite) bordered(t *testing.T, dt gpk.DType) {
	x := s.mixed(dt, s.someShape(0)...)
	mode := []layout.PadMode{gpk.PadEdge, gpk.PadReflect, gpk.PadSymmetric, gpk.PadWrap}[s.rng.IntN(4)]
	widths, shape := make([][2]int, len(x.shape)), slices.Clone(x.shape)
	for d, n := range x.shape {
		if n > 0 {
			widths[d] = [2]int{s.rng.IntN(3), s.rng.IntN(3)}
		}
		if n > 0 && s.rng.IntN(4) == 0 { // several periods
			widths[d] = [2]int{s.rng.IntN(20), s.rng.IntN(20)}
		}
		shape[d] += widths[d][0] + widths[d][1]
	}
	a := s.arranged(x)
	equal(t, name("Pad", mode, dt, x.shape, widths), evaluate(t, a.Pad(widths, mode)), x.gathered(shape, func(to []int) []int {
		from := make([]int, len(to))
		for d, n := range x.shape {
			from[d] = bouncing(to[d]-widths[d][0], n, mode)
		}
		return from
	}))
	shifts, axes := make([]int, len(x.shape)), make([]int, len(x.shape))
	for d := range shifts {
		shifts[d], axes[d] = s.rng.IntN(21)-10, s.signed(d, len(x.shape))
	}
	equal(t, name("RollAxes", dt, x.shape, shifts, axes), read(t, a.RollAxes(shifts, axes)), x.gathered(x.shape, func(to []int) []int {
		from := slices.Clone(to)
		for d, n := range x.shape {
			from[d] = ((to[d]-shifts[d])%n + n) % n
		}
		return from
	}))
	equal(t, name("Pad leaves its operand", dt), read(t, a), x)
}

// bouncing returns the index of n to which an index outside them corresponds. It goes there step by step.
func bouncing(i, n int, mode layout.PadMode) int {
	at, by := 0, 1
	if i < 0 {
		by = -1
	}
	for ; i != 0; i -= max(-1, min(i, 1)) {
		next := at + by
		switch outside := next < 0 || next >= n; {
		case !outside:
			at = next
		case mode == gpk.PadWrap:
			at = (next + n) % n
		case mode == gpk.PadSymmetric:
			by = -by // the outermost element follows itself
		case mode == gpk.PadReflect && n > 1:
			by = -by
			at += by
		}
	}
	return at
}
