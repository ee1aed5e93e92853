package gpktest

import (
	"math/cmplx"
	"slices"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/ops"
)

// testRunning compares CumMax and CumMin with loops.
func testRunning(t *testing.T, s *suite) {
	for range rounds(40, 6) {
		for _, dt := range ops.Lookup(expr.Maximum).Types {
			shape := s.someShape(1)
			if s.rng.IntN(3) == 0 { // lines of several blocks, and many lines side by side
				shape = [][]int{{3000}, {2, 300}, {5, 700}, {300, 3, 5}}[s.rng.IntN(4)]
			}
			x := s.mixed(dt, shape...)
			d := s.rng.IntN(len(shape))
			a, axis := s.arranged(x), s.signed(d, len(shape))
			equal(t, name("CumMax", dt, shape, d), evaluate(t, a.CumMax(axis)), x.running(d, 1))
			equal(t, name("CumMin", dt, shape, d), evaluate(t, gpk.CumMin(a, axis)), x.running(d, -1))
			equal(t, name("CumMax leaves its operand", dt), read(t, a), x)
		}
	}
	x := gpk.Zeros(gpk.Float32, 3, 4)
	for what, c := range map[string]struct {
		op   string
		got  *gpk.Array
		want error
	}{
		"CumMax along no axis": {"CumMax", x.CumMax(2), gpk.ErrShape},
		"CumMin along axis -3": {"CumMin", x.CumMin(-3), gpk.ErrShape},
		"CumMin of a number":   {"CumMin", gpk.Zeros(gpk.Int8).CumMin(0), gpk.ErrShape},
		"CumMax of complex":    {"CumMax", gpk.Zeros(gpk.Complex64, 3).CumMax(0), gpk.ErrDType},
	} {
		s.refusedAs(t, what, c.op, []*gpk.Array{c.got}, c.want)
	}
}

// running returns the largest elements up to each index along an axis, or for sign -1 the smallest. From the first NaN on
// they are NaN.
func (x tensor) running(axis, sign int) tensor {
	out := tensor{dt: x.dt, shape: x.shape, values: slices.Clone(x.values), ints: slices.Clone(x.ints)}
	line, count := x.lines(axis)
	for l := range count {
		best := -1
		for _, p := range line(l) {
			if best < 0 || !x.isNaN(best) && (x.isNaN(p) || sign*x.compareElements(p, best, true) > 0) {
				best = p
			}
			out.put(p, x, best)
		}
	}
	return out
}

// isNaN reports whether element p is NaN.
func (x tensor) isNaN(p int) bool { return !exact(x.dt) && cmplx.IsNaN(x.values[p]) }
