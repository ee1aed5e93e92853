package gpktest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/compose"
)

// testSelect compares IndexSelect, MaskedSelect, Nonzero, PutAlongAxis, ScatterAdd, ScatterMax and ScatterMin with
// loops.
func testSelect(t *testing.T, s *suite) {
	// On the CPU, every second round uses the composed operations of a GPU.
	defer compose.Composed(compose.Composed(false))
	for i := range rounds(24, 4) {
		compose.Composed(i%2 == 1)
		for _, dt := range allTypes {
			s.selected(t, dt)
			s.masking(t, dt)
			s.putAlong(t, dt)
			if !dt.IsComplex() {
				s.scatteredExtremes(t, dt)
			}
			if dt != gpk.Bool {
				s.scattered(t, dt)
			}
		}
	}
	for _, dt := range allTypes {
		if dt != gpk.Bool {
			s.scatteredMany(t, dt)
		}
	}
	for _, on := range []bool{false, true} {
		compose.Composed(on)
		s.longMask(t)
		for _, dt := range allTypes {
			if !dt.IsComplex() {
				s.manyExtremes(t, dt)
			}
		}
		s.scatterBounds(t)
		s.scatterLargest(t)
		s.selectErrors(t)
		s.outsideWrites(t)
	}
}

func (s *suite) selected(t *testing.T, dt gpk.DType) {
	x := s.random(dt, s.someShape(1)...)
	d := s.rng.IntN(len(x.shape))
	n := x.shape[d]
	axis := s.signed(d, len(x.shape))
	mask := s.random(gpk.Bool, n)
	var list []int
	for i, v := range mask.ints {
		if v != 0 {
			list = append(list, i)
		}
	}
	shape := slices.Clone(x.shape)
	shape[d] = len(list)
	pick := func(to []int) []int {
		from := slices.Clone(to)
		from[d] = list[to[d]]
		return from
	}
	equal(t, name("IndexSelect by a mask", dt, x.shape, axis), evaluate(t, s.arranged(x).IndexSelect(mask.array(), axis)), x.gathered(shape, pick))
	if n == 0 {
		return
	}
	ix := s.indicesInto([]gpk.DType{gpk.Int32, gpk.Int64}[s.rng.IntN(2)], n, s.rng.IntN(5))
	equal(t, name("IndexSelect", dt, x.shape, axis), evaluate(t, gpk.IndexSelect(s.arranged(x), ix.array(), axis)), taken(x, ix, d))
}

func (s *suite) masking(t *testing.T, dt gpk.DType) {
	x := s.mixed(dt, s.someShape(0)...)
	for i := range size(x.shape) { // more zeros
		if s.rng.IntN(3) == 0 {
			x.put(i, tensor{dt: dt, ints: []int64{0}, values: []complex128{0}}, 0)
		}
	}
	k := s.rng.IntN(len(x.shape) + 1)
	mask := s.random(gpk.Bool, x.shape[:k]...)
	var parts [][]int
	index(mask.shape, func(ix []int) {
		if mask.ints[at(mask.shape, ix)] != 0 {
			parts = append(parts, slices.Clone(ix))
		}
	})
	shape := append([]int{len(parts)}, x.shape[k:]...)
	equal(t, name("MaskedSelect", dt, x.shape, k), evaluate(t, s.arranged(x).MaskedSelect(s.arranged(mask))), x.gathered(shape, func(to []int) []int {
		return slices.Concat(parts[to[0]], to[1:])
	}))
	if len(x.shape) == 0 {
		return
	}
	want := make([]tensor, len(x.shape))
	index(x.shape, func(ix []int) {
		p := at(x.shape, ix)
		if exact(dt) && x.ints[p] == 0 || !exact(dt) && x.values[p] == 0 {
			return
		}
		for d, i := range ix {
			want[d].ints = append(want[d].ints, int64(i))
		}
	})
	got := s.arranged(x).Nonzero()
	if len(got) != len(want) {
		t.Fatalf("Nonzero of %v: %d arrays", x.shape, len(got))
	}
	for d, w := range want {
		w.dt, w.shape = gpk.Int64, []int{len(w.ints)}
		equal(t, name("Nonzero", dt, x.shape, d), evaluate(t, got[d]), w)
	}
}

