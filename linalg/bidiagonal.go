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
	left, right := identity[float64](n), identity[float64](n)
	if !gonumLapack.Dbdsqr(blas.Upper, n, n, n, 0, d, e, right.data, n, left.data, n, nil, 1, make([]float64, 4*n)) {
		return u, nil, vh, ErrNoConvergence
	}
	k := n
	if full {
		k = m
	}
	u = newMatrix[T](m, k)
	small := convert[T](left)
	for i := range n {
		copy(u.row(i), small.row(i))
	}
	for i := n; i < k; i++ {
		u.set(i, i, 1)
	}
	applyAll(q, u.part(0, b.rows, 0, k), false)
	applyAll(first, u, false)
	v := convert[T](right).adjoint() // P V, then its adjoint
	applyAll(p, v, false)
	return u, d, v.adjoint(), nil
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
