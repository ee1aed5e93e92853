package main

import (
	"fmt"

	"github.com/gpk-go/gpk"
)

// gradientsProgram solves A x = b by conjugate gradients. A is dense, symmetric
// and positive definite, with a condition number near 1000.
var gradientsProgram = userProgram{
	name: "conjugate_gradients", types: []string{"fp64"}, size: 2048, bound32: 1e-5, bound64: 1e-13,
	outputs: []string{"x"},
	shape: func(n int) string {
		return fmt.Sprintf("n=%d/iterations=%d", n, gradientsIterations(n))
	},
	make: func(p precision, n int) task {
		matrix, right := gradientsMatrix(p, n), centred(2, n)
		a, b := upload(p.dtype, values{re: matrix}, n, n), upload(p.dtype, values{re: right}, n)
		return task{
			inputs: arrays{a, b},
			run:    func() []*gpk.Array { return gradients(a, b, gradientsIterations(n)) },
			want:   func() [][]float64 { return [][]float64{wantGradients(matrix, right, n)} },
		}
	},
	body: []string{"gradients"},
}

// gradientsIterations returns a number of iterations after which the residual of a small
// system is not yet 0.
func gradientsIterations(n int) int { return min(100, n) }

// gradientsMatrix has 1 to 1000 on the diagonal and small numbers elsewhere:
// the sum of two of them that mirror each other.
func gradientsMatrix(p precision, n int) []float64 {
	m, out := centred(1, n*n), make([]float64, n*n)
	for i := range n {
		for j := range n {
			out[i*n+j] = p.round((m[i*n+j] + m[j*n+i]) / 256)
		}
		out[i*n+i] = p.round(1 + 999*float64(i)/float64(n))
	}
	return out
}

func gradients(a, b *gpk.Array, iterations int) []*gpk.Array {
	x, r, p := gpk.Zeros(b.DType(), b.Size()), b, b
	rr := r.MatMul(r)
	for range iterations {
		ap := a.MatMul(p)
		alpha := rr.Div(p.MatMul(ap))
		x = x.Add(alpha.Mul(p))
		r = r.Sub(alpha.Mul(ap))
		next := r.MatMul(r)
		p = r.Add(next.Div(rr).Mul(p))
		rr = next
	}
	return []*gpk.Array{x}
}

func wantGradients(a, b []float64, n int) []float64 {
	x, r, p := make([]float64, n), append([]float64(nil), b...), append([]float64(nil), b...)
	rr := dot(r, r)
	for range gradientsIterations(n) {
		ap := naiveProduct(a, p, n, n, 1)
		alpha := rr / dot(p, ap)
		axpy(x, alpha, p)
		axpy(r, -alpha, ap)
		next := dot(r, r)
		for i := range p {
			p[i] = r[i] + next/rr*p[i]
		}
		rr = next
	}
	return x
}
