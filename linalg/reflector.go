package linalg

import (
	"math"

	"github.com/gpk-go/gpk/internal/cpu"
)

// reflector returns tau of the reflector H = I - tau v v^H with H^H x = beta e1 for a real beta (LAPACK's
// larfg). It replaces the first element of x by beta, and the others by those of v, whose first element is
// 1. tau is 0 if x already is beta e1 with a real beta.
func reflector[T number](x []T) (tau T) {
	re, im := parts(x[0])
	rest := norm(x[1:])
	if rest == 0 && im == 0 {
		return 0
	}
	beta := -math.Copysign(math.Hypot(math.Hypot(re, im), rest), re)
	if up := scaleUp[T](); math.Abs(beta)*up < 1 { // beta is too small for v to have full precision
		scale(of2[T](up, 0), x)
		tau = reflector(x)
		x[0] /= of2[T](up, 0)
		return tau
	}
	tau = of2[T]((beta-re)/beta, -im/beta)
	if rest == 0 {
		tau = of2[T](1-re/beta, -im/beta) // H is the number 1 - tau, whose real part then has one rounding less
	}
	b := of2[T](beta, 0)
	d := x[0] - b
	if size := size1(d); size > 0x1p-120 && size < 0x1p120 { // its reciprocal has full precision
		scale(1/d, x[1:])
	} else { // alpha - beta may overflow, so divide by beta first
		d := x[0]/b - 1
		for i := 1; i < len(x); i++ {
			x[i] = x[i] / b / d
		}
	}
	x[0] = b
	return tau
}

// scaleUp returns a power of two by which numbers near or below the least normal number of T are
// multiplied.
func scaleUp[T number]() float64 {
	if epsilon[T]() > eps64 {
		return 0x1p90
	}
	return 0x1p900
}

// qrBlock is the number of reflectors that are applied at once, and smallBlock that of QR of matrices that loops compute.
// Smaller blocks spend less time on the triangle T.
const qrBlock, smallBlock = 32, 8

// reflectors is a product H0 H1 … of reflectors: Q = I - V T V^H block by block (Schreiber and
// Van Loan, A storage-efficient WY representation, SIAM J. Sci. Stat. Comput. 10, 1989).
type reflectors[T number] struct {
	at   int       // row of the 1 in the first column of V
	vh   matrix[T] // V^H; V is unit lower trapezoidal, and its first row is row at
	t    matrix[T] // upper triangular
	tall *tall[T]  // if not nil, Q is this product instead
}

// rows returns the number of rows that Q changes, from row at on.
func (b reflectors[T]) rows() int {
	if b.tall != nil {
		return b.tall.rows
	}
	return b.vh.cols
}

// qr returns the blocks of Q, and R on and above the diagonal of a matrix, which may be a. It overwrites a. The blocks may
// use a's memory.
func qr[T number](a matrix[T]) (blocks []reflectors[T], r matrix[T]) {
	if height := tallRows[T](a.cols); a.cols <= qrBlock && a.rows >= 2*height && a.stride == max(1, a.cols) {
		return tallQR(a, height)
	}
	k := min(a.rows, a.cols)
	block := qrBlock
	if loops[T](a.rows, a.cols) {
		block = smallBlock
	}
	for j := 0; j < k; j += block {
		to := min(j+block, k)
		p := a.part(j, a.rows, j, to)
		b := panel(p, newMatrix[T](p.cols, p.rows), p)
		b.at = j
		b.apply(a.part(j, a.rows, to, a.cols), true)
		blocks = append(blocks, b)
	}
	return blocks, a
}

// panel factors a few columns, a, which has at least as many rows. It writes V^H to vh, and R on and above the diagonal of r,
// which may be a. It works on the transpose, in which a column is contiguous.
func panel[T number](a, vh, r matrix[T]) reflectors[T] {
	k := a.cols
	a.transposeTo(vh)
	data, lent := scratch[T](k * (k + 2))
	defer lent.Free()
	s, tau, w := dense(data, k, k), data[k*k:][:k], data[k*(k+1):]
	for j := range k {
		x := vh.row(j)[j:]
		tau[j] = reflector(x)
		r.set(j, j, x[0])
		x[0] = 1
		// The products of x with the columns before it are those that T needs.
		rowProducts(w, vh.part(0, k, j, vh.cols), x)
		for i, v := range w[:j] {
			s.set(i, j, conj(v))
		}
		subtractOuter(vh.part(j+1, k, j, vh.cols), conj(tau[j]), w[j+1:], x)
	}
	for j := range k {
		row := vh.row(j)
		for i := range j {
			r.set(i, j, row[i])
		}
		clear(row[:j])
		conjugate(row)
	}
	return reflectors[T]{vh: vh, t: triangleOf(s, tau)}
}

