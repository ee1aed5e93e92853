package gpktest

import (
	"math"
	"slices"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/compose"
)

// testNeighbours compares Diff, Cross, Diagonal, Unstack and NextAfter with loops over explicit
// indices. It also checks the signs of angles, and the counts of elements of views.
func testNeighbours(t *testing.T, s *suite) {
	defer compose.Composed(compose.Composed(false))
	for i := range 2 {
		compose.Composed(i == 1)
		for _, dt := range allTypes {
			s.diagonals(t, dt)
			if dt != gpk.Bool {
				s.differences(t, dt)
				s.crossed(t, dt)
			}
			if dt.IsFloat() {
				s.nextNumbers(t, dt)
			}
		}
	}
	compose.Composed(false)
	anglesAtUnderflow(t)
	s.countedViews(t)
	x := gpk.Ones(gpk.Float32, 3, 3)
	for what, c := range map[string]struct {
		op   string
		got  *gpk.Array
		want error
	}{
		"a negative order":     {"Diff", x.Diff(-1, 0), gpk.ErrShape},
		"an axis outside":      {"Diff", x.Diff(1, 2), gpk.ErrShape},
		"differences of Bool":  {"Diff", gpk.Ones(gpk.Bool, 3).Diff(1, 0), gpk.ErrDType},
		"vectors of two":       {"Cross", x.Cross(gpk.Ones(gpk.Float32, 3, 2), -1), gpk.ErrShape},
		"no such axis":         {"Cross", x.Cross(gpk.Ones(gpk.Float32, 3), 0), gpk.ErrShape},
		"other types":          {"Cross", x.Cross(x.Cast(gpk.Float64), 0), gpk.ErrDType},
		"shapes":               {"Cross", x.Cross(gpk.Ones(gpk.Float32, 2, 3), 1), gpk.ErrShape},
		"one axis":             {"Diagonal", gpk.Ones(gpk.Float32, 3).Diagonal(), gpk.ErrShape},
		"a diagonal outside":   {"Diagonal", x.Diagonal(4), gpk.ErrShape},
		"two diagonals":        {"Diagonal", x.Diagonal(0, 1), gpk.ErrShape},
		"Unstack":              {"Unstack", x.Unstack(2)[0], gpk.ErrShape},
		"types of NextAfter":   {"NextAfter", x.NextAfter(x.Cast(gpk.Float16)), gpk.ErrDType},
		"integers":             {"NextAfter", gpk.NextAfter(gpk.Ones(gpk.Int32), gpk.Ones(gpk.Int32)), gpk.ErrDType},
		"NextAfter of shapes":  {"NextAfter", x.NextAfter(gpk.Ones(gpk.Float32, 2)), gpk.ErrShape},
		"NextAfter of nothing": {"NextAfter", gpk.NextAfter(x, nil), gpk.ErrShape},
	} {
		s.refusedAs(t, what, c.op, []*gpk.Array{c.got}, c.want)
	}
}

// diagonals compares Diagonal and Unstack.
func (s *suite) diagonals(t *testing.T, dt gpk.DType) {
	shape := append(slices.Clone([]int{2, 3}[:s.rng.IntN(3)]), s.rng.IntN(5), s.rng.IntN(5))
	n := len(shape)
	x := s.random(dt, shape...)
	rows, cols := shape[n-2], shape[n-1]
	for k := -rows; k <= cols; k++ {
		length := max(0, min(rows+min(k, 0), cols-max(k, 0)))
		want := x.gathered(append(slices.Clone(shape[:n-2]), length), func(ix []int) []int {
			i := ix[n-2]
			return append(slices.Clone(ix[:n-2]), i-min(k, 0), i+max(k, 0))
		})
		equal(t, name("Diagonal", dt, shape, k), evaluate(t, s.arranged(x).Diagonal(k)), want)
	}
	axis := s.rng.IntN(n)
	parts := s.arranged(x).Unstack(axis - n*s.rng.IntN(2))
	if len(parts) != shape[axis] {
		t.Fatalf("Unstack of %v along %d: %d arrays", shape, axis, len(parts))
	}
	for i, part := range parts {
		want := x.gathered(slices.Delete(slices.Clone(shape), axis, axis+1), func(ix []int) []int {
			return slices.Insert(slices.Clone(ix), axis, i)
		})
		equal(t, name("Unstack", dt, shape, axis, i), evaluate(t, part), want)
	}
}

// differences compares Diff with a loop: the n-th differences are the differences of the (n-1)-th.
func (s *suite) differences(t *testing.T, dt gpk.DType) {
	shape := []int{1 + s.rng.IntN(4), s.rng.IntN(6), 1 + s.rng.IntN(4)}
	axis := s.rng.IntN(3)
	want := s.random(dt, shape...)
	a := s.arranged(want)
	for n := range 4 {
		equal(t, name("Diff", dt, shape, n, axis), evaluate(t, a.Diff(n, axis-3*s.rng.IntN(2))), want)
		less := slices.Clone(want.shape)
		less[axis] = max(0, less[axis]-1)
		part := func(first int) *gpk.Array {
			return want.gathered(less, func(ix []int) []int { jx := slices.Clone(ix); jx[axis] += first; return jx }).array()
		}
		want = read(t, part(1).Sub(part(0)))
	}
}

