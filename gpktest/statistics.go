package gpktest

import (
	"errors"
	"fmt"
	"math"
	"math/cmplx"
	"slices"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/bigmath"
)

// units are the unit roundoff of the type that a type is computed in, and its own.
func units(dt gpk.DType) (computed, own float64) {
	switch dt {
	case gpk.Float64, gpk.Complex128:
		return 0x1p-53, 0x1p-53
	case gpk.Float16:
		return 0x1p-24, 0x1p-11
	case gpk.BFloat16:
		return 0x1p-24, 0x1p-8
	}
	return 0x1p-24, 0x1p-24
}

// folds calls f with the values of each element of a reduction over axes; nil is all.
func (x tensor) folds(axes []int, f func(values []complex128)) {
	var kept []int
	var outer []int
	for d, n := range x.shape {
		if axes != nil && !slices.Contains(axes, d) && !slices.Contains(axes, d-len(x.shape)) {
			kept, outer = append(kept, d), append(outer, n)
		}
	}
	index(outer, func(to []int) {
		var values []complex128
		index(x.shape, func(ix []int) {
			for i, d := range kept {
				if ix[d] != to[i] {
					return
				}
			}
			if i := at(x.shape, ix); exact(x.dt) {
				values = append(values, complex(float64(x.ints[i]), 0))
			} else {
				values = append(values, x.values[i])
			}
		})
		f(values)
	})
}

// statistic is a reduction with its reference and the largest error of a result. The reference is in
// float64 itself, which doubles the allowed error of a float64 result.
type statistic struct {
	name     string
	run      func(a *gpk.Array, axes ...int) *gpk.Array
	of       []gpk.DType
	want     func(v []complex128, u float64) (want, bound float64)
	squared  bool // want is the square of the result
	elements bool // there must be some
}

func realFloats() []gpk.DType {
	return []gpk.DType{gpk.Float32, gpk.Float64, gpk.Float16, gpk.BFloat16}
}

