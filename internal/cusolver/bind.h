// The functions of cuSOLVER that package cusolver calls, as its headers declare them: results and
// enumerations are int, handles and infos void*.

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define GPK_FUNCTIONS(F) \
	F(cusolverGetVersion, (int* version)) \
	F(cusolverDnCreate, (void** handle)) \
	F(cusolverDnDestroy, (void* handle)) \
	F(cusolverDnSetStream, (void* handle, void* stream)) \
	F(cusolverDnCreateParams, (void** params)) \
	F(cusolverDnDestroyParams, (void* params)) \
	F(cusolverDnCreateSyevjInfo, (void** info)) \
	F(cusolverDnDestroySyevjInfo, (void* info)) \
	F(cusolverDnXsyevjSetSortEig, (void* info, int sort)) \
	F(cusolverDnCreateGesvdjInfo, (void** info)) \
	F(cusolverDnDestroyGesvdjInfo, (void* info)) \
	F(cusolverDnXgesvdjSetSortEig, (void* info, int sort)) \
	F(cusolverDnXpotrf_bufferSize, (void* handle, void* params, int uplo, int64_t n, int type, const void* a, int64_t lda, \
		int compute, size_t* bytes, size_t* host)) \
	F(cusolverDnXpotrf, (void* handle, void* params, int uplo, int64_t n, int type, void* a, int64_t lda, int compute, \
		void* work, size_t bytes, void* room, size_t host, int* info)) \
	F(cusolverDnXpotrs, (void* handle, void* params, int uplo, int64_t n, int64_t nrhs, int type, const void* a, int64_t lda, \
		int type_b, void* b, int64_t ldb, int* info)) \
	F(cusolverDnXgetrf_bufferSize, (void* handle, void* params, int64_t m, int64_t n, int type, const void* a, int64_t lda, \
		int compute, size_t* bytes, size_t* host)) \
	F(cusolverDnXgetrf, (void* handle, void* params, int64_t m, int64_t n, int type, void* a, int64_t lda, int64_t* ipiv, int compute, \
		void* work, size_t bytes, void* room, size_t host, int* info)) \
	F(cusolverDnXgetrs, (void* handle, void* params, int trans, int64_t n, int64_t nrhs, int type, const void* a, int64_t lda, \
		const int64_t* ipiv, int type_b, void* b, int64_t ldb, int* info)) \
	F(cusolverDnXgeqrf_bufferSize, (void* handle, void* params, int64_t m, int64_t n, int type, const void* a, int64_t lda, \
		int type_tau, const void* tau, int compute, size_t* bytes, size_t* host)) \
	F(cusolverDnXgeqrf, (void* handle, void* params, int64_t m, int64_t n, int type, void* a, int64_t lda, int type_tau, void* tau, \
		int compute, void* work, size_t bytes, void* room, size_t host, int* info)) \
	F(cusolverDnXsyevd_bufferSize, (void* handle, void* params, int jobz, int uplo, int64_t n, int type, const void* a, int64_t lda, \
		int type_w, const void* w, int compute, size_t* bytes, size_t* host)) \
	F(cusolverDnXsyevd, (void* handle, void* params, int jobz, int uplo, int64_t n, int type, void* a, int64_t lda, int type_w, void* w, \
		int compute, void* work, size_t bytes, void* room, size_t host, int* info)) \
	F(cusolverDnXgesvd_bufferSize, (void* handle, void* params, signed char jobu, signed char jobvt, int64_t m, int64_t n, int type, \
		const void* a, int64_t lda, int type_s, const void* s, int type_u, const void* u, int64_t ldu, int type_v, const void* vt, \
		int64_t ldvt, int compute, size_t* bytes, size_t* host)) \
	F(cusolverDnXgesvd, (void* handle, void* params, signed char jobu, signed char jobvt, int64_t m, int64_t n, int type, void* a, \
		int64_t lda, int type_s, void* s, int type_u, void* u, int64_t ldu, int type_v, void* vt, int64_t ldvt, int compute, void* work, \
		size_t bytes, void* room, size_t host, int* info)) \
	F(cusolverDnXgesvdp_bufferSize, (void* handle, void* params, int jobz, int econ, int64_t m, int64_t n, int type, const void* a, \
		int64_t lda, int type_s, const void* s, int type_u, const void* u, int64_t ldu, int type_v, const void* v, int64_t ldv, \
		int compute, size_t* bytes, size_t* host)) \
	F(cusolverDnXgesvdp, (void* handle, void* params, int jobz, int econ, int64_t m, int64_t n, int type, void* a, int64_t lda, \
		int type_s, void* s, int type_u, void* u, int64_t ldu, int type_v, void* v, int64_t ldv, int compute, void* work, size_t bytes, \
		void* room, size_t host, int* info, double* sigma))

