package linalg

import (
	"math"
	"math/cmplx"

	"github.com/gpk-go/gpk/internal/cpu"
)

// balance multiplies the rows of a by powers of two and divides the columns by the same, so that the norms of row i and
// column i are nearly equal. It returns the exponents p: with D = diag(2^p), a becomes D^-1 a D.
func balance(a matrix[complex128]) []int {
	n := a.rows
	powers := make([]int, n)
	column := make([]complex128, n)
	for changed := true; changed; {
		changed = false
		for i := range n {
			for k := range n {
				column[k] = a.at(k, i)
			}
			c, r := norm(column), norm(a.row(i))
			if c == 0 || r == 0 {
				continue
			}
			// 2^e with c 4^e nearly r; it is used if it shortens both by at least 5 %.
			e := int(math.Round(math.Log2(r/c) / 2))
			if e == 0 || math.Hypot(math.Ldexp(c, e), math.Ldexp(r, -e)) >= 0.95*math.Hypot(c, r) {
				continue
			}
			changed = true
			powers[i] += e
			for k := range n {
				a.set(i, k, ldexp(a.at(i, k), -e))
			}
			for k := range n {
				a.set(k, i, ldexp(a.at(k, i), e))
			}
		}
	}
	return powers
}

// hessenberg overwrites a by Q^H a Q, which is zero below the first subdiagonal, and multiplies q by Q from the right
// unless q has no columns (Golub and Van Loan 2013, algorithm 7.4.2).
func hessenberg(a, q matrix[complex128]) {
	n := a.rows
	v, w := make([]complex128, n), make([]complex128, n)
	for k := 0; k+2 < n; k++ {
		v := v[:n-k-1]
		for i := range v {
			v[i] = a.at(k+1+i, k)
		}
		tau := reflector(v)
		a.set(k+1, k, v[0])
		for i := k + 2; i < n; i++ {
			a.set(i, k, 0)
		}
		v[0] = 1
		if tau == 0 {
			continue
		}
		// H^H A from the left: row i loses conj(tau) v[i] (v^H A).
		sums := w[:n-k-1]
		clear(sums)
		for i, x := range v {
			axpy(conj(x), a.row(k + 1 + i)[k+1:], sums)
		}
		cpu.Parallel(len(v), 1+1<<13/n, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				axpy(-conj(tau)*v[i], sums, a.row(k + 1 + i)[k+1:])
			}
		})
		fromRight(a.part(0, n, k+1, n), v, tau)
		if q.cols > 0 {
			fromRight(q.part(0, n, k+1, n), v, tau)
		}
	}
}

// fromRight multiplies a by I - tau v v^H from the right.
func fromRight(a matrix[complex128], v []complex128, tau complex128) {
	adjoint := make([]complex128, len(v))
	copy(adjoint, v)
	conjugate(adjoint)
	cpu.Parallel(a.rows, 1+1<<13/len(v), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			row := a.row(i)
			axpy(-tau*dotc(adjoint, row), adjoint, row)
		}
	})
}

// rotation is the unitary matrix [c, s; -conj(s), c].
type rotation struct {
	c float64
	s complex128
}

// rotationOf returns the rotation that maps (f, g) to (r, 0).
func rotationOf(f, g complex128) (turn rotation, r complex128) {
	if g == 0 {
		return rotation{c: 1}, f
	}
	size, other := cmplx.Abs(f), cmplx.Abs(g)
	if size == 0 {
		return rotation{0, conj(g) / complex(other, 0)}, complex(other, 0)
	}
	length := math.Hypot(size, other)
	phase := f / complex(size, 0)
	return rotation{size / length, phase * conj(g) / complex(length, 0)}, phase * complex(length, 0)
}

// turnRows replaces x and y by c x + s y and c y - conj(s) x.
func (g rotation) turnRows(x, y []complex128) {
	y = y[:len(x)]
	for j, u := range x {
		v := y[j]
		x[j] = complex(g.c*real(u), g.c*imag(u)) + g.s*v
		y[j] = complex(g.c*real(v), g.c*imag(v)) - conj128(g.s)*u
	}
}

