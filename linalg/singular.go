package linalg

import "gonum.org/v1/gonum/blas"

// svd returns the singular value decomposition a = u diag(s) vh with s descending. With k = min(m,
// n), u has k columns and vh k rows; with full they have m and n. Without vectors u and vh are empty.
// a is overwritten. The bidiagonal form is solved in float64; without vectors, gonum's implementation
// of LAPACK solves it.
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
	factor := normalize(a)
	first, b := compacted(a)
	q, p := bidiagonal(b, d, e)
	if !vectors {
		if !gonumLapack.Dbdsqr(blas.Upper, n, 0, 0, 0, d, e, nil, 1, nil, 1, nil, 1, make([]float64, 4*n)) {
			return u, nil, vh, ErrNoConvergence
		}
		divideBy(factor, d)
		return u, d, vh, nil
	}
	d, left, right, err := bidiagonalSVD(d, e)
	if err != nil {
		return u, nil, vh, err
	}
	divideBy(factor, d)
	k := n
	if full {
		k = m
	}
	u = extended(convert[T](left), m, k)
	applyAll(q, u.part(0, b.rows, 0, k), false)
	applyAll(first, u, false)
	v := convert[T](right) // P V, then its conjugate transpose
	applyAll(p, v, false)
	return u, d, v.adjoint(), nil
}

// compacted returns a square matrix R with the singular values of a, and the reflectors of Q with a = Q R, if a has many more
// rows than columns. Otherwise it returns a. a is overwritten.
func compacted[T number](a matrix[T]) (q []reflectors[T], r matrix[T]) {
	m, n := a.rows, a.cols
	if 3*m <= 5*n || n <= 1 {
		return nil, a
	}
	q, r = qr(a)
	r = r.part(0, n, 0, n)
	for i := range n {
		clear(r.row(i)[:i])
	}
	return q, r
}

// extended returns the m by k identity matrix with the square matrix a in its upper left corner.
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

// convert returns a real matrix converted to another type, rounded.
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