// longMask has more elements than a block of a kernel sorts, and strides that are no power
// of two.
func (s *suite) longMask(t *testing.T) {
	x := s.random(gpk.Bool, 3, 1003, 7)
	var want [3][]int64
	index(x.shape, func(ix []int) {
		if x.ints[at(x.shape, ix)] != 0 {
			for d, i := range ix {
				want[d] = append(want[d], int64(i))
			}
		}
	})
	for d, a := range x.array().Nonzero() {
		sameInts(t, name("Nonzero of 21,063", d), read(t, a).ints, want[d])
	}
}

// along draws indices of the shape of x, but for axis d, that may be broadcast.
func (s *suite) along(x tensor, d int) (ix tensor, shape []int) {
	shape = slices.Clone(x.shape)
	shape[d] = s.rng.IntN(6)
	of := slices.Clone(shape)
	for i := range of {
		if i != d && s.rng.IntN(3) == 0 {
			of[i] = 1
		}
	}
	if x.shape[d] == 0 {
		shape[d], of[d] = 0, 0
	}
	return s.indicesInto([]gpk.DType{gpk.Int32, gpk.Int64}[s.rng.IntN(2)], max(x.shape[d], 1), of...), shape
}

// under returns the position in x of the element at an index of the broadcast shape.
func (x tensor) under(ix []int) int {
	from := slices.Clone(ix[len(ix)-len(x.shape):])
	for d, n := range x.shape {
		if n == 1 {
			from[d] = 0
		}
	}
	return at(x.shape, from)
}

func (s *suite) putAlong(t *testing.T, dt gpk.DType) {
	x := s.mixed(dt, s.someShape(1)...)
	d := s.rng.IntN(len(x.shape))
	ix, shape := s.along(x, d)
	of := slices.Clone(shape[s.rng.IntN(len(shape)):])
	if s.rng.IntN(3) == 0 {
		of = []int{}
	}
	v := s.mixed(dt, of...)
	want := x.gathered(x.shape, slices.Clone[[]int])
	index(shape, func(to []int) {
		place := slices.Clone(to)
		place[d] = int(ix.ints[ix.under(to)])
		if place[d] < 0 {
			place[d] += x.shape[d]
		}
		want.put(at(x.shape, place), v, v.under(to))
	})
	before := s.arranged(x)
	got := before.PutAlongAxis(s.arranged(ix), s.arranged(v), s.signed(d, len(x.shape)))
	sameElements(t, name("PutAlongAxis", dt, x.shape, ix.shape, of, d), evaluate(t, got), want)
	sameElements(t, name("PutAlongAxis leaves its operand", dt), read(t, before), x)
}

