package gpktest

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/compose"
	"github.com/gpk-go/gpk/ops"
)

// manyElements is more than the threads that the kernels of cutlass/src/search.cu start: a thread then computes several.
const manyElements = 2048*256 + 77_777

// testCounts compares SearchSorted, BinCount, Histogram and PutAlongAxis with loops: more elements and more counters than
// testRanked and testSelect have, and operands and results that begin at any element.
func testCounts(t *testing.T, s *suite) {
	defer compose.Composed(compose.Composed(false))
	types := ops.Lookup(expr.Sort).Types
	for _, dt := range types {
		s.longSearch(t, dt, 1+s.rng.IntN(20_000), 10_007)
		s.longSearch(t, dt, 1+s.rng.IntN(3), 301)
		s.longSearch(t, dt, 100, 0)
	}
	s.longSearch(t, types[s.rng.IntN(len(types))], 300_007, rounds(manyElements, 50_001))
	// A CPU computes these once by its own kernels, and once by the operations that a GPU composes them of.
	for _, composed := range []bool{false, true} {
		compose.Composed(composed)
		// Up to 12,000 counters are in a block's shared memory.
		for _, length := range []int{1, 255, 11_999, 12_000, 12_001, 70_001} {
			s.longBinCount(t, length, 20_011)
			s.longHistogram(t, length, 20_011)
		}
		s.longBinCount(t, 777, rounds(manyElements, 50_001))
		s.longHistogram(t, 777, rounds(manyElements, 50_001))
		for _, dt := range allTypes {
			s.manyWriters(t, dt, []int{5, 37}, 0, 301)
			s.manyWriters(t, dt, []int{37, 5}, 0, 301)
			s.manyWriters(t, dt, []int{5, 37}, 1, 3000)
			s.manyWriters(t, dt, []int{70_001}, 0, 20_011)
		}
		s.manyWriters(t, gpk.Int32, []int{300}, 0, rounds(manyElements, 50_001))
		s.manyWriters(t, gpk.Float32, []int{1}, 0, 100_003)
	}
}

// precedes orders element p of x before element q of y: NaN is last, and Uint64 has no sign.
func (x tensor) precedes(p int, y tensor, q int) bool {
	switch {
	case x.dt == gpk.Uint64:
		return uint64(x.ints[p]) < uint64(y.ints[q])
	case exact(x.dt):
		return x.ints[p] < y.ints[q]
	}
	return real(x.values[p]) < real(y.values[q]) || !x.isNaN(p) && y.isNaN(q)
}

// longSearch searches for count values in a sorted list of n elements.
func (s *suite) longSearch(t *testing.T, dt gpk.DType, n, count int) {
	t.Helper()
	x, v := s.edged(dt, n), s.edged(dt, count)
	if dt == gpk.Uint64 {
		for _, y := range []tensor{x, v} {
			for i := range y.ints {
				if s.rng.IntN(3) == 0 {
					y.ints[i] = ^y.ints[i] // 2^63 and more
				}
			}
		}
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(i, j int) bool { return x.precedes(order[i], x, order[j]) })
	list := x.permuted([]int{n}, func(i int) int { return order[i] })
	for i := range count {
		if s.rng.IntN(2) == 0 {
			v.put(i, list, s.rng.IntN(n))
		}
	}
	a, b := shifted(list, s.rng.IntN(4)), shifted(v, s.rng.IntN(4))
	for _, right := range []bool{false, true} {
		want := tensor{dt: gpk.Int64, shape: []int{count}, ints: make([]int64, count)}
		for i := range count {
			want.ints[i] = int64(sort.Search(n, func(p int) bool {
				if right {
					return v.precedes(i, list, p)
				}
				return !list.precedes(p, v, i)
			}))
		}
		equal(t, fmt.Sprintf("SearchSorted of %d %v in %d, right %v", count, dt, n, right), s.intoShifted(t, a.SearchSorted(b, right), s.rng.IntN(4)), want)
	}
}

// longBinCount counts integers below length, most of which are below 9 in half of the calls.
func (s *suite) longBinCount(t *testing.T, length, count int) {
	t.Helper()
	dt := []gpk.DType{gpk.Int32, gpk.Int64, gpk.Uint32, gpk.Uint64}[s.rng.IntN(4)]
	x := tensor{dt: dt, shape: []int{count}, ints: make([]int64, count)}
	want := tensor{dt: gpk.Int64, shape: []int{length}, ints: make([]int64, length)}
	few := s.rng.IntN(2) == 0
	for i := range x.ints {
		x.ints[i] = int64(s.rng.IntN(length))
		if few && s.rng.IntN(10) > 0 {
			x.ints[i] %= 9
		}
		want.ints[x.ints[i]]++
	}
	got := s.intoShifted(t, shifted(x, s.rng.IntN(4)).BinCount(length), s.rng.IntN(4))
	equal(t, fmt.Sprintf("BinCount of %d %v below %d", count, dt, length), got, want)
}

// longHistogram counts floats between n + 1 edges, some of them equal. Elements are outside, NaN, or equal to an edge, too.
func (s *suite) longHistogram(t *testing.T, n, count int) {
	t.Helper()
	edges := make([]float64, n+1)
	for i := range edges {
		edges[i] = math.Round(1000*s.rng.NormFloat64()*float64(n)) / 1000
	}
	slices.Sort(edges)
	if s.rng.IntN(2) == 0 {
		edges[n], edges[max(n-1, 0)] = edges[n]+1, edges[n]+1
	}
	x := s.mixed(gpk.Float64, count)
	want := tensor{dt: gpk.Int64, shape: []int{n}, ints: make([]int64, n)}
	for i := range x.values {
		v := real(x.values[i]) * float64(n)
		if s.rng.IntN(3) == 0 {
			v = edges[s.rng.IntN(n+1)]
		}
		x.values[i] = complex(v, 0)
		switch {
		case v == edges[n]:
			want.ints[n-1]++
		case v >= edges[0] && v < edges[n]: // in the last interval that does not begin above v
			want.ints[sort.Search(n, func(b int) bool { return edges[b+1] > v })]++
		}
	}
	got := s.intoShifted(t, shifted(x, s.rng.IntN(4)).HistogramEdges(gpk.FromSlice(edges)), s.rng.IntN(4))
	equal(t, fmt.Sprintf("HistogramEdges of %d elements, %d intervals", count, n), got, want)
}

// manyWriters puts values at count indices of each line of an array, so that several name one element.
func (s *suite) manyWriters(t *testing.T, dt gpk.DType, shape []int, axis, count int) {
	t.Helper()
	x := s.mixed(dt, shape...)
	of := slices.Clone(shape)
	of[axis] = count
	ix, v := s.indicesInto([]gpk.DType{gpk.Int32, gpk.Int64}[s.rng.IntN(2)], shape[axis], of...), s.mixed(dt, of...)
	want := x.permuted(shape, func(i int) int { return i })
	step := size(shape[axis+1:])
	for i, to := range ix.ints { // in row-major order
		if to < 0 {
			to += int64(shape[axis])
		}
		want.put(i/(count*step)*shape[axis]*step+int(to)*step+i%step, v, i)
	}
	a := shifted(x, s.rng.IntN(4))
	got := s.intoShifted(t, a.PutAlongAxis(shifted(ix, s.rng.IntN(4)), shifted(v, s.rng.IntN(4)), axis), s.rng.IntN(4))
	what := fmt.Sprintf("PutAlongAxis of %d %v into %v along %d", count, dt, shape, axis)
	sameElements(t, what, got, want)
	sameElements(t, what+" leaves its operand", read(t, a), x)
}
