package main

import (
	"fmt"
	"math"

	"github.com/gpk-go/gpk"
)

const (
	logisticDim   = 64
	logisticSteps = 100
	logisticRate  = 0.5
)

// logisticProgram fits a logistic regression by gradient descent. The label of a sample
// is the side of a plane on which it lies.
var logisticProgram = userProgram{
	name: "logistic_regression", types: []string{"fp32"}, size: 50000, bound32: 2e-6, bound64: 1e-14,
	outputs: []string{"weights"},
	shape:   func(n int) string { return fmt.Sprintf("rows=%d/dim=%d/steps=%d", n, logisticDim, logisticSteps) },
	make: func(p precision, n int) task {
		rows, labels := logisticData(n)
		x, y := upload(p.dtype, values{re: rows}, n, logisticDim), upload(p.dtype, values{re: labels}, n)
		return task{
			inputs: arrays{x, y},
			run:    func() []*gpk.Array { return []*gpk.Array{fitLogistic(x, y)} },
			want:   func() [][]float64 { return [][]float64{wantLogistic(rows, labels, n)} },
		}
	},
	body: []string{"fitLogistic"},
}

func logisticData(n int) (rows, labels []float64) {
	rows, labels = centred(1, n*logisticDim), make([]float64, n)
	plane := centred(2, logisticDim)
	for i := range labels {
		// The terms are multiples of 2^-46 and their sum is exact, in any order.
		if dot(rows[i*logisticDim:(i+1)*logisticDim], plane) > 0 {
			labels[i] = 1
		}
	}
	return rows, labels
}

func fitLogistic(x, y *gpk.Array) *gpk.Array {
	w, xt := gpk.Zeros(x.DType(), logisticDim), x.T()
	for range logisticSteps {
		residual := x.MatMul(w).Sigmoid().Sub(y)
		w = w.Sub(xt.MatMul(residual).Mul(logisticRate / float64(y.Size())))
	}
	return w
}

func wantLogistic(x, y []float64, n int) []float64 {
	const d = logisticDim
	w := make([]float64, d)
	for range logisticSteps {
		gradient := make([]float64, d)
		for i := range n {
			row := x[i*d : (i+1)*d]
			axpy(gradient, 1/(1+math.Exp(-dot(row, w)))-y[i], row)
		}
		axpy(w, -logisticRate/float64(n), gradient)
	}
	return w
}
