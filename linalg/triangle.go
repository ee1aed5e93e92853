package linalg

import "github.com/gpk-go/gpk/internal/cpu"

// triangleBlock is the largest order of a triangular system that is solved by substitution.
const triangleBlock = 16

// solveLower sets b = l^-1 b for a lower triangular l; with unit, its diagonal counts as 1.
// The halves of the unknowns are solved one after the other:
//
//	x1 = l11^-1 b1    x2 = l22^-1 (b2 - l21 x1)
func solveLower[T number](l, b matrix[T], unit bool) {
	n := l.rows
	switch {
	case b.cols == 0:
		return
	case b.cols == 1 && n < manyRows && !isComplex[T]():
		solveVector(l, b, false, unit)
		return
	case loops[T](n, max(n, b.cols)):
		for first := 0; first < n; first += loopColumns {
			last := min(first+loopColumns, n)
			for i := first; i < last; i++ {
				x := b.row(i)
				if !unit {
					divide(x, l.at(i, i))
				}
				if i+1 < last {
					cpu.SubtractOuter(b.data[(i+1)*b.stride:], b.stride, last-i-1, l.data[(i+1)*l.stride+i:], l.stride, x)
				}
			}
			if last < n {
				cpu.SubtractProduct(b.data[last*b.stride:], b.stride, n-last, b.cols, l.data[last*l.stride+first:], l.stride, 1, b.data[first*b.stride:], b.stride, last-first, false)
			}
		}
		return
	case n > triangleBlock:
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
	switch {
	case b.cols == 0:
		return
	case b.cols == 1 && n < manyRows && !isComplex[T]():
		solveVector(u, b, true, unit)
		return
	case n > triangleBlock && loops[T](n, max(n, b.cols)):
		for last := n; last > 0; last -= loopColumns {
			first := max(last-loopColumns, 0)
			for i := last - 1; i >= first; i-- {
				x := b.row(i)
				if !unit {
					divide(x, u.at(i, i))
				}
				cpu.SubtractOuter(b.data[first*b.stride:], b.stride, i-first, u.data[first*u.stride+i:], u.stride, x)
			}
			cpu.SubtractProduct(b.data, b.stride, first, b.cols, u.data[first:], u.stride, 1, b.data[first*b.stride:], b.stride, last-first, true)
		}
		return
	case n > triangleBlock:
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

// solveRight sets b = b l^-H for a lower triangular l, by a forward substitution for each row.
func solveRight[T number](l, b matrix[T]) {
	n := l.rows
	if n > triangleBlock {
		h := half(n)
		solveRight(l.part(0, h, 0, h), b.part(0, b.rows, 0, h))
		subtract(b.part(0, b.rows, h, n), plain(b.part(0, b.rows, 0, h)), adj(l.part(h, n, 0, h)))
		solveRight(l.part(h, n, h, n), b.part(0, b.rows, h, n))
		return
	}
	var adjoint [triangleBlock * triangleBlock]T
	for i := range n {
		for j := range i + 1 {
			adjoint[i*n+j] = conj(l.at(i, j))
		}
	}
	cpu.Parallel(b.rows, 256, func(lo, hi int) {
		rows := b.part(lo, hi, 0, n)
		for ; rows.rows >= 4; rows = rows.part(4, rows.rows, 0, n) {
			substitute4(adjoint[:], rows.row(0), rows.row(1), rows.row(2), rows.row(3))
		}
		for i := range rows.rows {
			substitute(adjoint[:], rows.row(i))
		}
	})
}

// substitute solves x' l^T = x for a lower triangular l of len(x) rows without gaps, and stores x' in x.
func substitute[T number](l, x []T) {
	n := len(x)
	for j := range n {
		s := x[j]
		for k, v := range l[j*n:][:j] {
			s -= T(v * x[k]) // rounded, so that it is not fused to a multiply-add
		}
		x[j] = s / l[j*n+j]
	}
}

// substitute4 is substitute for four rows at once. The four sums do not depend on each other.
func substitute4[T number](l, a, b, c, d []T) {
	n := len(a)
	for j := range n {
		x, y, z, w := a[:j+1], b[:j+1], c[:j+1], d[:j+1]
		p, q, r, s := x[j], y[j], z[j], w[j]
		for k, v := range l[j*n:][:j] {
			p -= T(v * x[k])
			q -= T(v * y[k])
			r -= T(v * z[k])
			s -= T(v * w[k])
		}
		v := l[j*n+j]
		x[j], y[j], z[j], w[j] = p/v, q/v, r/v, s/v
	}
}

// divide divides the elements of x by d. It does not multiply by the reciprocal of d, which can overflow or underflow
// although the quotient does not.
func divide[T number](x []T, d T) {
	for i := range x {
		x[i] /= d
	}
}

// half returns the order of the first of two blocks, a multiple of the block of the last level.
func half(n int) int { return (n/2 + triangleBlock - 1) / triangleBlock * triangleBlock }
