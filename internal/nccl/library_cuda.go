//go:build cgo && linux && (amd64 || arm64) && !nocuda

package nccl

/*
#cgo linux LDFLAGS: -ldl
#cgo noescape gpk_nccl_run
#cgo nocallback gpk_nccl_run

#include <dlfcn.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// An ncclUniqueId, which NCCL takes by value.
typedef struct { char bytes[128]; } gpk_nccl_id;

// The first 56 bytes of ncclConfig_t, which is append-only. NCCL reads size bytes and takes the
// defaults of that version for the rest.
typedef struct {
	size_t size;
	unsigned magic, version;
	int blocking, cga_cluster_size, min_ctas, max_ctas;
	const char* net_name;
	int split_share, traffic_class;
	const char* comm_name;
} gpk_nccl_config;

_Static_assert(sizeof(gpk_nccl_config) == 56, "the prefix of ncclConfig_t");

static gpk_nccl_config gpk_nccl_blocking(void) {
	gpk_nccl_config c = {sizeof(c), 0xcafebeef, 22700, 1, INT_MIN, INT_MIN, INT_MIN, NULL, INT_MIN, INT_MIN, NULL};
	return c;
}

// The functions of NCCL that this package uses. Results and enumerations are int; communicators and
// streams are pointers.
#define GPK_NCCL_FUNCTIONS(F) \
	F(ncclGetVersion, int, (int* version)) \
	F(ncclGetUniqueId, int, (gpk_nccl_id* id)) \
	F(ncclGetLastError, const char*, (void* comm)) \
	F(ncclCommInitRankConfig, int, (void** comm, int ranks, gpk_nccl_id id, int rank, gpk_nccl_config* config)) \
	F(ncclCommSplit, int, (void* comm, int color, int key, void** out, gpk_nccl_config* config)) \
	F(ncclCommGetAsyncError, int, (void* comm, int* result)) \
	F(ncclCommAbort, int, (void* comm)) \
	F(ncclCommDestroy, int, (void* comm)) \
	F(ncclGroupStart, int, (void)) \
	F(ncclGroupEnd, int, (void)) \
	F(ncclAllReduce, int, (const void* send, void* recv, size_t n, int type, int op, void* comm, void* stream)) \
	F(ncclReduceScatter, int, (const void* send, void* recv, size_t n, int type, int op, void* comm, void* stream)) \
	F(ncclAllGather, int, (const void* send, void* recv, size_t n, int type, void* comm, void* stream)) \
	F(ncclBroadcast, int, (const void* send, void* recv, size_t n, int type, int root, void* comm, void* stream)) \
	F(ncclSend, int, (const void* send, size_t n, int type, int peer, void* comm, void* stream)) \
	F(ncclRecv, int, (void* recv, size_t n, int type, int peer, void* comm, void* stream))

// The functions of the driver that this package uses. Package device has loaded the driver.
#define GPK_NCCL_DRIVER(F) \
	F(cuCtxSetCurrent, int, (void* context))

#define GPK_NCCL_POINTER(name, type, parameters) static type (*name) parameters;
GPK_NCCL_FUNCTIONS(GPK_NCCL_POINTER)
GPK_NCCL_DRIVER(GPK_NCCL_POINTER)

// Both functions return the name of a missing function, or NULL.
#define GPK_NCCL_BIND(name, type, parameters) \
	*(void**)&name = dlsym((void*)handle, #name); \
	if (name == NULL) return #name;

static const char* gpk_nccl_bind(uintptr_t handle) {
	GPK_NCCL_FUNCTIONS(GPK_NCCL_BIND)
	return NULL;
}

static const char* gpk_nccl_bind_driver(uintptr_t handle) {
	GPK_NCCL_DRIVER(GPK_NCCL_BIND)
	return NULL;
}

static int gpk_nccl_version(void) {
	int v = 0;
	return ncclGetVersion(&v) == 0 ? v : 0;
}

// Go moves goroutines between threads, and NCCL stores one last error for the whole process. So every function below
// sets the context of its thread, makes all of its calls, and copies the text of a failure. Results of the driver are
// negative, those of NCCL positive.
#define GPK_NCCL_WHY 1024

static int gpk_nccl_current(uintptr_t context) {
	return context == 0 ? 0 : -cuCtxSetCurrent((void*)context);
}

static int gpk_nccl_result(int e, char* why) {
	if (e > 0) {
		const char* s = ncclGetLastError(NULL); // one for all communicators
		snprintf(why, GPK_NCCL_WHY, "%s", s != NULL ? s : "");
	}
	return e;
}

static int gpk_nccl_unique(char* id, char* why) {
	gpk_nccl_id made;
	int e = ncclGetUniqueId(&made);
	if (e == 0) memcpy(id, made.bytes, sizeof(made.bytes));
	return gpk_nccl_result(e, why);
}

static int gpk_nccl_init(uintptr_t context, int ranks, const char* id, int rank, uintptr_t* comm, char* why) {
	gpk_nccl_id by_value;
	gpk_nccl_config config = gpk_nccl_blocking();
	void* made = NULL;
	memcpy(by_value.bytes, id, sizeof(by_value.bytes));
	int e = gpk_nccl_current(context);
	if (e == 0) e = ncclCommInitRankConfig(&made, ranks, by_value, rank, &config);
	*comm = (uintptr_t)made;
	return gpk_nccl_result(e, why);
}

static int gpk_nccl_split(uintptr_t context, uintptr_t comm, int color, int key, uintptr_t* out, char* why) {
	gpk_nccl_config config = gpk_nccl_blocking();
	void* made = NULL;
	int e = gpk_nccl_current(context);
	if (e == 0) e = ncclCommSplit((void*)comm, color, key, &made, &config);
	*out = (uintptr_t)made;
	return gpk_nccl_result(e, why);
}

static int gpk_nccl_async(uintptr_t comm, char* why) {
	int found = 0;
	int e = ncclCommGetAsyncError((void*)comm, &found);
	if (e == 0 && found != 7) e = found; // 7: in progress
	return gpk_nccl_result(e, why);
}

static int gpk_nccl_abort(uintptr_t context, uintptr_t comm, char* why) {
	int e = gpk_nccl_current(context);
	if (e == 0) e = ncclCommAbort((void*)comm);
	return gpk_nccl_result(e, why);
}

static int gpk_nccl_destroy(uintptr_t context, uintptr_t comm, char* why) {
	int e = gpk_nccl_current(context);
	if (e == 0) e = ncclCommDestroy((void*)comm);
	return gpk_nccl_result(e, why);
}

typedef struct {
	uint64_t send, recv, count, stream;
	int kind, type, op, peer, ranks, size; // size: bytes of an element
} gpk_nccl_call;

// gpk_nccl_exchange sends block i to rank i and receives that rank's block for this one, for all ranks
// in one group. A group belongs to the thread.
static int gpk_nccl_exchange(void* comm, const gpk_nccl_call* k) {
	uint64_t block = k->count * (uint64_t)k->size;
	int e = ncclGroupStart();
	if (e != 0) return e;
	for (int i = 0; e == 0 && i < k->ranks; i++) {
		e = ncclSend((const void*)(uintptr_t)(k->send + i * block), k->count, k->type, i, comm, (void*)(uintptr_t)k->stream);
		if (e == 0) e = ncclRecv((void*)(uintptr_t)(k->recv + i * block), k->count, k->type, i, comm, (void*)(uintptr_t)k->stream);
	}
	int end = ncclGroupEnd(); // ends the group even if a call in it failed
	return e != 0 ? e : end;
}

static int gpk_nccl_run(uintptr_t context, uintptr_t handle, const gpk_nccl_call* k, char* why) {
	const void* send = (const void*)(uintptr_t)k->send;
	void *recv = (void*)(uintptr_t)k->recv, *comm = (void*)handle, *stream = (void*)(uintptr_t)k->stream;
	int e = gpk_nccl_current(context);
	if (e != 0) return e;
	switch (k->kind) {
	case 0: e = ncclAllReduce(send, recv, k->count, k->type, k->op, comm, stream); break;
	case 1: e = ncclReduceScatter(send, recv, k->count, k->type, k->op, comm, stream); break;
	case 2: e = ncclAllGather(send, recv, k->count, k->type, comm, stream); break;
	case 3: e = ncclBroadcast(send, recv, k->count, k->type, k->peer, comm, stream); break;
	case 4: e = gpk_nccl_exchange(comm, k); break;
	case 5: e = ncclSend(send, k->count, k->type, k->peer, comm, stream); break;
	case 6: e = ncclRecv(recv, k->count, k->type, k->peer, comm, stream); break;
	default: return 4; // ncclInvalidArgument
	}
	return gpk_nccl_result(e, why);
}

#include "queued.h"
*/
import "C"

