package linalg

import (
	"github.com/gpk-go/gpk/internal/cpu"
)

// tridiagonal replaces the Hermitian matrix a by the real symmetric tridiagonal Q^H a Q with
// diagonal d and off-diagonal e, and returns the reflectors of Q (LAPACK's hetd2). Of a both
// triangles are read and written, so that a row is contiguous in memory. With tau v from
// column i,
//
//	p = tau a v    w = p - |tau|^2/2 (v^H a v) v    a -= v w^H + w v^H
func tridiagonal[T number](a matrix[T], d, e []float64) []reflectors[T] {
	n := a.rows
	blocks := newList[T]()
	v := make([]T, n)
	w := make([]T, n)
	vc, wc := make([]T, n), make([]T, n) // conjugates
	for i := range n {
		d[i], _ = parts(a.at(i, i))
		if i+1 == n {
			break
		}
		m := n - i - 1
		x := v[:m]
		for k := range x {
			x[k] = a.at(i+1+k, i)
		}
		tau := reflector(x)
		e[i], _ = parts(x[0])
		x[0] = 1
		blocks.add(i+1, x, tau, m)
		if tau == 0 {
			continue
		}
		rankTwo(a.part(i+1, n, i+1, n), x, tau, w[:m], vc[:m], wc[:m])
	}
	return blocks.blocks
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

// rankTwo sets a = H^H a H for a Hermitian a and H = I - tau v v^H.
func rankTwo[T number](a matrix[T], v []T, tau T, w, vc, wc []T) {
	copy(vc, v)
	conjugate(vc)
	grain := 1 + (1<<15)/max(1, len(v))
	cpu.Parallel(a.rows, grain, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			w[r] = dotc(vc, a.row(r)) // the sum of v[c] a[r, c]
		}
	})
	va, _ := parts(dotc(v, w))
	re, im := parts(tau)
	for r := range w {
		w[r] *= tau
	}
	axpy(of2[T](-(re*re+im*im)/2*va, 0), v, w)
	copy(wc, w)
	conjugate(wc)
	cpu.Parallel(a.rows, grain, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			axpy(-v[r], wc, a.row(r))
			axpy(-w[r], vc, a.row(r))
		}
	})
}

// eigh replaces the Hermitian a, of which both triangles are there, and returns its
// eigenvalues, ascending, and with vectors the eigenvectors as columns. The eigenvalues of the
// tridiagonal form are computed in float64.
func eigh[T number](a matrix[T], vectors bool) (values []float64, z matrix[T], err error) {
	n := a.rows
	d, e := make([]float64, n), make([]float64, max(n-1, 0))
	if n == 0 {
		return d, a, nil
	}
	blocks := tridiagonal(a, d, e)
	if !vectors {
		if !gonumLapack.Dsterf(n, d, e) {
			return nil, z, ErrNoConvergence
		}
		return d, z, nil
	}
	d, q, err := divideAndConquer(d, e)
	if err != nil {
		return nil, z, err
	}
	z = convert[T](q)
	applyAll(blocks, z, false)
	return d, z, nil
}
