package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/linalg"
)

const (
	componentsDim = 64
	componentsTop = 8
)

// componentsProgram is principal component analysis by the SVD of the centred
// rows. Its results are the variances along the first components, and the rows
// projected onto these, which do not depend on the signs of singular vectors.
var componentsProgram = userProgram{
	name: "pca", types: []string{"fp32"}, size: 20000, bound32: 1e-5, bound64: 1e-12,
	outputs: []string{"variances", "denoised"},
	shape: func(n int) string {
		return fmt.Sprintf("rows=%d/dim=%d/components=%d", n, componentsDim, componentsTop)
	},
	make: func(p precision, n int) task {
		rows := componentsRows(p, n)
		x := upload(p.dtype, values{re: rows}, n, componentsDim)
		return task{
			inputs: arrays{x},
			run:    func() []*gpk.Array { return components(x) },
			want:   func() [][]float64 { return wantComponents(rows, n) },
		}
	},
	body: []string{"components"},
}

// componentsRows has a standard deviation that falls from column to column.
func componentsRows(p precision, n int) []float64 {
	rows, middle := centred(1, n*componentsDim), centred(2, componentsDim)
	for i := range rows {
		rows[i] = p.round(rows[i]/float64(1+i%componentsDim) + middle[i%componentsDim])
	}
	return rows
}

func components(x *gpk.Array) []*gpk.Array {
	mean := x.Mean(0)
	u, s, vh := linalg.SVD(x.Sub(mean))
	u, s, vh = u.Slice(1, 0, componentsTop), s.Slice(0, 0, componentsTop), vh.Slice(0, 0, componentsTop)
	return []*gpk.Array{s.Square().Div(x.Shape()[0] - 1), u.Mul(s).MatMul(vh).Add(mean)}
}

// wantComponents computes the eigenvectors of the covariance by Jacobi rotations (Golub
// and Van Loan, Matrix Computations, section 8.5).
func wantComponents(x []float64, n int) [][]float64 {
	const d = componentsDim
	mean, y := make([]float64, d), slices.Clone(x)
	for i := range n {
		axpy(mean, 1/float64(n), x[i*d:])
	}
	for i := range n {
		axpy(y[i*d:(i+1)*d], -1, mean)
	}
	values, vectors := eigenvectors(naiveProduct(turn(y, n, d), y, d, n, d), d)
	order := make([]int, d)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		if values[i] > values[j] {
			return -1
		}
		return 1
	})
	variances, denoised := make([]float64, componentsTop), make([]float64, n*d)
	for i := range n {
		copy(denoised[i*d:], mean)
	}
	for c, at := range order[:componentsTop] {
		variances[c] = values[at] / float64(n-1)
		for i := range n {
			axpy(denoised[i*d:(i+1)*d], dot(y[i*d:(i+1)*d], vectors[at*d:]), vectors[at*d:])
		}
	}
	return [][]float64{variances, denoised}
}

// eigenvectors returns the eigenvalues of the symmetric matrix a [n, n], which
// it overwrites, and the eigenvectors as rows.
func eigenvectors(a []float64, n int) (values, vectors []float64) {
	vectors = make([]float64, n*n)
	for i := range n {
		vectors[i*n+i] = 1
	}
	const sweeps = 15 // the convergence is quadratic
	for range sweeps {
		for p := range n {
			for q := p + 1; q < n; q++ {
				if a[p*n+q] == 0 {
					continue
				}
				tau := (a[q*n+q] - a[p*n+p]) / (2 * a[p*n+q])
				t := math.Copysign(1/(math.Abs(tau)+math.Hypot(1, tau)), tau)
				c := 1 / math.Hypot(1, t)
				s := t * c
				rotate(a, p*n, q*n, 1, n, c, s)
				rotate(a, p, q, n, n, c, s)
				rotate(vectors, p*n, q*n, 1, n, c, s)
			}
		}
	}
	values = make([]float64, n)
	for i := range values {
		values[i] = a[i*n+i]
	}
	return values, vectors
}

// rotate turns the n pairs of elements at p + i step and q + i step of a.
func rotate(a []float64, p, q, step, n int, c, s float64) {
	for i := range n {
		x, y := &a[p+i*step], &a[q+i*step]
		*x, *y = c**x-s**y, s**x+c**y
	}
}
