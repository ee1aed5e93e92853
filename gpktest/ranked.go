package gpktest

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/compose"
	"github.com/gpk-go/gpk/ops"
)

// testRanked compares ArgSort, BottomK, SearchSorted, Unique and UniqueAll, Histogram and
// BinCount with sorts and loops in Go.
func testRanked(t *testing.T, s *suite) {
	defer compose.Composed(compose.Composed(false))
	shapes := [][]int{{0}, {1}, {9}, {33, 31}, {5, 0}, {0, 5}, {257}, {2, 1025}, {2, 2049}, {3, 40, 17}, {20011}}
	for _, dt := range ops.Lookup(expr.Sort).Types {
		for _, shape := range shapes {
			s.ranks(t, dt, shape)
		}
		for range 6 {
			s.searches(t, dt, s.rng.IntN(70))
			s.distinct(t, dt, s.someShape(0))
		}
		s.searches(t, dt, 3000)
		s.distinct(t, dt, []int{41, 101})
		if dt == gpk.Float32 || dt == gpk.Int64 { // a GPU sorts long lines by radix
			s.distinct(t, dt, []int{1<<17 + 3})
		}
		if dt == gpk.Int64 || dt == gpk.Uint64 {
			s.narrow(t, dt)
		}
		// A CPU computes these once by its own kernels, and once by the operations that a GPU composes them of.
		for _, composed := range []bool{false, true} {
			compose.Composed(composed)
			for _, n := range []int{0, 1, 100, 3001} {
				if dt != gpk.Bool {
					s.histograms(t, dt, n)
				}
				if dt.IsInteger() {
					s.binned(t, dt, n)
				}
			}
		}
	}
	for _, composed := range []bool{false, true} {
		compose.Composed(composed)
		s.rankedErrors(t)
	}
}

// edged returns mixed elements that include the extremes of an integer type.
func (s *suite) edged(dt gpk.DType, shape ...int) tensor {
	x := s.mixed(dt, shape...)
	if exact(dt) && dt != gpk.Bool {
		lo, hi := bounds(dt)
		for i := range x.ints {
			if k := s.rng.IntN(12); k < 2 {
				x.ints[i] = []int64{lo, hi}[k]
			}
		}
	}
	return x
}

func (s *suite) ranks(t *testing.T, dt gpk.DType, shape []int) {
	axis := s.rng.IntN(len(shape))
	n, step := shape[axis], size(shape[axis+1:])
	x := s.edged(dt, shape...)
	byLine, lines := x.lines(axis)
	k := s.rng.IntN(n + 1)
	up, down := tensor{dt: gpk.Int64, shape: shape, ints: make([]int64, size(shape))}, tensor{dt: gpk.Int64, shape: shape, ints: make([]int64, size(shape))}
	for l := range lines {
		line := byLine(l)
		rising, falling := slices.Clone(line), slices.Clone(line)
		slices.SortStableFunc(rising, func(p, q int) int { return x.compareElements(p, q, false) })
		slices.SortStableFunc(falling, func(p, q int) int { return x.compareElements(q, p, false) })
		for i, p := range line {
			up.ints[p], down.ints[p] = int64((rising[i]-line[0])/step), int64((falling[i]-line[0])/step)
		}
	}
	a := s.arranged(x)
	what := name(dt, shape, axis)
	equal(t, "ArgSort/"+what, evaluate(t, a.ArgSort(s.signed(axis, len(shape)), false)), up)
	equal(t, "ArgSort down/"+what, evaluate(t, gpk.ArgSort(a, axis, true)), down)
	values, places := a.BottomK(k, s.signed(axis, len(shape)))
	least := up.part(axis, 0, k)
	equal(t, "BottomK places/"+what, evaluate(t, places), least)
	want := x.gathered(least.shape, func(ix []int) []int {
		from := slices.Clone(ix)
		from[axis] = int(least.ints[at(least.shape, ix)])
		return from
	})
	sameElements(t, "BottomK/"+what, evaluate(t, values), want)
}

