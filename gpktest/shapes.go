package gpktest

import (
	"errors"
	"math"
	"slices"
	"testing"

	gpk "github.com/gpk-go/gpk"
)

// someShape returns a random shape of at least `least` and at most four axes. One axis in 24
// has length 0.
func (s *suite) someShape(least int) []int {
	shape := make([]int, least+s.rng.IntN(5-least))
	for d := range shape {
		shape[d] = 1 + s.rng.IntN(6)
		if s.rng.IntN(24) == 0 {
			shape[d] = 0
		}
	}
	return shape
}

// signed returns an axis of n; in half of the cases it is counted from the end.
func (s *suite) signed(axis, n int) int {
	if s.rng.IntN(2) == 0 {
		return axis - n
	}
	return axis
}

// testShapes compares operations that only move elements with loops over indices.
func testShapes(t *testing.T, s *suite) {
	for range rounds(40, 8) {
		for _, dt := range allTypes {
			s.pieces(t, dt)
			s.moved(t, dt)
			s.triangles(t, dt)
			s.likes(t, dt)
			s.windows(t, dt)
		}
		s.grids(t)
		s.hot(t)
		s.stepped(t)
	}
	s.shapeErrors(t)
}

// part returns the elements from start to stop along an axis.
func (x tensor) part(axis, start, stop int) tensor {
	shape := slices.Clone(x.shape)
	shape[axis] = stop - start
	return x.gathered(shape, func(ix []int) []int {
		jx := slices.Clone(ix)
		jx[axis] += start
		return jx
	})
}

func (s *suite) pieces(t *testing.T, dt gpk.DType) {
	x := s.random(dt, s.someShape(1)...)
	rank := len(x.shape)
	d := s.rng.IntN(rank)
	length := x.shape[d]
	a, axis := s.arranged(x), s.signed(d, rank)
	check := func(what string, got []*gpk.Array, cuts ...int) {
		t.Helper()
		if len(got) != len(cuts)-1 {
			t.Fatalf("%s of %v: %d parts, want %d", what, x.shape, len(got), len(cuts)-1)
		}
		for i, g := range got {
			equal(t, name(what, dt, x.shape, axis, cuts), read(t, g), x.part(d, cuts[i], cuts[i+1]))
		}
	}
	for n := 1; n <= max(length, 1); n++ {
		if length%n == 0 {
			cuts := []int{0}
			for i := range n {
				cuts = append(cuts, (i+1)*length/n)
			}
			check("Split", a.Split(n, axis), cuts...)
		}
		cuts, size := []int{0}, (length+n-1)/n
		for i := size; i < length; i += size {
			cuts = append(cuts, i)
		}
		check("Chunk", gpk.Chunk(a, n, axis), append(cuts, length)...)
	}
	var at, cuts []int
	for range s.rng.IntN(4) {
		at = append(at, s.rng.IntN(length+1))
	}
	slices.Sort(at)
	cuts = slices.Concat([]int{0}, at, []int{length})
	for i, c := range at {
		if c < length && s.rng.IntN(2) == 0 {
			at[i] -= length
		}
	}
	check("SplitAt", a.SplitAt(axis, at...), cuts...)
}

