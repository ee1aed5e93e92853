// A libcusolver.so.12 over the host's memory, for tests: streams are ignored, and a call returns when its
// work is done. All types are computed in double complex, by the plainest algorithms. It checks what
// cuSOLVER only assumes: workspaces of the size that was asked for, leading dimensions, one call at a
// time on a handle. It overwrites the workspaces, and what a factorization does not define.
//
// GPK_FAKE_CUSOLVER is FUNCTION:RESULT:INFO, the function without its type: it returns RESULT, or, where that
// is 0, reports INFO for the last matrix.

#include <complex.h>
#include <math.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef double complex number;
typedef struct { atomic_int busy; void* stream; } handle;

// The product without C's care for infinities, and the square of the absolute value.
static inline number mul(number a, number b) {
	double x = creal(a), y = cimag(a), u = creal(b), v = cimag(b);
	return CMPLX(x * u - y * v, x * v + y * u);
}
static inline double square(number a) { return creal(a) * creal(a) + cimag(a) * cimag(a); }

enum { SUCCESS = 0, INVALID = 3, INTERNAL = 7 };

static size_t bytes_of(int type) { return (type & 1 ? 8 : 4) * (type < 4 ? 1 : 2); }

static number load(int type, const void* p, int64_t i) {
	switch (type) {
	case 0: return ((const float*)p)[i];
	case 1: return ((const double*)p)[i];
	case 4: return ((const float complex*)p)[i];
	}
	return ((const number*)p)[i];
}

static void store(int type, void* p, int64_t i, number v) {
	switch (type) {
	case 0: ((float*)p)[i] = (float)creal(v); break;
	case 1: ((double*)p)[i] = creal(v); break;
	case 4: ((float complex*)p)[i] = (float complex)v; break;
	default: ((number*)p)[i] = v;
	}
}

// A matrix in double complex, without gaps, by columns.
static number* fetch(int type, const void* p, int64_t m, int64_t n, int64_t ld) {
	number* a = malloc(sizeof(number) * (size_t)(m * n + 1));
	for (int64_t j = 0; j < n; j++)
		for (int64_t i = 0; i < m; i++) a[i + j * m] = load(type, p, i + j * ld);
	return a;
}

static void put(int type, void* p, int64_t m, int64_t n, int64_t ld, const number* a) {
	for (int64_t j = 0; j < n; j++)
		for (int64_t i = 0; i < m; i++) store(type, p, i + j * ld, a[i + j * m]);
}

// asked returns whether a function is asked to fail, with its result or info.
static int asked(const char* function, int* result, int* info) {
	const char* s = getenv("GPK_FAKE_CUSOLVER");
	char name[64];
	if (s != NULL && sscanf(s, "%63[^:]:%d:%d", name, result, info) == 3 && strcmp(name, function) == 0) return 1;
	*result = *info = 0;
	return 0;
}

#define BEGIN(function, ok) \
	int result_ = 0, info_ = 0; \
	asked(function, &result_, &info_); \
	if (result_ != 0) return result_; \
	if (!(ok)) return INVALID; \
	if (atomic_exchange(&((handle*)h)->busy, 1)) return INTERNAL;
#define END(place) \
	if (info_ != 0) *(place) = info_; \
	atomic_store(&((handle*)h)->busy, 0); \
	return SUCCESS;

static void poison(void* work, size_t bytes, void* room, size_t host) {
	if (bytes > 0) memset(work, 0xa5, bytes);
	if (host > 0) memset(room, 0xa5, host);
}

static size_t need(int64_t m, int64_t n) { return (size_t)(16 * m + 32 * n + 8); }
static size_t need_host(int64_t n) { return (size_t)(8 * n + 24); }

