package main

import (
	"github.com/gpk-go/gpk"
)

// scatterProgram is kmeansProgram with the sums of each cluster by ScatterAdd
// in place of a product with a matrix of ones and zeros.
var scatterProgram = userProgram{
	name: "kmeans_scatter", types: []string{"fp32"}, size: 50000, bound32: 2e-6, bound64: 1e-14,
	outputs: []string{"centres", "counts"},
	shape:   kmeansProgram.shape,
	make: func(p precision, n int) task {
		points := kmeansPoints(p, n)
		x := upload(p.dtype, values{re: points}, n, kmeansDim)
		return task{
			inputs: arrays{x},
			run:    func() []*gpk.Array { return kmeansScatter(x) },
			want:   func() [][]float64 { return wantKmeans(points, n) },
		}
	},
	body: []string{"kmeansScatter"},
}

func kmeansScatter(x *gpk.Array) []*gpk.Array {
	centres, counts := x.Slice(0, 0, kmeansCentres), gpk.Zeros(gpk.Int64, kmeansCentres)
	for range kmeansIterations {
		// |x - c|^2 without |x|^2, which is the same for all centres.
		distances := centres.Square().Sum(1).Sub(x.MatMul(centres.T()).Mul(2))
		nearest := distances.ArgMin(1)
		sums := gpk.Zeros(x.DType(), kmeansCentres, kmeansDim).ScatterAdd(nearest, x, 0)
		counts = nearest.BinCount(kmeansCentres)
		centres = sums.Div(counts.Cast(x.DType()).Unsqueeze(1))
	}
	return []*gpk.Array{centres, counts}
}