func (s *suite) moved(t *testing.T, dt gpk.DType) {
	x := s.random(dt, s.someShape(0)...)
	rank := len(x.shape)
	a := s.arranged(x)
	what := func(op string, args ...any) string { return name(op, dt, x.shape, args) }

	n := make([]int, s.rng.IntN(4))
	for d := range n {
		n[d] = s.rng.IntN(4)
	}
	long := max(rank, len(n))
	shape := make([]int, long)
	for d := range shape {
		shape[d] = 1
		if k := d - long + rank; k >= 0 {
			shape[d] = x.shape[k]
		}
		if k := d - long + len(n); k >= 0 {
			shape[d] *= n[k]
		}
	}
	equal(t, what("Tile", n), read(t, a.Tile(n...)), x.gathered(shape, func(ix []int) []int {
		jx := slices.Clone(ix[long-rank:])
		for d := range jx {
			jx[d] %= x.shape[d]
		}
		return jx
	}))

	shift := s.rng.IntN(21) - 10
	elements := size(x.shape)
	equal(t, what("Roll", shift), read(t, gpk.Roll(a, shift)), x.permuted(x.shape, func(i int) int {
		return ((i-shift)%elements + elements) % elements
	}))
	equal(t, what("Flatten"), read(t, a.Flatten()), x.permuted([]int{elements}, func(i int) int { return i }))
	if rank == 0 {
		return
	}
	i, j := s.rng.IntN(rank), s.rng.IntN(rank)
	axes, total := []int{s.signed(i, rank), s.signed(j, rank)}, make([]int, rank)
	total[i] += shift
	total[j] += shift
	equal(t, what("Roll", shift, axes), read(t, a.Roll(shift, axes...)), x.gathered(x.shape, func(ix []int) []int {
		jx := slices.Clone(ix)
		for d, m := range x.shape {
			jx[d] = ((ix[d]-total[d])%m + m) % m
		}
		return jx
	}))
	perm := make([]int, 0, rank)
	for d := range rank {
		if d != i {
			perm = append(perm, d)
		}
	}
	equal(t, what("MoveAxis", i, j), read(t, a.MoveAxis(s.signed(i, rank), s.signed(j, rank))), x.transpose(slices.Insert(perm, j, i)))
	perm = perm[:0]
	for d := range rank {
		perm = append(perm, d)
	}
	perm[i], perm[j] = j, i
	equal(t, what("SwapAxes", i, j), read(t, a.SwapAxes(s.signed(i, rank), s.signed(j, rank))), x.transpose(perm))
}

// masked returns x with 0 at the indices for which keep is false.
func (x tensor) masked(keep func(ix []int) bool) tensor {
	y := tensor{dt: x.dt, shape: x.shape, values: slices.Clone(x.values), ints: slices.Clone(x.ints)}
	index(x.shape, func(ix []int) {
		switch i := at(x.shape, ix); {
		case keep(ix):
		case exact(x.dt):
			y.ints[i] = 0
		default:
			y.values[i] = 0
		}
	})
	return y
}

func (s *suite) triangles(t *testing.T, dt gpk.DType) {
	x := s.random(dt, s.someShape(2)...)
	rank := len(x.shape)
	a, k := s.arranged(x), s.rng.IntN(15)-7
	column := func(ix []int) int { return ix[rank-1] - ix[rank-2] }
	equal(t, name("Tril", dt, x.shape, k), evaluate(t, a.Tril(k)), x.masked(func(ix []int) bool { return column(ix) <= k }))
	equal(t, name("Triu", dt, x.shape, k), evaluate(t, a.Triu(k)), x.masked(func(ix []int) bool { return column(ix) >= k }))
	equal(t, name("Tril", dt, x.shape), evaluate(t, gpk.Tril(a)), x.masked(func(ix []int) bool { return column(ix) <= 0 }))

	m := s.random(dt, 1+s.rng.IntN(6), 1+s.rng.IntN(6))
	k = s.rng.IntN(m.shape[0]+m.shape[1]+1) - m.shape[0]
	n := min(m.shape[0], m.shape[1]-k)
	if k < 0 {
		n = min(m.shape[0]+k, m.shape[1])
	}
	equal(t, name("Diag", dt, m.shape, k), read(t, s.arranged(m).Diag(k)), m.gathered([]int{n}, func(ix []int) []int {
		return []int{ix[0] + max(-k, 0), ix[0] + max(k, 0)}
	}))
	v := s.random(dt, s.rng.IntN(5))
	k = s.rng.IntN(9) - 4
	side := len(v.ints) + len(v.values) + max(k, -k)
	want := tensor{dt: dt, shape: []int{side, side}}
	index(want.shape, func(ix []int) {
		i := ix[0] - max(-k, 0)
		on := ix[1]-ix[0] == k && i >= 0 && i < v.shape[0]
		switch {
		case exact(dt) && on:
			want.ints = append(want.ints, v.ints[i])
		case exact(dt):
			want.ints = append(want.ints, 0)
		case on:
			want.values = append(want.values, v.values[i])
		default:
			want.values = append(want.values, 0)
		}
	})
	equal(t, name("Diag", dt, v.shape, k), evaluate(t, v.array().Diag(k)), want)
}

