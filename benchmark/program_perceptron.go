package main

import (
	"fmt"
	"math"

	"github.com/gpk-go/gpk"
)

const (
	perceptronIn     = 64
	perceptronHidden = 128
	perceptronOut    = 10
	perceptronSteps  = 300
	perceptronRate   = 0.125
)

// perceptronProgram trains a network of one hidden layer on one batch by
// gradient descent, with the gradients written out. Sample i has label i mod 10.
var perceptronProgram = userProgram{
	name: "mlp", types: []string{"fp32"}, size: 256, bound32: 2e-4, bound64: 1e-13,
	outputs: []string{"logits", "weights"},
	shape: func(n int) string {
		return fmt.Sprintf("batch=%d/in=%d/hidden=%d/out=%d/steps=%d", n, perceptronIn, perceptronHidden, perceptronOut, perceptronSteps)
	},
	make: func(p precision, n int) task {
		in := newPerceptron(p, n)
		x, y := upload(p.dtype, values{re: in.x}, n, perceptronIn), upload(p.dtype, values{re: in.y}, n, perceptronOut)
		w1, w2 := upload(p.dtype, values{re: in.w1}, perceptronIn, perceptronHidden), upload(p.dtype, values{re: in.w2}, perceptronHidden, perceptronOut)
		return task{
			inputs: arrays{x, y, w1, w2},
			run:    func() []*gpk.Array { return trainPerceptron(x, y, w1, w2) },
			want:   func() [][]float64 { return wantPerceptron(in, n, perceptronSteps) },
		}
	},
	body: []string{"trainPerceptron"},
}

// perceptron is the training's start on the host.
type perceptron struct{ x, y, w1, w2 []float64 }

func newPerceptron(p precision, n int) perceptron {
	in := perceptron{
		x: centred(1, n*perceptronIn), y: make([]float64, n*perceptronOut),
		w1: centred(2, perceptronIn*perceptronHidden), w2: centred(3, perceptronHidden*perceptronOut),
	}
	for i := range in.w1 {
		in.w1[i] /= 8
	}
	for i := range in.w2 {
		in.w2[i] /= 8
	}
	for i := range n {
		in.y[i*perceptronOut+i%perceptronOut] = 1
	}
	return in
}

func trainPerceptron(x, y, w1, w2 *gpk.Array) []*gpk.Array {
	n := x.Shape()[0]
	b1, b2 := gpk.Zeros(x.DType(), perceptronHidden), gpk.Zeros(x.DType(), perceptronOut)
	for range perceptronSteps {
		h := x.MatMul(w1).Add(b1).ReLU()
		d := h.MatMul(w2).Add(b2).Softmax(1).Sub(y).Div(n) // gradient with respect to the logits
		dh := d.MatMul(w2.T()).Mul(h.Gt(0).Cast(x.DType()))
		w2 = w2.Sub(h.T().MatMul(d).Mul(perceptronRate))
		b2 = b2.Sub(d.Sum(0).Mul(perceptronRate))
		w1 = w1.Sub(x.T().MatMul(dh).Mul(perceptronRate))
		b1 = b1.Sub(dh.Sum(0).Mul(perceptronRate))
	}
	return []*gpk.Array{x.MatMul(w1).Add(b1).ReLU().MatMul(w2).Add(b2), w1}
}

func wantPerceptron(in perceptron, n, steps int) [][]float64 {
	const k, m, o = perceptronIn, perceptronHidden, perceptronOut
	w1, w2 := append([]float64(nil), in.w1...), append([]float64(nil), in.w2...)
	b1, b2 := make([]float64, m), make([]float64, o)
	xt := turn(in.x, n, k)
	forward := func() (h, logits []float64) {
		h = naiveProduct(in.x, w1, n, k, m)
		for i := range h {
			h[i] = max(0, h[i]+b1[i%m])
		}
		logits = naiveProduct(h, w2, n, m, o)
		for i := range logits {
			logits[i] += b2[i%o]
		}
		return h, logits
	}
	for range steps {
		h, d := forward()
		for i := range n {
			row, total := d[i*o:(i+1)*o], 0.0
			for j, v := range row {
				row[j] = math.Exp(v)
				total += row[j]
			}
			for j := range row {
				row[j] = (row[j]/total - in.y[i*o+j]) / float64(n)
			}
		}
		dh := naiveProduct(d, turn(w2, m, o), n, o, m)
		for i := range dh {
			if h[i] <= 0 {
				dh[i] = 0
			}
		}
		axpy(w2, -perceptronRate, naiveProduct(turn(h, n, m), d, m, n, o))
		axpy(w1, -perceptronRate, naiveProduct(xt, dh, k, n, m))
		for i := range n {
			axpy(b2, -perceptronRate, d[i*o:])
			axpy(b1, -perceptronRate, dh[i*m:])
		}
	}
	_, logits := forward()
	return [][]float64{logits, w1}
}
