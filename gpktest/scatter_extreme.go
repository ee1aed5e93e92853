package gpktest

import (
	"slices"
	"testing"

	gpk "github.com/gpk-go/gpk"
)

// extremes are ScatterMax and ScatterMin by the sign of the comparison.
var extremes = map[int]struct {
	name string
	f    func(a, indices, values *gpk.Array, axis int) *gpk.Array
}{1: {"ScatterMax", gpk.ScatterMax}, -1: {"ScatterMin", gpk.ScatterMin}}

// extremeAt returns x, in which each element is replaced by the extreme of it and the elements of v that each names for
// it. NaN wins, and 0 is above -0.
func extremeAt(x, v tensor, sign int, each func(f func(to, from int))) tensor {
	n := size(x.shape)
	all := tensor{dt: x.dt, shape: []int{n + size(v.shape)}, values: slices.Concat(x.values, v.values), ints: slices.Concat(x.ints, v.ints)}
	out := x.gathered(x.shape, slices.Clone[[]int])
	best := make([]int, n)
	for i := range best {
		best[i] = i
	}
	each(func(to, from int) {
		if p, q := n+from, best[to]; !all.isNaN(q) && (all.isNaN(p) || sign*all.compareElements(p, q, true) > 0) {
			best[to] = p
		}
	})
	for to, p := range best {
		out.put(to, all, p)
	}
	return out
}

// scatteredExtremes compares ScatterMax and ScatterMin of random operands along a random axis with loops.
func (s *suite) scatteredExtremes(t *testing.T, dt gpk.DType) {
	for sign, c := range extremes {
		x, ix, v, d, from := s.scatterCase(dt, s.mixed)
		a := s.arranged(x)
		got := c.f(a, s.arranged(ix), s.arranged(v), s.signed(d, len(x.shape)))
		equal(t, name(c.name, dt, x.shape, ix.shape, v.shape, d), evaluate(t, got), extremeAt(x, v, sign, from))
		equal(t, name(c.name+" leaves its operand", dt), read(t, a), x)
	}
}

// manyExtremes scatters several values to each of 1 to 700 rows. The last case has wide rows, whose columns the CPU
// divides among goroutines.
func (s *suite) manyExtremes(t *testing.T, dt gpk.DType) {
	for sign, c := range extremes {
		for i, rows := range []int{1, 40, 300, 700} {
			width := []int{1, 2, 1, pick(s, 17, 50)}[i]
			count := rows * (1 + s.rng.IntN(4))
			x, v := s.mixed(dt, rows, width), s.mixed(dt, []int{1, count}[s.rng.IntN(2)], width)
			ix := s.indicesInto([]gpk.DType{gpk.Int32, gpk.Int64}[s.rng.IntN(2)], rows, count)
			want := extremeAt(x, v, sign, func(f func(to, from int)) {
				for i, at := range ix.ints {
					for j := range width {
						f((int(at)+rows)%rows*width+j, i%v.shape[0]*width+j)
					}
				}
			})
			got := c.f(s.arranged(x), ix.array(), s.arranged(v), 0)
			equal(t, name(c.name+" of many", dt, x.shape, ix.shape, v.shape), evaluate(t, got), want)
		}
	}
}