func (s *suite) likes(t *testing.T, dt gpk.DType) {
	x := s.random(dt, s.someShape(0)...)
	a, other := s.arranged(x), allTypes[s.rng.IntN(len(allTypes))]
	for what, c := range map[string]struct{ got, want *gpk.Array }{
		"ZerosLike":         {gpk.ZerosLike(a), gpk.Zeros(dt, x.shape...)},
		"OnesLike":          {gpk.OnesLike(a), gpk.Ones(dt, x.shape...)},
		"FullLike":          {gpk.FullLike(a, true), gpk.Full(dt, true, x.shape...)},
		"ZerosLike, a type": {gpk.ZerosLike(a, other), gpk.Zeros(other, x.shape...)},
		"FullLike, a type":  {gpk.FullLike(a, 1, other), gpk.Full(other, 1, x.shape...)},
	} {
		if c.got.Err() == nil && c.want.Err() == nil {
			equal(t, name(what, dt, x.shape), evaluate(t, c.got), read(t, c.want))
		} else if c.got.Err() == nil || c.want.Err() == nil {
			t.Fatalf("%s of %v: %v, but of Full %v", what, dt, c.got.Err(), c.want.Err())
		}
	}
}

func (s *suite) windows(t *testing.T, dt gpk.DType) {
	x := s.random(dt, s.someShape(1)...)
	rank := len(x.shape)
	d := s.rng.IntN(rank)
	if x.shape[d] > 0 {
		length, step := 1+s.rng.IntN(x.shape[d]), 1+s.rng.IntN(3)
		shape := append(slices.Clone(x.shape), length)
		shape[d] = (x.shape[d]-length)/step + 1
		w := s.arranged(x).Windows(length, s.signed(d, rank), step)
		want := x.gathered(shape, func(ix []int) []int {
			jx := slices.Clone(ix[:rank])
			jx[d] = ix[d]*step + ix[rank]
			return jx
		})
		equal(t, name("Windows", dt, x.shape, length, d, step), read(t, w), want)
		equal(t, name("Windows, cloned", dt, x.shape, length, d, step), evaluate(t, w.Clone()), want)
		if step < length && shape[d] > 1 && size(shape) > 0 {
			if err := w.CopyFrom(w.Clone()); !errors.Is(err, gpk.ErrShape) && !errors.Is(err, gpk.ErrUnsupported) {
				t.Fatalf("windows that overlap were written: %v", err)
			}
		}
	}
	// Strides over the memory of a dense array, from an element of it.
	y := s.random(dt, 60)
	offset := s.rng.IntN(60)
	var shape, strides []int
	lo, hi := offset, offset
	for range s.rng.IntN(4) {
		n, stride := 1+s.rng.IntN(4), s.rng.IntN(25)-12
		shape, strides = append(shape, n), append(strides, stride)
		lo, hi = lo+min(0, (n-1)*stride), hi+max(0, (n-1)*stride)
	}
	v := y.array().Reshape(5, 12).AsStrided(shape, strides, offset)
	if inside := lo >= 0 && hi < 60; !inside {
		if !errors.Is(v.Err(), gpk.ErrShape) {
			t.Fatalf("shape %v, strides %v from %d of 60: %v", shape, strides, offset, v.Err())
		}
		return
	}
	if shape == nil {
		shape = []int{}
	}
	equal(t, name("AsStrided", dt, shape, strides, offset), read(t, v), y.gathered(shape, func(ix []int) []int {
		i := offset
		for d, k := range ix {
			i += k * strides[d]
		}
		return []int{i}
	}))
}

