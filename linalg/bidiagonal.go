package linalg

import "github.com/gpk-go/gpk/internal/cpu"

// bidiagonal computes A = Q B P^H with a real upper bidiagonal B. It writes the diagonal of B to d and the
// superdiagonal to e, and returns the reflectors of Q and P. a has at least as many rows as columns, and is
// overwritten (Golub and Kahan, Calculating the singular values and pseudo-inverse of a matrix, SIAM J. Numer.
// Anal. 2, 1965).
func bidiagonal[T number](a matrix[T], d, e []float64) (q, p []reflectors[T]) {
	m, n := a.rows, a.cols
	for i := 0; i < n; i += qrBlock {
		left, right := bidiagonalPanel(a.part(i, m, i, n), d[i:min(i+qrBlock, n)], e[i:])
		left.at, right.at = i, i+1
		q = append(q, left)
		if right.vh.rows > 0 {
			p = append(p, right)
		}
	}
	return q, p
}

// bidiagonalPanel computes a row of B for each element of d, and then updates the rest of a in one step
// (Dongarra, Sorensen and Hammarling, Block reduction of matrices to condensed forms for eigenvalue
// computations, J. Comput. Appl. Math. 27, 1989; LAPACK's labrd). The reflector I - tauq u u^H of a column and
// I - taup v v^H of a row change the matrix A left by the earlier reflectors by
//
//	A -= u y^H + x v^H    with y = tauq A^H u and, after the first term, x = taup A v
//
// so that A = a - W Z^H, where the columns of W are u, x, u, x … and those of Z are y, v, y, v …
func bidiagonalPanel[T number](a matrix[T], d, e []float64) (left, right reflectors[T]) {
	m, n, k := a.rows, a.cols, len(d)
	w, lentW := scratchMatrix[T](m, 2*k)
	z, lentZ := scratchMatrix[T](n, 2*k)
	defer lentW.Free()
	defer lentZ.Free()
	uh, vh := newMatrix[T](k, m), newMatrix[T](min(k, n-1), n-1)
	tauq, taup := make([]T, 0, k), make([]T, 0, k)
	column, row := zeros[T](m), zeros[T](n)
	line, work := zeros[T](2*k), zeros[T](max(m, n))
	for i := range k {
		u := column[:m-i]
		panelColumn(u, a, w, z, i, line, work)
		tau := reflector(u)
		tauq = append(tauq, tau)
		d[i], _ = parts(u[0])
		u[0] = 1
		w.setColumn(2*i, i, u)
		copy(uh.row(i)[i:], u)
		conjugate(uh.row(i))
		if i+1 == n {
			break
		}
		y := row[:n-i-1]
		timesVector(y, adj(a.part(i, m, i+1, n)), u)
		known := line[:2*i]
		timesVector(known, adj(w.part(i, m, 0, 2*i)), u)
		minusTimes(y, plain(z.part(i+1, n, 0, 2*i)), known, work)
		for r := range y {
			y[r] *= tau
		}
		z.setColumn(2*i, i+1, y)

		v := row[:n-i-1]
		copy(v, a.row(i)[i+1:])
		conjugate(v)
		known = line[:copy(line, w.row(i)[:2*i+1])]
		conjugate(known)
		minusTimes(v, plain(z.part(i+1, n, 0, 2*i+1)), known, work)
		tau = reflector(v)
		taup = append(taup, tau)
		e[i], _ = parts(v[0])
		v[0] = 1
		z.setColumn(2*i+1, i+1, v)
		copy(vh.row(i)[i:], v)
		conjugate(vh.row(i))
		x := column[:m-i-1]
		timesVector(x, plain(a.part(i+1, m, i+1, n)), v)
		known = line[:2*i+1]
		timesVector(known, adj(z.part(i+1, n, 0, 2*i+1)), v)
		minusTimes(x, plain(w.part(i+1, m, 0, 2*i+1)), known, work)
		for r := range x {
			x[r] *= tau
		}
		w.setColumn(2*i+1, i+1, x)
	}
	subtract(a.part(k, m, k, n), plain(w.part(k, m, 0, 2*k)), adj(z.part(k, n, 0, 2*k)))
	return reflectors[T]{vh: uh, t: triangleOf(product(plain(uh), adj(uh)), tauq)}, reflectors[T]{vh: vh, t: triangleOf(product(plain(vh), adj(vh)), taup)}
}

// panelColumn sets c to column i of a - W Z^H, from row i on, where W and Z have 2 i columns. line and work are
// scratch memory.
func panelColumn[T number](c []T, a, w, z matrix[T], i int, line, work []T) {
	for r := range c {
		c[r] = a.at(i+r, i)
	}
	known := line[:copy(line, z.row(i)[:2*i])]
	conjugate(known)
	minusTimes(c, plain(w.part(i, i+len(c), 0, 2*i)), known, work)
}

// setColumn sets column j from row i on.
func (m matrix[T]) setColumn(j, i int, x []T) {
	for r, v := range x {
		m.set(i+r, j, v)
	}
}

// minusTimes sets y -= a x. work has at least the length of y.
func minusTimes[T number](y []T, a operand[T], x, work []T) {
	if len(x) == 0 {
		return
	}
	t := work[:len(y)]
	timesVector(t, a, x)
	axpy(-1, t, y)
}

// timesVector sets y = a x.
func timesVector[T number](y []T, a operand[T], x []T) {
	if !isComplex[T]() {
		multiply(dense(y, len(y), 1), a, plain(dense(x, len(x), 1)))
		return
	}
	// Products of complex matrices would copy both operands first.
	conjugated := zeros[T](len(x))
	copy(conjugated, x)
	conjugate(conjugated)
	if !a.adjoint {
		cpu.Parallel(a.rows, 1+(1<<14)/max(1, len(x)), func(lo, hi int) {
			for r := lo; r < hi; r++ {
				y[r] = dotc(conjugated, a.row(r))
			}
		})
		return
	}
	clear(y)
	for r, v := range conjugated {
		axpy(v, a.row(r), y)
	}
	conjugate(y)
}
