package linalg

import (
	"math"
	"unsafe"

	"github.com/gpk-go/gpk/internal/cpu"
)

const (
	choleskyBlock = 32  // largest order for which loops compute Cholesky's factorization
	updateBlock   = 128 // columns of a symmetric update that one product computes
	luBlock       = 8   // largest number of columns for which loops compute LU

	choleskyOuterLeast = 16 // from this order on, sums of products take less time than outer products

	loopColumns = 8 // columns of a factor whose products are subtracted from the rest of a matrix at once

	loopBytes = 1 << 15 // largest matrix of real numbers, in bytes, that loops compute: the size of a first-level cache
)

// loops reports whether a matrix is so small that loops over it take less time than calls of products.
func loops[T number](rows, cols int) bool {
	return !isComplex[T]() && rows*cols*int(unsafe.Sizeof(T(0))) <= loopBytes
}

// cholesky replaces the lower triangle of a by L with A = L L^H. It overwrites the upper triangle with other numbers.
// It returns the order of the first leading minor that is not positive, or 0. The recursion is
//
//	L11 L11^H = A11    L21 = A21 L11^-H    L22 L22^H = A22 - L21 L21^H
//
// (Gustavson, Recursion leads to automatic variable blocking for dense linear-algebra algorithms, IBM J. Res. Dev. 41,
// 1997).
func cholesky[T number](a matrix[T]) (order int) {
	n := a.rows
	switch {
	case n > choleskyOuterLeast && loops[T](n, n):
		return choleskyOuter(a)
	case n <= choleskyBlock:
		return choleskyLoops(a)
	}
	h := half(n)
	if order = cholesky(a.part(0, h, 0, h)); order > 0 {
		return order
	}
	solveRight(a.part(0, h, 0, h), a.part(h, n, 0, h))
	for j := h; j < n; j += updateBlock { // the block columns of the lower triangle
		to := min(j+updateBlock, n)
		subtract(a.part(j, n, j, to), plain(a.part(j, n, 0, h)), adj(a.part(j, to, 0, h)))
	}
	if order = cholesky(a.part(h, n, h, n)); order > 0 {
		return h + order
	}
	return 0
}

// choleskyOuter is cholesky by blocks of a few columns: it subtracts the outer products of the columns with themselves from the
// rest of the matrix. It does so in blocks of rows. A block's columns end at the diagonal element of its last row, so a few
// elements above the diagonal change.
func choleskyOuter[T number](a matrix[T]) (order int) {
	const block = 16
	n := a.rows
	data, lent := scratch[T](loopColumns * n) // the transpose of the columns
	defer lent.Free()
	for first := 0; first < n; first += loopColumns {
		last := min(first+loopColumns, n)
		for j := first; j < last; j++ {
			d, _ := parts(a.at(j, j))
			if !(d > 0) {
				return j + 1
			}
			root := of2[T](math.Sqrt(d), 0)
			a.set(j, j, root)
			column := data[(j-first)*n:][:n]
			for i := j + 1; i < n; i++ {
				column[i] = a.data[i*a.stride+j] / root
				a.data[i*a.stride+j] = column[i]
			}
			if j+1 < last {
				cpu.SubtractOuter(a.data[(j+1)*a.stride+j+1:], a.stride, n-j-1, a.data[(j+1)*a.stride+j:], a.stride, column[j+1:last])
			}
		}
		for i := last; i < n; i += block {
			to := min(i+block, n)
			cpu.SubtractProduct(a.data[i*a.stride+last:], a.stride, to-i, to-last, a.data[i*a.stride+first:], a.stride, 1, data[last:], n, last-first, false)
		}
	}
	return 0
}

func choleskyLoops[T number](a matrix[T]) (order int) {
	for j := range a.rows {
		lj := a.row(j)[:j]
		d, _ := parts(a.at(j, j) - dotc(lj, lj))
		if !(d > 0) {
			return j + 1
		}
		root := of2[T](math.Sqrt(d), 0)
		a.set(j, j, root)
		for i := j + 1; i < a.rows; i++ {
			a.set(i, j, (a.at(i, j)-dotc(lj, a.row(i)[:j]))/root)
		}
	}
	return 0
}

// lu replaces a, of m rows and n columns, by its factors with P A = L U: U on and above the diagonal, and L, whose
// diagonal is 1, below it. Row i was exchanged with row pivots[i], for i = 0, 1, … (partial pivoting by the largest
// |re| + |im|). It returns the index of the first pivot that is exactly zero, or -1, and continues after it. The
// recursion halves the columns (Toledo, Locality of reference in LU decomposition with partial pivoting, SIAM J. Matrix
// Anal. Appl. 18, 1997).
func lu[T number](a matrix[T], pivots []int) (zero int) {
	m, n := a.rows, a.cols
	k := min(m, n)
	if k <= luBlock || loops[T](m, k) {
		zero = luLoops(a.part(0, m, 0, k), pivots)
	} else {
		h := k / 2
		if h > luBlock {
			h = (h + luBlock - 1) / luBlock * luBlock
		}
		left, right := a.part(0, m, 0, h), a.part(0, m, h, k)
		zero = lu(left, pivots[:h])
		exchange(right, pivots[:h])
		solveLower(left.part(0, h, 0, h), right.part(0, h, 0, k-h), true)
		subtract(right.part(h, m, 0, k-h), plain(left.part(h, m, 0, h)), plain(right.part(0, h, 0, k-h)))
		z := lu(right.part(h, m, 0, k-h), pivots[h:k])
		if zero < 0 && z >= 0 {
			zero = h + z
		}
		exchange(left.part(h, m, 0, h), pivots[h:k])
		for i := h; i < k; i++ {
			pivots[i] += h
		}
	}
	if n > k { // more columns than rows
		rest := a.part(0, m, k, n)
		exchange(rest, pivots)
		solveLower(a.part(0, k, 0, k), rest, true)
	}
	return zero
}

// exchange exchanges row i with row pivots[i], for i = 0, 1, ….
func exchange[T number](a matrix[T], pivots []int) {
	for i, p := range pivots {
		a.swap(i, p)
	}
}

// permutation returns the order of n rows after the exchanges: row i of P A is row order[i] of A. odd reports whether
// the number of exchanges is odd.
func permutation(pivots []int, n int) (order []int, odd bool) {
	order = make([]int, n)
	for i := range order {
		order[i] = i
	}
	for i, p := range pivots {
		if i != p {
			order[i], order[p] = order[p], order[i]
			odd = !odd
		}
	}
	return order, odd
}

// pivotOf returns the row of the largest element of column k on or below the diagonal, and its absolute value. Of equal
// elements the first counts.
func pivotOf[T number](a matrix[T], k int) (row int, largest float64) {
	switch data := any(a.data).(type) {
	case []float32:
		return pivotReal(data, a.rows, a.stride, k)
	case []float64:
		return pivotReal(data, a.rows, a.stride, k)
	}
	row, largest = k, size1(a.at(k, k))
	for i := k + 1; i < a.rows; i++ {
		if v := size1(a.data[i*a.stride+k]); v > largest {
			row, largest = i, v
		}
	}
	return row, largest
}

func pivotReal[T float32 | float64](data []T, rows, stride, k int) (row int, largest float64) {
	row, largest = k, math.Abs(float64(data[k*stride+k]))
	for i := k + 1; i < rows; i++ {
		if v := math.Abs(float64(data[i*stride+k])); v > largest {
			row, largest = i, v
		}
	}
	return row, largest
}
