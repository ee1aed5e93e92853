// The calls. Results of the driver are negative, those of cuSOLVER positive.

#include "bind.h"

#define GPK_DO(call) { int e_ = (call); if (e_ != 0) return -e_; }
#define GPK_TRY(call) { int e_ = (call); if (e_ != 0) return e_; }

// What a handle has beside cuSOLVER's own.
typedef struct {
	void *dn, *params, *syevj, *gesvdj;
	void* room; // the host's memory that calls work in, of size bytes
	size_t size;
} gpk_cusolver_session;

typedef struct { uint64_t at; int64_t ld, step; } gpk_cusolver_operand;

// Kinds are those of Go, in its order.
enum { POTRF, POTRF_BATCHED, POTRS, GETRF, GETRS, GEQRF, ORGQR, SYEVD, SYEV_BATCHED, SYEVJ_BATCHED, GESVD, GESVDJ, GESVDJ_BATCHED, GESVDP };

typedef struct {
	int kind, type, upper, adjoint, vectors, full;
	int64_t m, n, k, batch;
	gpk_cusolver_operand a, b, c, d;
	uint64_t info, stream, work, pointers;
	size_t bytes, host; // of the workspaces
} gpk_cusolver_call;

// The current context belongs to the thread, and Go moves goroutines between threads: what follows
// sets it first. Tests on the CPU have none.
static int gpk_cusolver_enter(uintptr_t context) {
	if (context != 0) GPK_DO(cuCtxSetCurrent((void*)context));
	return 0;
}

static int gpk_cusolver_fill(gpk_cusolver_session* s) {
	GPK_TRY(cusolverDnCreate(&s->dn));
	GPK_TRY(cusolverDnCreateParams(&s->params));
	GPK_TRY(cusolverDnCreateSyevjInfo(&s->syevj));
	GPK_TRY(cusolverDnXsyevjSetSortEig(s->syevj, 1));
	GPK_TRY(cusolverDnCreateGesvdjInfo(&s->gesvdj));
	return cusolverDnXgesvdjSetSortEig(s->gesvdj, 1);
}

static void gpk_cusolver_free(gpk_cusolver_session* s) {
	if (s->gesvdj != NULL) cusolverDnDestroyGesvdjInfo(s->gesvdj);
	if (s->syevj != NULL) cusolverDnDestroySyevjInfo(s->syevj);
	if (s->params != NULL) cusolverDnDestroyParams(s->params);
	if (s->dn != NULL) cusolverDnDestroy(s->dn);
	free(s->room);
	free(s);
}

// gpk_cusolver_end ends a handle, whose work is done.
static void gpk_cusolver_end(uintptr_t context, gpk_cusolver_session* s) {
	if (gpk_cusolver_enter(context) == 0) gpk_cusolver_free(s);
}

static int gpk_cusolver_new(uintptr_t context, gpk_cusolver_session** out) {
	GPK_TRY(gpk_cusolver_enter(context));
	gpk_cusolver_session* s = calloc(1, sizeof(*s));
	if (s == NULL) return 2; // CUSOLVER_STATUS_ALLOC_FAILED
	int e = gpk_cusolver_fill(s);
	if (e != 0) {
		gpk_cusolver_free(s);
		return e;
	}
	*out = s;
	return 0;
}

// The place of a type in the typed functions, its bytes, and the type of its real and imaginary parts.
static int gpk_typed(int type) { return type < 2 ? type : type - 2; }
static size_t gpk_bytes(int type) { return (type & 1 ? 8 : 4) * (type < 4 ? 1 : 2); }
static int gpk_real(int type) { return type & 1; }

static void* gpk_at(const gpk_cusolver_operand* o, size_t bytes, int64_t i) { return (void*)(uintptr_t)(o->at + bytes * (uint64_t)(o->step * i)); }

