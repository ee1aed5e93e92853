package main

import (
	"fmt"
	"math"

	"github.com/gpk-go/gpk"
)

const (
	attentionBatch = 2
	attentionHeads = 8
	attentionDim   = 64
)

// attentionProgram is causal attention written with plain operations. Its name
// differs from suite attention's, which calls one function.
var attentionProgram = userProgram{
	name: "attention", types: []string{"fp32"}, size: 256, bound32: 2e-6, bound64: 1e-14,
	outputs: []string{"out"},
	shape: func(n int) string {
		return fmt.Sprintf("b=%d/h=%d/s=%d/d=%d", attentionBatch, attentionHeads, n, attentionDim)
	},
	make: func(p precision, n int) task {
		const b, h, d = attentionBatch, attentionHeads, attentionDim
		var host [3][]float64
		var as arrays
		for i := range host {
			host[i] = centred(uint64(i+1), b*h*n*d)
			as.keep(upload(p.dtype, values{re: host[i]}, b, h, n, d))
		}
		return task{
			inputs: as,
			run:    func() []*gpk.Array { return []*gpk.Array{causalAttention(as[0], as[1], as[2])} },
			want:   func() [][]float64 { return [][]float64{wantAttention(host[0], host[1], host[2], n)} },
		}
	},
	body: []string{"causalAttention"},
}

func causalAttention(q, k, v *gpk.Array) *gpk.Array {
	shape := q.Shape()
	seq, dim := shape[2], shape[3]
	places := gpk.Arange(gpk.Int32, seq)
	seen := places.Le(places.Unsqueeze(1)) // row i sees columns 0 to i
	scores := q.MatMul(k.T()).Mul(1 / math.Sqrt(float64(dim)))
	return gpk.Where(seen, scores, math.Inf(-1)).Softmax(-1).MatMul(v)
}

func wantAttention(q, k, v []float64, n int) []float64 {
	const d = attentionDim
	out := make([]float64, len(q))
	parallel(len(q)/d, func(row int) {
		first := row / n * n // first row of this head
		weights, total := make([]float64, row-first+1), 0.0
		for j := range weights {
			at := (first + j) * d
			weights[j] = math.Exp(dot(q[row*d:(row+1)*d], k[at:at+d]) / math.Sqrt(d))
			total += weights[j]
		}
		for j, w := range weights {
			axpy(out[row*d:(row+1)*d], w/total, v[(first+j)*d:])
		}
	})
	return out
}