func statistics() []statistic {
	floats := realFloats()
	fields := append(realFloats(), gpk.Complex64, gpk.Complex128)
	spread := func(ddof float64) func(v []complex128, u float64) (float64, float64) {
		return func(v []complex128, u float64) (float64, float64) {
			var mean complex128
			largest, n := 0.0, float64(len(v))
			for _, x := range v {
				mean += x / complex(n, 0)
				largest = max(largest, cmplx.Abs(x))
			}
			sum := 0.0
			for _, x := range v {
				sum += real(x-mean)*real(x-mean) + imag(x-mean)*imag(x-mean)
			}
			off := 2 * (n + 2) * u * largest // bound of the mean's error
			over := n / math.Max(n-ddof, 0)
			return sum / math.Max(n-ddof, 0), over * ((2*n+24)*u*sum/n + 4*off*off + 8*u*off*largest)
		}
	}
	norm := func(p float64) func(v []complex128, u float64) (float64, float64) {
		return func(v []complex128, u float64) (float64, float64) {
			sum := 0.0
			for _, x := range v {
				sum += math.Pow(cmplx.Abs(x), p)
			}
			w := math.Pow(sum, 1/p)
			// A power of p has the error of p log |x|, which |log x| < 90 bounds.
			return w, (2*float64(len(v)) + 24 + 8*90*math.Abs(p-2)) * u * w
		}
	}
	peak := func(better func(a, b float64) float64) func(v []complex128, u float64) (float64, float64) {
		return func(v []complex128, u float64) (float64, float64) {
			w := cmplx.Abs(v[0])
			for _, x := range v {
				w = better(w, cmplx.Abs(x))
			}
			return w, 8 * u * w
		}
	}
	rank := func(q float64) func(v []complex128, u float64) (float64, float64) {
		return func(v []complex128, u float64) (float64, float64) {
			if len(v) == 0 {
				return math.NaN(), 0
			}
			r := make([]float64, len(v))
			for i, x := range v {
				r[i] = real(x)
			}
			slices.Sort(r)
			at := q * float64(len(v)-1)
			i := int(at)
			j := min(i+1, len(v)-1)
			f := at - float64(i)
			return r[i]*(1-f) + r[j]*f, 8 * u * (math.Abs(r[i]) + math.Abs(r[j]))
		}
	}
	list := []statistic{
		{"Var", gpk.Var, fields, spread(0), false, false},
		{"Std", gpk.Std, fields, spread(0), true, false},
		{"Norm", gpk.Norm, fields, norm(2), false, false},
		{"LogSumExp", gpk.LogSumExp, floats, func(v []complex128, u float64) (float64, float64) {
			if len(v) == 0 {
				return math.Inf(-1), 0
			}
			low, high := real(v[0]), real(v[0])
			for _, x := range v {
				low, high = min(low, real(x)), max(high, real(x))
			}
			sum := 0.0
			for _, x := range v {
				sum += math.Exp(real(x) - high)
			}
			w := high + math.Log(sum)
			return w, u * (2*float64(len(v)) + 4*(high-low) + 24 + 8*math.Abs(w) + 8*math.Abs(high))
		}, false, false},
		{"CountNonzero", gpk.CountNonzero, allTypes, func(v []complex128, _ float64) (float64, float64) {
			n := 0
			for _, x := range v {
				n += b2i(x != 0)
			}
			return float64(n), 0
		}, false, false},
		{"Median", gpk.Median, floats, rank(0.5), false, false},
	}
	for _, n := range []int{1, 2, 5} {
		option := gpk.DDof(n)
		list = append(list,
			statistic{fmt.Sprint("Var, DDof ", n), func(a *gpk.Array, axes ...int) *gpk.Array {
				return gpk.Var(a, append(axes[:len(axes):len(axes)], option)...)
			}, fields, spread(float64(n)), false, false},
			statistic{fmt.Sprint("Std, DDof ", n), func(a *gpk.Array, axes ...int) *gpk.Array {
				return gpk.Std(a, append(axes[:len(axes):len(axes)], option)...)
			}, fields, spread(float64(n)), true, false})
	}
	for _, p := range []float64{1, 2, 3, 0.5} {
		list = append(list, statistic{fmt.Sprint("VectorNorm ", p), func(a *gpk.Array, axes ...int) *gpk.Array { return gpk.VectorNorm(a, p, axes...) }, fields, norm(p), false, false})
	}
	for _, p := range []float64{math.Inf(1), math.Inf(-1)} {
		f := func(a, b float64) float64 { return max(a, b) }
		if p < 0 {
			f = func(a, b float64) float64 { return min(a, b) }
		}
		list = append(list, statistic{fmt.Sprint("VectorNorm ", p), func(a *gpk.Array, axes ...int) *gpk.Array { return gpk.VectorNorm(a, p, axes...) }, fields, peak(f), false, true})
	}
	for _, q := range []float64{0, 0.1, 0.25, 0.5, 0.77, 1} {
		list = append(list, statistic{fmt.Sprint("Quantile ", q), func(a *gpk.Array, axes ...int) *gpk.Array { return gpk.Quantile(a, q, axes...) }, floats, rank(q), false, false})
		list = append(list, statistic{fmt.Sprint("Quantiles ", q), func(a *gpk.Array, axes ...int) *gpk.Array {
			return gpk.Quantiles(a, []float64{0.9, q, 0.3}, axes...).At(1)
		}, floats, rank(q), false, false})
	}
	return append(list, presentStatistics(spread, rank)...)
}