// gpk_cusolver_size sets bytes and host of the call.
static int gpk_cusolver_size(uintptr_t context, gpk_cusolver_session* s, gpk_cusolver_call* c) {
	void *a = (void*)(uintptr_t)c->a.at, *b = (void*)(uintptr_t)c->b.at, *u = (void*)(uintptr_t)c->c.at, *v = (void*)(uintptr_t)c->d.at;
	int t = c->type, at = gpk_typed(t), real = gpk_real(t), size = 0, e = 0;
	signed char job = c->vectors ? (c->full ? 'A' : 'S') : 'N';
	GPK_TRY(gpk_cusolver_enter(context));
	c->bytes = c->host = 0;
	switch (c->kind) {
	case POTRF: return cusolverDnXpotrf_bufferSize(s->dn, s->params, c->upper, c->n, t, a, c->a.ld, t, &c->bytes, &c->host);
	case GETRF: return cusolverDnXgetrf_bufferSize(s->dn, s->params, c->m, c->n, t, a, c->a.ld, t, &c->bytes, &c->host);
	case GEQRF: return cusolverDnXgeqrf_bufferSize(s->dn, s->params, c->m, c->n, t, a, c->a.ld, t, b, t, &c->bytes, &c->host);
	case SYEVD:
		return cusolverDnXsyevd_bufferSize(s->dn, s->params, c->vectors, c->upper, c->n, t, a, c->a.ld, real, b, t, &c->bytes, &c->host);
	case SYEV_BATCHED:
		return cusolverDnXsyevBatched_bufferSize(s->dn, s->params, c->vectors, c->upper, c->n, t, a, c->a.ld, real, b, t, &c->bytes, &c->host, c->batch);
	case GESVD:
		return cusolverDnXgesvd_bufferSize(s->dn, s->params, job, job, c->m, c->n, t, a, c->a.ld, real, b, t, u, c->c.ld, t, v, c->d.ld, t, &c->bytes, &c->host);
	case GESVDP:
		return cusolverDnXgesvdp_bufferSize(s->dn, s->params, c->vectors, !c->full, c->m, c->n, t, a, c->a.ld, real, b, t, u, c->c.ld, t, v, c->d.ld, t,
			&c->bytes, &c->host);
	case ORGQR: e = cusolverDn_orgqr_bufferSize[at](s->dn, (int)c->m, (int)c->n, (int)c->k, a, (int)c->a.ld, b, &size); break;
	case SYEVJ_BATCHED:
		e = cusolverDn_syevjBatched_bufferSize[at](s->dn, c->vectors, c->upper, (int)c->n, a, (int)c->a.ld, b, &size, s->syevj, (int)c->batch);
		break;
	case GESVDJ:
		e = cusolverDn_gesvdj_bufferSize[at](s->dn, c->vectors, !c->full, (int)c->m, (int)c->n, a, (int)c->a.ld, b, u, (int)c->c.ld, v, (int)c->d.ld, &size,
			s->gesvdj);
		break;
	case GESVDJ_BATCHED:
		e = cusolverDn_gesvdjBatched_bufferSize[at](s->dn, c->vectors, (int)c->m, (int)c->n, a, (int)c->a.ld, b, u, (int)c->c.ld, v, (int)c->d.ld, &size,
			s->gesvdj, (int)c->batch);
	}
	c->bytes = size > 0 ? gpk_bytes(t) * (size_t)size : 0;
	return e;
}

