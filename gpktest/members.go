package gpktest

import (
	"cmp"
	"math"
	"slices"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/compose"
	"github.com/gpk-go/gpk/ops"
)

// testMembers compares IsIn and Interp with loops.
func testMembers(t *testing.T, s *suite) {
	defer compose.Composed(compose.Composed(false))
	for i := range rounds(40, 6) {
		compose.Composed(i%2 == 1)
		for _, dt := range ops.Lookup(expr.Sort).Types {
			s.members(t, dt)
		}
		for _, dt := range realFloats() {
			s.interpolated(t, dt)
			s.interpolatedBits(t, dt)
		}
	}
	x, list := gpk.Zeros(gpk.Float32, 3), gpk.Zeros(gpk.Float32, 2)
	for what, c := range map[string]struct {
		op   string
		got  *gpk.Array
		want error
	}{
		"IsIn of complex":            {"IsIn", gpk.Zeros(gpk.Complex64, 3).IsIn(gpk.Zeros(gpk.Complex64, 3)), gpk.ErrDType},
		"IsIn of another type":       {"IsIn", x.IsIn(gpk.Zeros(gpk.Float64, 3)), gpk.ErrDType},
		"IsIn of nil":                {"IsIn", x.IsIn(nil), gpk.ErrShape},
		"Interp of integers":         {"Interp", gpk.Zeros(gpk.Int32, 3).Interp(gpk.Zeros(gpk.Int32, 3), gpk.Zeros(gpk.Int32, 3)), gpk.ErrDType},
		"Interp of another type":     {"Interp", x.Interp(list, gpk.Zeros(gpk.Float64, 2)), gpk.ErrDType},
		"Interp of two lengths":      {"Interp", x.Interp(list, x), gpk.ErrShape},
		"Interp of nothing":          {"Interp", x.Interp(gpk.Zeros(gpk.Float32, 0), gpk.Zeros(gpk.Float32, 0)), gpk.ErrShape},
		"Interp at places of 2 axes": {"Interp", x.Interp(gpk.Zeros(gpk.Float32, 2, 1), gpk.Zeros(gpk.Float32, 2, 1)), gpk.ErrShape},
	} {
		s.refusedAs(t, what, c.op, []*gpk.Array{c.got}, c.want)
	}
}

func (s *suite) members(t *testing.T, dt gpk.DType) {
	x, v := s.mixed(dt, s.someShape(0)...), s.mixed(dt, s.someShape(0)...)
	if s.rng.IntN(4) == 0 {
		v = s.mixed(dt, 300)
	}
	for i := range size(v.shape) { // some elements of x
		if n := size(x.shape); n > 0 && s.rng.IntN(2) == 0 {
			v.put(i, x, s.rng.IntN(n))
		}
	}
	want := tensor{dt: gpk.Bool, shape: x.shape, ints: make([]int64, size(x.shape))}
	for i := range want.ints {
		for j := range size(v.shape) {
			if exact(dt) && x.ints[i] == v.ints[j] || !exact(dt) && x.values[i] == v.values[j] {
				want.ints[i] = 1
			}
		}
	}
	equal(t, name("IsIn", dt, x.shape, v.shape), evaluate(t, s.arranged(x).IsIn(s.arranged(v))), want)
}

// interpolated compares Interp with the line through two places, in float64.
func (s *suite) interpolated(t *testing.T, dt gpk.DType) {
	x, n := s.mixed(dt, s.someShape(0)...), 1+s.rng.IntN(9)
	xp, fp := s.random(dt, n), s.random(dt, n)
	slices.SortFunc(xp.values, func(a, b complex128) int { return cmp.Compare(real(a), real(b)) })
	for i := range x.values {
		if s.rng.IntN(4) == 0 {
			x.values[i] = xp.values[s.rng.IntN(n)]
		}
	}
	computed, own := units(dt)
	got := evaluate(t, s.arranged(x).Interp(xp.array(), fp.array()))
	what := name("Interp", dt, x.shape, n)
	if got.dt != dt || !slices.Equal(got.shape, x.shape) {
		t.Fatalf("%s: %v %v", what, got.dt, got.shape)
	}
	for i, g := range got.values {
		v := real(x.values[i])
		after := 0
		for after < n && real(xp.values[after]) <= v {
			after++
		}
		want, bound := math.NaN(), 0.0
		switch {
		case math.IsNaN(v):
		case after == 0:
			want = real(fp.values[0])
		case after == n || v == real(xp.values[after-1]):
			want = real(fp.values[after-1])
		default:
			x0, x1, y0, y1 := real(xp.values[after-1]), real(xp.values[after]), real(fp.values[after-1]), real(fp.values[after])
			want = (y1-y0)/(x1-x0)*(v-x0) + y0
			// Differences, quotient, product and sum are rounded, each relative to |y1 - y0| or to a sum of at most |y0| + |y1|.
			bound = 8*computed*(math.Abs(y0)+math.Abs(y1)) + 2*own*math.Abs(want)
			if dt == gpk.Float16 {
				bound += 0x1p-24
			}
		}
		if !same(real(g), want) && !(math.Abs(real(g)-want) <= bound) {
			t.Fatalf("%s: element %d, at %v, is %v, want %v up to %v", what, i, v, real(g), want, bound)
		}
	}
}

// interpolatedBits compares the bits of Interp by a kernel, if the device has one, with those of its composition. Places
// repeat, and places and values may be infinite.
func (s *suite) interpolatedBits(t *testing.T, dt gpk.DType) {
	x, n := s.mixed(dt, 301), 1+s.rng.IntN(40)
	xp, fp := s.random(dt, n), s.mixed(dt, n)
	for _, i := range []int{0, n / 2, n - 1} {
		xp.values[i] = []complex128{complex(math.Inf(-1), 0), xp.values[0], complex(math.Inf(1), 0)}[s.rng.IntN(3)]
	}
	slices.SortFunc(xp.values, func(a, b complex128) int { return cmp.Compare(real(a), real(b)) })
	for i := range x.values {
		if s.rng.IntN(3) == 0 {
			x.values[i] = xp.values[s.rng.IntN(n)]
		}
	}
	compute := func(composed bool) tensor {
		defer compose.Composed(compose.Composed(composed))
		return evaluate(t, x.array().Interp(xp.array(), fp.array()))
	}
	equal(t, name("Interp", dt, n), compute(false), compute(true))
	xp.values, fp.values = []complex128{complex(math.NaN(), 0)}, fp.values[:1]
	xp.shape, fp.shape = []int{1}, []int{1}
	equal(t, name("Interp at one NaN", dt), compute(false), compute(true))
}