func (s *suite) selectErrors(t *testing.T) {
	x, ix := gpk.Ones(gpk.Float32, 4, 6), gpk.Zeros(gpk.Int64, 2)
	for what, c := range map[string]struct {
		op   string
		got  []*gpk.Array
		want error
	}{
		"IndexSelect of floats":         {"IndexSelect", []*gpk.Array{x.IndexSelect(gpk.Ones(gpk.Float32, 4), 0)}, gpk.ErrDType},
		"IndexSelect of two axes":       {"IndexSelect", []*gpk.Array{x.IndexSelect(gpk.Zeros(gpk.Int64, 2, 2), 0)}, gpk.ErrShape},
		"IndexSelect, another mask":     {"IndexSelect", []*gpk.Array{x.IndexSelect(gpk.Ones(gpk.Bool, 4), 1)}, gpk.ErrShape},
		"IndexSelect along axis 2":      {"IndexSelect", []*gpk.Array{x.IndexSelect(ix, 2)}, gpk.ErrShape},
		"MaskedSelect, another shape":   {"MaskedSelect", []*gpk.Array{x.MaskedSelect(gpk.Ones(gpk.Bool, 6))}, gpk.ErrShape},
		"MaskedSelect, too many axes":   {"MaskedSelect", []*gpk.Array{x.MaskedSelect(gpk.Ones(gpk.Bool, 4, 6, 1))}, gpk.ErrShape},
		"MaskedSelect of numbers":       {"MaskedSelect", []*gpk.Array{x.MaskedSelect(x)}, gpk.ErrDType},
		"Nonzero of a number":           {"Nonzero", gpk.Ones(gpk.Float32).Nonzero(), gpk.ErrShape},
		"PutAlongAxis of floats":        {"PutAlongAxis", []*gpk.Array{x.PutAlongAxis(x, 1, 0)}, gpk.ErrDType},
		"PutAlongAxis, one axis":        {"PutAlongAxis", []*gpk.Array{x.PutAlongAxis(ix, 1, 0)}, gpk.ErrShape},
		"PutAlongAxis, another shape":   {"PutAlongAxis", []*gpk.Array{x.PutAlongAxis(gpk.Zeros(gpk.Int64, 3, 2), 1, 1)}, gpk.ErrShape},
		"PutAlongAxis along axis -3":    {"PutAlongAxis", []*gpk.Array{x.PutAlongAxis(gpk.Zeros(gpk.Int64, 4, 2), 1, -3)}, gpk.ErrShape},
		"PutAlongAxis, other values":    {"PutAlongAxis", []*gpk.Array{x.PutAlongAxis(gpk.Zeros(gpk.Int64, 4, 2), gpk.Ones(gpk.Float32, 3), 1)}, gpk.ErrShape},
		"PutAlongAxis, another type":    {"PutAlongAxis", []*gpk.Array{x.PutAlongAxis(gpk.Zeros(gpk.Int64, 4, 2), ix, 1)}, gpk.ErrDType},
		"PutAlongAxis of a text":        {"PutAlongAxis", []*gpk.Array{x.PutAlongAxis(gpk.Zeros(gpk.Int64, 4, 2), "1", 1)}, gpk.ErrDType},
		"PutAlongAxis of a fraction":    {"PutAlongAxis", []*gpk.Array{ix.PutAlongAxis(ix, 0.5, 0)}, gpk.ErrDType},
		"PutAlongAxis of nil":           {"PutAlongAxis", []*gpk.Array{ix.PutAlongAxis(ix, (*gpk.Array)(nil), 0)}, gpk.ErrShape},
		"PutAlongAxis of an error":      {"At", []*gpk.Array{ix.PutAlongAxis(ix, ix.At(9), 0)}, gpk.ErrShape},
		"PutAlongAxis into nothing":     {"PutAlongAxis", []*gpk.Array{gpk.Zeros(gpk.Int8, 0).PutAlongAxis(ix, 1, 0)}, gpk.ErrShape},
		"ScatterAdd of floats":          {"ScatterAdd", []*gpk.Array{x.ScatterAdd(x, x, 0)}, gpk.ErrDType},
		"ScatterAdd of truths":          {"ScatterAdd", []*gpk.Array{gpk.Ones(gpk.Bool, 2).ScatterAdd(ix, gpk.Ones(gpk.Bool, 2), 0)}, gpk.ErrDType},
		"ScatterAdd, another type":      {"ScatterAdd", []*gpk.Array{x.ScatterAdd(ix, gpk.Ones(gpk.Float64, 2, 6), 0)}, gpk.ErrDType},
		"ScatterAdd, another shape":     {"ScatterAdd", []*gpk.Array{x.ScatterAdd(ix, gpk.Ones(gpk.Float32, 3, 6), 0)}, gpk.ErrShape},
		"ScatterAdd, too many axes":     {"ScatterAdd", []*gpk.Array{x.ScatterAdd(ix, gpk.Ones(gpk.Float32, 1, 2, 6), 0)}, gpk.ErrShape},
		"ScatterAdd along axis 2":       {"ScatterAdd", []*gpk.Array{x.ScatterAdd(ix, x, 2)}, gpk.ErrShape},
		"ScatterAdd into nothing":       {"ScatterAdd", []*gpk.Array{gpk.Zeros(gpk.Int8, 0).ScatterAdd(ix, gpk.Zeros(gpk.Int8, 2), 0)}, gpk.ErrShape},
		"ScatterAdd into one number":    {"ScatterAdd", []*gpk.Array{gpk.Zeros(gpk.Int8).ScatterAdd(ix, gpk.Zeros(gpk.Int8, 2), 0)}, gpk.ErrShape},
		"ScatterMax of complex":         {"ScatterMax", []*gpk.Array{gpk.Ones(gpk.Complex64, 2).ScatterMax(ix, gpk.Ones(gpk.Complex64, 2), 0)}, gpk.ErrDType},
		"ScatterMin, another type":      {"ScatterMin", []*gpk.Array{x.ScatterMin(ix, gpk.Ones(gpk.Float64, 2, 6), 0)}, gpk.ErrDType},
		"ScatterMin, another shape":     {"ScatterMin", []*gpk.Array{x.ScatterMin(ix, gpk.Ones(gpk.Float32, 3, 6), 0)}, gpk.ErrShape},
		"ScatterMax into nothing":       {"ScatterMax", []*gpk.Array{gpk.Zeros(gpk.Int8, 0).ScatterMax(ix, gpk.Zeros(gpk.Int8, 2), 0)}, gpk.ErrShape},
		"ScatterAdd of nil":             {"ScatterAdd", []*gpk.Array{x.ScatterAdd(nil, x, 0)}, gpk.ErrShape},
		"TakeAlongAxis of an empty one": {"TakeAlongAxis", []*gpk.Array{gpk.Zeros(gpk.Int8, 0, 2).TakeAlongAxis(gpk.Zeros(gpk.Int64, 1, 2), 0)}, gpk.ErrShape},
	} {
		s.refusedAs(t, what, c.op, c.got, c.want)
	}
}

