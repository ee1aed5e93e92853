package main

import (
	"fmt"
	"math"

	"github.com/gpk-go/gpk"
)

// attentionShape is one case of suite attention: batch, heads of the queries and of the
// keys, lengths of the queries and of the keys, head size.
type attentionShape struct {
	b, h, kv, s, keys, d int
	causal               bool
}

// attentionShapes lists the shapes that the peers time: three of whole texts, two of a decoder's step.
var attentionShapes = []attentionShape{
	{b: 4, h: 32, kv: 32, s: 2048, keys: 2048, d: 128, causal: true},
	{b: 16, h: 12, kv: 12, s: 512, keys: 512, d: 64},
	{b: 1, h: 32, kv: 32, s: 8192, keys: 8192, d: 128, causal: true},
	{b: 1, h: 32, kv: 8, s: 1, keys: 1024, d: 128},
	{b: 64, h: 32, kv: 8, s: 1, keys: 1024, d: 128},
}

// decode reports whether c is a decoder's step: it reads each key once for a group of
// queries, so that memory limits it and not arithmetic.
func (c attentionShape) decode() bool { return c.s == 1 }

// name returns the part of the case's name after its type.
func (c attentionShape) name() string {
	if c.decode() {
		return fmt.Sprintf("b=%d/h=%d/kv=%d/s=%d/keys=%d/d=%d/causal=%v", c.b, c.h, c.kv, c.s, c.keys, c.d, c.causal)
	}
	return fmt.Sprintf("b=%d/h=%d/s=%d/d=%d/causal=%v", c.b, c.h, c.s, c.d, c.causal)
}

// attentionCases lists the peers' shapes; -sizes N replaces the lengths of each, and of a
// decoder's step the number of keys.
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
					c.keys = length
					if !c.decode() {
						c.s = length
					}
				}
				name := fmt.Sprintf("Attention/dtype=%s/%s", p.name, c.name())
				cs = append(cs, benchCase{name: name, run: func(r *runner) ([]result, error) { return c.run(r, p) }})
			}
		}
	}
	return cs, nil
}

// work counts two products, half of each if the attention is causal. For a step of a
// decoder it counts the bytes of the keys and values.
func (c attentionShape) work(p precision) work {
	if c.decode() {
		return work{2 * float64(bytesOf(p.dtype, c.b*c.kv*c.keys*c.d)), "GB/s"}
	}
	n := 4 * float64(c.b*c.h) * float64(c.s) * float64(c.keys) * float64(c.d)
	if c.causal {
		n /= 2
	}
	return work{n, "TFLOP/s"}
}

// run times attention and checks rows of every set.
func (c attentionShape) run(r *runner, p precision) ([]result, error) {
	p.bound *= 2 // two products
	queries, keys := []int{c.b, c.h, c.s, c.d}, []int{c.b, c.kv, c.keys, c.d}
	var host [3]values
	var as arrays
	defer func() { as.free() }()
	total := 0
	for i, shape := range [][]int{queries, keys, keys} {
		n := shape[0] * shape[1] * shape[2] * shape[3]
		host[i] = p.random(r.seed, uint64(i+1), n, normal)
		as.keep(upload(p.dtype, host[i], shape...))
		total += n
	}
	rows := sampleRows(r.seed, shape{m: c.s, k: 2 * c.d, n: c.keys}, c.b*c.h)
	want := c.rows(host, rows)
	type set struct{ q, k, v, out *gpk.Array }
	sets := make([]set, r.sets(bytesOf(p.dtype, total+len(host[0].re))))
	for i := range sets {
		sets[i] = set{as[0], as[1], as[2], as.keep(poisoned(p.dtype, queries...))}
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
			return deviationOf(got, want), err
		},
	}, c.work(p), p)
}

// rows computes rows of the result, counted through batch and heads, in float64.
func (c attentionShape) rows(host [3]values, rows []int) values {
	q, k, v := host[0].re, host[1].re, host[2].re
	out := values{re: make([]float64, len(rows)*c.d)}
	parallel(len(rows), func(at int) {
		head := rows[at] / c.s // head, counted through all batches
		first, seen := (head/c.h*c.kv+head%c.h/(c.h/c.kv))*c.keys, c.keys
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
