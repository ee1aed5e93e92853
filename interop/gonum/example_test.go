package gonum_test

import (
	"fmt"
	"log"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/interop/gonum"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

func Example() {
	m := mat.NewDense(2, 3, []float64{1, 2, 3, 4, 5, 6})
	a := gonum.FromMat(m)
	d, err := gonum.ToMat(a.MatMul(a.T()))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(mat.Formatted(d))
	// Output:
	// ⎡14  32⎤
	// ⎣32  77⎦
}

// The result of an expression is written to gonum's memory without a copy.
func ExampleShareGeneral() {
	g := blas64.General{Rows: 2, Cols: 2, Stride: 3, Data: []float64{1, 2, -1, 3, 4, -1}}
	a := gonum.ShareGeneral(g)
	if err := gpk.Into(a, a.Mul(a).Add(1)); err != nil {
		log.Fatal(err)
	}
	fmt.Println(g.Data)
	// Output:
	// [2 5 -1 10 17 -1]
}
