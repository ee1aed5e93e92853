package main

import (
	"fmt"

	"github.com/gpk-go/gpk"
)

const jacobiIterations = 1000

// jacobiProgram solves Poisson's equation on a square by Jacobi's method: each
// point becomes the mean of its four neighbours and the load there. The border
// stays 0.
var jacobiProgram = userProgram{
	name: "jacobi", types: []string{"fp32"}, size: 256, bound32: 3e-6, bound64: 1e-14,
	outputs: []string{"u"},
	shape:   func(n int) string { return fmt.Sprintf("side=%d/iterations=%d", n, jacobiIterations) },
	make: func(p precision, n int) task {
		load := uniforms(1, n*n)
		f := upload(p.dtype, values{re: load}, n, n)
		return task{
			inputs: arrays{f},
			run:    func() []*gpk.Array { return jacobi(f, n) },
			want:   func() [][]float64 { return [][]float64{wantJacobi(load, n)} },
		}
	},
	body: []string{"jacobi"},
}

func jacobi(f *gpk.Array, n int) []*gpk.Array {
	inside := func(a *gpk.Array, row, col int) *gpk.Array {
		return a.Slice(0, row, n-2+row).Slice(1, col, n-2+col)
	}
	load := inside(f, 1, 1)
	u, next := gpk.Zeros(f.DType(), n, n), gpk.Zeros(f.DType(), n, n)
	for range jacobiIterations {
		mean := inside(u, 0, 1).Add(inside(u, 2, 1)).Add(inside(u, 1, 0)).Add(inside(u, 1, 2)).Add(load).Mul(0.25)
		if err := gpk.Into(inside(next, 1, 1), mean); err != nil {
			return []*gpk.Array{mean} // carries the error
		}
		u, next = next, u
	}
	return []*gpk.Array{u}
}

func wantJacobi(f []float64, n int) []float64 {
	u, next := make([]float64, n*n), make([]float64, n*n)
	for range jacobiIterations {
		for i := 1; i < n-1; i++ {
			for j := 1; j < n-1; j++ {
				k := i*n + j
				next[k] = (u[k-n] + u[k+n] + u[k-1] + u[k+1] + f[k]) / 4
			}
		}
		u, next = next, u
	}
	return u
}
