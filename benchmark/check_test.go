package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestReferenceRows compares the blocked, parallel reference with the
// definition, in complex128 throughout.
func TestReferenceRows(t *testing.T) {
	const seed = 3
	t.Logf("seed %d", seed)
	for _, c := range []struct {
		s          shape
		batch      int
		transposed bool
		precision  string
	}{
		{shape{3, 5, 4}, 1, false, "fp64"},
		{shape{2, 300, 1025}, 1, false, "fp64"},
		{shape{2, 300, 515}, 1, true, "fp64"},
		{shape{3, 129, 7}, 4, false, "fp32"},
		{shape{3, 129, 7}, 2, false, "c128"},
		{shape{3, 9, 7}, 1, true, "c64"},
		{shape{1, 1, 1}, 1, false, "i8"},
	} {
		p := mustPrecision(c.precision)
		in := operands{a: p.random(seed, 1, c.batch*c.s.m*c.s.k, normal), b: p.random(seed, 2, c.batch*c.s.k*c.s.n, normal), s: c.s, transposed: c.transposed}
		rows := make([]int, c.batch*c.s.m)
		for i := range rows {
			rows[i] = i
		}
		var want values
		for row := range rows {
			for j := range c.s.n {
				var sum complex128
				for q := range c.s.k {
					at := row/c.s.m*c.s.k*c.s.n + q*c.s.n + j
					if c.transposed {
						at = j*c.s.k + q
					}
					sum += element(in.a, row*c.s.k+q) * element(in.b, at)
				}
				want.re = append(want.re, real(sum))
				if p.dtype.IsComplex() {
					want.im = append(want.im, imag(sum))
				}
			}
		}
		if d := deviationOf(in.rows(rows), want); !(d.relative < 1e-14) {
			t.Errorf("%+v: deviation %+v", c, d)
		}
		// A sample is those rows of the whole.
		if one := in.rows(rows[len(rows)-1:]); !slices.Equal(one.re, in.rows(rows).re[(len(rows)-1)*c.s.n:]) {
			t.Errorf("%+v: the last row alone differs from the last of all", c)
		}
	}
}

func element(v values, i int) complex128 {
	if v.im == nil {
		return complex(v.re[i], 0)
	}
	return complex(v.re[i], v.im[i])
}

func TestSampleRows(t *testing.T) {
	for _, c := range []struct {
		s     shape
		batch int
		want  int
	}{
		{cube(256), 1, 256},             // small: all
		{cube(1024), 1, 16},             // a sample
		{shape{8192, 8192, 8192}, 1, 4}, // few rows, because each is expensive
		{shape{1, 4096, 14336}, 1, 1},
		{cube(256), 10, 16},
		{cube(64), 4096, 16},
	} {
		rows := sampleRows(5, c.s, c.batch)
		last := c.batch*c.s.m - 1
		if len(rows) != c.want || !slices.IsSorted(rows) || rows[0] != 0 || rows[len(rows)-1] != last || len(slices.Compact(slices.Clone(rows))) != len(rows) {
			t.Errorf("%v, batch %d: rows %v", c.s, c.batch, rows)
		}
	}
}

// TestDeviationFindsWrong checks that the typical results of a broken kernel do not pass.
func TestDeviationFindsWrong(t *testing.T) {
	const seed, n = 17, 1 << 16
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	want := values{re: make([]float64, n)}
	for i := range want.re {
		want.re[i] = 64 * r.NormFloat64()
	}
	bf16, fp64, i8 := mustPrecision("bf16"), mustPrecision("fp64"), mustPrecision("i8")
	for _, c := range []struct {
		what  string
		bound float64
		spoil func(v []float64)
		right bool
	}{
		{"nothing", 0, func([]float64) {}, true},
		{"rounded to bfloat16", bf16.bound, func(v []float64) {
			for i := range v {
				v[i] = bf16.round(v[i])
			}
		}, true},
		{"rounded to bfloat16 for float16", mustPrecision("fp16").bound, func(v []float64) {
			for i := range v {
				v[i] = bf16.round(v[i])
			}
		}, false},
		{"one NaN, the first", bf16.bound, func(v []float64) { v[0] = math.NaN() }, false},
		{"one NaN, the last", bf16.bound, func(v []float64) { v[n-1] = math.NaN() }, false},
		{"one infinity", bf16.bound, func(v []float64) { v[7] = math.Inf(-1) }, false},
		{"one element zero that was large", bf16.bound, func(v []float64) { v[9] += 64 }, false},
		{"every element a little off", fp64.bound, func(v []float64) {
			for i := range v {
				v[i] *= 1 + 2e-14
			}
		}, false},
		{"an integer off by one", i8.bound, func(v []float64) { v[3]++ }, false},
		{"swapped neighbours", bf16.bound, func(v []float64) { v[0], v[1] = v[1], v[0] }, false},
	} {
		got := values{re: slices.Clone(want.re)}
		c.spoil(got.re)
		if err := deviationOf(got, want).within(c.bound); (err == nil) != c.right {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	if err := deviationOf(values{re: []float64{1}, im: []float64{0}}, values{re: []float64{1}, im: []float64{1}}).within(1e-3); err == nil {
		t.Error("a wrong imaginary part passed")
	}
	if err := deviationOf(values{re: []float64{1}}, values{re: []float64{0}}).within(1e-3); err == nil {
		t.Error("something passed for zero")
	}
}

// TestRandom checks that values are exact in their type, have the right distribution, and
// do not depend on how many of them are drawn at a time.
func TestRandom(t *testing.T) {
	const n = 1<<17 + 3
	for _, p := range precisions {
		v := p.random(1, 1, n, normal)
		if (v.im != nil) != p.dtype.IsComplex() {
			t.Errorf("%s: imaginary parts: %v", p.name, v.im != nil)
		}
		var sum, square float64
		for i, x := range v.re {
			if p.round(x) != x {
				t.Fatalf("%s: element %d, %v, is not exact", p.name, i, x)
			}
			sum += x
			square += x * x
		}
		if mean, sd := sum/n/p.unit(), math.Sqrt(square/n)/p.unit(); math.Abs(mean) > 0.02 || math.Abs(sd-1) > 0.02 {
			t.Errorf("%s: mean %v, deviation %v", p.name, mean, sd)
		}
		if again := p.random(1, 1, 70000, normal); !slices.Equal(again.re, v.re[:70000]) {
			t.Errorf("%s: the first values depend on the number", p.name)
		}
		if other := p.random(1, 2, 100, normal); slices.Equal(other.re, v.re[:100]) {
			t.Errorf("%s: two streams are equal", p.name)
		}
	}
}