// gpk_cusolver_one makes the call for member i of the batch, or for all of them.
static int gpk_cusolver_one(gpk_cusolver_session* s, const gpk_cusolver_call* c, int64_t i, double* sigma) {
	int t = c->type, at = gpk_typed(t), real = gpk_real(t);
	size_t bytes = gpk_bytes(t), real_bytes = real ? 8 : 4;
	int size = (int)(c->bytes / bytes), *info = (int*)(uintptr_t)c->info + i;
	signed char job = c->vectors ? (c->full ? 'A' : 'S') : 'N';
	void *a = gpk_at(&c->a, bytes, i), *b = gpk_at(&c->b, bytes, i), *u = gpk_at(&c->c, bytes, i), *v = gpk_at(&c->d, bytes, i);
	void *w = gpk_at(&c->b, real_bytes, i), *pivots = gpk_at(&c->b, 8, i), *work = (void*)(uintptr_t)c->work;
	switch (c->kind) {
	case POTRF: return cusolverDnXpotrf(s->dn, s->params, c->upper, c->n, t, a, c->a.ld, t, work, c->bytes, s->room, c->host, info);
	case POTRF_BATCHED: return cusolverDn_potrfBatched[at](s->dn, c->upper, (int)c->n, (void*)(uintptr_t)c->pointers, (int)c->a.ld, info, (int)c->batch);
	case POTRS: return cusolverDnXpotrs(s->dn, s->params, c->upper, c->n, c->k, t, a, c->a.ld, t, b, c->b.ld, info);
	case GETRF: return cusolverDnXgetrf(s->dn, s->params, c->m, c->n, t, a, c->a.ld, pivots, t, work, c->bytes, s->room, c->host, info);
	case GETRS: return cusolverDnXgetrs(s->dn, s->params, c->adjoint ? 2 : 0, c->n, c->k, t, a, c->a.ld, pivots, t, u, c->c.ld, info);
	case GEQRF: return cusolverDnXgeqrf(s->dn, s->params, c->m, c->n, t, a, c->a.ld, t, b, t, work, c->bytes, s->room, c->host, info);
	case ORGQR: return cusolverDn_orgqr[at](s->dn, (int)c->m, (int)c->n, (int)c->k, a, (int)c->a.ld, b, work, size, info);
	case SYEVD:
		return cusolverDnXsyevd(s->dn, s->params, c->vectors, c->upper, c->n, t, a, c->a.ld, real, w, t, work, c->bytes, s->room, c->host, info);
	case SYEV_BATCHED:
		return cusolverDnXsyevBatched(s->dn, s->params, c->vectors, c->upper, c->n, t, a, c->a.ld, real, w, t, work, c->bytes, s->room, c->host, info, c->batch);
	case SYEVJ_BATCHED:
		return cusolverDn_syevjBatched[at](s->dn, c->vectors, c->upper, (int)c->n, a, (int)c->a.ld, w, work, size, info, s->syevj, (int)c->batch);
	case GESVD:
		return cusolverDnXgesvd(s->dn, s->params, job, job, c->m, c->n, t, a, c->a.ld, real, w, t, u, c->c.ld, t, v, c->d.ld, t, work, c->bytes, s->room,
			c->host, info);
	case GESVDJ:
		return cusolverDn_gesvdj[at](s->dn, c->vectors, !c->full, (int)c->m, (int)c->n, a, (int)c->a.ld, w, u, (int)c->c.ld, v, (int)c->d.ld, work, size, info,
			s->gesvdj);
	case GESVDJ_BATCHED:
		return cusolverDn_gesvdjBatched[at](s->dn, c->vectors, (int)c->m, (int)c->n, a, (int)c->a.ld, w, u, (int)c->c.ld, v, (int)c->d.ld, work, size, info,
			s->gesvdj, (int)c->batch);
	case GESVDP:
		return cusolverDnXgesvdp(s->dn, s->params, c->vectors, !c->full, c->m, c->n, t, a, c->a.ld, real, w, t, u, c->c.ld, t, v, c->d.ld, t, work, c->bytes,
			s->room, c->host, info, sigma + i);
	}
	return 3; // CUSOLVER_STATUS_INVALID_VALUE
}

static int gpk_cusolver_batched(int kind) { return kind == POTRF_BATCHED || kind == SYEV_BATCHED || kind == SYEVJ_BATCHED || kind == GESVDJ_BATCHED; }

// gpk_cusolver_run starts the call. The batch shares its workspaces: its members run one after the other.
static int gpk_cusolver_run(uintptr_t context, gpk_cusolver_session* s, const gpk_cusolver_call* c, double* sigma) {
	GPK_TRY(gpk_cusolver_enter(context));
	GPK_TRY(cusolverDnSetStream(s->dn, (void*)(uintptr_t)c->stream));
	if (c->host > s->size) {
		void* room = realloc(s->room, c->host);
		if (room == NULL) return 2; // CUSOLVER_STATUS_ALLOC_FAILED
		s->room = room;
		s->size = c->host;
	}
	int64_t calls = gpk_cusolver_batched(c->kind) ? 1 : c->batch;
	for (int64_t i = 0; i < calls; i++) GPK_TRY(gpk_cusolver_one(s, c, i, sigma));
	return 0;
}
