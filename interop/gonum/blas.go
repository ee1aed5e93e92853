package gonum

import (
	"github.com/gpk-go/gpk"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/cblas128"
	"gonum.org/v1/gonum/blas/cblas64"
)

// General is the set of BLAS's row-major matrix types, of float32, float64, complex64 and complex128.
type General interface {
	blas32.General | blas64.General | cblas64.General | cblas128.General
}

// Vector is the set of BLAS's vector types, of the same element types.
type Vector interface {
	blas32.Vector | blas64.Vector | cblas64.Vector | cblas128.Vector
}

// FromGeneral returns an array [rows, columns] on the default device with a copy of the matrix's elements.
// A matrix whose Data is too short, or whose Stride is less than its number of columns, is ErrShape.
func FromGeneral[G General](g G) *gpk.Array {
	return arrayOf("FromGeneral", of(g).load)
}

// FromVector returns an array [n] on the default device with a copy of the
// vector's elements. An Inc below 1 is ErrShape.
func FromVector[V Vector](v V) *gpk.Array {
	return arrayOf("FromVector", of(v).load)
}

// ToGeneral waits and returns a new matrix with the elements of a 2-D array. The array must have the
// matrix's element type.
func ToGeneral[G General](a *gpk.Array) (G, error) {
	var g G
	d, err := of(g).copied(a, 2)
	return filled(g, "ToGeneral", d, err)
}

// ToVector waits and returns a new vector with the elements of a 1-D array. The array must have the
// vector's element type.
func ToVector[V Vector](a *gpk.Array) (V, error) {
	var v V
	d, err := of(v).copied(a, 1)
	return filled(v, "ToVector", d, err)
}

// ShareGeneral returns an array [rows, columns] over the elements of g, on the
// CPU. Nothing is copied: see the package comment.
func ShareGeneral[G General](g G) *gpk.Array {
	return arrayOf("ShareGeneral", of(g).share)
}

// ShareVector returns an array [n] over the elements of v, on the CPU. Nothing is
// copied: see the package comment.
func ShareVector[V Vector](v V) *gpk.Array {
	return arrayOf("ShareVector", of(v).share)
}

// ViewGeneral starts the computation of the array, if it is still pending, and returns a matrix over its
// elements. The array must be 2-D, of the matrix's type, on the CPU (else ErrDevice), and with adjacent
// elements in each row (else ErrUnsupported). Nothing is copied: see the package comment.
func ViewGeneral[G General](a *gpk.Array) (G, error) {
	var g G
	d, err := of(g).view(a, 2)
	return filled(g, "ViewGeneral", d, err)
}

// ViewVector is ViewGeneral for 1-D arrays. Their elements need not be adjacent.
func ViewVector[V Vector](a *gpk.Array) (V, error) {
	var v V
	d, err := of(v).view(a, 1)
	return filled(v, "ViewVector", d, err)
}

// arrayOf returns the result of make. If make fails, it returns an array that carries the error, as one of
// operation op.
func arrayOf(op string, make func() (*gpk.Array, error)) *gpk.Array {
	a, err := make()
	if err != nil {
		return failed(op, err)
	}
	return a
}

// filled returns the gonum matrix or vector with the elements of d, or err as an error of op.
func filled[M General | Vector](m M, op string, d matrix, err error) (M, error) {
	if err != nil {
		return m, named(op, err)
	}
	d.put(&m)
	return m, nil
}

// matrix is a dense of any element type.
type matrix interface {
	load() (*gpk.Array, error)
	share() (*gpk.Array, error)
	copied(a *gpk.Array, dims int) (matrix, error)
	view(a *gpk.Array, dims int) (matrix, error)
	put(g any)
}

// of returns a General or a Vector as a dense of its type.
func of(g any) matrix {
	switch g := g.(type) {
	case blas32.General:
		return dense[float32]{2, g.Rows, g.Cols, g.Stride, g.Data}
	case blas64.General:
		return dense[float64]{2, g.Rows, g.Cols, g.Stride, g.Data}
	case cblas64.General:
		return dense[complex64]{2, g.Rows, g.Cols, g.Stride, g.Data}
	case cblas128.General:
		return dense[complex128]{2, g.Rows, g.Cols, g.Stride, g.Data}
	case blas32.Vector:
		return dense[float32]{1, g.N, 1, g.Inc, g.Data}
	case blas64.Vector:
		return dense[float64]{1, g.N, 1, g.Inc, g.Data}
	case cblas64.Vector:
		return dense[complex64]{1, g.N, 1, g.Inc, g.Data}
	case cblas128.Vector:
		return dense[complex128]{1, g.N, 1, g.Inc, g.Data}
	}
	panic("gonum: a type outside General and Vector")
}

// put is the inverse of of: it sets the General or Vector that g points to. Its elements have type T.
func (d dense[T]) put(g any) {
	data := any(d.data)
	switch g := g.(type) {
	case *blas32.General:
		*g = blas32.General{Rows: d.rows, Cols: d.cols, Stride: d.stride, Data: data.([]float32)}
	case *blas64.General:
		*g = blas64.General{Rows: d.rows, Cols: d.cols, Stride: d.stride, Data: data.([]float64)}
	case *cblas64.General:
		*g = cblas64.General{Rows: d.rows, Cols: d.cols, Stride: d.stride, Data: data.([]complex64)}
	case *cblas128.General:
		*g = cblas128.General{Rows: d.rows, Cols: d.cols, Stride: d.stride, Data: data.([]complex128)}
	case *blas32.Vector:
		*g = blas32.Vector{N: d.rows, Inc: d.stride, Data: data.([]float32)}
	case *blas64.Vector:
		*g = blas64.Vector{N: d.rows, Inc: d.stride, Data: data.([]float64)}
	case *cblas64.Vector:
		*g = cblas64.Vector{N: d.rows, Inc: d.stride, Data: data.([]complex64)}
	case *cblas128.Vector:
		*g = cblas128.Vector{N: d.rows, Inc: d.stride, Data: data.([]complex128)}
	}
}
