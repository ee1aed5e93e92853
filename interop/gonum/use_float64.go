package gonum

import "gonum.org/v1/gonum/blas"

// real returns level 3 of float64.
func (b *BLAS) real() level3[float64] {
	g := b.Implementation
	return level3[float64]{leaf: b.leaf, gemm: b.Dgemm, one: kernels[float64]{
		symm: g.Dsymm, syrk: g.Dsyrk, syr2k: g.Dsyr2k, trmm: g.Dtrmm, trsm: g.Dtrsm,
		other: blas.Trans, conj: func(x float64) float64 { return x },
	}}
}

// Dgemm computes C = alpha op(A) op(B) + beta C, where op is the transpose for blas.Trans and
// blas.ConjTrans. C is [m, n], and the sums have k terms.
func (b *BLAS) Dgemm(tA, tB blas.Transpose, m, n, k int, alpha float64, a []float64, lda int, bs []float64, ldb int, beta float64, c []float64, ldc int) {
	if alpha == 0 || !b.takes(tA, tB, m, n, k, len(a), lda, len(bs), ldb, len(c), ldc) {
		b.Implementation.Dgemm(tA, tB, m, n, k, alpha, a, lda, bs, ldb, beta, c, ldc)
		return
	}
	product(b, tA, tB, m, n, k, alpha, a, lda, bs, ldb, beta, c, ldc)
}

// Dsymm computes C = alpha A B + beta C, or alpha B A + beta C for blas.Right, with a
// symmetric A.
func (b *BLAS) Dsymm(s blas.Side, ul blas.Uplo, m, n int, alpha float64, a []float64, lda int, bs []float64, ldb int, beta float64, c []float64, ldc int) {
	if alpha == 0 || !b.takesSymm(s, ul, m, n, len(a), lda, len(bs), ldb, len(c), ldc) {
		b.Implementation.Dsymm(s, ul, m, n, alpha, a, lda, bs, ldb, beta, c, ldc)
		return
	}
	b.real().symm(s, ul, m, n, alpha, a, lda, bs, ldb, beta, c, ldc)
}

// Dsyrk computes one triangle of C = alpha A Aᵀ + beta C, or of alpha Aᵀ A + beta C.
func (b *BLAS) Dsyrk(ul blas.Uplo, t blas.Transpose, n, k int, alpha float64, a []float64, lda int, beta float64, c []float64, ldc int) {
	if alpha == 0 || !b.takesSyrk(ul, t, blas.Trans, n, k, len(a), lda, len(a), lda, len(c), ldc) {
		b.Implementation.Dsyrk(ul, t, n, k, alpha, a, lda, beta, c, ldc)
		return
	}
	b.real().syrk(ul, t, n, k, alpha, a, lda, beta, c, ldc)
}

// Dsyr2k computes one triangle of C = alpha (A Bᵀ + B Aᵀ) + beta C, or of alpha (Aᵀ B + Bᵀ A)
// + beta C.
func (b *BLAS) Dsyr2k(ul blas.Uplo, t blas.Transpose, n, k int, alpha float64, a []float64, lda int, bs []float64, ldb int, beta float64, c []float64, ldc int) {
	if alpha == 0 || !b.takesSyrk(ul, t, blas.Trans, n, k, len(a), lda, len(bs), ldb, len(c), ldc) {
		b.Implementation.Dsyr2k(ul, t, n, k, alpha, a, lda, bs, ldb, beta, c, ldc)
		return
	}
	b.real().syr2k(ul, t, n, k, alpha, a, lda, bs, ldb, beta, c, ldc)
}

// Dtrmm computes B = alpha op(A) B, or alpha B op(A) for blas.Right, with a triangular A.
func (b *BLAS) Dtrmm(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float64, a []float64, lda int, bs []float64, ldb int) {
	if alpha == 0 || !b.takesTriangle(s, ul, tA, d, m, n, len(a), lda, len(bs), ldb) {
		b.Implementation.Dtrmm(s, ul, tA, d, m, n, alpha, a, lda, bs, ldb)
		return
	}
	b.real().trmm(s, ul, tA, d, m, n, alpha, a, lda, bs, ldb)
}

// Dtrsm solves op(A) X = alpha B, or X op(A) = alpha B for blas.Right, with a triangular A.
// It overwrites B with X.
func (b *BLAS) Dtrsm(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float64, a []float64, lda int, bs []float64, ldb int) {
	if alpha == 0 || !b.takesTriangle(s, ul, tA, d, m, n, len(a), lda, len(bs), ldb) {
		b.Implementation.Dtrsm(s, ul, tA, d, m, n, alpha, a, lda, bs, ldb)
		return
	}
	b.real().trsm(s, ul, tA, d, m, n, alpha, a, lda, bs, ldb)
}

func isUplo(ul blas.Uplo) bool { return ul == blas.Upper || ul == blas.Lower }

// takesSymm reports whether gpk computes a product with a symmetric matrix.
func (b *BLAS) takesSymm(s blas.Side, ul blas.Uplo, m, n, lenA, lda, lenB, ldb, lenC, ldc int) bool {
	order := order(s, m, n)
	return (s == blas.Left || s == blas.Right) && isUplo(ul) && b.large(m, n, order) && fits(order, order, lda, lenA) && fits(m, n, ldb, lenB) && fits(m, n, ldc, lenC)
}

// takesSyrk reports whether gpk computes a product of A with itself, or of A with B. t may be
// blas.NoTrans or other. gonum computes the product of a real matrix with blas.ConjTrans.
func (b *BLAS) takesSyrk(ul blas.Uplo, t, other blas.Transpose, n, k, lenA, lda, lenB, ldb, lenC, ldc int) bool {
	if !isUplo(ul) || t != blas.NoTrans && t != other || !b.large(n, n, k) {
		return false
	}
	rows, columns := stored(t, n, k)
	return fits(rows, columns, lda, lenA) && fits(rows, columns, ldb, lenB) && fits(n, n, ldc, lenC)
}

// takesTriangle reports whether gpk computes a product with a triangular matrix, or solves
// its system.
func (b *BLAS) takesTriangle(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n, lenA, lda, lenB, ldb int) bool {
	if !isTransposed(tA) || d != blas.Unit && d != blas.NonUnit {
		return false
	}
	return b.takesSymm(s, ul, m, n, lenA, lda, lenB, ldb, lenB, ldb)
}
