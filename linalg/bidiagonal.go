package linalg

import (
	"github.com/gpk-go/gpk/internal/cpu"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack/gonum"
)

// gonumLapack is gonum's implementation of LAPACK, of float64 alone.
var gonumLapack gonum.Implementation

// bidiagonal returns the diagonal d and superdiagonal e of the real upper bidiagonal B with
// A = Q B P^H, and the reflectors of Q and P. a, with no fewer rows than columns, is overwritten.
// (Golub and Kahan, Calculating the singular values and pseudo-inverse of a matrix, SIAM J.
// Numer. Anal. 2, 1965).
func bidiagonal[T number](a matrix[T], d, e []float64) (q, p []reflectors[T]) {
	m, n := a.rows, a.cols
	ql, pl := newList[T](), newList[T]()
	column, w := make([]T, m), make([]T, max(m, n))
	row := make([]T, n)
	for i := range n {
		x := column[:m-i]
		for k := range x {
			x[k] = a.at(i+k, i)
		}
		tau := reflector(x)
		d[i], _ = parts(x[0])
		x[0] = 1
		ql.add(i, x, tau, n-i)
		rest := a.part(i, m, i+1, n)
		if tau != 0 && rest.cols > 0 {
			reflect(rest, x, conj(tau), w)
		}
		if i+1 >= n {
			continue
		}
		y := row[:n-i-1]
		copy(y, rest.row(0))
		conjugate(y)
		tau = reflector(y)
		e[i], _ = parts(y[0])
		y[0] = 1
		pl.add(i+1, y, tau, n-i-1)
		if tau != 0 {
			reflectRows(rest.part(1, rest.rows, 0, rest.cols), y, tau)
		}
	}
	return ql.blocks, pl.blocks
}

// reflectRows sets a -= tau (a y) y^H.
func reflectRows[T number](a matrix[T], y []T, tau T) {
	yc := append([]T(nil), y...)
	conjugate(yc)
	cpu.Parallel(a.rows, 1+(1<<15)/max(1, len(y)), func(lo, hi int) {
		for r := lo; r < hi; r++ {
			axpy(-tau*dotc(yc, a.row(r)), yc, a.row(r))
		}
	})
}

// list gathers reflectors in blocks.
type list[T number] struct {
	blocks []reflectors[T]
	taus   []T
}

func newList[T number]() *list[T] { return &list[T]{taus: make([]T, 0, qrBlock)} }

// add appends the reflector with the vector x, whose first element lies in row at. remaining is
// the number of reflectors from this one on.
func (l *list[T]) add(at int, x []T, tau T, remaining int) {
	if len(l.taus) == 0 {
		l.blocks = append(l.blocks, reflectors[T]{at: at, v: newMatrix[T](len(x), min(qrBlock, remaining))})
	}
	b := &l.blocks[len(l.blocks)-1]
	j := len(l.taus)
	for k, value := range x {
		b.v.set(j+k, j, value)
	}
	if l.taus = append(l.taus, tau); len(l.taus) == b.v.cols {
		b.t = triangleOf(b.v, l.taus)
		l.taus = l.taus[:0]
	}
}

// svd returns the singular value decomposition a = u diag(s) vh with s descending, u of k or
// m columns, vh of k or n rows, for k = min(m, n); u and vh are empty without vectors. a is
// overwritten. The singular values of the bidiagonal form come from gonum's implementation of
// LAPACK, in float64.
func svd[T number](a matrix[T], vectors, full bool) (u matrix[T], s []float64, vh matrix[T], err error) {
	m, n := a.rows, a.cols
	if m < n {
		v, s, uh, err := svd(a.adjoint(), vectors, full)
		if err != nil || !vectors {
			return u, s, vh, err
		}
		return uh.adjoint(), s, v.adjoint(), nil
	}
	d, e := make([]float64, n), make([]float64, max(n-1, 0))
	if n == 0 {
		if vectors && full {
			u = identity[T](m)
		}
		return u, d, vh, nil
	}
	var first []reflectors[T]
	b := a
	if 2*m >= 3*n && n > 1 { // R has the singular values of a
		first = qr(a)
		b = a.part(0, n, 0, n)
		for i := range n {
			clear(b.row(i)[:i])
		}
	}
	q, p := bidiagonal(b, d, e)
	if !vectors {
		if !gonumLapack.Dbdsqr(blas.Upper, n, 0, 0, 0, d, e, nil, 1, nil, 1, nil, 1, make([]float64, 4*n)) {
			return u, nil, vh, ErrNoConvergence
		}
		return u, d, vh, nil
	}
	left, right, err := bidiagonalSVD(d, e)
	if err != nil {
		return u, nil, vh, err
	}
	k := n
	if full {
		k = m
	}
	u = extended(convert[T](left).adjoint(), m, k)
	applyAll(q, u.part(0, b.rows, 0, k), false)
	applyAll(first, u, false)
	v := convert[T](right).adjoint() // P V, then its adjoint
	applyAll(p, v, false)
	return u, d, v.adjoint(), nil
}

// extended returns the square matrix a as the upper left part of an m by k identity matrix.
func extended[T number](a matrix[T], m, k int) matrix[T] {
	u := newMatrix[T](m, k)
	for i := range a.rows {
		copy(u.row(i), a.row(i))
	}
	for i := a.rows; i < k; i++ {
		u.set(i, i, 1)
	}
	return u
}

// rotatedColumns is the number of columns to which one goroutine applies the rotations.
const rotatedColumns = 256

// bidiagonalSVD returns the singular values of the upper bidiagonal matrix with diagonal d and
// superdiagonal e in d, and the transposes of the left and right singular vectors. Every goroutine
// iterates on d and e itself, which takes little beside the rotations of its columns: Q^T and P^T
// times some columns of the identity. Rotations of rows are of contiguous elements, which those of
// the columns of Q would not be.
func bidiagonalSVD(d, e []float64) (left, right matrix[float64], err error) {
	n := len(d)
	left, right = identity[float64](n), identity[float64](n)
	parts := (n + rotatedColumns - 1) / rotatedColumns
	done := make([]bool, 2*parts)
	first := make([]float64, n) // the values of the first part: all have the same
	cpu.Parallel(2*parts, 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			di, ei := append([]float64(nil), d...), append([]float64(nil), e...)
			j := i / 2 * rotatedColumns
			width := min(rotatedColumns, n-j)
			work := make([]float64, 4*n)
			if i%2 == 0 {
				done[i] = gonumLapack.Dbdsqr(blas.Upper, n, width, 0, 0, di, ei, right.data[j:], n, nil, 1, nil, 1, work)
			} else {
				done[i] = gonumLapack.Dbdsqr(blas.Upper, n, 0, 0, width, di, ei, nil, 1, nil, 1, left.data[j:], n, work)
			}
			if i == 0 {
				copy(first, di)
			}
		}
	})
	copy(d, first)
	for _, ok := range done {
		if !ok {
			return left, right, ErrNoConvergence
		}
	}
	return left, right, nil
}

// convert returns a real matrix in another type, rounded.
func convert[T number](a matrix[float64]) matrix[T] {
	c := newMatrix[T](a.rows, a.cols)
	for i := range a.rows {
		to := c.row(i)
		for j, v := range a.row(i) {
			to[j] = of2[T](v, 0)
		}
	}
	return c
}