// rowProducts sets w[i] to x^H y for each row y of c.
func rowProducts[T number](w []T, c matrix[T], x []T) {
	if isComplex[T]() {
		cpu.Parallel(c.rows, 1+(1<<15)/len(x), func(lo, hi int) {
			for i := lo; i < hi; i++ {
				w[i] = dotc(x, c.row(i))
			}
		})
		return
	}
	multiply(dense(w, c.rows, 1), plain(c), plain(dense(x, len(x), 1)))
}

// subtractOuter subtracts tau w[i] x from each row of c. It overwrites w.
func subtractOuter[T number](c matrix[T], tau T, w, x []T) {
	if c.rows == 0 || tau == 0 {
		return
	}
	scale(tau, w)
	grain := 1 + (1<<15)/len(x)
	if c.rows <= grain && !isComplex[T]() {
		cpu.SubtractOuter(c.data, c.stride, c.rows, w, 1, x)
		return
	}
	cpu.Parallel(c.rows, grain, func(lo, hi int) {
		if isComplex[T]() {
			for i := lo; i < hi; i++ {
				axpy(-w[i], x, c.row(i))
			}
			return
		}
		cpu.SubtractOuter(c.data[lo*c.stride:], c.stride, hi-lo, w[lo:], 1, x)
	})
}

// triangleOf returns T of reflectors with S = V^H V, of which it reads the elements above the diagonal:
//
//	T[j, j] = tau[j]    T[:j, j] = -tau[j] T[:j, :j] S[:j, j]
func triangleOf[T number](s matrix[T], tau []T) matrix[T] {
	k := len(tau)
	data, lent := scratch[T](k * (k + 1))
	defer lent.Free()
	columns, sums := dense(data, k, k), data[k*k:] // columns is T^T, whose rows are contiguous
	t := newMatrix[T](k, k)
	for j := range k {
		clear(sums)
		for p := range j {
			factor := s.at(p, j)
			for i, w := range columns.row(p)[:p+1] {
				sums[i] += T(w * factor) // rounded, so that it is not fused to a multiply-add
			}
		}
		row := columns.row(j)
		for i, sum := range sums[:j] {
			row[i] = -tau[j] * sum
		}
		row[j] = tau[j]
		for i, w := range row[:j+1] {
			t.set(i, j, w)
		}
	}
	return t
}

// apply sets c = Q c, or Q^H c; c has the columns of vh as rows.
func (b reflectors[T]) apply(c matrix[T], adjoint bool) {
	if c.cols == 0 {
		return
	}
	if b.tall != nil {
		b.tall.apply(c, adjoint)
		return
	}
	k := b.t.rows
	data, lent := scratch[T](2 * k * c.cols)
	defer lent.Free()
	w, turned := dense(data, k, c.cols), dense(data[k*c.cols:], k, c.cols)
	multiply(w, plain(b.vh), plain(c))
	t := plain(b.t)
	t.adjoint = adjoint
	multiply(turned, t, plain(w))
	subtract(c, adj(b.vh), plain(turned))
}

// applyAll sets c = Q c, or Q^H c, for the product of all blocks.
func applyAll[T number](blocks []reflectors[T], c matrix[T], adjoint bool) {
	for i := range blocks {
		if !adjoint {
			i = len(blocks) - 1 - i
		}
		b := blocks[i]
		b.apply(c.part(b.at, b.at+b.rows(), 0, c.cols), adjoint)
	}
}

// columns sets q, which is zero, to the first columns of Q.
func columns[T number](blocks []reflectors[T], q matrix[T]) {
	setIdentity(q)
	for i := len(blocks) - 1; i >= 0; i-- {
		b := blocks[i] // the columns before at are still those of I, which are zero from row at on
		b.apply(q.part(b.at, q.rows, min(b.at, q.cols), q.cols), false)
	}
}