// presentStatistics are the reductions that leave out NaN. Their operands get NaN in place of the elements with a real
// part above 0.5.
func presentStatistics(spread, rank func(float64) func(v []complex128, u float64) (want, bound float64)) []statistic {
	floats := realFloats()
	fields := append(realFloats(), gpk.Complex64, gpk.Complex128)
	holed := func(run func(a *gpk.Array, axes ...int) *gpk.Array) func(a *gpk.Array, axes ...int) *gpk.Array {
		return func(a *gpk.Array, axes ...int) *gpk.Array {
			return run(gpk.Where(a.Real().Gt(0.5), math.NaN(), a), axes...)
		}
	}
	rest := func(f func(v []complex128, u float64) (float64, float64)) func(v []complex128, u float64) (float64, float64) {
		return func(v []complex128, u float64) (float64, float64) {
			return f(slices.DeleteFunc(v, func(x complex128) bool { return real(x) > 0.5 }), u)
		}
	}
	mean := func(v []complex128, u float64) (float64, float64) {
		sum, size := 0.0, 0.0
		for _, x := range v {
			sum += real(x)
			size += cmplx.Abs(x)
		}
		n := float64(len(v))
		return sum / n, (n + 4) * u * size / n
	}
	total := func(v []complex128, u float64) (float64, float64) {
		if len(v) == 0 {
			return 0, 0
		}
		m, bound := mean(v, u)
		return m * float64(len(v)), (bound + u*math.Abs(m)) * float64(len(v))
	}
	return []statistic{
		{"NaNSum", holed(gpk.NaNSum), fields, rest(total), false, false},
		{"NaNMean", holed(gpk.NaNMean), fields, rest(mean), false, false},
		{"NaNVar", holed(gpk.NaNVar), fields, rest(spread(0)), false, false},
		{"NaNStd", holed(gpk.NaNStd), fields, rest(spread(0)), true, false},
		{"NaNMax", holed(gpk.NaNMax), floats, rest(rank(1)), false, true},
		{"NaNMin", holed(gpk.NaNMin), floats, rest(rank(0)), false, true},
		{"NaNMedian", holed(gpk.NaNMedian), floats, rest(rank(0.5)), false, false},
		{"NaNQuantile 0.3", holed(func(a *gpk.Array, axes ...int) *gpk.Array { return gpk.NaNQuantile(a, 0.3, axes...) }), floats, rest(rank(0.3)), false, false},
		{"NaNQuantile 1", holed(func(a *gpk.Array, axes ...int) *gpk.Array { return gpk.NaNQuantile(a, 1, axes...) }), floats, rest(rank(1)), false, false},
	}
}

// testStatistics compares the reductions that are made of others with loops in float64.
func testStatistics(t *testing.T, s *suite) {
	for range rounds(8, 2) {
		for _, c := range statistics() {
			for _, dt := range c.of {
				s.statistic(t, c, dt)
			}
		}
		for _, dt := range allTypes {
			s.cumulated(t, dt)
		}
	}
	s.extremes(t)
}

func (s *suite) statistic(t *testing.T, c statistic, dt gpk.DType) {
	x := s.random(dt, s.someShape(0)...)
	var axes []int
	for d := range x.shape {
		if s.rng.IntN(2) == 0 {
			axes = append(axes, s.signed(d, len(x.shape)))
		}
	}
	options := slices.Clone(axes)
	keep := s.rng.IntN(2) == 0
	if keep {
		options = append(options, gpk.KeepDims)
	}
	what := name(c.name, dt, x.shape, axes, keep)
	a := c.run(s.arranged(x), options...)
	if c.elements && size(x.shape) == 0 {
		nothing := true // in every fold
		x.folds(axes, func(v []complex128) { nothing = nothing && len(v) == 0 })
		if !nothing || errors.Is(a.Err(), gpk.ErrShape) {
			return
		}
	}
	got := evaluate(t, a)
	var shape []int
	for d, n := range x.shape {
		switch folded := axes == nil || slices.Contains(axes, d) || slices.Contains(axes, d-len(x.shape)); {
		case !folded:
			shape = append(shape, n)
		case keep:
			shape = append(shape, 1)
		}
	}
	if !slices.Equal(got.shape, shape) {
		t.Fatalf("%s: shape %v, want %v", what, got.shape, shape)
	}
	computed, own := units(dt)
	i := 0
	x.folds(axes, func(v []complex128) {
		var g float64
		if exact(got.dt) {
			g = float64(got.ints[i])
		} else {
			g = real(got.values[i])
		}
		i++
		want, bound := c.want(v, computed)
		rounded := g
		if c.squared {
			rounded, bound = g*g, bound+8*computed*want
			bound += 2*own*want + 0x1p-23*g + 0x1p-48
		} else if dt.IsHalf() {
			bound += own*math.Abs(want) + 0x1p-24
		}
		switch {
		case dt == gpk.Float16 && want > 65000: // it may overflow
		case math.IsNaN(want) || math.IsInf(want, 0):
			if !same(g, want) {
				t.Fatalf("%s: element %d is %v, want %v", what, i-1, g, want)
			}
		case !(math.Abs(rounded-want) <= bound):
			t.Fatalf("%s: element %d is %v, want %v, off by more than %v", what, i-1, rounded, want, bound)
		}
	})
	if i != size(got.shape) {
		t.Fatalf("%s: %d elements, want %d", what, size(got.shape), i)
	}
}