int cusolverGetVersion(int* version) { *version = 12004; return SUCCESS; }
int cusolverDnCreate(void** h) {
	int result, info;
	if (asked("cusolverDnCreate", &result, &info) && result != 0) return result;
	*h = calloc(1, sizeof(handle));
	return SUCCESS;
}
int cusolverDnDestroy(void* h) { free(h); return SUCCESS; }
int cusolverDnSetStream(void* h, void* stream) { ((handle*)h)->stream = stream; return SUCCESS; }
int cusolverDnCreateParams(void** p) { *p = malloc(8); return SUCCESS; }
int cusolverDnCreateSyevjInfo(void** p) { *p = malloc(8); return SUCCESS; }
int cusolverDnXsyevjSetSortEig(void* p, int sort) { return p != NULL && sort == 1 ? SUCCESS : INVALID; }
int cusolverDnCreateGesvdjInfo(void** p) { *p = malloc(8); return SUCCESS; }
#ifndef PART
int cusolverDnXgesvdjSetSortEig(void* p, int sort) { return p != NULL && sort == 1 ? SUCCESS : INVALID; }
#endif

#define SIZES(m, n) { (void)h; (void)params; *bytes = need(m, n); *host = need_host(n); return SUCCESS; }

// Cholesky. What lies in the other triangle is left.
static int potrf(int upper, int64_t n, int type, void* p, int64_t ld) {
	number* a = fetch(type, p, n, n, ld);
	int info = 0;
	for (int64_t j = 0; j < n && info == 0; j++) {
		for (int64_t i = j; i < n; i++) { // L, or U^H
			number v = upper ? conj(a[j + i * n]) : a[i + j * n];
			for (int64_t k = 0; k < j; k++) v -= upper ? mul(conj(a[k + i * n]), a[k + j * n]) : mul(a[i + k * n], conj(a[j + k * n]));
			if (i == j) {
				if (!(creal(v) > 0)) { info = (int)j + 1; break; }
				a[j + j * n] = sqrt(creal(v));
			} else if (upper) {
				a[j + i * n] = conj(v / a[j + j * n]);
			} else {
				a[i + j * n] = v / a[j + j * n];
			}
		}
	}
	put(type, p, n, n, ld, a);
	free(a);
	return info;
}

int cusolverDnXpotrf_bufferSize(void* h, void* params, int uplo, int64_t n, int type, const void* a, int64_t lda, int compute, size_t* bytes, size_t* host) {
	if (a == NULL || uplo < 0 || uplo > 1 || lda < n || compute != type) return INVALID;
	SIZES(n, n)
}

int cusolverDnXpotrf(void* h, void* params, int uplo, int64_t n, int type, void* a, int64_t lda, int compute, void* work, size_t bytes, void* room, size_t host, int* info) {
	BEGIN("Xpotrf", params != NULL && lda >= n && compute == type && bytes == need(n, n) && host >= need_host(n))
	poison(work, bytes, room, host);
	*info = potrf(uplo, n, type, a, lda);
	END(info)
}

static int potrf_batched(void* h, int uplo, int n, void* list, int lda, int* info, int batch, int type) {
	BEGIN("potrfBatched", lda >= n && batch > 0)
	for (int i = 0; i < batch; i++) info[i] = potrf(uplo, n, type, ((void**)list)[i], lda);
	END(info + batch - 1)
}

int cusolverDnXpotrs(void* h, void* params, int uplo, int64_t n, int64_t nrhs, int type, const void* p, int64_t lda, int type_b, void* b, int64_t ldb, int* info) {
	BEGIN("Xpotrs", params != NULL && lda >= n && ldb >= n && type_b == type)
	number *a = fetch(type, p, n, n, lda), *x = fetch(type, b, n, nrhs, ldb);
	for (int64_t c = 0; c < nrhs; c++) {
		number* y = x + c * n;
		for (int64_t i = 0; i < n; i++) {
			for (int64_t k = 0; k < i; k++) y[i] -= (uplo ? conj(a[k + i * n]) : a[i + k * n]) * y[k];
			y[i] /= a[i + i * n];
		}
		for (int64_t i = n - 1; i >= 0; i--) {
			for (int64_t k = i + 1; k < n; k++) y[i] -= (uplo ? a[i + k * n] : conj(a[k + i * n])) * y[k];
			y[i] /= a[i + i * n];
		}
	}
	put(type, b, n, nrhs, ldb, x);
	free(a);
	free(x);
	*info = 0;
	END(info)
}