// Those that older versions lack.
#define GPK_OPTIONAL(F) \
	F(cusolverDnXsyevBatched_bufferSize, (void* handle, void* params, int jobz, int uplo, int64_t n, int type, const void* a, int64_t lda, \
		int type_w, const void* w, int compute, size_t* bytes, size_t* host, int64_t batch)) \
	F(cusolverDnXsyevBatched, (void* handle, void* params, int jobz, int uplo, int64_t n, int type, void* a, int64_t lda, int type_w, \
		void* w, int compute, void* work, size_t bytes, void* room, size_t host, int* info, int64_t batch))

// Those that there are for every type: S, D, C and Z.
#define GPK_TYPED(F) \
	F(potrfBatched, SpotrfBatched, DpotrfBatched, CpotrfBatched, ZpotrfBatched, \
		(void* handle, int uplo, int n, void* a, int lda, int* info, int batch)) \
	F(orgqr_bufferSize, Sorgqr_bufferSize, Dorgqr_bufferSize, Cungqr_bufferSize, Zungqr_bufferSize, \
		(void* handle, int m, int n, int k, const void* a, int lda, const void* tau, int* size)) \
	F(orgqr, Sorgqr, Dorgqr, Cungqr, Zungqr, \
		(void* handle, int m, int n, int k, void* a, int lda, const void* tau, void* work, int size, int* info)) \
	F(syevjBatched_bufferSize, SsyevjBatched_bufferSize, DsyevjBatched_bufferSize, CheevjBatched_bufferSize, ZheevjBatched_bufferSize, \
		(void* handle, int jobz, int uplo, int n, const void* a, int lda, const void* w, int* size, void* info, int batch)) \
	F(syevjBatched, SsyevjBatched, DsyevjBatched, CheevjBatched, ZheevjBatched, \
		(void* handle, int jobz, int uplo, int n, void* a, int lda, void* w, void* work, int size, int* info, void* params, int batch)) \
	F(gesvdj_bufferSize, Sgesvdj_bufferSize, Dgesvdj_bufferSize, Cgesvdj_bufferSize, Zgesvdj_bufferSize, \
		(void* handle, int jobz, int econ, int m, int n, const void* a, int lda, const void* s, const void* u, int ldu, const void* v, int ldv, \
		int* size, void* params)) \
	F(gesvdj, Sgesvdj, Dgesvdj, Cgesvdj, Zgesvdj, \
		(void* handle, int jobz, int econ, int m, int n, void* a, int lda, void* s, void* u, int ldu, void* v, int ldv, void* work, int size, \
		int* info, void* params)) \
	F(gesvdjBatched_bufferSize, SgesvdjBatched_bufferSize, DgesvdjBatched_bufferSize, CgesvdjBatched_bufferSize, ZgesvdjBatched_bufferSize, \
		(void* handle, int jobz, int m, int n, const void* a, int lda, const void* s, const void* u, int ldu, const void* v, int ldv, int* size, \
		void* params, int batch)) \
	F(gesvdjBatched, SgesvdjBatched, DgesvdjBatched, CgesvdjBatched, ZgesvdjBatched, \
		(void* handle, int jobz, int m, int n, void* a, int lda, void* s, void* u, int ldu, void* v, int ldv, void* work, int size, int* info, \
		void* params, int batch))

// The driver's functions that are used here. Package device has loaded the driver.
#define GPK_DRIVER(F) \
	F(cuCtxSetCurrent, (void* context))

#define GPK_POINTER(name, parameters) static int (*name) parameters;
#define GPK_POINTERS(name, s, d, c, z, parameters) static int (*cusolverDn_##name[4]) parameters;
GPK_FUNCTIONS(GPK_POINTER)
GPK_OPTIONAL(GPK_POINTER)
GPK_DRIVER(GPK_POINTER)
GPK_TYPED(GPK_POINTERS)

#define GPK_FIND(name, parameters) *(void**)&name = dlsym((void*)handle, #name);
#define GPK_BIND(name, parameters) \
	GPK_FIND(name, parameters) \
	if (name == NULL) return #name;
#define GPK_BIND_ONE(name, i, symbol) \
	*(void**)&cusolverDn_##name[i] = dlsym((void*)handle, "cusolverDn" #symbol); \
	if (cusolverDn_##name[i] == NULL) return "cusolverDn" #symbol;
#define GPK_BIND_TYPED(name, s, d, c, z, parameters) \
	GPK_BIND_ONE(name, 0, s) GPK_BIND_ONE(name, 1, d) GPK_BIND_ONE(name, 2, c) GPK_BIND_ONE(name, 3, z)

// Both return the name of a function that is missing, or NULL.
static const char* gpk_cusolver_bind(uintptr_t handle) {
	GPK_FUNCTIONS(GPK_BIND)
	GPK_TYPED(GPK_BIND_TYPED)
	GPK_OPTIONAL(GPK_FIND)
	return NULL;
}

static const char* gpk_cusolver_bind_driver(uintptr_t handle) {
	GPK_DRIVER(GPK_BIND)
	return NULL;
}

static int gpk_cusolver_version(void) {
	int v = 0;
	return cusolverGetVersion(&v) == 0 ? v : 0;
}

static int gpk_cusolver_has_syev_batched(void) { return cusolverDnXsyevBatched != NULL && cusolverDnXsyevBatched_bufferSize != NULL; }