func (s *suite) searches(t *testing.T, dt gpk.DType, n int) {
	x, v := s.edged(dt, n), s.edged(dt, s.someShape(0)...)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(p, q int) int { return x.compareElements(p, q, true) })
	sorted := x.gathered([]int{n}, func(ix []int) []int { return []int{order[ix[0]]} })
	for i := range size(v.shape) { // half of the values are there
		if n > 0 && s.rng.IntN(2) == 0 {
			v.put(i, sorted, s.rng.IntN(n))
		}
	}
	for _, right := range []bool{false, true} {
		want := tensor{dt: gpk.Int64, shape: v.shape, ints: make([]int64, size(v.shape))}
		for i := range want.ints {
			both := tensor{dt: dt, shape: []int{n + 1}}
			for p := range n {
				both.push(sorted, p)
			}
			both.push(v, i)
			for p := range n {
				if c := both.compareElements(p, n, false); c < 0 || c == 0 && right {
					want.ints[i]++
				}
			}
		}
		a := sorted.array()
		if s.rng.IntN(2) == 0 { // strided
			a = gpk.Stack(1, a, a).Slice(1, 1, 2).Squeeze(1)
		}
		equal(t, name("SearchSorted", dt, n, v.shape, right), evaluate(t, a.SearchSorted(s.arranged(v), right)), want)
	}
}

func (s *suite) distinct(t *testing.T, dt gpk.DType, shape []int) {
	s.distinctOf(t, s.edged(dt, shape...), "")
}

// narrow tries Unique and UniqueAll of many integers of 64 bits, at the ranges at which they are sorted as narrower
// ones, and one wider than Int64.
func (s *suite) narrow(t *testing.T, dt gpk.DType) {
	lo, hi := bounds(dt)
	spans := []int64{0, 1<<16 - 1, 1 << 16, 1<<32 - 1, 1 << 32}
	if quick() {
		spans = spans[1:4]
	}
	for _, span := range spans {
		x := tensor{dt: dt, shape: []int{1<<17 + s.rng.IntN(9)}}
		x.ints = make([]int64, x.shape[0])
		least := []int64{lo, hi - span, 12345 - span/2, 12345}[s.rng.IntN(4)]
		least = max(least, lo)
		for i := range x.ints {
			x.ints[i] = least + s.rng.Int64N(span+1)
		}
		x.ints[s.rng.IntN(len(x.ints))], x.ints[7] = least, least+span
		s.distinctOf(t, x, fmt.Sprintf("/%d to %d", least, least+span))
	}
	if dt == gpk.Uint64 { // above Int64
		for _, span := range []uint64{1<<16 - 1, 1 << 16, math.MaxUint64 - 1} {
			list := make([]uint64, 1<<17)
			for i := range list {
				list[i] = math.MaxUint64 - s.rng.Uint64N(span+1)
			}
			list[1], list[2] = math.MaxUint64-span, math.MaxUint64
			got, err := gpk.ToSlice[uint64](gpk.FromSlice(list).Unique())
			slices.Sort(list)
			if want := slices.Compact(list); err != nil || !slices.Equal(got, want) {
				t.Fatalf("Unique of uint64 from 2^64-1-%d: %d elements, %v; want %d", span, len(got), err, len(want))
			}
		}
	}
	wide := s.edged(dt, 1<<17)
	wide.ints[5], wide.ints[6] = lo, hi
	s.distinctOf(t, wide, "/wide")
}

func (s *suite) distinctOf(t *testing.T, x tensor, what string) {
	dt, shape := x.dt, x.shape
	n := size(shape)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(p, q int) int { return x.compareElements(p, q, false) })
	values, indices := tensor{dt: dt}, tensor{dt: gpk.Int64}
	counts, inverse := tensor{dt: gpk.Int64}, tensor{dt: gpk.Int64, shape: shape, ints: make([]int64, n)}
	for i, p := range order {
		if i == 0 || x.compareElements(order[i-1], p, false) != 0 {
			values.push(x, p)
			indices.ints = append(indices.ints, int64(p))
			counts.ints = append(counts.ints, 0)
		}
		counts.ints[len(counts.ints)-1]++
		inverse.ints[p] = int64(len(counts.ints) - 1)
	}
	for _, y := range []*tensor{&values, &indices, &counts} {
		y.shape = []int{len(counts.ints)}
	}
	a := s.arranged(x)
	what = name(dt, shape) + what
	sameElements(t, "Unique/"+what, evaluate(t, gpk.Unique(a)), values)
	v, i, inv, c := a.UniqueAll()
	sameElements(t, "UniqueAll/"+what, evaluate(t, v), values)
	equal(t, "UniqueAll indices/"+what, evaluate(t, i), indices)
	equal(t, "UniqueAll inverse/"+what, evaluate(t, inv), inverse)
	equal(t, "UniqueAll counts/"+what, evaluate(t, c), counts)
}