// outsideWrites checks that an index outside the axis is found when the kernel runs, that the
// error names the axis and the line, and that results that depend on it are not written.
func (s *suite) outsideWrites(t *testing.T) {
	for _, bad := range []int64{6, -7, 1 << 62, -1 << 62, 1<<63 - 1, -1 << 63} {
		x := s.random(gpk.Float32, 4, 6)
		ix := s.indicesInto(gpk.Int64, 6, 4, 3)
		ix.ints[s.rng.IntN(12)] = bad
		wide := s.indicesInto(gpk.Int64, 6, 12)
		wide.ints[s.rng.IntN(12)] = bad
		for op, a := range map[string]*gpk.Array{
			"PutAlongAxis": x.array().PutAlongAxis(ix.array(), 1, 1),
			"ScatterAdd":   x.array().ScatterAdd(wide.array(), gpk.Ones(gpk.Float32, 4, 12), 1),
			"ScatterMax":   x.array().ScatterMax(wide.array(), gpk.Ones(gpk.Float32, 4, 12), 1),
			"ScatterMin":   x.array().ScatterMin(wide.array(), gpk.Ones(gpk.Float32, 4, 12), 1),
		} {
			before := s.random(gpk.Float32, 4, 8)
			whole := before.array()
			err := whole.Slice(1, 1, 7).CopyFrom(a)
			var oe *gpk.OpError
			if !errors.Is(err, gpk.ErrShape) || !errors.As(err, &oe) || oe.Op != op || !strings.Contains(err.Error(), "axis 1, which has length 6") || !strings.Contains(oe.Site, "select.go") {
				t.Errorf("%s at %d of 6: %v", op, bad, err)
			}
			equal(t, op+" outside, written", read(t, whole), before)
		}
	}
}