// crossed compares Cross with the products of components.
func (s *suite) crossed(t *testing.T, dt gpk.DType) {
	x, y := s.random(dt, 2, 3, 4), s.random(dt, 3, 1)
	got := evaluate(t, s.arranged(x).Cross(s.arranged(y), 1))
	a := func(i int) *gpk.Array {
		return x.gathered([]int{2, 4}, func(ix []int) []int { return []int{ix[0], i % 3, ix[1]} }).array()
	}
	b := func(i int) *gpk.Array {
		return y.gathered([]int{1}, func([]int) []int { return []int{i % 3, 0} }).array()
	}
	for i := range 3 {
		want := read(t, a(i+1).Mul(b(i+2)).Sub(a(i+2).Mul(b(i+1))))
		part := got.gathered([]int{2, 4}, func(ix []int) []int { return []int{ix[0], i, ix[1]} })
		equal(t, name("Cross", dt, i), part, want)
	}
}

// nextNumbers compares NextAfter with the numbers of the type in order, about every power of
// two and about 0, Inf and the ends of the subnormal numbers.
func (s *suite) nextNumbers(t *testing.T, dt gpk.DType) {
	digits, least := digitsOf[dt][0], digitsOf[dt][1]
	lowest := math.Ldexp(1, least)
	up := func(v float64) float64 { // for v >= 0, from the definition of the type
		_, e := math.Frexp(v)
		w := v + math.Ldexp(1, max(e-digits, least))
		if v == 0 {
			w = lowest
		}
		if dt == gpk.Float64 {
			w = math.Nextafter(v, math.Inf(1))
		}
		return real(round(dt, complex(w, 0)))
	}
	var from, to, want []complex128
	add := func(a, b, w float64) {
		from, to, want = append(from, complex(a, 0)), append(to, complex(b, 0)), append(want, complex(w, 0))
	}
	for e := least; e < 1200; e++ {
		for _, v := range []float64{math.Ldexp(1, e), math.Ldexp(1+float64(s.rng.IntN(1<<7))/(1<<7), e)} {
			if v = real(round(dt, complex(v, 0))); math.IsInf(v, 0) {
				continue
			}
			w := up(v)
			add(v, math.Inf(1), w)
			add(-v, math.Inf(-1), -w)
			add(w, 0, v)
			add(-w, v, -v)
		}
	}
	zero := math.Copysign(0, -1)
	nan := math.NaN()
	add(0, 1, lowest)
	add(zero, 1, lowest)
	add(0, -lowest, -lowest)
	add(lowest, -1, 0)
	add(-lowest, 1, zero)
	add(0, zero, zero)
	add(zero, 0, 0)
	add(math.Inf(1), math.Inf(1), math.Inf(1))
	add(nan, 1, nan)
	add(1, nan, nan)
	shape := []int{len(from)}
	x, y := tensor{dt: dt, shape: shape, values: from}, tensor{dt: dt, shape: shape, values: to}
	equal(t, name("NextAfter", dt), evaluate(t, s.arranged(x).NextAfter(s.arranged(y))), tensor{dt: dt, shape: shape, values: want})
}

// anglesAtUnderflow checks the sign of angles whose tangent underflows.
func anglesAtUnderflow(t *testing.T) {
	y := []float64{-1e-308, 1e-308, -5e-324, 5e-324, -1e-308}
	x := []float64{-1e308, -1e308, -2, -2, 1e308}
	want := []float64{-math.Pi, math.Pi, -math.Pi, math.Pi, 0}
	z := make([]complex128, len(x))
	for i := range z {
		z[i] = complex(x[i], y[i])
	}
	for what, a := range map[string]*gpk.Array{
		"Atan2": gpk.FromSlice(y).Atan2(gpk.FromSlice(x)), "Angle": gpk.FromSlice(z).Angle(), "Log": gpk.FromSlice(z).Log().Imag(),
	} {
		got := evaluate(t, a)
		for i, w := range want {
			if math.Abs(real(got.values[i])-w) > 1e-15 {
				t.Errorf("%s of y = %v, x = %v: %v, want %v", what, y[i], x[i], real(got.values[i]), w)
			}
		}
	}
}

// countedViews compares Histogram and BinCount with loops, for views between whose elements are others
// that must not be counted.
func (s *suite) countedViews(t *testing.T) {
	const n, bins = 14, 7
	data := make([]float64, 2*n)
	for i := range data {
		data[i] = float64(s.rng.IntN(bins))
	}
	whole, ints := gpk.FromSlice(data), gpk.FromSlice(data).Cast(gpk.Int64)
	at := func(start, step, n int) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = data[start+i*step]
		}
		return out
	}
	for what, v := range map[string]struct {
		view  func(a *gpk.Array) *gpk.Array
		holds []float64
	}{
		"every second":  {func(a *gpk.Array) *gpk.Array { return a.Slice(0, 0, 2*n, 2) }, at(0, 2, n)},
		"from the end":  {func(a *gpk.Array) *gpk.Array { return a.Slice(0, n, 2*n).Flip() }, at(n, 1, n)},
		"one stretched": {func(a *gpk.Array) *gpk.Array { return a.Slice(0, 3, 4).BroadcastTo(n) }, at(3, 0, n)},
	} {
		want := tensor{dt: gpk.Int64, shape: []int{bins}, ints: make([]int64, bins)}
		for _, x := range v.holds {
			want.ints[int(x)]++
		}
		counts, _ := v.view(whole).Histogram(bins, -0.5, bins-0.5)
		equal(t, "Histogram, "+what, evaluate(t, counts), want)
		edges := gpk.Arange(gpk.Float64, bins+1).Sub(0.5)
		equal(t, "HistogramEdges, "+what, evaluate(t, v.view(whole).HistogramEdges(edges)), want)
		equal(t, "BinCount, "+what, evaluate(t, v.view(ints).BinCount(bins)), want)
	}
}
