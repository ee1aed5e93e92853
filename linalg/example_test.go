package linalg_test

import (
	"fmt"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/linalg"
)

func ExampleSolve() {
	a := gpk.FromSlice([]float64{3, 1, 1, 2}, 2, 2)
	b := gpk.FromSlice([]float64{9, 8})
	fmt.Println(linalg.Solve(a, b))

	singular := gpk.FromSlice([]float64{1, 2, 2, 4}, 2, 2)
	fmt.Println(linalg.Solve(singular, b).Err())
	// Output:
	// [2. 3.]
	// gpk: linalg.Solve([2 2] float64, [2] float64) at linalg/example_test.go:16: singular matrix: pivot 1 is exactly zero
}

func ExampleCholesky() {
	a := gpk.FromSlice([]float32{4, 2, 2, 10}, 2, 2)
	l := linalg.Cholesky(a)
	fmt.Println(l)
	fmt.Println(l.MatMul(l.T()))
	// Output:
	// [[2. 0.]
	//  [1. 3.]]
	// [[ 4.  2.]
	//  [ 2. 10.]]
}

func ExampleEigh() {
	a := gpk.FromSlice([]complex128{2, 1i, -1i, 2}, 2, 2)
	values, _ := linalg.Eigh(a)
	fmt.Printf("%.3f\n", values)
	// Output: [1.000 3.000]
}

func ExampleSVD() {
	a := gpk.FromSlice([]float64{3, 0, 0, -4, 0, 0}, 3, 2)
	u, s, vh := linalg.SVD(a)
	fmt.Println(u.Shape(), s, vh.Shape())
	// Output: [3 2] [4. 3.] [2 2]
}

func ExampleLstSq() {
	// The line through (0, 1), (1, 3), (2, 5).
	a := gpk.FromSlice([]float64{0, 1, 1, 1, 2, 1}, 3, 2)
	x, _, rank, _ := linalg.LstSq(a, gpk.FromSlice([]float64{1, 3, 5}))
	fmt.Printf("%.3f %d\n", x, rank)
	// Output: [2.000 1.000] 2
}

func ExampleRefine() {
	a := gpk.FromSlice([]float64{4, 1, 1, 3}, 2, 2)
	x, report := linalg.Refine(a, gpk.FromSlice([]float64{1, 2}), linalg.Positive)
	fmt.Printf("%.4f %.2f %v\n", x, report.Condition, report.FellBack)
	// Output: [0.0909 0.6364] [2.27] false
}

// The roots of x^3 - 6 x^2 + 11 x - 6 are the eigenvalues of its companion matrix.
func ExampleEigvals() {
	p := gpk.FromSlice([]float64{1, -6, 11, -6}, 4) // the highest power first
	n := p.Size() - 1
	first := p.Slice(0, 1, n+1).Div(p.At(0)).Neg()
	companion := gpk.Concat(0, first.Unsqueeze(0), gpk.Eye(gpk.Float64, n).Slice(0, 0, n-1))
	roots := linalg.Eigvals(companion)
	fmt.Println(roots.Real().Sort(0, false).Mul(1e6).Round().Div(1e6))
	// Output: [1. 2. 3.]
}
