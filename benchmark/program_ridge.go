package main

import (
	"fmt"
	"math"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/linalg"
	"github.com/gpk-go/gpk/matmul"
)

const (
	ridgeDim     = 512
	ridgePenalty = 0.5
)

// ridgeProgram fits a ridge regression: (X^T X + penalty I) w = X^T y.
var ridgeProgram = userProgram{
	name: "ridge_regression", types: []string{"fp64"}, size: 8192, bound32: 1e-4, bound64: 1e-12,
	outputs: []string{"weights"},
	shape:   func(n int) string { return fmt.Sprintf("rows=%d/dim=%d", n, ridgeDim) },
	make: func(p precision, n int) task {
		rows, labels := centred(1, n*ridgeDim), centred(2, n)
		for i := range labels {
			labels[i] = p.round(rows[i*ridgeDim] - rows[i*ridgeDim+1] + labels[i])
		}
		x, y := upload(p.dtype, values{re: rows}, n, ridgeDim), upload(p.dtype, values{re: labels}, n)
		return task{
			inputs: arrays{x, y},
			run:    func() []*gpk.Array { return []*gpk.Array{fitRidge(x, y)} },
			want:   func() [][]float64 { return [][]float64{wantRidge(rows, labels, n)} },
		}
	},
	body: []string{"fitRidge"},
}

func fitRidge(x, y *gpk.Array) *gpk.Array {
	gram := x.T().MatMul(x, matmul.Symmetric).Add(gpk.Eye(x.DType(), ridgeDim).Mul(ridgePenalty))
	return linalg.Solve(gram, x.T().MatMul(y), linalg.Positive)
}

// wantRidge solves the system by Cholesky's factorization L L^T.
func wantRidge(x, y []float64, n int) []float64 {
	const d = ridgeDim
	xt := turn(x, n, d)
	l, w := naiveProduct(xt, x, d, n, d), naiveProduct(xt, y, d, n, 1)
	for i := range d {
		l[i*d+i] += ridgePenalty
		for j := range i {
			l[i*d+j] = (l[i*d+j] - dot(l[i*d:i*d+j], l[j*d:])) / l[j*d+j]
		}
		row := l[i*d : i*d+i]
		l[i*d+i] = math.Sqrt(l[i*d+i] - dot(row, row))
		w[i] = (w[i] - dot(row, w)) / l[i*d+i]
	}
	for i := d - 1; i >= 0; i-- {
		w[i] /= l[i*d+i]
		axpy(w[:i], -w[i], l[i*d:])
	}
	return w
}
