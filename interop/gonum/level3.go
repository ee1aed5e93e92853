package gonum

import "gonum.org/v1/gonum/blas"

// level3 computes BLAS's level 3 recursively: it splits a matrix into four blocks until the
// triangular blocks on the diagonal have at most leaf rows. These are computed by the functions of
// one. All other blocks are general products. The arguments must be valid.
type level3[T float64 | complex128] struct {
	leaf int
	one  kernels[T]
	// gemm computes C = alpha op(A) op(B) + beta C. Its arguments are those of BLAS's xGEMM.
	gemm func(tA, tB blas.Transpose, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int)
}

// kernels holds the BLAS functions for a block on the diagonal.
type kernels[T float64 | complex128] struct {
	symm       func(s blas.Side, ul blas.Uplo, m, n int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int)
	syrk       func(ul blas.Uplo, t blas.Transpose, n, k int, alpha T, a []T, lda int, beta T, c []T, ldc int)
	syr2k      func(ul blas.Uplo, t blas.Transpose, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int)
	trmm, trsm func(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int)

	other blas.Transpose // the operation that maps the upper half to the lower: ConjTrans if the matrix is Hermitian
	conj  func(T) T      // applied to the second alpha of syr2k
}

// half returns the number of rows of the first half of a matrix of n rows.
func half(n int) int { return (n + 1) / 2 }

// order returns the order of the triangular or symmetric matrix A in a product with an m x n
// matrix.
func order(s blas.Side, m, n int) int {
	if s == blas.Left {
		return m
	}
	return n
}

// beside returns the stored off-diagonal block: for a lower triangle, the rows from n1 on of the
// first columns; for an upper one, the columns from n1 on of the first rows.
func beside[T any](ul blas.Uplo, n1 int, a []T, lda int) []T {
	if ul == blas.Lower {
		return a[n1*lda:]
	}
	return a[n1:]
}

// syrk computes one triangle of C = alpha A A' + beta C, or of C = alpha A' A + beta C.
func (l level3[T]) syrk(ul blas.Uplo, t blas.Transpose, n, k int, alpha T, a []T, lda int, beta T, c []T, ldc int) {
	if n <= l.leaf {
		l.one.syrk(ul, t, n, k, alpha, a, lda, beta, c, ldc)
		return
	}
	n1 := half(n)
	a2, tA, tB := l.second(t, n1, a, lda)
	l.syrk(ul, t, n1, k, alpha, a, lda, beta, c, ldc)
	l.syrk(ul, t, n-n1, k, alpha, a2, lda, beta, c[n1*ldc+n1:], ldc)
	if ul == blas.Lower {
		l.gemm(tA, tB, n-n1, n1, k, alpha, a2, lda, a, lda, beta, c[n1*ldc:], ldc)
	} else {
		l.gemm(tA, tB, n1, n-n1, k, alpha, a, lda, a2, lda, beta, c[n1:], ldc)
	}
}

// second returns the rows from n1 on of op(A), and the transpositions of both factors of A A'.
func (l level3[T]) second(t blas.Transpose, n1 int, a []T, lda int) (a2 []T, tA, tB blas.Transpose) {
	if t == blas.NoTrans {
		return a[n1*lda:], blas.NoTrans, l.one.other
	}
	return a[n1:], l.one.other, blas.NoTrans
}

