package linalg

import "github.com/gpk-go/gpk/internal/cpu"

// triangleBlock is the order up to which a triangular system is solved by substitution.
const triangleBlock = 16

// fewRows is the number of rows below which solveRight does not transpose them.
const fewRows = 8

// solveLower sets b = l^-1 b for a lower triangular l; with unit, its diagonal counts as 1.
// The halves of the unknowns are solved one after the other:
//
//	x1 = l11^-1 b1    x2 = l22^-1 (b2 - l21 x1)
func solveLower[T number](l, b matrix[T], unit bool) {
	n := l.rows
	if n > triangleBlock {
		h := half(n)
		solveLower(l.part(0, h, 0, h), b.part(0, h, 0, b.cols), unit)
		subtract(b.part(h, n, 0, b.cols), plain(l.part(h, n, 0, h)), plain(b.part(0, h, 0, b.cols)))
		solveLower(l.part(h, n, h, n), b.part(h, n, 0, b.cols), unit)
		return
	}
	for i := range n {
		x := b.row(i)
		for k, v := range l.row(i)[:i] {
			axpy(-v, b.row(k), x)
		}
		if !unit {
			divide(x, l.at(i, i))
		}
	}
}

// solveUpper sets b = u^-1 b for an upper triangular u.
func solveUpper[T number](u, b matrix[T], unit bool) {
	n := u.rows
	if n > triangleBlock {
		h := half(n)
		solveUpper(u.part(h, n, h, n), b.part(h, n, 0, b.cols), unit)
		subtract(b.part(0, h, 0, b.cols), plain(u.part(0, h, h, n)), plain(b.part(h, n, 0, b.cols)))
		solveUpper(u.part(0, h, 0, h), b.part(0, h, 0, b.cols), unit)
		return
	}
	for i := n - 1; i >= 0; i-- {
		x := b.row(i)
		for k := i + 1; k < n; k++ {
			axpy(-u.at(i, k), b.row(k), x)
		}
		if !unit {
			divide(x, u.at(i, i))
		}
	}
}

// solveRight sets b = b l^-H for a lower triangular l: row by row a forward substitution.
func solveRight[T number](l, b matrix[T]) {
	n := l.rows
	if n > triangleBlock {
		h := half(n)
		solveRight(l.part(0, h, 0, h), b.part(0, b.rows, 0, h))
		subtract(b.part(0, b.rows, h, n), plain(b.part(0, b.rows, 0, h)), adj(l.part(h, n, 0, h)))
		solveRight(l.part(h, n, h, n), b.part(0, b.rows, h, n))
		return
	}
	cpu.Parallel(b.rows, 256, func(lo, hi int) {
		rows := b.part(lo, hi, 0, n)
		if rows.rows < fewRows {
			for i := range rows.rows {
				x := rows.row(i)
				for j := range n {
					x[j] = (x[j] - dotc(l.row(j)[:j], x[:j])) / conj(l.at(j, j))
				}
			}
			return
		}
		t := rows.adjoint() // l^-1 b^H, whose rows are long
		solveLower(l, t, false)
		t = t.adjoint()
		for i := range rows.rows {
			copy(rows.row(i), t.row(i))
		}
	})
}

// divide divides the elements of x by d. A quotient, not a product with the reciprocal,
// which underflows and overflows where the quotient does not.
func divide[T number](x []T, d T) {
	for i := range x {
		x[i] /= d
	}
}

// half returns the order of the first of two blocks, a multiple of the block of the last level.
func half(n int) int { return (n/2 + triangleBlock - 1) / triangleBlock * triangleBlock }