import (
	"bytes"
	"sync/atomic"
	"unsafe"

	"github.com/gpk-go/gpk/internal/submit"
)

func bind(handle uintptr) (version int, missing string) {
	if missing := C.gpk_nccl_bind(C.uintptr_t(handle)); missing != nil {
		return 0, C.GoString(missing)
	}
	return int(C.gpk_nccl_version()), ""
}

func bindDriver(driver uintptr) (missing string) {
	return C.GoString(C.gpk_nccl_bind_driver(C.uintptr_t(driver)))
}

// text is the buffer into which C copies NCCL's text of a failure.
type text [C.GPK_NCCL_WHY]C.char

// failure turns a result into an error; nil for success.
func (t *text) failure(call string, code C.int) error {
	if code == 0 {
		return nil // without the text, which would be a new string for each call
	}
	return library.Failure(call, int(code), t.String())
}

// String returns the text up to its NUL. C.GoString would move every text to the heap, 1 KiB a call.
func (t *text) String() string {
	b := unsafe.Slice((*byte)(unsafe.Pointer(t)), len(t))
	if n := bytes.IndexByte(b, 0); n >= 0 {
		b = b[:n]
	}
	return string(b)
}

// NewID returns an ID for Init, to be given to all ranks.
func NewID() (id ID, err error) {
	var (
		why  text
		made [len(id)]C.char
	)
	err = why.failure("ncclGetUniqueId", C.gpk_nccl_unique(&made[0], &why[0]))
	for i, b := range made {
		id[i] = byte(b)
	}
	return id, err
}