// cumulated compares CumProd with products computed one after the other.
func (s *suite) cumulated(t *testing.T, dt gpk.DType) {
	x := s.random(dt, s.someShape(1)...)
	if s.rng.IntN(4) == 0 {
		x = s.random(dt, 2, 30)
	}
	d := s.rng.IntN(len(x.shape))
	got := evaluate(t, s.arranged(x).CumProd(s.signed(d, len(x.shape))))
	what := name("CumProd", dt, x.shape, d)
	if want := dt.SumType(); got.dt != want || !slices.Equal(got.shape, x.shape) {
		t.Fatalf("%s: %v %v, want %v", what, got.dt, got.shape, want)
	}
	own := map[bool]float64{false: 0x1p-24, true: 0x1p-53}[dt == gpk.Float64 || dt == gpk.Complex128]
	if dt.IsHalf() {
		_, own = units(dt)
	}
	index(x.shape, func(ix []int) {
		jx := slices.Clone(ix)
		product, whole := complex128(1), int64(1)
		for jx[d] = 0; jx[d] <= ix[d]; jx[d]++ {
			if i := at(x.shape, jx); exact(dt) {
				whole *= x.ints[i]
			} else {
				product *= x.values[i]
			}
		}
		i := at(x.shape, ix)
		if exact(dt) {
			if got.ints[i] != whole {
				t.Fatalf("%s: element %v is %d, want %d", what, ix, got.ints[i], whole)
			}
			return
		}
		bound := 2*own*cmplx.Abs(product) + 8*float64(ix[d]+1)*0x1p-53*cmplx.Abs(product)
		if dt == gpk.Float16 {
			bound += 0x1p-24
			if cmplx.Abs(product) > 65000 {
				return // it may overflow
			}
		}
		if off := cmplx.Abs(got.values[i] - product); !(off <= bound+0x1p-148) {
			t.Fatalf("%s: element %v is %v, want %v", what, ix, got.values[i], product)
		}
	})
}

