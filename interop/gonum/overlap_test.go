package gonum

import (
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestIntoMatOfItself transposes a matrix in place: what is read lies where it is
// written.
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