func initRank(context Context, ranks int, id ID, rank int) (handle uintptr, err error) {
	var (
		why  text
		made C.uintptr_t
		sent [len(id)]C.char
	)
	for i, b := range id {
		sent[i] = C.char(b)
	}
	e := C.gpk_nccl_init(C.uintptr_t(context), C.int(ranks), &sent[0], C.int(rank), &made, &why[0])
	return uintptr(made), why.failure("ncclCommInitRankConfig", e)
}

func (c *Comm) split(color, key int) (handle uintptr, err error) {
	var (
		why  text
		made C.uintptr_t
	)
	e := C.gpk_nccl_split(C.uintptr_t(c.context), C.uintptr_t(c.handle), C.int(color), C.int(key), &made, &why[0])
	return uintptr(made), why.failure("ncclCommSplit", e)
}

func (k *Call) words() C.gpk_nccl_call {
	return C.gpk_nccl_call{
		send: C.uint64_t(k.Send), recv: C.uint64_t(k.Recv), count: C.uint64_t(k.Count), stream: C.uint64_t(k.Stream),
		kind: C.int(k.Kind), _type: C.int(k.Type), op: C.int(k.Op), peer: C.int(k.Peer), ranks: C.int(k.Ranks), size: C.int(k.Type.size()),
	}
}

func (c *Comm) run(k *Call) error {
	var why text
	call := k.words()
	return why.failure(k.Kind.String(), C.gpk_nccl_run(C.uintptr_t(c.context), C.uintptr_t(c.handle), &call, &why[0]))
}

func (c *Comm) asyncError() error {
	var why text
	return why.failure("ncclCommGetAsyncError", C.gpk_nccl_async(C.uintptr_t(c.handle), &why[0]))
}

func (c *Comm) abort() error {
	var why text
	return why.failure("ncclCommAbort", C.gpk_nccl_abort(C.uintptr_t(c.context), C.uintptr_t(c.handle), &why[0]))
}

func (c *Comm) destroy() error {
	var why text
	return why.failure("ncclCommDestroy", C.gpk_nccl_destroy(C.uintptr_t(c.context), C.uintptr_t(c.handle), &why[0]))
}

// queuedCalls are the calls of a Comm that a launch queue makes. They are in memory of C, which is freed by the Comm or
// by the last record of the queue, whichever comes last.
type queuedCalls struct{ c *C.gpk_nccl_calls }

var queuedFunction, skippedFunction = uintptr(C.gpk_nccl_queued_at()), uintptr(C.gpk_nccl_skipped_at())

func newQueuedCalls(context Context, handle uintptr) queuedCalls {
	return queuedCalls{C.gpk_nccl_calls_new(C.uintptr_t(context), C.uintptr_t(handle))}
}

// write fills in the record of a call, and reports false if there is no memory for its state.
func (q queuedCalls) write(r *submit.Record, k *Call) bool {
	if q.c == nil {
		return false
	}
	atomic.AddUint32((*uint32)(unsafe.Pointer(&q.c.users)), 1)
	r.Function, r.Skipped = queuedFunction, skippedFunction
	r.Args[0] = uint64(uintptr(unsafe.Pointer(q.c)))
	*(*C.gpk_nccl_call)(unsafe.Pointer(&r.Args[1])) = k.words()
	return true
}

// failure returns the error of the call that failed, if any.
func (q queuedCalls) failure() error {
	if q.c == nil {
		return nil
	}
	switch code := atomic.LoadInt32((*int32)(unsafe.Pointer(&q.c.code))); code {
	case 0:
		return nil
	case C.GPK_NCCL_SKIPPED:
		return errSkipped
	default:
		return (*text)(unsafe.Pointer(&q.c.why)).failure(Kind(q.c.kind).String(), C.int(code))
	}
}

func (q queuedCalls) end() {
	if q.c != nil {
		C.gpk_nccl_calls_end(q.c)
	}
}

func (q queuedCalls) running() bool { return q.c != nil && C.gpk_nccl_calls_running(q.c) != 0 }

func (q queuedCalls) release() {
	if q.c != nil {
		C.gpk_nccl_calls_release(q.c)
	}
}