// float returns element i as a float64.
func (x tensor) float(i int) float64 {
	if exact(x.dt) {
		return float64(x.ints[i])
	}
	return real(x.values[i])
}

// inBins counts the elements of x in the intervals between edges.
func (x tensor) inBins(edges []float64) tensor {
	n := len(edges) - 1
	want := tensor{dt: gpk.Int64, shape: []int{n}, ints: make([]int64, n)}
	for i := range size(x.shape) {
		v := x.float(i)
		for b := n - 1; b >= 0; b-- {
			if v >= edges[b] && (v < edges[b+1] || b == n-1 && v == edges[n]) {
				want.ints[b]++
				break
			}
		}
	}
	return want
}

func (s *suite) histograms(t *testing.T, dt gpk.DType, n int) {
	x := s.edged(dt, n)
	bins := 1 + s.rng.IntN(12)
	lo := math.Round(4*s.rng.NormFloat64()) / 2
	hi := lo + float64(s.rng.IntN(9))
	from, to := lo, hi
	if lo == hi {
		from, to = lo-0.5, hi+0.5
	}
	a := x.array()
	counts, edges := a.Histogram(bins, lo, hi)
	what := name(dt, n, bins, lo, hi)
	e := read(t, edges)
	list := make([]float64, bins+1)
	for i := range list {
		list[i] = real(e.values[i])
		// lo + i step is off by three roundings.
		if w := from + float64(i)*(to-from)/float64(bins); !(math.Abs(list[i]-w) <= 4*0x1p-53*max(math.Abs(from), math.Abs(to))) {
			t.Fatalf("Histogram/%s: edge %d is %v, want %v", what, i, list[i], w)
		}
	}
	if len(e.values) != bins+1 || list[0] != from || list[bins] != to {
		t.Fatalf("Histogram/%s: edges %v", what, list)
	}
	want := x.inBins(list)
	equal(t, "Histogram/"+what, evaluate(t, counts), want)
	density, _ := a.HistogramDensity(bins, lo, hi)
	total := 0.0
	for _, c := range want.ints {
		total += float64(c)
	}
	for i, d := range evaluate(t, density).values {
		w := float64(want.ints[i]) / (list[i+1] - list[i]) / total
		if !(math.Abs(real(d)-w) <= 8*0x1p-53*w) && !(total == 0 && math.IsNaN(real(d))) {
			t.Fatalf("HistogramDensity/%s: %v, want %v", what, real(d), w)
		}
	}
	// Edges of the program's own, equal ones and infinite ones among them.
	given := make([]float64, 2+s.rng.IntN(6))
	for i := range given {
		given[i] = math.Round(3 * s.rng.NormFloat64())
		if s.rng.IntN(8) == 0 {
			given[i] = math.Inf(1 - 2*s.rng.IntN(2))
		}
	}
	slices.SortFunc(given, cmp.Compare[float64])
	equal(t, name("HistogramEdges", dt, n, given), evaluate(t, a.HistogramEdges(gpk.FromSlice(given))), x.inBins(given))
}

func (s *suite) binned(t *testing.T, dt gpk.DType, n int) {
	x := s.random(dt, n)
	for i, v := range x.ints {
		x.ints[i] = max(v, -v) % 117
	}
	least := s.rng.IntN(150)
	weights := s.whole(gpk.Float32, n)
	length := least
	for _, v := range x.ints {
		length = max(length, int(v)+1)
	}
	counts := tensor{dt: gpk.Int64, shape: []int{length}, ints: make([]int64, length)}
	sums := tensor{dt: gpk.Float64, shape: []int{length}, values: make([]complex128, length)}
	for i, v := range x.ints {
		counts.ints[v]++
		sums.values[v] += weights.values[i]
	}
	equal(t, name("BinCount", dt, n, least), evaluate(t, x.array().BinCount(least)), counts)
	equal(t, name("BinCount with weights", dt, n, least), evaluate(t, gpk.BinCount(x.array(), least, weights.array())), sums)
}

