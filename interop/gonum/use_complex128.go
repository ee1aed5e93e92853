package gonum

import (
	"math/cmplx"

	"gonum.org/v1/gonum/blas"
)

// symmetric returns level 3 of complex128 with symmetric matrices.
func (b *BLAS) symmetric() level3[complex128] {
	g := b.Implementation
	return level3[complex128]{leaf: b.leaf, gemm: b.Zgemm, one: kernels[complex128]{
		symm: g.Zsymm, syrk: g.Zsyrk, syr2k: g.Zsyr2k, trmm: g.Ztrmm, trsm: g.Ztrsm,
		other: blas.Trans, conj: func(x complex128) complex128 { return x },
	}}
}

// hermitian returns level 3 of complex128 with Hermitian matrices. The factors of C and of A
// Aᴴ are real.
func (b *BLAS) hermitian() level3[complex128] {
	g := b.Implementation
	return level3[complex128]{leaf: b.leaf, gemm: b.Zgemm, one: kernels[complex128]{
		symm: g.Zhemm,
		syrk: func(ul blas.Uplo, t blas.Transpose, n, k int, alpha complex128, a []complex128, lda int, beta complex128, c []complex128, ldc int) {
			g.Zherk(ul, t, n, k, real(alpha), a, lda, real(beta), c, ldc)
		},
		syr2k: func(ul blas.Uplo, t blas.Transpose, n, k int, alpha complex128, a []complex128, lda int, b []complex128, ldb int, beta complex128, c []complex128, ldc int) {
			g.Zher2k(ul, t, n, k, alpha, a, lda, b, ldb, real(beta), c, ldc)
		},
		other: blas.ConjTrans, conj: cmplx.Conj,
	}}
}

// Zgemm computes C = alpha op(A) op(B) + beta C. C is [m, n], and the sums have k terms.
func (b *BLAS) Zgemm(tA, tB blas.Transpose, m, n, k int, alpha complex128, a []complex128, lda int, bs []complex128, ldb int, beta complex128, c []complex128, ldc int) {
	if alpha == 0 || !b.takes(tA, tB, m, n, k, len(a), lda, len(bs), ldb, len(c), ldc) {
		b.Implementation.Zgemm(tA, tB, m, n, k, alpha, a, lda, bs, ldb, beta, c, ldc)
		return
	}
	product(b, tA, tB, m, n, k, alpha, a, lda, bs, ldb, beta, c, ldc)
}

// Zhemm computes C = alpha A B + beta C, or alpha B A + beta C for blas.Right, with a
// Hermitian A.
func (b *BLAS) Zhemm(s blas.Side, ul blas.Uplo, m, n int, alpha complex128, a []complex128, lda int, bs []complex128, ldb int, beta complex128, c []complex128, ldc int) {
	if alpha == 0 || !b.takesSymm(s, ul, m, n, len(a), lda, len(bs), ldb, len(c), ldc) {
		b.Implementation.Zhemm(s, ul, m, n, alpha, a, lda, bs, ldb, beta, c, ldc)
		return
	}
	b.hermitian().symm(s, ul, m, n, alpha, a, lda, bs, ldb, beta, c, ldc)
}

// Zsymm is Zhemm with a symmetric A.
func (b *BLAS) Zsymm(s blas.Side, ul blas.Uplo, m, n int, alpha complex128, a []complex128, lda int, bs []complex128, ldb int, beta complex128, c []complex128, ldc int) {
	if alpha == 0 || !b.takesSymm(s, ul, m, n, len(a), lda, len(bs), ldb, len(c), ldc) {
		b.Implementation.Zsymm(s, ul, m, n, alpha, a, lda, bs, ldb, beta, c, ldc)
		return
	}
	b.symmetric().symm(s, ul, m, n, alpha, a, lda, bs, ldb, beta, c, ldc)
}