// LU. Behind a zero pivot there is NaN: callers must not use it.
int cusolverDnXgetrf_bufferSize(void* h, void* params, int64_t m, int64_t n, int type, const void* a, int64_t lda, int compute, size_t* bytes, size_t* host) {
	if (a == NULL || lda < m || compute != type) return INVALID;
	SIZES(m, n)
}

int cusolverDnXgetrf(void* h, void* params, int64_t m, int64_t n, int type, void* p, int64_t lda, int64_t* ipiv, int compute, void* work, size_t bytes, void* room,
	size_t host, int* info) {
	BEGIN("Xgetrf", params != NULL && lda >= m && compute == type && bytes == need(m, n) && host >= need_host(n))
	poison(work, bytes, room, host);
	number* a = fetch(type, p, m, n, lda);
	*info = 0;
	for (int64_t k = 0; k < m && k < n; k++) {
		int64_t best = k;
		for (int64_t i = k + 1; i < m; i++)
			if (fabs(creal(a[i + k * m])) + fabs(cimag(a[i + k * m])) > fabs(creal(a[best + k * m])) + fabs(cimag(a[best + k * m]))) best = i;
		ipiv[k] = best + 1;
		if (a[best + k * m] == 0 && *info == 0) *info = (int)k + 1;
		for (int64_t j = 0; j < n; j++) {
			number t = a[k + j * m];
			a[k + j * m] = a[best + j * m];
			a[best + j * m] = t;
		}
		for (int64_t i = k + 1; i < m; i++) {
			a[i + k * m] /= a[k + k * m];
			for (int64_t j = k + 1; j < n; j++) a[i + j * m] -= mul(a[i + k * m], a[k + j * m]);
		}
	}
	put(type, p, m, n, lda, a);
	free(a);
	END(info)
}

static void swap_rows(number* y, int64_t n, const int64_t* ipiv, int back) {
	for (int64_t s = 0; s < n; s++) {
		int64_t i = back ? n - 1 - s : s, j = ipiv[i] - 1;
		number t = y[i];
		y[i] = y[j];
		y[j] = t;
	}
}

int cusolverDnXgetrs(void* h, void* params, int trans, int64_t n, int64_t nrhs, int type, const void* p, int64_t lda, const int64_t* ipiv, int type_b, void* b,
	int64_t ldb, int* info) {
	BEGIN("Xgetrs", params != NULL && lda >= n && ldb >= n && type_b == type && (trans == 0 || trans == 2))
	number *a = fetch(type, p, n, n, lda), *x = fetch(type, b, n, nrhs, ldb);
	for (int64_t c = 0; c < nrhs; c++) {
		number* y = x + c * n;
		if (trans == 0) {
			swap_rows(y, n, ipiv, 0);
			for (int64_t i = 0; i < n; i++)
				for (int64_t k = 0; k < i; k++) y[i] -= a[i + k * n] * y[k];
			for (int64_t i = n - 1; i >= 0; i--) {
				for (int64_t k = i + 1; k < n; k++) y[i] -= a[i + k * n] * y[k];
				y[i] /= a[i + i * n];
			}
			continue;
		}
		for (int64_t i = 0; i < n; i++) { // U^H L^H P
			for (int64_t k = 0; k < i; k++) y[i] -= conj(a[k + i * n]) * y[k];
			y[i] /= conj(a[i + i * n]);
		}
		for (int64_t i = n - 1; i >= 0; i--)
			for (int64_t k = i + 1; k < n; k++) y[i] -= conj(a[k + i * n]) * y[k];
		swap_rows(y, n, ipiv, 1);
	}
	put(type, b, n, nrhs, ldb, x);
	free(a);
	free(x);
	*info = 0;
	END(info)
}

