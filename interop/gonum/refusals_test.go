package gonum

import (
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/arraytest"
	"github.com/gpk-go/gpk/internal/testrand"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

func TestBad(t *testing.T) {
	huge := math.MaxInt
	some := []float64{1, 2, 3, 4}
	for name, a := range map[string]*gpk.Array{
		"a nil matrix":         FromMat(nil),
		"a nil dense":          FromMat((*mat.Dense)(nil)),
		"nil, transposed":      FromMat(mat.Transpose{}),
		"a nil complex matrix": FromCMat((*mat.CDense)(nil)),
		"no complex matrix":    FromCMat(nil),
		"nil, shared":          ShareMat(nil),
		"negative rows":        FromGeneral(blas64.General{Rows: -1, Cols: 2, Stride: 2, Data: some}),
		"negative columns":     ShareGeneral(blas64.General{Rows: 1, Cols: -2, Stride: 2, Data: some}),
		"short":                FromGeneral(blas64.General{Rows: 2, Cols: 3, Stride: 3, Data: some}),
		"no data":              ShareGeneral(blas64.General{Rows: 1, Cols: 1, Stride: 1}),
		"small stride":         FromGeneral(blas64.General{Rows: 2, Cols: 2, Stride: 1, Data: some}),
		"no stride":            ShareGeneral(blas64.General{Rows: 2, Cols: 2, Data: some}),
		"huge":                 ShareGeneral(blas64.General{Rows: huge, Cols: huge, Stride: huge, Data: some}),
		"many rows":            FromGeneral(blas64.General{Rows: huge, Cols: 1, Stride: 2, Data: some}),
		"huge stride":          ShareGeneral(blas64.General{Rows: 3, Cols: 1, Stride: huge, Data: some}),
		"many columns of none": ShareGeneral(blas64.General{Rows: huge, Cols: 0, Stride: 0}),
		"backwards":            FromVector(blas64.Vector{N: 2, Inc: -1, Data: some}),
		"in place":             ShareVector(blas64.Vector{N: 2, Inc: 0, Data: some}),
		"a negative vector":    ShareVector(blas64.Vector{N: -2, Inc: 1, Data: some}),
		"a short vector":       ShareVector(blas64.Vector{N: 3, Inc: 2, Data: some}),
	} {
		err := a.Err()
		var op *gpk.OpError
		if !errors.Is(err, gpk.ErrShape) || !errors.As(err, &op) || !strings.Contains(op.Site, "refusals_test.go:") {
			t.Errorf("%s: error %v", name, err)
		}
	}

	x := gpk.Ones(gpk.Float64, 2, 3)
	failed := x.Reshape(7)
	freed := gpk.Ones(gpk.Float64, 2, 3)
	freed.Free()
	to := func(a *gpk.Array) error { _, err := ToMat(a); return err }
	toC := func(a *gpk.Array) error { _, err := ToCMat(a); return err }
	view := func(a *gpk.Array) error { _, err := ViewMat(a); return err }
	general := func(a *gpk.Array) error { _, err := ToGeneral[blas32.General](a); return err }
	vector := func(a *gpk.Array) error { _, err := ToVector[blas64.Vector](a); return err }
	viewVector := func(a *gpk.Array) error { _, err := ViewVector[blas64.Vector](a); return err }
	into := func(a *gpk.Array) error { return IntoMat(mat.NewDense(2, 3, nil), a) }
	for name, c := range map[string]struct {
		f    func(*gpk.Array) error
		a    *gpk.Array
		want error
	}{
		"nil": {to, nil, gpk.ErrShape}, "nil, viewed": {view, nil, gpk.ErrShape}, "nil, into": {into, nil, gpk.ErrShape}, "zero": {to, &gpk.Array{}, gpk.ErrDType},
		"failed": {to, failed, gpk.ErrShape}, "failed, viewed": {view, failed, gpk.ErrShape}, "freed": {to, freed, gpk.ErrFreed}, "freed, viewed": {view, freed, gpk.ErrFreed},
		"float32": {to, gpk.Ones(gpk.Float32, 2, 3), gpk.ErrDType}, "float64 as complex": {toC, x, gpk.ErrDType}, "float64 as float32": {general, x, gpk.ErrDType},
		"one axis": {to, x.Sum(0), gpk.ErrShape}, "three axes": {view, x.Unsqueeze(0), gpk.ErrShape}, "two axes": {vector, x, gpk.ErrShape},
		"no rows": {to, gpk.Ones(gpk.Float64, 0, 3), gpk.ErrShape}, "no columns, viewed": {view, gpk.Ones(gpk.Float64, 3, 0), gpk.ErrShape},
		"transposed": {view, x.T(), gpk.ErrUnsupported}, "broadcast": {view, x.Slice(0, 0, 1).BroadcastTo(4, 3), gpk.ErrUnsupported},
		"every other column": {view, x.Slice(1, 0, 3, 2), gpk.ErrUnsupported}, "backwards": {viewVector, gpk.Ones(gpk.Float64, 3).Slice(0, 2, -4, -1), gpk.ErrUnsupported},
		"another shape": {into, x.T(), gpk.ErrShape}, "another type": {into, gpk.Ones(gpk.Float32, 2, 3), gpk.ErrDType},
	} {
		if err := c.f(c.a); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
	}
	if err := IntoMat(nil, x); !errors.Is(err, gpk.ErrShape) {
		t.Errorf("into nil: %v", err)
	}
}

// TestShareOutlives uses shared memory that nothing else refers to, while the
// garbage collector runs.
func TestShareOutlives(t *testing.T) {
	r := testrand.New(t)
	for range 20 {
		want := normal(r, 1<<14)
		a := ShareMat(mat.NewDense(128, 128, slices.Clone(want))).T()
		runtime.GC()
		_ = make([]float64, 1<<14)
		if got := arraytest.Elements[float64](t, a.T()); !slices.Equal(got, want) {
			t.Fatal("shared memory changed")
		}
	}
	data := []float64{1, 2}
	a := ShareVector(blas64.Vector{N: 2, Inc: 1, Data: data})
	a.Free()
	if data[0] != 1 || data[1] != 2 {
		t.Errorf("Free changed gonum's memory: %v", data)
	}
}
