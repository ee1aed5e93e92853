package gpktest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	gpk "github.com/gpk-go/gpk"
)

// testScans compares CumSum, CumProd, CumMax and CumMin, bit for bit, with loops: a long line, of which a GPU's blocks
// compute chunks; many short lines; lines across a wide matrix; NaN; no elements; operands and results that begin at any
// element. Sums and products of these elements are exact in any order, up to the rounding to the type of the result.
func testScans(t *testing.T, s *suite) {
	type shape struct {
		lengths []int
		axis    int
	}
	shapes := []shape{
		{[]int{4*8192 + 1 + s.rng.IntN(100)}, 0},
		{[]int{2, 3*8192 + 5}, 1},
		{[]int{600 + s.rng.IntN(100), 1 + s.rng.IntN(70)}, 1},
		{[]int{1 + s.rng.IntN(70), 601}, 0},
		{[]int{5, 33, 17}, 1},
		{[]int{4, 0}, 1},
		{[]int{0, 4}, 1},
		{[]int{0}, 0},
	}
	for _, dt := range allTypes {
		for _, c := range shapes {
			s.scans(t, dt, c.lengths, c.axis)
		}
	}
	types := []gpk.DType{gpk.Float32, gpk.Float64, gpk.BFloat16, gpk.Complex64, gpk.Int32, gpk.Uint8, gpk.Int64, gpk.Bool}
	if !quick() {
		for _, i := range s.rng.Perm(len(types))[:2] {
			s.scans(t, types[i], []int{1<<20 + 3}, 0)
		}
	}
}

// scans checks the four operations on elements of one type.
func (s *suite) scans(t *testing.T, dt gpk.DType, shape []int, axis int) {
	t.Helper()
	run := func(op string, f func(a *gpk.Array) *gpk.Array, x, want tensor) {
		t.Helper()
		gap, out := s.rng.IntN(4), s.rng.IntN(4)
		what := fmt.Sprintf("%s of %v %v along %d, from element %d to element %d", op, dt, shape, axis, gap, out)
		a := shifted(x, gap)
		equal(t, what, s.intoShifted(t, f(a), out), want)
		equal(t, what+" leaves its operand", read(t, a), x)
	}
	x := s.steps(dt, shape, axis)
	run("CumSum", func(a *gpk.Array) *gpk.Array { return a.CumSum(axis) }, x, x.cumulative(axis, dt.SumType(), true))
	x = s.ratios(dt, shape, axis)
	run("CumProd", func(a *gpk.Array) *gpk.Array { return a.CumProd(axis) }, x, x.cumulative(axis, dt.SumType(), false))
	if dt.IsComplex() {
		return
	}
	x = s.mixed(dt, shape...)
	x.noEarlyNaN(axis)
	run("CumMax", func(a *gpk.Array) *gpk.Array { return a.CumMax(axis) }, x, x.running(axis, 1))
	run("CumMin", func(a *gpk.Array) *gpk.Array { return a.CumMin(axis) }, x, x.running(axis, -1))
}

// steps draws integers whose sums are exact in float32.
func (s *suite) steps(dt gpk.DType, shape []int, axis int) tensor {
	x := s.random(dt, shape...)
	if exact(dt) {
		return x
	}
	for i := range x.values {
		x.values[i] = complex(float64(s.rng.IntN(9)-4), 0)
		if dt.IsComplex() {
			x.values[i] += complex(0, float64(s.rng.IntN(9)-4))
		}
	}
	s.lateNaN(x, axis)
	return x
}

// ratios draws powers of two with a sign, or with a factor i, such that the product of any neighbours in a line is between
// 2^-12 and 2^12. Integers are odd: their products wrap and are never 0.
func (s *suite) ratios(dt gpk.DType, shape []int, axis int) tensor {
	x := s.random(dt, shape...)
	if exact(dt) {
		for i := range x.ints {
			x.ints[i] |= 1
		}
		return x
	}
	line, count := x.lines(axis)
	for l := range count {
		e := 0
		for _, p := range line(l) {
			next := max(-6, min(6, e+s.rng.IntN(5)-2))
			v := complex(math.Ldexp(float64(1-2*s.rng.IntN(2)), next-e), 0)
			if dt.IsComplex() && s.rng.IntN(2) == 0 {
				v = complex(0, real(v))
			}
			x.values[p], e = v, next
		}
	}
	s.lateNaN(x, axis)
	return x
}

// lateNaN replaces an element in the second half of every fourth line of real floats, at random, by NaN.
func (s *suite) lateNaN(x tensor, axis int) {
	if exact(x.dt) || x.dt.IsComplex() {
		return
	}
	line, count := x.lines(axis)
	for l := range count {
		places := line(l)
		if n := len(places); n > 0 && s.rng.IntN(4) == 0 {
			x.values[places[n/2+s.rng.IntN(n-n/2)]] = complex(math.NaN(), 0)
		}
	}
}

// noEarlyNaN replaces NaN in the first half of each line by 1.
func (x tensor) noEarlyNaN(axis int) {
	line, count := x.lines(axis)
	for l := range count {
		places := line(l)
		for _, p := range places[:len(places)/2] {
			if x.isNaN(p) {
				x.values[p] = 1
			}
		}
	}
}

// cumulative returns the sums or the products up to each index along an axis, rounded to dt.
func (x tensor) cumulative(axis int, dt gpk.DType, sums bool) tensor {
	out := tensor{dt: dt, shape: x.shape, values: slices.Clone(x.values), ints: slices.Clone(x.ints)}
	line, count := x.lines(axis)
	for l := range count {
		whole, value := int64(1), complex128(1)
		if sums {
			whole, value = 0, 0
		}
		for _, p := range line(l) {
			switch {
			case exact(x.dt) && sums:
				whole += x.ints[p]
			case exact(x.dt):
				whole *= x.ints[p]
			case sums:
				value += x.values[p]
			default:
				value *= x.values[p]
			}
			if exact(x.dt) {
				out.ints[p] = whole
			} else {
				out.values[p] = round(dt, value)
			}
		}
	}
	return out
}

// shifted returns an array with the values of x, dense, that begins at an element of a larger buffer.
func shifted(x tensor, at int) *gpk.Array {
	big := poisoned(x.dt, at+size(x.shape))
	copy(big.values[min(at, len(big.values)):], x.values)
	copy(big.ints[min(at, len(big.ints)):], x.ints)
	return big.array().Slice(0, at, at+size(x.shape)).Reshape(x.shape...)
}

// intoShifted computes a into elements of a larger buffer, from one on, and reads them. It checks the elements around them.
func (s *suite) intoShifted(t *testing.T, a *gpk.Array, at int) tensor {
	t.Helper()
	noError(t, a.Err())
	n := a.Size()
	buffer := poison(a.DType(), at+n+3)
	noError(t, gpk.Into(buffer.Slice(0, at, at+n).Reshape(a.Shape()...), a))
	whole := read(t, buffer)
	got := whole.slice(0, at, at+n, 1)
	want := poisoned(whole.dt, at+n+3)
	for i := range n {
		want.put(at+i, got, i)
	}
	equal(t, "elements around the result", whole, want)
	got.shape = a.Shape()
	return got
}