func (s *suite) rankedErrors(t *testing.T) {
	x, c, n := gpk.Ones(gpk.Float32, 3, 4), gpk.Ones(gpk.Complex64, 3), gpk.Zeros(gpk.Int64, 5)
	pair := func(a, b *gpk.Array) []*gpk.Array { return []*gpk.Array{a, b} }
	four := func(a, b, c, d *gpk.Array) []*gpk.Array { return []*gpk.Array{a, b, c, d} }
	one := func(a *gpk.Array) []*gpk.Array { return []*gpk.Array{a} }
	for what, e := range map[string]struct {
		op   string
		got  []*gpk.Array
		want error
	}{
		"ArgSort along no axis":      {"ArgSort", one(x.ArgSort(2, false)), gpk.ErrShape},
		"ArgSort of one number":      {"ArgSort", one(gpk.Zeros(gpk.Int8).ArgSort(0, false)), gpk.ErrShape},
		"ArgSort of complex":         {"ArgSort", one(c.ArgSort(0, true)), gpk.ErrDType},
		"BottomK of too many":        {"BottomK", pair(x.BottomK(4, 0)), gpk.ErrShape},
		"BottomK of -1":              {"BottomK", pair(x.BottomK(-1, 0)), gpk.ErrShape},
		"BottomK of complex":         {"BottomK", pair(c.BottomK(1, 0)), gpk.ErrDType},
		"SearchSorted in two axes":   {"SearchSorted", one(x.SearchSorted(x, true)), gpk.ErrShape},
		"SearchSorted of two types":  {"SearchSorted", one(n.SearchSorted(x, true)), gpk.ErrDType},
		"SearchSorted of complex":    {"SearchSorted", one(c.SearchSorted(c, false)), gpk.ErrDType},
		"Unique of complex":          {"Unique", one(c.Unique()), gpk.ErrDType},
		"UniqueAll of complex":       {"UniqueAll", four(c.UniqueAll()), gpk.ErrDType},
		"Histogram of no intervals":  {"Histogram", pair(x.Histogram(0, 0, 1)), gpk.ErrShape},
		"Histogram without a range":  {"Histogram", pair(x.Histogram(5, math.NaN(), math.NaN())), gpk.ErrUnsupported},
		"Histogram without end":      {"Histogram", pair(x.Histogram(5, 0, math.Inf(1))), gpk.ErrUnsupported},
		"Histogram backwards":        {"Histogram", pair(x.Histogram(5, 1, 0)), gpk.ErrUnsupported},
		"Histogram of complex":       {"Histogram", pair(c.Histogram(5, 0, 1)), gpk.ErrDType},
		"HistogramDensity backwards": {"HistogramDensity", pair(x.HistogramDensity(5, 1, 0)), gpk.ErrUnsupported},
		"HistogramEdges of one edge": {"HistogramEdges", one(x.HistogramEdges(gpk.Zeros(gpk.Float32, 1))), gpk.ErrShape},
		"HistogramEdges in a matrix": {"HistogramEdges", one(x.HistogramEdges(x)), gpk.ErrShape},
		"HistogramEdges of complex":  {"HistogramEdges", one(x.HistogramEdges(c)), gpk.ErrDType},
		"BinCount of floats":         {"BinCount", one(gpk.Zeros(gpk.Float32, 3).BinCount(0)), gpk.ErrDType},
		"BinCount of a matrix":       {"BinCount", one(gpk.Zeros(gpk.Int8, 3, 3).BinCount(0)), gpk.ErrShape},
		"BinCount of at least -1":    {"BinCount", one(n.BinCount(-1)), gpk.ErrShape},
		"BinCount of -1":             {"BinCount", one(n.Sub(1).BinCount(0)), gpk.ErrShape},
		"BinCount without end":       {"BinCount", one(n.Add(int64(math.MaxInt64)).BinCount(0)), gpk.ErrShape},
		"BinCount of two weights":    {"BinCount", one(n.BinCount(0, n, n)), gpk.ErrShape},
		"BinCount of other weights":  {"BinCount", one(n.BinCount(0, x)), gpk.ErrShape},
		"BinCount of imaginary ones": {"BinCount", one(n.BinCount(0, gpk.Zeros(gpk.Complex64, 5))), gpk.ErrDType},
		"BinCount of nil weights":    {"BinCount", one(n.BinCount(0, nil)), gpk.ErrShape},
	} {
		s.refusedAs(t, what, e.op, e.got, e.want)
	}
	for _, edges := range [][]float64{{0, 2, 1}, {0, math.NaN(), 1}} {
		_, err := gpk.ToSlice[int64](x.HistogramEdges(gpk.FromSlice(edges)))
		var oe *gpk.OpError
		if !errors.Is(err, gpk.ErrShape) || !errors.As(err, &oe) || oe.Op != "HistogramEdges" || !strings.Contains(oe.Site, "ranked.go") || !strings.Contains(err.Error(), "ascend") {
			t.Errorf("HistogramEdges of %v: %v", edges, err)
		}
	}
}
