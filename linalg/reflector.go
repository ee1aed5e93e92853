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

// qrBlock is the number of reflectors that are applied at once.
const qrBlock = 32

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
	var blocks []reflectors[T]
	for j := 0; j < k; j += qrBlock {
		to := min(j+qrBlock, k)
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
	c := a.transpose()
	tau, diagonal := make([]T, k), make([]T, k)
	for j := range k {
		x := c.row(j)[j:]
		tau[j] = reflector(x)
		diagonal[j], x[0] = x[0], 1
		if tau[j] == 0 {
			continue
		}
		cpu.Parallel(a.cols-j-1, 1+(1<<15)/len(x), func(lo, hi int) {
			for l := j + 1 + lo; l < j+1+hi; l++ {
				y := c.row(l)[j:]
				axpy(-conj(tau[j])*dotc(x, y), x, y)
			}
		})
	}
	for i := range m {
		row := a.row(i)
		clear(row[:min(i, k)])
		if i < k {
			row[i] = diagonal[i]
			for j := i + 1; j < a.cols; j++ {
				row[j] = c.at(j, i)
				c.set(j, i, 0)
			}
		}
	}
	v := c.part(0, k, 0, m).transpose()
	return reflectors[T]{v: v, t: triangleOf(v, tau)}
}

// triangleOf returns T of reflectors with the vectors v:
//
//	T[j, j] = tau[j]    T[:j, j] = -tau[j] T[:j, :j] V[:, :j]^H v[j]
func triangleOf[T number](v matrix[T], tau []T) matrix[T] {
	k := len(tau)
	s := product(adj(v), plain(v))
	t := newMatrix[T](k, k)
	for j := range k {
		for i := range j {
			var sum T
			for p := i; p < j; p++ {
				sum += t.at(i, p) * s.at(p, j)
			}
			t.set(i, j, -tau[j]*sum)
		}
		t.set(j, j, tau[j])
	}
	return t
}

// apply sets c = Q c, or Q^H c; c has the rows of v.
func (b reflectors[T]) apply(c matrix[T], adjoint bool) {
	if c.cols == 0 {
		return
	}
	w := product(adj(b.v), plain(c))
	t := plain(b.t)
	t.adjoint = adjoint
	subtract(c, plain(b.v), plain(product(t, plain(w))))
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