// QR by reflectors I - tau v v^H with v[0] = 1.
static void reflect(number* c, int64_t m, int64_t columns, const number* v, number tau, int64_t rows, int64_t at) {
	for (int64_t j = 0; j < columns; j++) {
		number sum = 0;
		for (int64_t i = at; i < rows; i++) sum += mul(conj(i == at ? 1 : v[i]), c[i + j * m]);
		for (int64_t i = at; i < rows; i++) c[i + j * m] -= mul(mul(tau, sum), i == at ? 1 : v[i]);
	}
}

int cusolverDnXgeqrf_bufferSize(void* h, void* params, int64_t m, int64_t n, int type, const void* a, int64_t lda, int type_tau, const void* tau, int compute,
	size_t* bytes, size_t* host) {
	if (a == NULL || tau == NULL || lda < m || type_tau != type || compute != type) return INVALID;
	SIZES(m, n)
}

int cusolverDnXgeqrf(void* h, void* params, int64_t m, int64_t n, int type, void* p, int64_t lda, int type_tau, void* tau, int compute, void* work, size_t bytes,
	void* room, size_t host, int* info) {
	BEGIN("Xgeqrf", params != NULL && lda >= m && type_tau == type && compute == type && bytes == need(m, n) && host >= need_host(n))
	poison(work, bytes, room, host);
	number* a = fetch(type, p, m, n, lda);
	for (int64_t k = 0; k < m && k < n; k++) {
		double rest = 0, largest = cabs(a[k + k * m]);
		for (int64_t i = k + 1; i < m; i++) largest = fmax(largest, cabs(a[i + k * m]));
		for (int64_t i = k + 1; i < m; i++) rest += pow(cabs(a[i + k * m]) / largest, 2);
		number alpha = a[k + k * m], t = 0;
		if (largest > 0 && (rest > 0 || cimag(alpha) != 0)) {
			double beta = -copysign(largest * sqrt(rest + pow(cabs(alpha) / largest, 2)), creal(alpha));
			t = (beta - alpha) / beta;
			for (int64_t i = k + 1; i < m; i++) a[i + k * m] /= alpha - beta;
			reflect(a + (k + 1) * m, m, n - k - 1, a + k * m, conj(t), m, k);
			a[k + k * m] = beta;
		}
		store(type, tau, k, t);
	}
	put(type, p, m, n, lda, a);
	free(a);
	*info = 0;
	END(info)
}

static int orgqr_size(void* h, int m, int n, int k, const void* a, int lda, const void* tau, int* size) {
	(void)h;
	if (a == NULL || tau == NULL || m < n || n < k || lda < m) return INVALID;
	*size = n + 5;
	return SUCCESS;
}

static int orgqr(void* h, int m, int n, int k, void* p, int lda, const void* tau, void* work, int size, int* info, int type) {
	BEGIN("orgqr", m >= n && n >= k && lda >= m && size == n + 5)
	memset(work, 0xa5, bytes_of(type) * (size_t)size);
	number *v = fetch(type, p, m, k, lda), *q = calloc((size_t)m * (size_t)n, sizeof(number));
	for (int j = 0; j < n; j++) q[j + (int64_t)j * m] = 1;
	for (int j = k - 1; j >= 0; j--) reflect(q, m, n, v + (int64_t)j * m, load(type, tau, j), m, j);
	put(type, p, m, n, lda, q);
	free(v);
	free(q);
	*info = 0;
	END(info)
}

