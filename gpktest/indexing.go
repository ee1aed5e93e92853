package gpktest

import (
	"errors"
	"math"
	"slices"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/ops"
)

// gathered returns a tensor of a shape whose element at index ix is x's element at
// from(ix).
func (x tensor) gathered(shape []int, from func(ix []int) []int) tensor {
	var list []int
	index(shape, func(ix []int) { list = append(list, at(x.shape, from(ix))) })
	return x.permutedTo(shape, list)
}

// arranged returns x in a random memory layout.
func (s *suite) arranged(x tensor) *gpk.Array {
	if len(x.shape) < 2 || size(x.shape) == 0 {
		return x.array()
	}
	return arrangements[s.rng.IntN(len(arrangements))].make(s, x)
}

// indicesInto draws indices for an axis, a third of them negative.
func (s *suite) indicesInto(dt gpk.DType, length int, shape ...int) tensor {
	x := tensor{dt: dt, shape: shape, ints: make([]int64, size(shape))}
	for i := range x.ints {
		x.ints[i] = int64(s.rng.IntN(length))
		if s.rng.IntN(3) == 0 {
			x.ints[i] -= int64(length)
		}
	}
	return x
}

// taken returns the reference of Take.
func taken(x, ix tensor, axis int) tensor {
	span := len(ix.shape)
	shape := slices.Concat(x.shape[:axis], ix.shape, x.shape[axis+1:])
	return x.gathered(shape, func(to []int) []int {
		i := int(ix.ints[at(ix.shape, to[axis:axis+span])])
		if i < 0 {
			i += x.shape[axis]
		}
		return slices.Concat(to[:axis], []int{i}, to[axis+span:])
	})
}

// testTake tries Take on every type: elements and rows of every size, to and from every
// layout, and indices outside the axis.
func testTake(t *testing.T, s *suite) {
	for _, dt := range ops.Lookup(expr.Take).Types {
		for _, c := range []struct {
			x    []int
			axis int
			ix   []int
		}{
			{[]int{1}, 0, []int{}},
			{[]int{7}, 0, []int{0}},
			{[]int{1000}, 0, []int{3001}},
			{[]int{31, 64}, 0, []int{100}},
			{[]int{31, 65}, 0, []int{100}},
			{[]int{31, 66}, -2, []int{7, 9}},
			{[]int{31, 8}, 1, []int{5}},
			{[]int{5, 0}, 0, []int{3}},
			{[]int{0, 5}, 1, []int{3}},
			{[]int{0, 5}, 0, []int{0}},
			{[]int{3, 40, 17}, 1, []int{2, 0}},
			{[]int{3, 40, 17}, 1, []int{2, 33}},
			{[]int{3, 40, 16}, 0, []int{}},
			{[]int{3, 40, 17}, 2, []int{2, 3, 4}},
			{[]int{2, 1, 2, 3, 1, 2, 2, 1, 3, 2}, 3, []int{2, 2}},
		} {
			x := s.random(dt, c.x...)
			axis := c.axis
			if axis < 0 {
				axis += len(c.x)
			}
			ix := s.indicesInto([]gpk.DType{gpk.Int32, gpk.Int64}[s.rng.IntN(2)], c.x[axis], c.ix...)
			r := gpk.Take(s.arranged(x), s.arranged(ix), c.axis)
			want := taken(x, ix, axis)
			what := name("Take", dt, c.x, c.axis, c.ix)
			if s.rng.IntN(2) == 0 {
				equal(t, what+" stored", read(t, r), want)
			}
			equal(t, what, evaluate(t, r), want)
		}
		// Into a part of an array, by indices that are all one element.
		x, ix := s.random(dt, 9, 6), s.indicesInto(gpk.Int32, 9, 1)
		frame := poison(dt, 6, 9)
		if err := gpk.Into(frame.Slice(0, 1, 5).Slice(1, 2, 8), gpk.Take(x.array(), ix.array().BroadcastTo(4), 0)); err != nil {
			t.Fatal(err)
		}
		if dt != gpk.Bool {
			s.frameIntact(t, name("Take", dt, "into a part"), read(t, frame), 1, 5, 2, 8)
		}
		equal(t, name("Take", dt, "into a part"), read(t, frame.Slice(0, 1, 5).Slice(1, 2, 8)),
			x.gathered([]int{4, 6}, func(to []int) []int { return []int{(int(ix.ints[0]) + 9) % 9, to[1]} }))
	}
	x := gpk.Ones(gpk.Float32, 3, 4)
	for what, a := range map[string]*gpk.Array{
		"indices of floats": gpk.Take(x, x, 0),
		"indices of bytes":  gpk.Take(x, gpk.Zeros(gpk.Uint8, 2), 0),
	} {
		if !errors.Is(a.Err(), gpk.ErrDType) {
			t.Errorf("%s: %v", what, a.Err())
		}
	}
	for what, a := range map[string]*gpk.Array{
		"an axis too far":     gpk.Take(x, gpk.Zeros(gpk.Int64, 2), 2),
		"an axis of length 0": gpk.Take(gpk.Zeros(gpk.Float32, 0, 4), gpk.Zeros(gpk.Int64, 2), 0),
		"no axis":             gpk.Take(gpk.Zeros(gpk.Float32), gpk.Zeros(gpk.Int64, 2), 0),
	} {
		if !errors.Is(a.Err(), gpk.ErrShape) {
			t.Errorf("%s: %v", what, a.Err())
		}
	}
	s.outside(t)
}

