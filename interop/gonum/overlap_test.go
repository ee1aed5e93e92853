package gonum

import (
	"runtime"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/devicetest"
	"gonum.org/v1/gonum/mat"
)

// TestIntoMatOfItself transposes a matrix in place: the source is the destination.
func TestIntoMatOfItself(t *testing.T) {
	m := mat.NewDense(3, 3, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9})
	want := mat.DenseCopyOf(m.T())
	if err := IntoMat(m, ShareMat(m).T()); err != nil {
		t.Fatal(err)
	}
	if !mat.Equal(m, want) {
		t.Errorf("%v", mat.Formatted(m))
	}
}

// TestViewOfDropped: a matrix over the memory of an array that the program has dropped
// keeps its numbers, whatever is computed and collected since.
func TestViewOfDropped(t *testing.T) {
	const n = 200
	cpu := devicetest.CPU(t)
	m, err := ViewMat(gpk.Full(gpk.Float64, 7, n, n).To(cpu).Add(1))
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		runtime.GC()
		if err := gpk.Eval(gpk.Full(gpk.Float64, 3, n, n).To(cpu).Mul(2)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		for j := range n {
			if v := m.At(i, j); v != 8 {
				t.Fatalf("element %d, %d is %v", i, j, v)
			}
		}
	}
}