// One-sided Jacobi: rotates columns i and j of a, and of v, until they are orthogonal. Reports whether it did.
static int rotate(number* a, int64_t m, number* v, int64_t n, int64_t i, int64_t j) {
	double x = 0, y = 0;
	number z = 0;
	for (int64_t k = 0; k < m; k++) {
		x += square(a[k + i * m]);
		y += square(a[k + j * m]);
		z += mul(conj(a[k + i * m]), a[k + j * m]);
	}
	double size = cabs(z);
	if (size < 1e-290 || size <= 1e-16 * sqrt(x * y)) return 0;
	number phase = z / size;
	double zeta = (y - x) / (2 * size), t = copysign(1, zeta) / (fabs(zeta) + hypot(1, zeta)), c = 1 / hypot(1, t), s = c * t;
	for (int side = 0; side < 2; side++) {
		number* b = side == 0 ? a : v;
		int64_t rows = side == 0 ? m : n;
		for (int64_t k = 0; k < rows; k++) {
			number p = b[k + i * rows], q = mul(b[k + j * rows], conj(phase));
			b[k + i * rows] = c * p - s * q;
			b[k + j * rows] = s * p + c * q;
		}
	}
	return 1;
}

// complete makes columns from on orthonormal to those before.
static void complete(number* u, int64_t m, int64_t from, int64_t n) {
	int64_t unit = 0;
	for (int64_t j = from; j < n; j++)
		for (double size = 0; size < 0.5 / sqrt((double)m); unit++) {
			for (int64_t i = 0; i < m; i++) u[i + j * m] = i == unit % m;
			for (int pass = 0; pass < 3; pass++)
				for (int64_t k = 0; k < j; k++) {
					number dot = 0;
					for (int64_t i = 0; i < m; i++) dot += mul(conj(u[i + k * m]), u[i + j * m]);
					for (int64_t i = 0; i < m; i++) u[i + j * m] -= mul(dot, u[i + k * m]);
				}
			size = 0;
			for (int64_t i = 0; i < m; i++) size += square(u[i + j * m]);
			size = sqrt(size);
			for (int64_t i = 0; i < m; i++) u[i + j * m] /= size > 0 ? size : 1;
		}
}

// svd sets s, descending, the columns of u, m x columns, and v, n x n, of a, m x n with m >= n.
static void svd(const number* given, int64_t m, int64_t n, double* s, number* u, int64_t columns, number* v) {
	number *a = malloc(sizeof(number) * (size_t)(m * n)), *w = calloc((size_t)(n * n), sizeof(number));
	double scale = 0; // products of small numbers underflow
	for (int64_t i = 0; i < m * n; i++) scale = fmax(scale, cabs(given[i]));
	for (int64_t i = 0; i < m * n; i++) a[i] = scale > 0 ? given[i] / scale : 0;
	for (int64_t i = 0; i < n; i++) w[i + i * n] = 1;
	for (int sweep = 0, moved = 1; moved && sweep < 60; sweep++) {
		moved = 0;
		for (int64_t i = 0; i < n; i++)
			for (int64_t j = i + 1; j < n; j++) moved |= rotate(a, m, w, n, i, j);
	}
	int64_t rank = 0;
	for (int64_t k = 0; k < n; k++) { // the largest of the rest
		int64_t best = -1;
		double size = -1;
		for (int64_t j = 0; j < n; j++) {
			double norm = 0;
			for (int64_t i = 0; i < m; i++) norm += square(a[i + j * m]);
			if (!isnan(creal(w[j * n])) && norm > size) size = norm, best = j;
		}
		s[k] = sqrt(size) * scale;
		for (int64_t i = 0; i < n; i++) v[i + k * n] = w[i + best * n];
		w[best * n] = NAN; // taken
		if (size > 1e-30) {
			for (int64_t i = 0; i < m; i++) u[i + k * m] = a[i + best * m] / sqrt(size);
			rank = k + 1;
		}
	}
	complete(u, m, rank, columns);
	free(a);
	free(w);
}

