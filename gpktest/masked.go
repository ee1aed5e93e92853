package gpktest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/compose"
)

// testMasked compares MaskedSet and RepeatEach with loops.
func testMasked(t *testing.T, s *suite) {
	defer compose.Composed(compose.Composed(false))
	for i := range rounds(40, 6) {
		compose.Composed(i%2 == 1)
		for _, dt := range allTypes {
			s.maskedSet(t, dt)
			s.repeatedEach(t, dt)
		}
	}
	s.maskedErrors(t)
	x := gpk.Zeros(gpk.Float32, 3, 4)
	for what, c := range map[string]struct {
		got  *gpk.Array
		want error
	}{
		"RepeatEach by floats":      {x.RepeatEach(gpk.Ones(gpk.Float32, 3), 0), gpk.ErrDType},
		"RepeatEach, other length":  {x.RepeatEach(gpk.Ones(gpk.Int64, 4), 0), gpk.ErrShape},
		"RepeatEach, two axes":      {x.RepeatEach(gpk.Ones(gpk.Int64, 3, 1), 0), gpk.ErrShape},
		"RepeatEach along no axis":  {x.RepeatEach(gpk.Ones(gpk.Int64, 3), 2), gpk.ErrShape},
		"RepeatEach -1 times":       {x.RepeatEach(gpk.FromSlice([]int{1, -1, 3}), 0), gpk.ErrShape},
		"RepeatEach, the sum 0":     {x.RepeatEach(gpk.FromSlice([]int{1, -2, 1}), 0), gpk.ErrShape},
		"RepeatEach without end":    {x.RepeatEach(gpk.FromSlice([]int64{1 << 62, 1 << 62, 1}), 0), gpk.ErrShape},
		"RepeatEach none -1 times":  {gpk.Zeros(gpk.Float32, 0, 4).RepeatEach(gpk.FromSlice([]int{-1}), 0), gpk.ErrShape},
		"RepeatEach none, lengths":  {gpk.Zeros(gpk.Float32, 0, 4).RepeatEach(gpk.FromSlice([]int{1, 1}), 0), gpk.ErrShape},
		"RepeatEach none by floats": {gpk.Zeros(gpk.Float32, 0, 4).RepeatEach(gpk.Ones(gpk.Float32, 0), 0), gpk.ErrDType},
		"RepeatEach of nil":         {x.RepeatEach(nil, 0), gpk.ErrShape},
	} {
		s.refusedAs(t, what, "RepeatEach", []*gpk.Array{c.got}, c.want)
	}
}

func (s *suite) maskedSet(t *testing.T, dt gpk.DType) {
	x := s.mixed(dt, s.someShape(0)...)
	k := s.rng.IntN(len(x.shape) + 1)
	mask, rest := s.random(gpk.Bool, x.shape[:k]...), x.shape[k:]
	var parts [][]int
	index(mask.shape, func(ix []int) {
		if mask.ints[at(mask.shape, ix)] != 0 {
			parts = append(parts, slices.Clone(ix))
		}
	})
	vs := slices.Concat([]int{len(parts)}, rest)
	for d := range vs {
		if s.rng.IntN(4) == 0 {
			vs[d] = 1
		}
	}
	if s.rng.IntN(3) == 0 {
		vs = vs[s.rng.IntN(len(vs))+1:]
	}
	v := s.mixed(dt, append([]int{}, vs...)...)
	want := x.gathered(x.shape, slices.Clone[[]int])
	for i, part := range parts {
		index(rest, func(ix []int) {
			want.put(at(x.shape, slices.Concat(part, ix)), v, v.under(slices.Concat([]int{i}, ix)))
		})
	}
	a := s.arranged(x)
	dst := a.Clone()
	if s.rng.IntN(2) == 0 && len(x.shape) > 0 { // a view of a larger array
		dst = gpk.Concat(0, a, a).Slice(0, x.shape[0], 2*x.shape[0])
	}
	before := dst.Add(0)
	if dt == gpk.Bool {
		before = dst.Or(false)
	}
	what := name("MaskedSet", dt, x.shape, k, v.shape)
	if err := dst.MaskedSet(s.arranged(mask), s.arranged(v)); err != nil {
		t.Fatal(what, err)
	}
	equal(t, what, read(t, dst), want)
	equal(t, what+": an earlier result", read(t, before), x)

	// A number.
	number := tensor{dt: dt, shape: []int{}, ints: []int64{1}, values: []complex128{1}}
	for _, part := range parts {
		index(rest, func(ix []int) { want.put(at(x.shape, slices.Concat(part, ix)), number, 0) })
	}
	if err := gpk.MaskedSet(dst, mask.array(), 1); err != nil {
		t.Fatal(what, err)
	}
	equal(t, what+", a number", read(t, dst), want)
}