// turnColumns multiplies a row by the adjoints of rotations from the right, the first of which changes elements 0 and 1.
func turnColumns(row []complex128, turns []rotation) {
	u := row[0]
	for k, g := range turns {
		v := row[k+1]
		row[k] = complex(g.c*real(u), g.c*imag(u)) + conj128(g.s)*v
		u = complex(g.c*real(v), g.c*imag(v)) - g.s*u
	}
	row[len(turns)] = u
}

// conj128 is conj without its switch on the type, for loops.
func conj128(x complex128) complex128 { return complex(real(x), -imag(x)) }

// schur overwrites the Hessenberg matrix h by the upper triangular Q^H h Q, and multiplies q by Q from the right unless
// q has no columns; without q only the diagonal of the result is meaningful. It reports whether it converged. The
// method is LAPACK's lahqr with one difference: a sweep multiplies the rows above its window from the right when all
// its rotations are known, row by row.
func schur(h, q matrix[complex128]) bool {
	const ulp, least = 0x1p-52, 0x1p-960
	n := h.rows
	turns := make([]rotation, n)
	hi := n - 1
	for limit, since := 30*max(10, n), 0; hi > 0; limit-- {
		lo := hi
		for ; lo > 0; lo-- {
			if negligible(h, lo, ulp, least) {
				h.set(lo, lo-1, 0)
				break
			}
		}
		if lo == hi {
			hi, since = hi-1, 0
			continue
		}
		if limit == 0 {
			return false
		}
		since++
		shift := wilkinson(h, hi)
		if since%10 == 0 { // an exceptional shift
			shift = h.at(hi, hi) + complex(0.75*size1(h.at(hi, hi-1)), 0)
		}
		// Without vectors the rest of the triangular matrix is not needed.
		first, last := lo, hi+1
		if q.cols > 0 {
			first, last = 0, n
		}
		lo = sweepStart(h, lo, hi, shift, ulp)
		sweep(h.part(0, n, 0, last), lo, hi, shift, turns)
		turns := turns[lo:hi]
		cpu.Parallel(hi-first, 1+1<<12/(hi-lo), func(from, to int) {
			for i := first + from; i < first+to; i++ {
				start := max(lo, i+1) // sweep has multiplied row i by the rotations before
				if start < hi {
					turnColumns(h.row(i)[start:], turns[start-lo:])
				}
			}
		})
		cpu.Parallel(min(n, q.rows*q.cols), 1+1<<12/(hi-lo), func(from, to int) {
			for i := from; i < to; i++ {
				turnColumns(q.row(i)[lo:], turns)
			}
		})
	}
	return true
}

// sweepStart returns the row from lo on at which a sweep may start, because two neighbours below the diagonal are so small that
// their product is negligible. From lo the rotations would then hardly differ from the identity, and lose the shift.
func sweepStart(h matrix[complex128], lo, hi int, shift complex128, ulp float64) int {
	for m := hi - 1; m > lo; m-- {
		d, below := h.at(m, m), h.at(m+1, m)
		away := d - shift
		size := size1(away) + size1(below)
		if size1(h.at(m, m-1))*(size1(below)/size) <= ulp*(size1(away)/size)*(size1(d)+size1(h.at(m+1, m+1))) {
			return m
		}
	}
	return lo
}

// sweep performs one step of the QR method on the rows and columns lo to hi of h, and stores its rotations in turns[lo:hi].
// Rotation k multiplies the rows k and k+1 from the left, and of the columns k and k+1 only the rows k to k+2.
func sweep(h matrix[complex128], lo, hi int, shift complex128, turns []rotation) {
	for k := lo; k < hi; k++ {
		x, y := h.at(lo, lo)-shift, h.at(lo+1, lo)
		if k > lo {
			x, y = h.at(k, k-1), h.at(k+1, k-1)
		}
		g, r := rotationOf(x, y)
		switch {
		case k > lo:
			h.set(k, k-1, r)
			h.set(k+1, k-1, 0)
		case lo > 0: // below it, -conj(s) times this element is negligible; see sweepStart
			h.set(lo, lo-1, complex(g.c, 0)*h.at(lo, lo-1))
		}
		turns[k] = g
		g.turnRows(h.row(k)[k:], h.row(k + 1)[k:])
		one := turns[k : k+1]
		for i := k; i <= min(k+2, hi); i++ {
			turnColumns(h.row(i)[k:], one)
		}
	}
}

