package main

import (
	"fmt"
	"math"

	"github.com/gpk-go/gpk"
)

// attentionShape is one case of suite attention: s is the length of queries and keys.
type attentionShape struct {
	b, h, s, d int
	causal     bool
}

// The shapes of the peers.
var attentionShapes = []attentionShape{{4, 32, 2048, 128, true}, {16, 12, 512, 64, false}, {1, 32, 8192, 128, true}}

// attentionCases lists the peers' shapes; -sizes N replaces the length of each.
func attentionCases(o options, _ bool) ([]benchCase, error) {
	lengths, err := o.cubesOr("attention", 0)
	if err != nil {
		return nil, err
	}
	var cs []benchCase
	for _, p := range o.precisionsOr("bf16") {
		if !p.dtype.IsFloat() {
			return nil, fmt.Errorf("-dtypes: suite attention has no softmax of %v", p.dtype)
		}
		for _, length := range lengths {
			for _, c := range attentionShapes {
				if length > 0 {
					c.s = length
				}
				name := fmt.Sprintf("Attention/dtype=%s/b=%d/h=%d/s=%d/d=%d/causal=%v", p.name, c.b, c.h, c.s, c.d, c.causal)
				cs = append(cs, benchCase{name: name, run: func(r *runner) ([]result, error) { return c.run(r, p) }})
			}
		}
	}
	return cs, nil
}

// flops counts two products, of which causality leaves half.
func (c attentionShape) flops() float64 {
	n := 4 * float64(c.b*c.h) * float64(c.s) * float64(c.s) * float64(c.d)
	if c.causal {
		n /= 2
	}
	return n
}

// run times attention and checks rows of every set.
func (c attentionShape) run(r *runner, p precision) ([]result, error) {
	p.bound *= 2 // two products
	n := c.b * c.h * c.s * c.d
	var host [3]values
	var as arrays
	defer func() { as.free() }()
	for i := range host {
		host[i] = p.random(r.seed, uint64(i+1), n, normal)
		as.keep(upload(p.dtype, host[i], c.b, c.h, c.s, c.d))
	}
	rows := sampleRows(r.seed, shape{m: c.s, k: 2 * c.d, n: c.s}, c.b*c.h)
	want := c.rows(host, rows)
	type set struct{ q, k, v, out *gpk.Array }
	sets := make([]set, r.sets(bytesOf(p.dtype, 4*n)))
	for i := range sets {
		sets[i] = set{as[0], as[1], as[2], as.keep(poisoned(p.dtype, c.b, c.h, c.s, c.d))}
		if i > 0 {
			sets[i].q, sets[i].k, sets[i].v = as.keep(as[0].Clone()), as.keep(as[1].Clone()), as.keep(as[2].Clone())
		}
	}
	if err := gpk.Eval(as...); err != nil {
		return nil, err
	}
	attention := func(i int) *gpk.Array {
		return r.lib.Attention(sets[i].q.On(r.stream), sets[i].k, sets[i].v, gpk.AttentionOptions{Causal: c.causal, Precision: p.named})
	}
	return r.time(trial{
		sets:   len(sets),
		call:   func(i int) error { return gpk.Into(sets[i].out, attention(i)) },
		kernel: func() string { return plan(attention(0)) },
		check: func(i int) (deviation, error) {
			got, err := sampledRows(sets[i].out, c.d, rows)
			if err != nil {
				return deviation{}, err
			}
			return deviationOf(got, want), nil
		},
	}, work{c.flops(), "TFLOP/s"}, p)
}

// rows computes rows of the result, counted through batch and heads, in float64.
func (c attentionShape) rows(host [3]values, rows []int) values {
	q, k, v := host[0].re, host[1].re, host[2].re
	out := values{re: make([]float64, len(rows)*c.d)}
	parallel(len(rows), func(at int) {
		first, seen := rows[at]/c.s*c.s, c.s
		if c.causal {
			seen = rows[at]%c.s + 1
		}
		weights, largest, total := make([]float64, seen), math.Inf(-1), 0.0
		for j := range weights {
			weights[j] = dot(q[rows[at]*c.d:(rows[at]+1)*c.d], k[(first+j)*c.d:(first+j+1)*c.d]) / math.Sqrt(float64(c.d))
			largest = max(largest, weights[j])
		}
		for j, s := range weights {
			weights[j] = math.Exp(s - largest)
			total += weights[j]
		}
		for j, w := range weights {
			axpy(out.re[at*c.d:(at+1)*c.d], w/total, v[(first+j)*c.d:])
		}
	})
	return out
}
