package gpktest

import (
	"math"
	"math/bits"
	"math/cmplx"
	"slices"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
)

// scatterCase draws operands of ScatterAdd along axis d. from calls f with each element of the
// broadcast values, and with the element of x that it is added to.
func (s *suite) scatterCase(dt gpk.DType, draw func(gpk.DType, ...int) tensor) (x, ix, v tensor, d int, from func(f func(to, from int))) {
	x = draw(dt, s.someShape(1)...)
	d = s.rng.IntN(len(x.shape))
	of := []int{}
	for range s.rng.IntN(3) {
		of = append(of, s.rng.IntN(6))
	}
	if x.shape[d] == 0 {
		of = append(of, 0)
	}
	ix = s.indicesInto([]gpk.DType{gpk.Int32, gpk.Int64}[s.rng.IntN(2)], max(x.shape[d], 1), of...)
	shape := slices.Concat(x.shape[:d], of, x.shape[d+1:])
	vs := slices.Clone(shape)
	for i := range vs {
		if s.rng.IntN(4) == 0 {
			vs[i] = 1
		}
	}
	v = draw(dt, append([]int{}, vs[s.rng.IntN(len(vs)+1):]...)...)
	return x, ix, v, d, func(f func(to, from int)) {
		index(shape, func(p []int) {
			i := int(ix.ints[at(of, p[d:d+len(of)])])
			if i < 0 {
				i += x.shape[d]
			}
			f(at(x.shape, slices.Concat(p[:d], []int{i}, p[d+len(of):])), v.under(p))
		})
	}
}

// whole returns small whole numbers, whose sums are exact in any order.
func (s *suite) whole(dt gpk.DType, shape ...int) tensor {
	if exact(dt) {
		x := s.random(dt, shape...)
		lo, hi := bounds(dt)
		for i := range x.ints { // extremes wrap
			switch s.rng.IntN(6) {
			case 0:
				x.ints[i] = lo
			case 1:
				x.ints[i] = hi
			}
		}
		return x
	}
	x := s.mixed(dt, shape...)
	for i, v := range x.values {
		if !cmplx.IsNaN(v) && !cmplx.IsInf(v) {
			x.values[i] = complex(math.Round(real(v)), math.Round(imag(v)))
		}
	}
	return x
}

func (s *suite) scattered(t *testing.T, dt gpk.DType) {
	x, ix, v, d, from := s.scatterCase(dt, s.whole)
	want := x.gathered(x.shape, slices.Clone[[]int])
	from(func(to, from int) {
		if exact(dt) {
			want.ints[to] = wrap(dt, want.ints[to]+v.ints[from])
		} else {
			want.values[to] += v.values[from]
		}
	})
	for i, w := range want.values {
		want.values[i] = round(dt, w)
	}
	a := s.arranged(x)
	got := a.ScatterAdd(s.arranged(ix), s.arranged(v), s.signed(d, len(x.shape)))
	equal(t, name("ScatterAdd", dt, x.shape, ix.shape, v.shape, d), evaluate(t, got), want)
	equal(t, name("ScatterAdd leaves its operand", dt), read(t, a), x)
}

// scatteredMany adds many values to few rows and to many, narrow and wide, spread over the rows or most of
// them to one: a GPU has several kernels for these.
func (s *suite) scatteredMany(t *testing.T, dt gpk.DType) {
	for _, rows := range []int{1, 40, 3000} {
		width := 1 + s.rng.IntN(5)
		count := 6 * rows * (1 + s.rng.IntN(2))
		x, v := s.whole(dt, rows, width), s.whole(dt, []int{1, count}[s.rng.IntN(2)], width)
		ix := s.indicesInto([]gpk.DType{gpk.Int32, gpk.Int64}[s.rng.IntN(2)], rows, count)
		if s.rng.IntN(2) == 0 {
			for i := range ix.ints {
				if s.rng.IntN(4) > 0 {
					ix.ints[i] = -1
				}
			}
		}
		want := x.gathered(x.shape, slices.Clone[[]int])
		for i, at := range ix.ints {
			to, from := (int(at)+rows)%rows*width, i%v.shape[0]*width
			for c := range width {
				if exact(dt) {
					want.ints[to+c] = wrap(dt, want.ints[to+c]+v.ints[from+c])
				} else {
					want.values[to+c] += v.values[from+c]
				}
			}
		}
		for i, w := range want.values {
			want.values[i] = round(dt, w)
		}
		got := s.arranged(x).ScatterAdd(ix.array(), s.arranged(v), 0)
		equal(t, name("ScatterAdd of many", dt, x.shape, ix.shape, v.shape), evaluate(t, got), want)
	}
}