func (s *suite) grids(t *testing.T) {
	n := s.rng.IntN(4)
	var as []*gpk.Array
	var xs []tensor
	var lengths []int
	for range n {
		dt, length := allTypes[s.rng.IntN(len(allTypes))], s.rng.IntN(5)
		xs, lengths = append(xs, s.random(dt, length)), append(lengths, length)
		as = append(as, xs[len(xs)-1].array())
	}
	for i, g := range gpk.MeshgridIJ(as...) {
		equal(t, name("MeshgridIJ", lengths, i), read(t, g), xs[i].gathered(lengths, func(ix []int) []int { return []int{ix[i]} }))
	}
	xy, place := slices.Clone(lengths), []int{1, 0, 2, 3}
	if n > 1 {
		xy[0], xy[1] = xy[1], xy[0]
	} else {
		place[0] = 0
	}
	for i, g := range gpk.Meshgrid(as...) {
		equal(t, name("Meshgrid", lengths, i), read(t, g), xs[i].gathered(xy, func(ix []int) []int { return []int{ix[place[i]]} }))
	}
	full := s.someShape(0)
	as, xs = nil, nil
	for range 1 + s.rng.IntN(3) {
		shape := slices.Clone(full[s.rng.IntN(len(full)+1):])
		for d := range shape {
			if s.rng.IntN(3) == 0 {
				shape[d] = 1
			}
		}
		xs = append(xs, s.random(allTypes[s.rng.IntN(len(allTypes))], shape...))
		as = append(as, s.arranged(xs[len(xs)-1]))
	}
	as, xs = append(as, gpk.Zeros(gpk.Bool, full...)), append(xs, read(t, gpk.Zeros(gpk.Bool, full...)))
	for i, g := range gpk.BroadcastArrays(as...) {
		x := xs[i]
		equal(t, name("BroadcastArrays", full, x.shape), read(t, g), x.gathered(full, func(ix []int) []int {
			jx := slices.Clone(ix[len(full)-len(x.shape):])
			for d, m := range x.shape {
				if m == 1 {
					jx[d] = 0
				}
			}
			return jx
		}))
	}
}

func (s *suite) hot(t *testing.T) {
	dt := []gpk.DType{gpk.Int8, gpk.Uint8, gpk.Int32, gpk.Int64}[s.rng.IntN(4)]
	to, n := allTypes[s.rng.IntN(len(allTypes))], s.rng.IntN(6)
	x := tensor{dt: dt, shape: s.someShape(0)}
	want := tensor{dt: to, shape: append(slices.Clone(x.shape), n)}
	for range size(x.shape) {
		i := s.rng.IntN(8)
		if !dt.IsUnsigned() {
			i -= 2
		}
		x.ints = append(x.ints, int64(i))
		for j := range n {
			want.ints = append(want.ints, int64(b2i(i == j)))
			want.values = append(want.values, complex(float64(b2i(i == j)), 0))
		}
	}
	equal(t, name("OneHot", dt, to, x.shape, n), evaluate(t, gpk.OneHot(s.arranged(x), n, to)), want)
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (s *suite) stepped(t *testing.T) {
	for _, dt := range allTypes {
		if dt == gpk.Bool {
			continue
		}
		start, step := float64(s.rng.IntN(20)), float64(1+s.rng.IntN(4))
		if !exact(dt) {
			start, step = start+s.rng.Float64(), step*s.rng.Float64()+0.125
		}
		stop := start + step*float64(s.rng.IntN(9)) + s.rng.Float64()
		if s.rng.IntN(3) == 0 && !dt.IsUnsigned() {
			start, stop, step = -start, -stop, -step
		}
		want := tensor{dt: dt, shape: []int{0}}
		for i := 0; ; i++ {
			v := start + float64(float64(i)*step)
			if step > 0 && v >= stop || step < 0 && v <= stop {
				break
			}
			want.ints, want.values = append(want.ints, int64(v)), append(want.values, round(dt, complex(v, 0)))
			want.shape[0]++
		}
		if n := int(math.Ceil((stop - start) / step)); n != want.shape[0] {
			continue // a stop that rounding lands on
		}
		equal(t, name("ArangeStep", dt, start, stop, step), evaluate(t, gpk.ArangeStep(dt, start, stop, step)), want)
	}
}