// negligible reports whether element (k, k-1) of a Hessenberg matrix may be set to zero (Ahues and Tisseur, LAPACK Working
// Note 122, 1997).
func negligible(h matrix[complex128], k int, ulp, least float64) bool {
	below := size1(h.at(k, k-1))
	if below <= least {
		return true
	}
	d, e := h.at(k, k), h.at(k-1, k-1)
	around := size1(d) + size1(e)
	if around == 0 {
		if k >= 2 {
			around += math.Abs(real(h.at(k-1, k-2)))
		}
		if k+1 < h.rows {
			around += math.Abs(real(h.at(k+1, k)))
		}
	}
	if below > ulp*around {
		return false
	}
	above := size1(h.at(k-1, k))
	ab, ba := max(below, above), min(below, above)
	aa, bb := max(size1(d), size1(e-d)), min(size1(d), size1(e-d))
	s := aa + ab
	return ba*(ab/s) <= max(least, ulp*(bb*(aa/s)))
}

// wilkinson returns Wilkinson's shift. Of the two by two block whose last element is h[hi, hi], it is the eigenvalue that is nearer
// to that element.
func wilkinson(h matrix[complex128], hi int) complex128 {
	d := h.at(hi, hi)
	u := cmplx.Sqrt(h.at(hi-1, hi)) * cmplx.Sqrt(h.at(hi, hi-1))
	if u == 0 {
		return d
	}
	x := (h.at(hi-1, hi-1) - d) / 2
	size := complex(max(size1(u), size1(x)), 0) // squares of x and u might underflow
	x, v := x/size, u/size
	y := cmplx.Sqrt(x*x + v*v)
	if real(x)*real(y)+imag(x)*imag(y) < 0 {
		y = -y
	}
	return d - u*(v/(x+y))
}

// triangularVectors returns the eigenvectors of the upper triangular matrix t. Row k of the result is the conjugate of the
// eigenvector for t[k, k], scaled so that its largest element is about 1. The elements of t must not be much larger than the
// number of its rows.
func triangularVectors(t matrix[complex128]) matrix[complex128] {
	const huge = 0x1p400
	n := t.rows
	v := newMatrix[complex128](n, n)
	cpu.Parallel(n, 1+1<<13/(n*n), func(lo, hi int) {
		for k := lo; k < hi; k++ {
			x := v.row(k)
			x[k] = 1
			for i := k - 1; i >= 0; i-- {
				sum := -t.at(i, k) * x[k]
				for j, y := range t.row(i)[i+1 : k] {
					sum -= y * x[i+1+j]
				}
				d := t.at(i, i) - t.at(k, k)
				if least := max(0x1p-52*size1(t.at(k, k)), 0x1p-960); size1(d) < least {
					d = complex(least, 0) // t[k, k] is, nearly, an eigenvalue more than once
				}
				if size1(sum) > huge*size1(d) { // x[i] is 1, and the others are as small
					size := complex(size1(sum), 0)
					for j := i + 1; j <= k; j++ {
						x[j] *= complex(size1(d), 0) / size
					}
					x[i] = (sum / size) / (d / complex(size1(d), 0))
					continue
				}
				x[i] = sum / d
				if size := size1(x[i]); size > huge {
					for j := i; j <= k; j++ {
						x[j] /= complex(size, 0)
					}
				}
			}
			largest := 0.0
			for _, y := range x[:k+1] {
				largest = max(largest, size1(y))
			}
			for j := range x[:k+1] {
				x[j] = conj128(x[j]) / complex(largest, 0)
			}
		}
	})
	return v
}
