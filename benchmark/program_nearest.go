package main

import (
	"fmt"
	"slices"

	"github.com/gpk-go/gpk"
)

const (
	nearestDim     = 256
	nearestQueries = 32
	nearestTop     = 5
)

// nearestProgram finds, for each query, the items of the largest inner products.
var nearestProgram = userProgram{
	name: "topk", types: []string{"fp32"}, size: 100000, bound32: 2e-6, bound64: 1e-14,
	outputs: []string{"scores", "items"},
	shape: func(n int) string {
		return fmt.Sprintf("rows=%d/dim=%d/queries=%d/k=%d", n, nearestDim, nearestQueries, nearestTop)
	},
	make: func(p precision, n int) task {
		rows, queries := centred(1, n*nearestDim), centred(2, nearestQueries*nearestDim)
		x, q := upload(p.dtype, values{re: rows}, n, nearestDim), upload(p.dtype, values{re: queries}, nearestQueries, nearestDim)
		return task{
			inputs: arrays{x, q},
			run:    func() []*gpk.Array { return nearest(x, q) },
			want:   func() [][]float64 { return wantNearest(rows, queries, n) },
		}
	},
	body: []string{"nearest"},
}

func nearest(x, q *gpk.Array) []*gpk.Array {
	scores, items := q.MatMul(x.T()).TopK(nearestTop, 1)
	return []*gpk.Array{scores, items}
}

func wantNearest(rows, queries []float64, n int) [][]float64 {
	const d, k = nearestDim, nearestTop
	scores, items := make([]float64, nearestQueries*k), make([]float64, nearestQueries*k)
	parallel(nearestQueries, func(q int) {
		all, order := make([]float64, n), make([]int, n)
		for i := range all {
			all[i], order[i] = dot(queries[q*d:(q+1)*d], rows[i*d:(i+1)*d]), i
		}
		slices.SortStableFunc(order, func(a, b int) int {
			if all[a] > all[b] {
				return -1
			}
			return 1
		})
		for i, item := range order[:k] {
			scores[q*k+i], items[q*k+i] = all[item], float64(item)
		}
	})
	return [][]float64{scores, items}
}