// scatterBounds compares sums of many values with exact ones, for a shape whose
// indices a GPU sorts, and for one of exact sums. A sum of m values by a tree of depth ceil(log2 m), and the
// element that it is added to, are off by at most (depth + 1) u times the sum of the absolute values, to first
// order (Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, 4.2), and by a rounding to the type.
func (s *suite) scatterBounds(t *testing.T) {
	for _, dt := range realFloats() {
		s.scatterBound(t, dt, 7, 5000)
		s.scatterBound(t, dt, 700, 9000)
	}
}

func (s *suite) scatterBound(t *testing.T, dt gpk.DType, rows, count int) {
	computed, own := units(dt)
	x, v := s.random(dt, rows, 2), s.random(dt, count, 2)
	ix := s.indicesInto(gpk.Int64, rows-1, count)
	for i := range ix.ints { // all from 0, so that one row has none
		ix.ints[i] = (ix.ints[i] + int64(rows-1)) % int64(rows-1)
	}
	ax, ai, av := x.array(), ix.array(), v.array()
	got := read(t, ax.ScatterAdd(ai, av, 0))
	sums, sizes := make([]float64, 2*rows), make([]float64, 2*rows)
	add := func(to int, w float64) {
		sums[to] += w
		sizes[to] += math.Abs(w)
	}
	for i, w := range x.values {
		add(i, real(w))
	}
	for i, w := range v.values {
		add(int(ix.ints[i/2])*2+i%2, real(w))
	}
	depth := float64(bits.Len(uint(count-1)) + 1)
	for i, g := range got.values {
		// The reference itself is off by fewer than count roundings.
		off := (1.01*depth*computed+float64(count)*0x1p-53)*sizes[i] + own*math.Abs(sums[i])*1.01
		if i >= 2*(rows-1) {
			off = 0 // nothing is added
		}
		if !(math.Abs(real(g)-sums[i]) <= off) {
			t.Errorf("ScatterAdd of %d %v: %v, want %v up to %v", count, dt, real(g), sums[i], off)
		}
	}
	equal(t, name("ScatterAdd again", dt), evaluate(t, ax.T().ScatterAdd(ai, av.T(), 1).T()), got)
}

// scatterLargest adds so many equal numbers to one element that a GPU's exact sums almost overflow their chunks of 16 or 8
// bits. All 24 bits of the numbers are set, and their lowest bit is the highest one of a chunk; the sums are exact.
func (s *suite) scatterLargest(t *testing.T) {
	if s.dev.Kind() == device.CPU { // adds in order, with roundings
		return
	}
	const least = 15 - 149 + 16*8
	v := math.Ldexp(1<<24-1, least)
	for _, count := range []int{1 << 24, 1 << 25} {
		sums := gpk.Zeros(gpk.Float32, 1024).ScatterAdd(gpk.Zeros(gpk.Int32, count), gpk.Full(gpk.Float32, v, 1).BroadcastTo(count), 0)
		got := read(t, sums)
		if want := v * float64(count); real(got.values[0]) != want || got.values[1] != 0 {
			t.Errorf("ScatterAdd of %d times %v: %v and %v, want %v and 0", count, v, got.values[0], got.values[1], want)
		}
		sums.Free()
	}
}
