package gonum

import (
	"errors"
	"math"
	"strconv"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/niltest"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// TestNil calls everything with nil, with zero values and with numbers as far out as
// they go.
func TestNil(t *testing.T) {
	except := map[string]string{}
	for _, name := range []string{"Dgemm", "Dsymm", "Dsyrk", "Dsyr2k", "Dtrmm", "Dtrsm", "Zgemm", "Zhemm", "Zherk", "Zher2k", "Zsymm", "Zsyrk", "Zsyr2k", "Ztrmm", "Ztrsm"} {
		except["BLAS."+name] = "invalid arguments are gonum's, which panics; TestTestblas runs gonum's tests"
	}
	niltest.Run(t, niltest.Package{Except: except, Values: []func() any{func() any { return NewBLAS() }}, Functions: map[string]any{
		"NewBLAS": NewBLAS, "OnDevice": OnDevice, "MinSize": MinSize, "LeafSize": LeafSize,
		"FromGeneral": FromGeneral[blas64.General], "FromVector": FromVector[blas64.Vector], "ToGeneral": ToGeneral[blas64.General],
		"ToVector": ToVector[blas64.Vector], "ShareGeneral": ShareGeneral[blas64.General], "ShareVector": ShareVector[blas64.Vector],
		"ViewGeneral": ViewGeneral[blas64.General], "ViewVector": ViewVector[blas64.Vector],
		"FromMat": FromMat, "FromCMat": FromCMat, "ToMat": ToMat, "ToCMat": ToCMat, "IntoMat": IntoMat, "ShareMat": ShareMat, "ViewMat": ViewMat,
	}})
}

// sparse is a matrix that stores nothing of its elements.
type sparse struct{ rows, cols int }

func (s sparse) Dims() (rows, cols int) { return s.rows, s.cols }
func (sparse) At(i, j int) float64      { return 1 }
func (s sparse) T() mat.Matrix          { return mat.Transpose{Matrix: s} }

// TestTooLarge checks matrices with more elements than there is memory for.
func TestTooLarge(t *testing.T) {
	for _, c := range []struct {
		m    mat.Matrix
		want error
	}{
		{sparse{1 << 22, 1 << 22}, gpk.ErrOutOfMemory},
		{sparse{1 << 22, 1 << 22}.T(), gpk.ErrOutOfMemory},
		{sparse{math.MaxInt, math.MaxInt}, gpk.ErrShape},
		{sparse{1 << (strconv.IntSize / 2), 1 << (strconv.IntSize / 2)}, gpk.ErrShape},
		{sparse{-1, 2}, gpk.ErrShape},
		{mat.NewDiagDense(1<<21, make([]float64, 1<<21)), gpk.ErrOutOfMemory},
	} {
		if err := FromMat(c.m).Err(); !errors.Is(err, c.want) {
			r, n := c.m.Dims()
			t.Errorf("%T of %d x %d: %v, want %v", c.m, r, n, err, c.want)
		}
	}
	if a := FromMat(sparse{math.MaxInt, 0}); a.Size() != 0 {
		t.Errorf("no columns: %v, %v", a.Shape(), a.Err())
	}
}
