package main

import (
	"fmt"
	"math"

	"github.com/gpk-go/gpk"
)

var linearShapes = []shape{{512, 768, 3072}, {4096, 768, 3072}, {8192, 1024, 4096}, {8192, 4096, 16384}}

func linearCases(o options, _ bool) ([]benchCase, error) {
	var cs []benchCase
	for _, p := range o.precisionsOr("bf16", "fp16", "tf32") {
		for _, s := range o.shapesOr(linearShapes) {
			if p.dtype.IsComplex() || p.dtype.IsInteger() {
				return nil, fmt.Errorf("-dtypes: suite linear has no GELU of %v", p.dtype)
			}
			cs = append(cs, benchCase{name: fmt.Sprintf("LinearGELU/dtype=%s/%v", p.name, s), run: func(r *runner) ([]result, error) { return linear(r, p, s) }})
		}
	}
	return cs, nil
}

// linear times GELU(x wT + bias), the tanh form, with w packed as a layer
// would keep it.
func linear(r *runner, p precision, s shape) ([]result, error) {
	in := operands{a: p.random(r.seed, 1, s.m*s.k, normal), b: p.random(r.seed, 2, s.n*s.k, normal), s: s, transposed: true}
	bias := p.random(r.seed, 3, s.n, normal)
	rows := sampleRows(r.seed, s, 1)
	want := in.rows(rows)
	for i, v := range want.re {
		want.re[i] = geluTanh(v + bias.re[i%s.n])
	}

	var as arrays
	defer func() { as.free() }()
	x := as.keep(upload(p.dtype, in.a, s.m, s.k))
	w := as.keep(upload(p.dtype, in.b, s.n, s.k))
	b := as.keep(upload(p.dtype, bias, s.n))
	opts := p.options()
	type set struct{ x, w, bias, out *gpk.Array }
	sets := make([]set, r.sets(bytesOf(p.dtype, s.m*s.k+s.n*s.k+s.n)))
	for i := range sets {
		sets[i] = set{x, w, b, as.keep(poisoned(p.out, s.m, s.n))}
		if i > 0 {
			sets[i].x, sets[i].w, sets[i].bias = as.keep(x.Clone()), as.keep(w.Clone()), as.keep(b.Clone())
		}
	}
	if err := gpk.Eval(as...); err != nil {
		return nil, err
	}
	for i := range sets {
		sets[i].x, sets[i].w = sets[i].x.On(r.stream), as.keep(gpk.Pack(sets[i].w, opts...))
	}
	layer := func(i int) *gpk.Array { return r.lib.LinearBiasGELUTanh(sets[i].x, sets[i].w, sets[i].bias, opts...) }
	return r.time(trial{
		sets:   len(sets),
		call:   func(i int) error { return gpk.Into(sets[i].out, layer(i)) },
		kernel: func() string { return plan(layer(0)) },
		check: func(i int) (deviation, error) {
			got, err := sampledRows(sets[i].out, s.n, rows)
			return deviationOf(got, want), err
		},
	}, work{p.flops() * s.volume(), "TFLOP/s"}, p)
}

// geluTanh returns x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), which PyTorch calls
// approximate="tanh".
func geluTanh(x float64) float64 {
	return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
}
