package gonum

import (
	"fmt"
	"reflect"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/deviceapi"
	"github.com/gpk-go/gpk/interop/internal/site"
	"github.com/gpk-go/gpk/layout"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/cblas128"
	"gonum.org/v1/gonum/mat"
)

// FromMat returns a float64 array [rows, columns] on the default device with a copy of
// the matrix's elements. For a transposed matrix it copies the original and returns a
// transposed view. Triangular, symmetric and banded matrices are copied with all their
// elements, and a vector becomes one column. A nil matrix is ErrShape.
func FromMat(m mat.Matrix) *gpk.Array {
	a, err := fromMat(m)
	if err != nil {
		return failed("FromMat", err)
	}
	return a
}

func fromMat(m mat.Matrix) (*gpk.Array, error) {
	if none(m) {
		return nil, fmt.Errorf("%w: a nil matrix", gpk.ErrShape)
	}
	if u, ok := m.(mat.Untransposer); ok {
		a, err := fromMat(u.Untranspose())
		if err != nil {
			return nil, err
		}
		return a.T(), nil
	}
	r, c := m.Dims()
	if d, ok := m.(*mat.Dense); ok {
		return rawOf(d).load()
	}
	g, err := gathered(r, c, m.At)
	if err != nil {
		return nil, err
	}
	return g.load()
}

// rawOf returns m as a dense. The empty matrix has a stride of 0.
func rawOf(m *mat.Dense) dense[float64] {
	g := m.RawMatrix()
	return dense[float64]{2, g.Rows, g.Cols, max(1, g.Stride), g.Data}
}

// gathered returns a copy of the elements at(i, j). It returns an error if there is not
// enough memory, which can happen for a matrix that stores only few of its elements.
func gathered[T number](rows, cols int, at func(i, j int) T) (dense[T], error) {
	n, err := layout.Size([]int{rows, cols})
	if err == nil {
		err = deviceapi.HostRoom(int64(n) * int64(dtype.Of[T]().Size()))
	}
	if err != nil {
		return dense[T]{}, err
	}
	d := dense[T]{2, rows, cols, max(1, cols), make([]T, 0, n)}
	for i := range rows {
		if n == 0 { // the other length may be very large
			break
		}
		for j := range cols {
			d.data = append(d.data, at(i, j))
		}
	}
	return d, nil
}

// FromCMat is FromMat for matrices of complex128. It copies the elements as At returns
// them, so a conjugated matrix is copied conjugated.
func FromCMat(m mat.CMatrix) *gpk.Array {
	if none(m) {
		return failed("FromCMat", fmt.Errorf("%w: a nil matrix", gpk.ErrShape))
	}
	r, c := m.Dims()
	g, err := gathered(r, c, m.At)
	if err != nil {
		return failed("FromCMat", err)
	}
	return arrayOf("FromCMat", g.load)
}

// none reports whether m is a nil matrix: a nil interface or a nil pointer in it.
func none(m any) bool {
	v := reflect.ValueOf(m)
	switch v.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Func, reflect.Interface:
		return v.IsNil()
	}
	return false
}

// ToMat waits and returns a new matrix with the elements of a 2-D float64 array. Package
// mat has only one matrix without elements, the empty one: other shapes of size 0 are
// ErrShape.
func ToMat(a *gpk.Array) (*mat.Dense, error) {
	d, err := dense[float64]{}.copied(a, 2)
	return newMat("ToMat", d, err)
}

// newMat returns a matrix over the elements of d, or err as an error of op.
func newMat(op string, d matrix, err error) (*mat.Dense, error) {
	g, err := filled(blas64.General{}, op, d, err)
	if err != nil {
		return nil, err
	}
	if err := represents(g.Rows, g.Cols); err != nil {
		return nil, named(op, err)
	}
	m := &mat.Dense{}
	if g.Rows > 0 {
		m.SetRawMatrix(g)
	}
	return m, nil
}

// ToCMat is ToMat for arrays of complex128.
func ToCMat(a *gpk.Array) (*mat.CDense, error) {
	d, err := dense[complex128]{}.copied(a, 2)
	g, err := filled(cblas128.General{}, "ToCMat", d, err)
	if err != nil {
		return nil, err
	}
	if err := represents(g.Rows, g.Cols); err != nil {
		return nil, named("ToCMat", err)
	}
	m := &mat.CDense{}
	if g.Rows > 0 {
		m.SetRawCMatrix(g)
	}
	return m, nil
}

// represents returns an error for a shape that a matrix of package mat cannot have.
func represents(rows, cols int) error {
	if (rows == 0) != (cols == 0) {
		return fmt.Errorf("%w: package mat has no matrix of %d x %d", gpk.ErrShape, rows, cols)
	}
	return nil
}

// IntoMat waits and copies the elements of a float64 array into a matrix of its shape,
// which may be a part of a larger one (mat.Dense.Slice). If it fails, nothing is written.
func IntoMat(dst *mat.Dense, a *gpk.Array) error {
	if dst == nil {
		return named("IntoMat", fmt.Errorf("%w: a nil matrix", gpk.ErrShape))
	}
	return named("IntoMat", rawOf(dst).store(a))
}

// ShareMat returns an array over the elements of m, on the CPU. Nothing is
// copied: see the package comment.
func ShareMat(m *mat.Dense) *gpk.Array {
	if m == nil {
		return failed("ShareMat", fmt.Errorf("%w: a nil matrix", gpk.ErrShape))
	}
	return arrayOf("ShareMat", rawOf(m).share)
}

// ViewMat starts the computation of the array, if it is still pending, and returns a
// matrix over its elements. The array must be 2-D, float64, on the CPU, and with adjacent
// elements in each row (else ErrUnsupported). Nothing is copied: see the package comment.
func ViewMat(a *gpk.Array) (*mat.Dense, error) {
	d, err := dense[float64]{}.view(a, 2)
	return newMat("ViewMat", d, err)
}

// failed returns an array that carries an error of an exported function, with the line of
// the user's program.
func failed(op string, err error) *gpk.Array { return array.Failed(named(op, err)) }

// named adds to an error the exported function op and the line of the user's program.
func named(op string, err error) error { return site.Fail("gonum", op, err) }
