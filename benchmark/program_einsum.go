package main

import (
	"math"

	"github.com/gpk-go/gpk"
)

// einsumProgram is attentionProgram with both products written as Einsum.
var einsumProgram = userProgram{
	name: "einsum_attention", types: []string{"fp32"}, size: 256, bound32: 2e-6, bound64: 1e-14,
	outputs: []string{"out"},
	shape:   attentionProgram.shape,
	make: func(p precision, n int) task {
		t := attentionProgram.make(p, n)
		q, k, v := t.inputs[0], t.inputs[1], t.inputs[2]
		t.run = func() []*gpk.Array { return []*gpk.Array{einsumAttention(q, k, v, n)} }
		return t
	},
	body: []string{"einsumAttention"},
}

func einsumAttention(q, k, v *gpk.Array, n int) *gpk.Array {
	scores := gpk.Einsum("bhqd,bhkd->bhqk", q, k).Mul(1 / math.Sqrt(attentionDim))
	scores = gpk.Where(gpk.Ones(gpk.Bool, n, n).Tril(), scores, math.Inf(-1))
	return gpk.Einsum("bhqk,bhkd->bhqd", scores.Softmax(-1), v)
}