static void gesvd(int type, void* p, int64_t m, int64_t n, int64_t lda, void* s, void* u, int64_t ldu, int64_t columns, void* v, int64_t ldv, int adjoint, int vectors) {
	number *a = fetch(type, p, m, n, lda), *left = malloc(sizeof(number) * (size_t)(m * m)), *right = malloc(sizeof(number) * (size_t)(n * n));
	double* values = malloc(sizeof(double) * (size_t)n);
	svd(a, m, n, values, left, columns, right);
	for (int64_t i = 0; i < n; i++) store(type & 1, s, i, values[i]);
	for (int64_t i = 0; i < m * n; i++) a[i] = NAN;
	put(type, p, m, n, lda, a);
	if (vectors) {
		put(type, u, m, columns, ldu, left);
		for (int64_t i = 0; i < n; i++)
			for (int64_t j = 0; j < n; j++) store(type, v, i + j * ldv, adjoint ? conj(right[j + i * n]) : right[i + j * n]);
	}
	free(a);
	free(left);
	free(right);
	free(values);
}

int cusolverDnXgesvd_bufferSize(void* h, void* params, signed char jobu, signed char jobvt, int64_t m, int64_t n, int type, const void* a, int64_t lda, int type_s,
	const void* s, int type_u, const void* u, int64_t ldu, int type_v, const void* vt, int64_t ldvt, int compute, size_t* bytes, size_t* host) {
	if (m < n || lda < m || ldu < m || ldvt < n || jobu != jobvt || type_s != (type & 1) || type_u != type || type_v != type || compute != type || !a || !s || !u || !vt)
		return INVALID;
	SIZES(m, n)
}

int cusolverDnXgesvd(void* h, void* params, signed char jobu, signed char jobvt, int64_t m, int64_t n, int type, void* a, int64_t lda, int type_s, void* s, int type_u,
	void* u, int64_t ldu, int type_v, void* vt, int64_t ldvt, int compute, void* work, size_t bytes, void* room, size_t host, int* info) {
	BEGIN("Xgesvd", params && m >= n && jobu == jobvt && type_s == (type & 1) && type_u == type && type_v == type && compute == type && bytes == need(m, n) && host >= need_host(n))
	poison(work, bytes, room, host);
	gesvd(type, a, m, n, lda, s, u, ldu, jobu == 'A' ? m : n, vt, ldvt, 1, jobu != 'N');
	*info = 0;
	END(info)
}

int cusolverDnXgesvdp_bufferSize(void* h, void* params, int jobz, int econ, int64_t m, int64_t n, int type, const void* a, int64_t lda, int type_s, const void* s, int type_u,
	const void* u, int64_t ldu, int type_v, const void* v, int64_t ldv, int compute, size_t* bytes, size_t* host) {
	(void)jobz, (void)econ;
	if (m < n || lda < m || ldu < m || ldv < n || type_s != (type & 1) || type_u != type || type_v != type || compute != type || !a || !s || !u || !v) return INVALID;
	SIZES(m, n)
}

int cusolverDnXgesvdp(void* h, void* params, int jobz, int econ, int64_t m, int64_t n, int type, void* a, int64_t lda, int type_s, void* s, int type_u, void* u,
	int64_t ldu, int type_v, void* v, int64_t ldv, int compute, void* work, size_t bytes, void* room, size_t host, int* info, double* sigma) {
	BEGIN("Xgesvdp", params && m >= n && type_s == (type & 1) && type_u == type && type_v == type && compute == type && bytes == need(m, n) && host >= need_host(n))
	poison(work, bytes, room, host);
	gesvd(type, a, m, n, lda, s, u, ldu, econ ? n : m, v, ldv, 0, jobz);
	*info = 0;
	*sigma = 0;
	END(info)
}

static int gesvdj_size(void* h, int jobz, int econ, int m, int n, const void* a, int lda, const void* s, const void* u, int ldu, const void* v, int ldv, int* size, void* params) {
	(void)h, (void)jobz, (void)econ;
	if (!a || !s || !u || !v || lda < m || ldu < m || ldv < n || params == NULL) return INVALID;
	*size = m + n;
	return SUCCESS;
}

