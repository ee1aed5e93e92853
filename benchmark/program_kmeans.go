package main

import (
	"fmt"

	"github.com/gpk-go/gpk"
)

const (
	kmeansDim        = 64
	kmeansCentres    = 32
	kmeansIterations = 10
)

// kmeansProgram is Lloyd's algorithm. Point i belongs to blob i mod 32, and
// the first 32 points are the first centres.
var kmeansProgram = userProgram{
	name: "kmeans", types: []string{"fp32"}, size: 50000, bound32: 2e-6, bound64: 1e-14,
	outputs: []string{"centres", "counts"},
	shape: func(n int) string {
		return fmt.Sprintf("points=%d/dim=%d/centres=%d/iterations=%d", n, kmeansDim, kmeansCentres, kmeansIterations)
	},
	make: func(p precision, n int) task {
		points := kmeansPoints(p, n)
		x := upload(p.dtype, values{re: points}, n, kmeansDim)
		return task{
			inputs: arrays{x},
			run:    func() []*gpk.Array { return kmeans(x) },
			want:   func() [][]float64 { return wantKmeans(points, n) },
		}
	},
	body: []string{"kmeans"},
}

func kmeansPoints(p precision, n int) []float64 {
	blobs, noise := centred(1, kmeansCentres*kmeansDim), centred(2, n*kmeansDim)
	for i := range n {
		for j := range kmeansDim {
			noise[i*kmeansDim+j] = p.round(blobs[i%kmeansCentres*kmeansDim+j] + 0.5*noise[i*kmeansDim+j])
		}
	}
	return noise
}

func kmeans(x *gpk.Array) []*gpk.Array {
	centres, labels := x.Slice(0, 0, kmeansCentres), gpk.Arange(gpk.Int64, kmeansCentres)
	var counts *gpk.Array
	for range kmeansIterations {
		// |x - c|^2 without |x|^2, which is the same for all centres.
		distances := centres.Square().Sum(1).Sub(x.MatMul(centres.T()).Mul(2))
		nearest := distances.ArgMin(1)
		member := nearest.Unsqueeze(1).Eq(labels).Cast(x.DType())
		counts = member.Sum(0)
		centres = member.T().MatMul(x).Div(counts.Unsqueeze(1))
	}
	return []*gpk.Array{centres, counts}
}

func wantKmeans(x []float64, n int) [][]float64 {
	const d, k = kmeansDim, kmeansCentres
	centres, counts := append([]float64(nil), x[:k*d]...), make([]float64, k)
	nearest := make([]int, n)
	for range kmeansIterations {
		parallel(n, func(i int) {
			least := 0.0
			for c := range k {
				distance := 0.0
				for j, v := range x[i*d : (i+1)*d] {
					distance += (v - centres[c*d+j]) * (v - centres[c*d+j])
				}
				if c == 0 || distance < least {
					least, nearest[i] = distance, c
				}
			}
		})
		clear(centres)
		clear(counts)
		for i, c := range nearest {
			counts[c]++
			axpy(centres[c*d:(c+1)*d], 1, x[i*d:])
		}
		for i := range centres {
			centres[i] /= counts[i/d]
		}
	}
	return [][]float64{centres, counts}
}