// testMoves tries Stack, Concat, Repeat, Pad and Flip on every type.
func testMoves(t *testing.T, s *suite) {
	for _, dt := range allTypes {
		for _, shape := range [][]int{{}, {0}, {1}, {1003}, {7, 5}, {33, 64}, {3, 0, 2}, {3, 4, 17}, {2, 1, 2, 3, 1, 2, 2, 1, 3, 2}} {
			n := len(shape)
			x, y := s.random(dt, shape...), s.random(dt, shape...)
			axis := s.rng.IntN(n + 1)
			what := name(dt, shape, axis)
			both := slices.Insert(slices.Clone(shape), axis, 2)
			got := evaluate(t, gpk.Stack(axis-n-1, s.arranged(x), s.arranged(y)))
			stacked := tensor{dt: dt, shape: both}
			index(both, func(ix []int) {
				from, p := x, at(shape, slices.Delete(slices.Clone(ix), axis, axis+1))
				if ix[axis] == 1 {
					from = y
				}
				stacked.push(from, p)
			})
			equal(t, "Stack/"+what, got, stacked)
			if n == 0 {
				equal(t, "Pad/"+what, evaluate(t, x.array().Pad(nil, 0)), x)
				equal(t, "Flip/"+what, evaluate(t, x.array().Flip()), x)
				continue
			}
			axis = s.rng.IntN(n)
			what = name(dt, shape, axis)

			times := s.rng.IntN(5)
			longer := slices.Clone(shape)
			longer[axis] *= times
			equal(t, name("Repeat", what, times), evaluate(t, s.arranged(x).Repeat(times, axis-n)), x.gathered(longer, func(ix []int) []int {
				from := slices.Clone(ix)
				from[axis] /= times
				return from
			}))

			widths, wider := make([][2]int, n), slices.Clone(shape)
			for d := range widths {
				widths[d] = [2]int{s.rng.IntN(3), s.rng.IntN(3)}
				wider[d] += widths[d][0] + widths[d][1]
			}
			number := tensor{dt: dt, shape: []int{}, values: []complex128{7}, ints: []int64{7}}
			value := any(7)
			if dt == gpk.Bool {
				value, number.ints[0] = true, 1
			}
			padded := tensor{dt: dt, shape: wider}
			index(wider, func(ix []int) {
				from := make([]int, n)
				for d, i := range ix {
					from[d] = i - widths[d][0]
					if from[d] < 0 || from[d] >= shape[d] {
						padded.push(number, 0)
						return
					}
				}
				padded.push(x, at(shape, from))
			})
			equal(t, name("Pad", what, widths), evaluate(t, s.arranged(x).Pad(widths, value)), padded)

			flip := func(axes ...int) tensor {
				return x.gathered(shape, func(ix []int) []int {
					from := slices.Clone(ix)
					for _, d := range axes {
						from[d] = shape[d] - 1 - ix[d]
					}
					return from
				})
			}
			every := make([]int, n)
			for d := range every {
				every[d] = d
			}
			equal(t, "Flip/"+what, read(t, s.arranged(x).Flip(axis-n)), flip(axis))
			equal(t, "Flip all/"+what, read(t, gpk.Flip(s.arranged(x))), flip(every...))
			// A view that runs backwards, written and computed with.
			dst := poison(dt, shape...)
			noError(t, dst.Flip(axis).CopyFrom(s.arranged(x)))
			equal(t, "CopyFrom into Flip/"+what, read(t, dst), flip(axis))
		}
	}
	// Assignment to strided parts, from strided and broadcast ones.
	for _, dt := range allTypes {
		x, y := s.random(dt, 11, 14), s.random(dt, 1, 4)
		want := x.gathered(x.shape, slices.Clone[[]int])
		index([]int{3, 4}, func(ix []int) {
			p := at(want.shape, []int{9 - 3*ix[0], 1 + 3*ix[1]})
			if exact(dt) {
				want.ints[p] = y.ints[ix[1]]
			} else {
				want.values[p] = y.values[ix[1]]
			}
		})
		a := x.array()
		noError(t, a.Slice(0, -2, 1, -3).Slice(1, 1, 12, 3).CopyFrom(y.array()))
		equal(t, name("CopyFrom into a strided part", dt), read(t, a), want)
	}
	x := gpk.Zeros(gpk.Float32, 3, 4)
	for what, a := range map[string]*gpk.Array{
		"Repeat -1 times":        x.Repeat(-1, 0),
		"Repeat along no axis":   x.Repeat(2, 2),
		"Repeat without end":     x.Repeat(math.MaxInt/4, 1),
		"Pad by less":            x.Pad([][2]int{{0, -1}, {0, 0}}, 0),
		"Pad along one axis":     x.Pad([][2]int{{0, 1}}, 0),
		"Pad without end":        x.Pad([][2]int{{math.MaxInt, math.MaxInt}, {0, 0}}, 0),
		"Flip along no axis":     x.Flip(2),
		"Flip twice":             x.Flip(0, -2),
		"Stack of nothing":       gpk.Stack(0),
		"Stack of two shapes":    gpk.Stack(0, x, gpk.Zeros(gpk.Float32, 4, 3)),
		"Stack along no axis":    gpk.Stack(3, x, x),
		"Slice beyond the end":   x.Slice(0, 0, 4),
		"Slice with step 0":      x.Slice(0, 0, 3, 0),
		"Slice before the start": x.Slice(0, -4, 3),
	} {
		if !errors.Is(a.Err(), gpk.ErrShape) {
			t.Errorf("%s: %v", what, a.Err())
		}
	}
	for what, a := range map[string]*gpk.Array{
		"Pad with a fraction": gpk.Zeros(gpk.Int32, 2).Pad([][2]int{{1, 1}}, 0.5),
		"Stack of two types":  gpk.Stack(0, x, x.Cast(gpk.Float64)),
	} {
		if !errors.Is(a.Err(), gpk.ErrDType) {
			t.Errorf("%s: %v", what, a.Err())
		}
	}
}

// push appends element p of x.
func (y *tensor) push(x tensor, p int) {
	if exact(y.dt) {
		y.ints = append(y.ints, x.ints[p])
	} else {
		y.values = append(y.values, x.values[p])
	}
}

// mixed returns random elements, many of which are equal. Floats include zeros of both
// signs, infinities and NaN.
func (s *suite) mixed(dt gpk.DType, shape ...int) tensor {
	x := s.random(dt, shape...)
	few := s.rng.IntN(2) == 0
	for i := range size(shape) {
		if exact(dt) {
			if few && dt != gpk.Bool {
				x.ints[i] = int64(s.rng.IntN(9))
			}
			continue
		}
		switch k := s.rng.IntN(40); {
		case few && k < 20:
			x.values[i] = complex(float64(s.rng.IntN(9)-4), 0)
		case k == 20:
			x.values[i] = complex(math.NaN(), 0)
		case k == 21:
			x.values[i] = complex(math.Inf(1-2*s.rng.IntN(2)), 0)
		case k == 22:
			x.values[i] = complex(math.Copysign(0, -1), 0)
		case k == 23:
			x.values[i] = 0
		}
	}
	return x
}
