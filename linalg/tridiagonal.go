package linalg

import "math"

// tridiagonal reduces the Hermitian matrix a to the real symmetric tridiagonal matrix Q^H a Q. It writes its
// diagonal to d and its off-diagonal to e, and returns the reflectors of Q (LAPACK's hetrd). Both triangles
// of a are read and written, so that a row is contiguous in memory.
func tridiagonal[T number](a matrix[T], d, e []float64) []reflectors[T] {
	n := a.rows
	blocks := newList[T]()
	for i := 0; i < n; i += qrBlock {
		tridiagonalPanel(a.part(i, n, i, n), d[i:min(i+qrBlock, n)], e[i:], i, blocks)
	}
	return blocks.blocks
}

// tridiagonalPanel computes as many elements of the diagonal as d has, and then updates the rest of a in one
// step (Dongarra, Sorensen and Hammarling, Block reduction of matrices to condensed forms for eigenvalue
// computations, J. Comput. Appl. Math. 27, 1989; LAPACK's latrd). A reflector H = I - tau v v^H changes the
// matrix A left by the earlier reflectors to
//
//	H^H A H = A - v w^H - w v^H    with w = p - |tau|^2/2 (v^H A v) v and p = tau A v
//
// so that A = a - X Y^H, where the columns of X are v, w, v, w … and those of Y are w, v, w, v …. at is the
// number of rows above the panel.
func tridiagonalPanel[T number](a matrix[T], d, e []float64, at int, blocks *list[T]) {
	n, k := a.rows, len(d)
	x, lentX := scratchMatrix[T](n, 2*k)
	y, lentY := scratchMatrix[T](n, 2*k)
	defer lentX.Free()
	defer lentY.Free()
	column, row, work, line := zeros[T](n), zeros[T](n), zeros[T](n), zeros[T](2*k)
	for i := range k {
		c := column[:n-i]
		panelColumn(c, a, x, y, i, line, work)
		d[i], _ = parts(c[0])
		if i+1 == n {
			return
		}
		v, w := c[1:], row[:n-i-1]
		tau := reflector(v)
		e[i], _ = parts(v[0])
		v[0] = 1
		blocks.add(at+i+1, v, tau, n-i-1)
		timesVector(w, plain(a.part(i+1, n, i+1, n)), v)
		known := line[:2*i]
		timesVector(known, adj(y.part(i+1, n, 0, 2*i)), v)
		minusTimes(w, plain(x.part(i+1, n, 0, 2*i)), known, work)
		va, _ := parts(dotc(v, w))
		re, im := parts(tau)
		for r := range w {
			w[r] *= tau
		}
		axpy(of2[T](-(re*re+im*im)/2*va, 0), v, w)
		x.setColumn(2*i, i+1, v)
		x.setColumn(2*i+1, i+1, w)
		y.setColumn(2*i, i+1, w)
		y.setColumn(2*i+1, i+1, v)
	}
	subtract(a.part(k, n, k, n), plain(x.part(k, n, 0, 2*k)), adj(y.part(k, n, 0, 2*k)))
}

// list collects reflectors in blocks.
type list[T number] struct {
	blocks []reflectors[T]
	taus   []T
}

func newList[T number]() *list[T] { return &list[T]{taus: make([]T, 0, qrBlock)} }

// add appends the reflector with the vector x, whose first element is in row at. remaining is the number of
// reflectors from this one on.
func (l *list[T]) add(at int, x []T, tau T, remaining int) {
	if len(l.taus) == 0 {
		l.blocks = append(l.blocks, reflectors[T]{at: at, vh: newMatrix[T](min(qrBlock, remaining), len(x))})
	}
	b := &l.blocks[len(l.blocks)-1]
	j := len(l.taus)
	row := b.vh.row(j)[j:]
	copy(row, x)
	conjugate(row)
	if l.taus = append(l.taus, tau); len(l.taus) == b.vh.rows {
		b.t = triangleOf(product(plain(b.vh), adj(b.vh)), l.taus)
		l.taus = l.taus[:0]
	}
}

// eigh returns the eigenvalues of the Hermitian matrix a, ascending, and with vectors the eigenvectors as
// columns. Both triangles of a must be set; a is overwritten. The eigenvalues of the tridiagonal form are
// computed in float64.
func eigh[T number](a matrix[T], vectors bool) (values []float64, z matrix[T], err error) {
	n := a.rows
	d, e := make([]float64, n), make([]float64, max(n-1, 0))
	if n == 0 {
		return d, a, nil
	}
	factor := normalize(a)
	blocks := tridiagonal(a, d, e)
	if vectors {
		var q matrix[float64]
		if d, q, err = divideAndConquer(d, e); err == nil {
			z = convert[T](q)
			applyAll(blocks, z, false)
		}
	} else {
		err = tridiagonalValues(d, e)
	}
	divideBy(factor, d)
	return d, z, err
}

// tridiagonalValues computes the eigenvalues of a symmetric tridiagonal matrix with diagonal d and
// off-diagonal e, and stores them in d, ascending. gonum's Dsterf panics when it scales a part of the
// matrix. To avoid that, the matrix is scaled so that its largest element is 1, and off-diagonal elements
// far below its rounding error are set to 0.
func tridiagonalValues(d, e []float64) error {
	scale := maxAbs(d, e)
	if scale == 0 {
		return nil
	}
	divideBy(scale, d, e)
	for i, v := range e {
		if math.Abs(v) < 0x1p-300 {
			e[i] = 0
		}
	}
	if !gonumLapack.Dsterf(len(d), d, e) {
		return ErrNoConvergence
	}
	multiplyBy(scale, d)
	return nil
}