// Zherk computes one triangle of C = alpha A Aᴴ + beta C, or of alpha Aᴴ A + beta C.
func (b *BLAS) Zherk(ul blas.Uplo, t blas.Transpose, n, k int, alpha float64, a []complex128, lda int, beta float64, c []complex128, ldc int) {
	if alpha == 0 || !b.takesSyrk(ul, t, blas.ConjTrans, n, k, len(a), lda, len(a), lda, len(c), ldc) {
		b.Implementation.Zherk(ul, t, n, k, alpha, a, lda, beta, c, ldc)
		return
	}
	b.hermitian().syrk(ul, t, n, k, complex(alpha, 0), a, lda, complex(beta, 0), c, ldc)
}

// Zsyrk computes one triangle of C = alpha A Aᵀ + beta C, or of alpha Aᵀ A + beta C.
func (b *BLAS) Zsyrk(ul blas.Uplo, t blas.Transpose, n, k int, alpha complex128, a []complex128, lda int, beta complex128, c []complex128, ldc int) {
	if alpha == 0 || !b.takesSyrk(ul, t, blas.Trans, n, k, len(a), lda, len(a), lda, len(c), ldc) {
		b.Implementation.Zsyrk(ul, t, n, k, alpha, a, lda, beta, c, ldc)
		return
	}
	b.symmetric().syrk(ul, t, n, k, alpha, a, lda, beta, c, ldc)
}

// Zher2k computes one triangle of C = alpha A Bᴴ + conj(alpha) B Aᴴ + beta C, or of alpha Aᴴ B
// + conj(alpha) Bᴴ A + beta C.
func (b *BLAS) Zher2k(ul blas.Uplo, t blas.Transpose, n, k int, alpha complex128, a []complex128, lda int, bs []complex128, ldb int, beta float64, c []complex128, ldc int) {
	if alpha == 0 || !b.takesSyrk(ul, t, blas.ConjTrans, n, k, len(a), lda, len(bs), ldb, len(c), ldc) {
		b.Implementation.Zher2k(ul, t, n, k, alpha, a, lda, bs, ldb, beta, c, ldc)
		return
	}
	b.hermitian().syr2k(ul, t, n, k, alpha, a, lda, bs, ldb, complex(beta, 0), c, ldc)
}

// Zsyr2k computes one triangle of C = alpha (A Bᵀ + B Aᵀ) + beta C, or of alpha (Aᵀ B + Bᵀ A)
// + beta C.
func (b *BLAS) Zsyr2k(ul blas.Uplo, t blas.Transpose, n, k int, alpha complex128, a []complex128, lda int, bs []complex128, ldb int, beta complex128, c []complex128, ldc int) {
	if alpha == 0 || !b.takesSyrk(ul, t, blas.Trans, n, k, len(a), lda, len(bs), ldb, len(c), ldc) {
		b.Implementation.Zsyr2k(ul, t, n, k, alpha, a, lda, bs, ldb, beta, c, ldc)
		return
	}
	b.symmetric().syr2k(ul, t, n, k, alpha, a, lda, bs, ldb, beta, c, ldc)
}

// Ztrmm computes B = alpha op(A) B, or alpha B op(A) for blas.Right, with a triangular A.
func (b *BLAS) Ztrmm(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha complex128, a []complex128, lda int, bs []complex128, ldb int) {
	if alpha == 0 || !b.takesTriangle(s, ul, tA, d, m, n, len(a), lda, len(bs), ldb) {
		b.Implementation.Ztrmm(s, ul, tA, d, m, n, alpha, a, lda, bs, ldb)
		return
	}
	b.symmetric().trmm(s, ul, tA, d, m, n, alpha, a, lda, bs, ldb)
}

// Ztrsm solves op(A) X = alpha B, or X op(A) = alpha B for blas.Right, with a triangular A. It
// overwrites B with X.
func (b *BLAS) Ztrsm(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha complex128, a []complex128, lda int, bs []complex128, ldb int) {
	if alpha == 0 || !b.takesTriangle(s, ul, tA, d, m, n, len(a), lda, len(bs), ldb) {
		b.Implementation.Ztrsm(s, ul, tA, d, m, n, alpha, a, lda, bs, ldb)
		return
	}
	b.symmetric().trsm(s, ul, tA, d, m, n, alpha, a, lda, bs, ldb)
}