static int gesvdj(void* h, int jobz, int econ, int m, int n, void* a, int lda, void* s, void* u, int ldu, void* v, int ldv, void* work, int size, int* info, void* params,
	int type) {
	BEGIN("gesvdj", m >= n && params != NULL && size == m + n)
	memset(work, 0xa5, bytes_of(type) * (size_t)size);
	gesvd(type, a, m, n, lda, s, u, ldu, econ ? n : m, v, ldv, 0, jobz);
	*info = 0;
	END(info)
}

static int gesvdj_batched_size(void* h, int jobz, int m, int n, const void* a, int lda, const void* s, const void* u, int ldu, const void* v, int ldv, int* size, void* params,
	int batch) {
	if (batch < 1 || m > 32 || n > 32) return INVALID;
	return gesvdj_size(h, jobz, 0, m, n, a, lda, s, u, ldu, v, ldv, size, params);
}

static int gesvdj_batched(void* h, int jobz, int m, int n, void* a, int lda, void* s, void* u, int ldu, void* v, int ldv, void* work, int size, int* info, void* params, int batch,
	int type) {
	BEGIN("gesvdjBatched", m >= n && m <= 32 && params != NULL && size == m + n && lda == m && ldu == m && ldv == n)
	size_t bytes = bytes_of(type);
	memset(work, 0xa5, bytes * (size_t)size);
	for (int64_t i = 0; i < batch; i++) {
		gesvd(type, (char*)a + bytes * (size_t)(i * m * n), m, n, lda, (char*)s + bytes_of(type & 1) * (size_t)(i * n), (char*)u + bytes * (size_t)(i * m * m), ldu, m,
			(char*)v + bytes * (size_t)(i * n * n), ldv, 0, jobz);
		info[i] = 0;
	}
	END(info + batch - 1)
}

// syev sets the eigenvalues, ascending, and the eigenvectors in place of a Hermitian matrix: Jacobi's
// rotations from both sides.
static void syev(int vectors, int upper, int64_t n, int type, void* p, int64_t ld, void* w) {
	number *a = fetch(type, p, n, n, ld), *v = calloc((size_t)(n * n), sizeof(number)), *sorted = malloc(sizeof(number) * (size_t)(n * n));
	for (int64_t j = 0; j < n; j++) {
		v[j + j * n] = 1;
		for (int64_t i = 0; i < n; i++)
			if (i == j) a[i + j * n] = creal(a[i + j * n]);
			else if ((i < j) != (upper != 0)) a[i + j * n] = conj(load(type, p, j + i * ld));
	}
	for (int sweep = 0; sweep < 60; sweep++) {
		double off = 0, all = 0;
		for (int64_t i = 0; i < n * n; i++) *(i % (n + 1) == 0 ? &all : &off) += square(a[i]);
		if (off <= 1e-34 * all) break;
		for (int64_t i = 0; i < n; i++)
			for (int64_t j = i + 1; j < n; j++) {
				number z = a[i + j * n];
				double size = cabs(z);
				if (size <= 1e-20 * sqrt(all) || size < 1e-290) continue;
				number phase = z / size;
				double zeta = creal(a[j + j * n] - a[i + i * n]) / (2 * size), t = copysign(1, zeta) / (fabs(zeta) + hypot(1, zeta)), c = 1 / hypot(1, t), s = c * t;
				for (int64_t k = 0; k < n; k++) { // columns of a and v
					number x = a[k + i * n], y = mul(a[k + j * n], conj(phase)), f = v[k + i * n], g = mul(v[k + j * n], conj(phase));
					a[k + i * n] = c * x - s * y, a[k + j * n] = s * x + c * y;
					v[k + i * n] = c * f - s * g, v[k + j * n] = s * f + c * g;
				}
				for (int64_t k = 0; k < n; k++) { // rows of a
					number x = a[i + k * n], y = mul(a[j + k * n], phase);
					a[i + k * n] = c * x - s * y, a[j + k * n] = s * x + c * y;
				}
			}
	}
	for (int64_t k = 0; k < n; k++) {
		int64_t best = -1;
		for (int64_t j = 0; j < n; j++)
			if (!isnan(creal(v[j * n])) && (best < 0 || creal(a[j + j * n]) < creal(a[best + best * n]))) best = j;
		store(type & 1, w, k, a[best + best * n]);
		for (int64_t i = 0; i < n; i++) sorted[i + k * n] = v[i + best * n];
		v[best * n] = NAN; // taken
	}
	for (int64_t i = 0; i < n * n && !vectors; i++) sorted[i] = NAN;
	put(type, p, n, n, ld, sorted);
	free(a);
	free(v);
	free(sorted);
}

