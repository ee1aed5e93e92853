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
	at int       // row of the 1 in the first column of v
	v  matrix[T] // unit lower trapezoidal; its first row is row at
	t  matrix[T] // upper triangular
}

// qr replaces a by R on and above the diagonal, and returns the blocks of Q.
func qr[T number](a matrix[T]) []reflectors[T] {
	k := min(a.rows, a.cols)
	block := qrBlock
	if loops[T](a.rows, a.cols) {
		block = smallBlock
	}
	var blocks []reflectors[T]
	for j := 0; j < k; j += block {
		to := min(j+block, k)
		b := panel(a.part(j, a.rows, j, to))
		b.at = j
		b.apply(a.part(j, a.rows, to, a.cols), true)
		blocks = append(blocks, b)
	}
	return blocks
}

// panel factors a few columns, replaces them by R, and returns the reflectors. It works on the
// transpose, in which a column is contiguous.
func panel[T number](a matrix[T]) reflectors[T] {
	m, k := a.rows, min(a.rows, a.cols)
	data, lent := scratch[T](a.cols * m)
	defer lent.Free()
	c := dense(data, a.cols, m)
	a.transposeTo(c)
	tau, diagonal := make([]T, k), make([]T, k)
	for j := range k {
		x := c.row(j)[j:]
		tau[j] = reflector(x)
		diagonal[j], x[0] = x[0], 1
		if tau[j] != 0 {
			reflect(c.part(j+1, a.cols, j, m), x, conj(tau[j]))
		}
	}
	v := newMatrix[T](m, k)
	for i := range m {
		own, row := v.row(i), a.row(i)
		clear(row[:min(i+1, k)])
		for j := range min(i+1, k) {
			own[j] = c.data[j*m+i]
		}
		if i < k {
			row[i] = diagonal[i]
			for j := i + 1; j < a.cols; j++ {
				row[j] = c.at(j, i)
			}
		}
	}
	return reflectors[T]{v: v, t: triangleOf(v, tau)}
}

// reflect subtracts tau (x^H y) x from each row y of c.
func reflect[T number](c matrix[T], x []T, tau T) {
	grain := 1 + (1<<15)/len(x)
	if isComplex[T]() {
		cpu.Parallel(c.rows, grain, func(lo, hi int) {
			for l := lo; l < hi; l++ {
				y := c.row(l)
				axpy(-tau*dotc(x, y), x, y)
			}
		})
		return
	}
	data, lent := scratch[T](c.rows)
	defer lent.Free()
	w := dense(data, c.rows, 1)
	multiply(w, plain(c), plain(dense(x, len(x), 1)))
	scale(tau, w.data)
	cpu.Parallel(c.rows, grain, func(lo, hi int) {
		cpu.SubtractOuter(c.data[lo*c.stride:], c.stride, hi-lo, w.data[lo:], 1, x)
	})
}

// triangleOf returns T of reflectors with the vectors v:
//
//	T[j, j] = tau[j]    T[:j, j] = -tau[j] T[:j, :j] V[:, :j]^H v[j]
func triangleOf[T number](v matrix[T], tau []T) matrix[T] {
	k := len(tau)
	data, lent := scratch[T](k * (2*k + 1))
	defer lent.Free()
	s, columns, sums := dense(data, k, k), dense(data[k*k:], k, k), data[2*k*k:] // columns is T^T, whose rows are contiguous
	multiply(s, adj(v), plain(v))
	t := newMatrix[T](k, k)
	for j := range k {
		clear(sums)
		for p := range j {
			for i, w := range columns.row(p)[:p+1] {
				sums[i] += T(w * s.at(p, j)) // rounded, so that it is not fused to a multiply-add
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

// apply sets c = Q c, or Q^H c; c has the rows of v.
func (b reflectors[T]) apply(c matrix[T], adjoint bool) {
	if c.cols == 0 {
		return
	}
	k := b.t.rows
	data, lent := scratch[T](2 * k * c.cols)
	defer lent.Free()
	w, turned := dense(data, k, c.cols), dense(data[k*c.cols:], k, c.cols)
	multiply(w, adj(b.v), plain(c))
	t := plain(b.t)
	t.adjoint = adjoint
	multiply(turned, t, plain(w))
	subtract(c, plain(b.v), plain(turned))
}

// applyAll sets c = Q c, or Q^H c, for the product of all blocks.
func applyAll[T number](blocks []reflectors[T], c matrix[T], adjoint bool) {
	for i := range blocks {
		if !adjoint {
			i = len(blocks) - 1 - i
		}
		b := blocks[i]
		b.apply(c.part(b.at, b.at+b.v.rows, 0, c.cols), adjoint)
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