// syr2k computes one triangle of C = alpha A B' + conj(alpha) B A' + beta C, or the same with A' B
// and B' A.
func (l level3[T]) syr2k(ul blas.Uplo, t blas.Transpose, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) {
	if n <= l.leaf {
		l.one.syr2k(ul, t, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	n1 := half(n)
	a2, tA, tB := l.second(t, n1, a, lda)
	b2, _, _ := l.second(t, n1, b, ldb)
	l.syr2k(ul, t, n1, k, alpha, a, lda, b, ldb, beta, c, ldc)
	l.syr2k(ul, t, n-n1, k, alpha, a2, lda, b2, ldb, beta, c[n1*ldc+n1:], ldc)
	swapped := l.one.conj(alpha)
	if ul == blas.Lower {
		l.gemm(tA, tB, n-n1, n1, k, alpha, a2, lda, b, ldb, beta, c[n1*ldc:], ldc)
		l.gemm(tA, tB, n-n1, n1, k, swapped, b2, ldb, a, lda, 1, c[n1*ldc:], ldc)
	} else {
		l.gemm(tA, tB, n1, n-n1, k, alpha, a, lda, b2, ldb, beta, c[n1:], ldc)
		l.gemm(tA, tB, n1, n-n1, k, swapped, b, ldb, a2, lda, 1, c[n1:], ldc)
	}
}

// symm computes C = alpha A B + beta C, or C = alpha B A + beta C, with a symmetric or Hermitian A.
// It reads one triangle of A.
func (l level3[T]) symm(s blas.Side, ul blas.Uplo, m, n int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) {
	order := order(s, m, n)
	if order <= l.leaf {
		l.one.symm(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	n1 := half(order)
	off, lower, upper := beside(ul, n1, a, lda), blas.NoTrans, l.one.other // transposition of the off-diagonal block in each half of A
	if ul == blas.Upper {
		lower, upper = upper, lower
	}
	if s == blas.Left {
		b2, c2 := b[n1*ldb:], c[n1*ldc:]
		l.symm(s, ul, n1, n, alpha, a, lda, b, ldb, beta, c, ldc)
		l.symm(s, ul, m-n1, n, alpha, a[n1*lda+n1:], lda, b2, ldb, beta, c2, ldc)
		l.gemm(upper, blas.NoTrans, n1, n, m-n1, alpha, off, lda, b2, ldb, 1, c, ldc)
		l.gemm(lower, blas.NoTrans, m-n1, n, n1, alpha, off, lda, b, ldb, 1, c2, ldc)
		return
	}
	b2, c2 := b[n1:], c[n1:]
	l.symm(s, ul, m, n1, alpha, a, lda, b, ldb, beta, c, ldc)
	l.symm(s, ul, m, n-n1, alpha, a[n1*lda+n1:], lda, b2, ldb, beta, c2, ldc)
	l.gemm(blas.NoTrans, lower, m, n1, n-n1, alpha, b2, ldb, off, lda, 1, c, ldc)
	l.gemm(blas.NoTrans, upper, m, n-n1, n1, alpha, b, ldb, off, lda, 1, c2, ldc)
}

// triangle splits a product with a triangular matrix A, or a system of A, into two halves.
type triangle[T any] struct {
	first, second  int  // the orders of the blocks on the diagonal
	m1, n1, m2, n2 int  // the rows and columns of the halves of B
	a2, off        []T  // the second diagonal block, and the off-diagonal block
	b2             []T  // the second half of B
	firstReads     bool // op(A) B: the first half of the result needs the second half of B
}

func halves[T any](s blas.Side, ul blas.Uplo, tA blas.Transpose, m, n int, a []T, lda int, b []T, ldb int) triangle[T] {
	whole := order(s, m, n)
	first := half(whole)
	t := triangle[T]{first: first, second: whole - first, a2: a[first*lda+first:], off: beside(ul, first, a, lda)}
	upper := (ul == blas.Upper) == (tA == blas.NoTrans)
	if s == blas.Left {
		t.m1, t.n1, t.m2, t.n2 = first, n, m-first, n
		t.b2, t.firstReads = b[first*ldb:], upper
	} else {
		t.m1, t.n1, t.m2, t.n2 = m, first, m, n-first
		t.b2, t.firstReads = b[first:], !upper
	}
	return t
}

// add computes x = beta x + alpha op(off) y on the left, or x = beta x + alpha y op(off) on the
// right. off is the off-diagonal block. x and y are the halves of B; x is a rows by columns matrix.
func (l level3[T]) add(s blas.Side, tA blas.Transpose, rows, columns, inner int, alpha T, off []T, lda int, x, y []T, ldb int, beta T) {
	if s == blas.Left {
		l.gemm(tA, blas.NoTrans, rows, columns, inner, alpha, off, lda, y, ldb, beta, x, ldb)
	} else {
		l.gemm(blas.NoTrans, tA, rows, columns, inner, alpha, y, ldb, off, lda, beta, x, ldb)
	}
}

// trmm computes B = alpha op(A) B or B = alpha B op(A), with a triangular A.
func (l level3[T]) trmm(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int) {
	if order(s, m, n) <= l.leaf {
		l.one.trmm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
		return
	}
	t := halves(s, ul, tA, m, n, a, lda, b, ldb)
	first := func() { l.trmm(s, ul, tA, d, t.m1, t.n1, alpha, a, lda, b, ldb) }
	second := func() { l.trmm(s, ul, tA, d, t.m2, t.n2, alpha, t.a2, lda, t.b2, ldb) }
	if t.firstReads {
		first()
		l.add(s, tA, t.m1, t.n1, t.second, alpha, t.off, lda, b, t.b2, ldb, 1)
		second()
	} else {
		second()
		l.add(s, tA, t.m2, t.n2, t.first, alpha, t.off, lda, t.b2, b, ldb, 1)
		first()
	}
}

// trsm solves op(A) X = alpha B or X op(A) = alpha B, with a triangular A. It overwrites B with X.
func (l level3[T]) trsm(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int) {
	if order(s, m, n) <= l.leaf {
		l.one.trsm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
		return
	}
	t := halves(s, ul, tA, m, n, a, lda, b, ldb)
	if t.firstReads { // the second half is solved first
		l.trsm(s, ul, tA, d, t.m2, t.n2, alpha, t.a2, lda, t.b2, ldb)
		l.add(s, tA, t.m1, t.n1, t.second, -1, t.off, lda, b, t.b2, ldb, alpha)
		l.trsm(s, ul, tA, d, t.m1, t.n1, 1, a, lda, b, ldb)
		return
	}
	l.trsm(s, ul, tA, d, t.m1, t.n1, alpha, a, lda, b, ldb)
	l.add(s, tA, t.m2, t.n2, t.first, -1, t.off, lda, t.b2, b, ldb, alpha)
	l.trsm(s, ul, tA, d, t.m2, t.n2, 1, t.a2, lda, t.b2, ldb)
}