// extremes tries NaN, infinities and numbers near the largest.
func (s *suite) extremes(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for i, c := range []struct {
		run  func(a *gpk.Array) *gpk.Array
		of   []float32
		want float64
	}{
		{func(a *gpk.Array) *gpk.Array { return a.LogSumExp() }, []float32{1000, 1000, 1000, 1000}, 1000 + 2*math.Ln2},
		{func(a *gpk.Array) *gpk.Array { return a.LogSumExp() }, []float32{-1000, -1000}, -1000 + math.Ln2},
		{func(a *gpk.Array) *gpk.Array { return a.LogSumExp() }, []float32{float32(-inf), float32(-inf)}, -inf},
		{func(a *gpk.Array) *gpk.Array { return a.LogSumExp() }, []float32{float32(inf), 1}, inf},
		{func(a *gpk.Array) *gpk.Array { return a.LogSumExp() }, []float32{float32(nan), float32(inf)}, nan},
		{func(a *gpk.Array) *gpk.Array { return a.Median() }, []float32{1, float32(nan), 3}, nan},
		{func(a *gpk.Array) *gpk.Array { return a.Median() }, []float32{float32(inf), 1, float32(inf), float32(inf)}, inf},
		{func(a *gpk.Array) *gpk.Array { return a.Median() }, []float32{float32(-inf), 1, 2}, 1},
		{func(a *gpk.Array) *gpk.Array { return a.Quantile(0.3) }, []float32{float32(inf), float32(inf), float32(inf)}, inf},
		{func(a *gpk.Array) *gpk.Array { return a.Quantile(0) }, []float32{5, float32(nan)}, nan},
		{func(a *gpk.Array) *gpk.Array { return a.Quantile(0.5) }, []float32{2, float32(inf), 1}, 2},
		{func(a *gpk.Array) *gpk.Array { return a.CountNonzero() }, []float32{0, float32(nan), float32(math.Copysign(0, -1)), 1}, 2},
		{func(a *gpk.Array) *gpk.Array { return a.Var(gpk.DDof(1)) }, []float32{3}, nan},
		{func(a *gpk.Array) *gpk.Array { return a.Std(gpk.DDof(2)) }, []float32{1, 3}, inf},
		{func(a *gpk.Array) *gpk.Array { return a.Std(gpk.DDof(-1)) }, []float32{1, 3}, 1},
		{func(a *gpk.Array) *gpk.Array { return a.VectorNorm(0) }, []float32{0, 3, float32(nan)}, 2},
	} {
		got := read(t, c.run(gpk.FromSlice(c.of)).Cast(gpk.Float64)).values[0]
		if !same(real(got), c.want) && !(math.Abs(real(got)-c.want) <= 1e-6*math.Abs(c.want)) {
			t.Errorf("extreme %d of %v: %v, want %v", i, c.of, real(got), c.want)
		}
	}
	// A half type that is computed in float32 does not overflow.
	a := gpk.Full(gpk.Float16, 300, 4)
	equal(t, "Norm of halves", read(t, a.Norm()), tensor{dt: gpk.Float16, shape: []int{}, values: []complex128{600}})
}

// testVarianceRounding measures Var and Mean of rows and of columns against math/big. An error grows
// with the depth of the tree of sums, not with the number of terms.
func testVarianceRounding(t *testing.T, s *suite) {
	for _, n := range []int{1, 2, 33, 512, 1000, 20_000} {
		rows := 3
		x := tensor{dt: gpk.Float64, shape: []int{rows, n}, values: make([]complex128, rows*n)}
		for i := range x.values {
			x.values[i] = complex(0.1-0.2*float64(i%n&1), 0)
			if i >= n {
				x.values[i] = complex(s.rng.NormFloat64()+float64(i/n)*100, 0)
			}
		}
		limit := math.Log2(float64(n)) + 2
		for _, c := range []struct {
			name string
			got  tensor
		}{
			{"rows", evaluate(t, x.array().Var(1))},
			{"columns", evaluate(t, x.array().T().Contiguous().Var(0))},
			{"parts of complex rows", evaluate(t, x.array().Cast(gpk.Complex128).Var(1))},
		} {
			for r := range rows {
				mean, square := bigmath.New(), bigmath.New()
				for _, v := range x.values[r*n : (r+1)*n] {
					mean = bigmath.Add(mean, bigmath.Of(real(v)))
				}
				mean = bigmath.Quo(mean, bigmath.Of(float64(n)))
				for _, v := range x.values[r*n : (r+1)*n] {
					d := bigmath.Sub(bigmath.Of(real(v)), mean)
					square = bigmath.Add(square, bigmath.Mul(d, d))
				}
				want := bigmath.Quo(square, bigmath.Of(float64(n)))
				if u := bigmath.Ulps(real(c.got.values[r]), want, 53, -1074); !(u <= limit) {
					w, _ := want.Float64()
					t.Errorf("Var of %s, %d numbers, row %d: %v, not %v: %.3g ulp, at most %.3g", c.name, n, r, real(c.got.values[r]), w, u, limit)
				}
			}
		}
	}
}
