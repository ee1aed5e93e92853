#include "common.h"
#include "factor.h"
#include "spectrum.h"

// The functions of each type.
#define ONE(X, or, sy, type) \
	int cusolverDn##X##potrfBatched(void* h, int uplo, int n, void* a, int lda, int* info, int batch) { return potrf_batched(h, uplo, n, a, lda, info, batch, type); } \
	int cusolverDn##X##or##gqr_bufferSize(void* h, int m, int n, int k, const void* a, int lda, const void* tau, int* size) { return orgqr_size(h, m, n, k, a, lda, tau, size); } \
	int cusolverDn##X##or##gqr(void* h, int m, int n, int k, void* a, int lda, const void* tau, void* work, int size, int* info) { \
		return orgqr(h, m, n, k, a, lda, tau, work, size, info, type); \
	} \
	int cusolverDn##X##sy##evjBatched_bufferSize(void* h, int jobz, int uplo, int n, const void* a, int lda, const void* w, int* size, void* params, int batch) { \
		return syevj_batched_size(h, jobz, uplo, n, a, lda, w, size, params, batch); \
	} \
	int cusolverDn##X##sy##evjBatched(void* h, int jobz, int uplo, int n, void* a, int lda, void* w, void* work, int size, int* info, void* params, int batch) { \
		return syevj_batched(h, jobz, uplo, n, a, lda, w, work, size, info, params, batch, type); \
	} \
	int cusolverDn##X##gesvdj_bufferSize(void* h, int jobz, int econ, int m, int n, const void* a, int lda, const void* s, const void* u, int ldu, const void* v, int ldv, \
		int* size, void* params) { return gesvdj_size(h, jobz, econ, m, n, a, lda, s, u, ldu, v, ldv, size, params); } \
	int cusolverDn##X##gesvdj(void* h, int jobz, int econ, int m, int n, void* a, int lda, void* s, void* u, int ldu, void* v, int ldv, void* work, int size, int* info, \
		void* params) { return gesvdj(h, jobz, econ, m, n, a, lda, s, u, ldu, v, ldv, work, size, info, params, type); } \
	int cusolverDn##X##gesvdjBatched_bufferSize(void* h, int jobz, int m, int n, const void* a, int lda, const void* s, const void* u, int ldu, const void* v, int ldv, \
		int* size, void* params, int batch) { return gesvdj_batched_size(h, jobz, m, n, a, lda, s, u, ldu, v, ldv, size, params, batch); } \
	int cusolverDn##X##gesvdjBatched(void* h, int jobz, int m, int n, void* a, int lda, void* s, void* u, int ldu, void* v, int ldv, void* work, int size, int* info, \
		void* params, int batch) { return gesvdj_batched(h, jobz, m, n, a, lda, s, u, ldu, v, ldv, work, size, info, params, batch, type); }
ONE(S, or, sy, 0)
ONE(D, or, sy, 1)
ONE(C, un, he, 4)
ONE(Z, un, he, 5)