int cusolverDnXsyevd_bufferSize(void* h, void* params, int jobz, int uplo, int64_t n, int type, const void* a, int64_t lda, int type_w, const void* w, int compute,
	size_t* bytes, size_t* host) {
	(void)jobz, (void)uplo;
	if (a == NULL || w == NULL || lda < n || type_w != (type & 1) || compute != type) return INVALID;
	SIZES(n, n)
}

int cusolverDnXsyevd(void* h, void* params, int jobz, int uplo, int64_t n, int type, void* a, int64_t lda, int type_w, void* w, int compute, void* work, size_t bytes,
	void* room, size_t host, int* info) {
	BEGIN("Xsyevd", params != NULL && lda >= n && type_w == (type & 1) && compute == type && bytes == need(n, n) && host >= need_host(n))
	poison(work, bytes, room, host);
	syev(jobz, uplo, n, type, a, lda, w);
	*info = 0;
	END(info)
}

static void syev_all(int jobz, int uplo, int64_t n, int type, void* a, int64_t lda, void* w, int* info, int64_t batch) {
	for (int64_t i = 0; i < batch; i++) {
		syev(jobz, uplo, n, type, (char*)a + bytes_of(type) * (size_t)(i * lda * n), lda, (char*)w + bytes_of(type & 1) * (size_t)(i * n));
		info[i] = 0;
	}
}

#ifndef OLD
int cusolverDnXsyevBatched_bufferSize(void* h, void* params, int jobz, int uplo, int64_t n, int type, const void* a, int64_t lda, int type_w, const void* w, int compute,
	size_t* bytes, size_t* host, int64_t batch) {
	if (batch < 1) return INVALID;
	return cusolverDnXsyevd_bufferSize(h, params, jobz, uplo, n, type, a, lda, type_w, w, compute, bytes, host);
}

int cusolverDnXsyevBatched(void* h, void* params, int jobz, int uplo, int64_t n, int type, void* a, int64_t lda, int type_w, void* w, int compute, void* work, size_t bytes,
	void* room, size_t host, int* info, int64_t batch) {
	BEGIN("XsyevBatched", params != NULL && lda == n && type_w == (type & 1) && compute == type && bytes == need(n, n) && host >= need_host(n))
	poison(work, bytes, room, host);
	syev_all(jobz, uplo, n, type, a, lda, w, info, batch);
	END(info + batch - 1)
}
#endif

static int syevj_batched_size(void* h, int jobz, int uplo, int n, const void* a, int lda, const void* w, int* size, void* params, int batch) {
	(void)h, (void)jobz, (void)uplo;
	if (a == NULL || w == NULL || n > 32 || lda < n || batch < 1 || params == NULL) return INVALID;
	*size = n + 3;
	return SUCCESS;
}

static int syevj_batched(void* h, int jobz, int uplo, int n, void* a, int lda, void* w, void* work, int size, int* info, void* params, int batch, int type) {
	BEGIN("syevjBatched", n <= 32 && lda == n && params != NULL && size == n + 3)
	memset(work, 0xa5, bytes_of(type) * (size_t)size);
	syev_all(jobz, uplo, n, type, a, lda, w, info, batch);
	END(info + batch - 1)
}

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
