package main

import (
	"fmt"
	"math"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/dtype"
)

func accuracyCases(o options, _ bool) ([]benchCase, error) {
	var cs []benchCase
	for _, data := range []struct {
		name  string
		draw  distribution
		sides []int
	}{{"normal", normal, []int{1024, 4096, 8192}}, {"uniform", uniform, []int{4096}}, {"spread", spread, []int{4096}}} {
		sides, err := o.cubesOr("accuracy", data.sides...)
		if err != nil {
			return nil, err
		}
		for _, n := range sides {
			for _, p := range o.precisionsOr("fp32", "tf32") {
				if !p.dtype.IsFloat() || p.dtype == dtype.Float64 {
					return nil, fmt.Errorf("-dtypes: suite accuracy compares real products with float64, not %s", p.name)
				}
				cs = append(cs, benchCase{
					name: fmt.Sprintf("Accuracy/data=%s/dtype=%s/n=%d", data.name, p.name, n),
					run:  func(r *runner) ([]result, error) { return accuracy(r, p, data.draw, n) },
				})
			}
		}
	}
	return cs, nil
}

// accuracy compares a whole product with the float64 product of the device,
// which is itself checked by rows against the host's. relerr is the relative
// Frobenius error; elementwise the largest |d| / (|a| |b|), the measure that a
// product which scales rows does worse in.
func accuracy(r *runner, p precision, draw distribution, n int) ([]result, error) {
	double := mustPrecision("fp64")
	in := operands{a: p.random(r.seed, 1, n*n, draw), b: p.random(r.seed, 2, n*n, draw), s: cube(n)}
	multiply := func(p precision, a, b values) (values, string, error) {
		var as arrays
		defer func() { as.free() }()
		x, y := as.keep(upload(p.dtype, a, n, n)), as.keep(upload(p.dtype, b, n, n))
		out := as.keep(poisoned(p.out, n, n))
		if err := gpk.Into(out, r.lib.MatMul(x, y, p.options()...)); err != nil {
			return values{}, "", err
		}
		v, err := download(out)
		return v, plan(r.lib.MatMul(x, y, p.options()...)), err
	}
	want, _, err := multiply(double, in.a, in.b)
	if err != nil {
		return nil, err
	}
	rows := sampleRows(r.seed, in.s, 1)
	var sample values
	for _, row := range rows {
		sample.re = append(sample.re, want.re[row*n:row*n+n]...)
	}
	// Spread data have no typical element, so only the norm is checked.
	if d := deviationOf(sample, in.rows(rows)); !(d.relative <= double.bound) {
		return nil, fmt.Errorf("the float64 reference is wrong: relative error %.3g, at most %.0e is right", d.relative, double.bound)
	}
	scale, _, err := multiply(double, absolute(in.a), absolute(in.b))
	if err != nil {
		return nil, err
	}
	got, kernel, err := multiply(p, in.a, in.b)
	if err != nil {
		return nil, err
	}
	d := deviationOf(got, want)
	if !(d.relative <= p.bound) {
		return nil, fmt.Errorf("wrong result: relative error %.3g, at most %.0e is right", d.relative, p.bound)
	}
	elementwise := 0.0
	for i, s := range scale.re {
		if s > 0 {
			elementwise = max(elementwise, math.Abs(got.re[i]-want.re[i])/s)
		}
	}
	one := result{Iterations: 1, Metrics: []metric{{d.relative, "relerr"}, {elementwise, "elementwise"}}, Error: d.relative, Bound: p.bound, Kernel: kernel, Note: r.precisionNote(p)}
	return []result{one}, nil
}

func absolute(v values) values {
	out := make([]float64, len(v.re))
	for i, x := range v.re {
		out[i] = math.Abs(x)
	}
	return values{re: out}
}