func (s *suite) maskedErrors(t *testing.T) {
	before := s.random(gpk.Float32, 3, 4)
	x, rows, all := before.array(), gpk.FromSlice([]bool{true, false, true}), gpk.Ones(gpk.Bool, 3, 4)
	for what, c := range map[string]struct {
		err, want error
	}{
		"another mask":         {x.MaskedSet(gpk.Ones(gpk.Bool, 4), 0), gpk.ErrShape},
		"a mask of numbers":    {x.MaskedSet(x, 0), gpk.ErrDType},
		"no mask":              {x.MaskedSet(nil, 0), gpk.ErrShape},
		"too many values":      {x.MaskedSet(all, gpk.Zeros(gpk.Float32, 13)), gpk.ErrShape},
		"three rows for two":   {x.MaskedSet(rows, gpk.Zeros(gpk.Float32, 3, 4)), gpk.ErrShape},
		"rows of another kind": {x.MaskedSet(rows, gpk.Zeros(gpk.Float32, 2, 3)), gpk.ErrShape},
		"a row of another":     {x.MaskedSet(rows, gpk.Zeros(gpk.Float32, 3)), gpk.ErrShape},
		"too many axes":        {x.MaskedSet(all, gpk.Zeros(gpk.Float32, 1, 1)), gpk.ErrShape},
		"values of a type":     {x.MaskedSet(all, gpk.Zeros(gpk.Float64, 12)), gpk.ErrDType},
		"no values":            {x.MaskedSet(all, (*gpk.Array)(nil)), gpk.ErrShape},
		"a text":               {x.MaskedSet(all, "1"), gpk.ErrDType},
		"a complex number":     {x.MaskedSet(all, 1i), gpk.ErrDType},
		"shared memory":        {x.Slice(0, 0, 1).BroadcastTo(3, 4).MaskedSet(all, 0), gpk.ErrShape},
	} {
		var oe *gpk.OpError
		if !errors.Is(c.err, c.want) || !errors.As(c.err, &oe) || oe.Op != "MaskedSet" || !strings.HasPrefix(oe.Site, "gpktest/masked.go") {
			t.Errorf("%s: %v, want %v", what, c.err, c.want)
		}
	}
	equal(t, "MaskedSet with an error writes nothing", read(t, x), before)
}

func (s *suite) repeatedEach(t *testing.T, dt gpk.DType) {
	x := s.mixed(dt, s.someShape(1)...)
	d := s.rng.IntN(len(x.shape))
	n := x.shape[d]
	counts := tensor{dt: []gpk.DType{gpk.Int64, gpk.Int32, gpk.Uint8}[s.rng.IntN(3)], shape: []int{n}}
	most := []int{1, 4, 7}[s.rng.IntN(3)]
	for range n {
		counts.ints = append(counts.ints, int64(s.rng.IntN(most)))
	}
	each := func(i int) int64 { return counts.ints[i] }
	if s.rng.IntN(4) == 0 { // one for all
		counts.shape, counts.ints = []int{1}, []int64{int64(s.rng.IntN(most))}
		each = func(int) int64 { return counts.ints[0] }
	}
	var list []int
	for i := range n {
		for range each(i) {
			list = append(list, i)
		}
	}
	shape := slices.Clone(x.shape)
	shape[d] = len(list)
	got := s.arranged(x).RepeatEach(s.arranged(counts), s.signed(d, len(x.shape)))
	equal(t, name("RepeatEach", dt, x.shape, d, counts.ints), evaluate(t, got), x.gathered(shape, func(to []int) []int {
		from := slices.Clone(to)
		from[d] = list[to[d]]
		return from
	}))
}
