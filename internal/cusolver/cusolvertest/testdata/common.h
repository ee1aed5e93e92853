// A libcusolver.so.12 over the host's memory, for tests: streams are ignored, and a call returns when its
// work is done. All types are computed in double complex, by the plainest algorithms. It checks what
// cuSOLVER only assumes: workspaces of the size that was asked for, leading dimensions, one call at a
// time on a handle. It overwrites the workspaces, and what a factorization does not define.
//
// GPK_FAKE_CUSOLVER is FUNCTION:RESULT:INFO, the function without its type: it returns RESULT, or, where that
// is 0, reports INFO for the last matrix. GPK_FAKE_CUSOLVER_SKEW is a number: gesvdjBatched adds so much of the second
// column of U to the first. GPK_FAKE_CUSOLVER_LOG names a file that gets a + for everything that is made, a - for
// everything that is ended, and a ! for a handle that is ended in use.

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

static void* note(const char* what, void* p) {
	const char* file = getenv("GPK_FAKE_CUSOLVER_LOG");
	FILE* f = file != NULL && file[0] != 0 ? fopen(file, "a") : NULL;
	if (f != NULL) {
		fputs(what, f);
		fclose(f);
	}
	return p;
}

static int make(void** p) { *p = note("+", calloc(1, sizeof(handle))); return SUCCESS; }
static int end(void* p) { free(note("-", p)); return SUCCESS; }

int cusolverDnCreate(void** h) {
	int result, info;
	if (asked("cusolverDnCreate", &result, &info) && result != 0) return result;
	return make(h);
}
int cusolverDnDestroy(void* h) {
	if (atomic_exchange(&((handle*)h)->busy, 1)) note("!", h);
	return end(h);
}
int cusolverDnSetStream(void* h, void* stream) { ((handle*)h)->stream = stream; return SUCCESS; }
int cusolverDnCreateParams(void** p) { return make(p); }
int cusolverDnDestroyParams(void* p) { return end(p); }
int cusolverDnCreateSyevjInfo(void** p) { return make(p); }
int cusolverDnDestroySyevjInfo(void* p) { return end(p); }
int cusolverDnXsyevjSetSortEig(void* p, int sort) {
	int result, info;
	if (asked("XsyevjSetSortEig", &result, &info)) return result;
	return p != NULL && sort == 1 ? SUCCESS : INVALID;
}
int cusolverDnCreateGesvdjInfo(void** p) { return make(p); }
int cusolverDnDestroyGesvdjInfo(void* p) { return end(p); }
#ifndef PART
int cusolverDnXgesvdjSetSortEig(void* p, int sort) { return p != NULL && sort == 1 ? SUCCESS : INVALID; }
#endif

#define SIZES(m, n) { (void)h; (void)params; *bytes = need(m, n); *host = need_host(n); return SUCCESS; }
