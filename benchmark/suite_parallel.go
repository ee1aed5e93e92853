package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/dist"
	"github.com/gpk-go/gpk/nn"
)

// parallelMLP is the shape of an MLP: m rows, d features, h hidden features.
type parallelMLP struct{ m, d, h, ranks int }

// parallelCases run MLPs in tensor parallel: on one GPU and on all, or, on the CPU, on one rank and on two,
// which share its processors.
func parallelCases(o options, gpu bool) ([]benchCase, error) {
	precision, shapes, key, ranks := "bf16", []shape{{16, 8192, 28672}, {512, 8192, 28672}, {8192, 8192, 28672}}, "gpus", []int{1}
	if !gpu {
		precision, shapes, key, ranks = "fp32", []shape{{16, 512, 2048}, {512, 512, 2048}}, "ranks", []int{1, 2}
	} else if n := gpusHere(); n > 1 {
		ranks = append(ranks, n)
	}
	var cs []benchCase
	for _, p := range o.precisionsOr(precision) {
		if p.dtype.IsComplex() || p.dtype.IsInteger() {
			return nil, fmt.Errorf("-dtypes: suite parallel has no GELU of %v", p.dtype)
		}
		for _, n := range ranks {
			for _, s := range o.shapesOr(shapes) {
				mlp := parallelMLP{s.m, s.k, s.n, n}
				cs = append(cs, benchCase{
					name: fmt.Sprintf("ParallelMLP/dtype=%s/m=%d/d=%d/h=%d/%s=%d", p.name, mlp.m, mlp.d, mlp.h, key, n),
					run:  func(r *runner) ([]result, error) { return mlp.measure(r, p) },
				})
			}
		}
	}
	return cs, nil
}

// measure times the layer on ranks. The elements of both weights are normal numbers divided by
// the square root of the number of terms.
func (s parallelMLP) measure(r *runner, p precision) (rs []result, err error) {
	scaled := func(terms int) distribution {
		return func(r *rand.Rand) float64 { return r.NormFloat64() / math.Sqrt(float64(terms)) }
	}
	x := p.random(r.seed, 1, s.m*s.d, normal)
	up, down := p.random(r.seed, 2, s.h*s.d, scaled(s.d)), p.random(r.seed, 3, s.d*s.h, scaled(s.h))
	rows := sampleRows(r.seed, shape{s.m, s.d, s.h}, 1)
	want := s.reference(x, up, down, rows)

	layer := nn.NewMLP(s.d, s.h, nn.GELUTanh, false)
	in := upload(p.dtype, x, s.m, s.d)
	defer in.Free()
	if err := errors.Join(layer.Up.Weight.Set(upload(p.dtype, up, s.h, s.d)), layer.Down.Weight.Set(upload(p.dtype, down, s.d, s.h))); err != nil {
		return nil, err
	}
	defer nn.Free(layer)
	nn.SetPrecision(layer, p.named)

	err = r.onRanks(s.ranks, func(ctx context.Context, c *dist.Comm) error {
		m, err := nn.NewParallelMLP(c, layer)
		if err != nil {
			return err
		}
		defer nn.Free(m)
		mine, err := s.rounds(ctx, r, p, c, m, in, rows, want)
		if c.Rank() == 0 {
			rs = mine
		}
		return err
	})
	return rs, err
}

// reference computes rows of the result in float64.
func (s parallelMLP) reference(x, up, down values, rows []int) values {
	hidden := operands{a: x, b: up, s: shape{s.m, s.d, s.h}, transposed: true}.rows(rows)
	for i, v := range hidden.re {
		hidden.re[i] = geluTanh(v)
	}
	all := make([]int, len(rows))
	for i := range all {
		all[i] = i
	}
	return operands{a: hidden, b: down, s: shape{len(rows), s.h, s.d}, transposed: true}.rows(all)
}

// rounds measures the layer r.count times and checks the result of each round. The bound of two products in
// sequence is twice that of one.
func (s parallelMLP) rounds(ctx context.Context, r *runner, p precision, c *dist.Comm, m *nn.ParallelMLP, in *gpk.Array, rows []int, want values) ([]result, error) {
	x := in.To(c.Device())
	if err := gpk.Eval(x); err != nil {
		return nil, err
	}
	lap := rankLap{ctx, c, func() error {
		return gpk.Scoped(func(s *gpk.Scope) error { return gpk.Eval(m.Forward(s.In(x))) })
	}}
	var out []result
	for range r.count {
		tm, err := lap.measure(r.options)
		if err != nil {
			return out, err
		}
		got, err := sampledRows(m.Forward(x), s.d, rows)
		if err != nil {
			return out, err
		}
		d, bound := deviationOf(got, want), 2*p.bound
		if err := d.within(bound); err != nil {
			return out, err
		}
		w := work{4 * float64(s.m) * float64(s.d) * float64(s.h), "TFLOP/s"}
		out = append(out, result{Iterations: tm.calls, Metrics: w.metrics(tm.seconds), Error: d.relative, Bound: bound, Note: r.precisionNote(p)})
	}
	return out, nil
}
