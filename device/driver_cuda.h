// The functions of the CUDA driver that package device calls, loaded at run time, for the C part of driver_cuda.go.

#ifndef GPK_DRIVER_CUDA_H
#define GPK_DRIVER_CUDA_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// The driver's functions that are used here, as CUDA's header declares them, with pointers for handles and int for
// CUresult, CUdevice and enumerations. A name with _v2 is the one that CUDA's header defines the plain name to be.
// Of cuEventElapsedTime the first version is used, because older drivers lack cuEventElapsedTime_v2.
#define GPK_CU_FUNCTIONS(F) \
	F(cuInit, (unsigned flags)) \
	F(cuDriverGetVersion, (int* version)) \
	F(cuGetErrorName, (int code, const char** name)) \
	F(cuGetErrorString, (int code, const char** text)) \
	F(cuDeviceGetCount, (int* count)) \
	F(cuDeviceGet, (int* device, int ordinal)) \
	F(cuDeviceGetName, (char* name, int n, int device)) \
	F(cuDeviceTotalMem_v2, (size_t* bytes, int device)) \
	F(cuDeviceGetAttribute, (int* value, int attribute, int device)) \
	F(cuDevicePrimaryCtxRetain, (void** context, int device)) \
	F(cuDevicePrimaryCtxRelease_v2, (int device)) \
	F(cuCtxSetCurrent, (void* context)) \
	F(cuMemGetInfo_v2, (size_t* free, size_t* total)) \
	F(cuMemAlloc_v2, (unsigned long long* address, size_t n)) \
	F(cuMemFree_v2, (unsigned long long address)) \
	F(cuMemHostAlloc, (void** p, size_t n, unsigned flags)) \
	F(cuMemFreeHost, (void* p)) \
	F(cuMemcpyHtoDAsync_v2, (unsigned long long dst, const void* src, size_t n, void* stream)) \
	F(cuMemcpyDtoHAsync_v2, (void* dst, unsigned long long src, size_t n, void* stream)) \
	F(cuMemcpyDtoDAsync_v2, (unsigned long long dst, unsigned long long src, size_t n, void* stream)) \
	F(cuMemcpyPeerAsync, (unsigned long long dst, void* dst_context, unsigned long long src, void* src_context, size_t n, void* stream)) \
	F(cuStreamCreate, (void** stream, unsigned flags)) \
	F(cuStreamDestroy_v2, (void* stream)) \
	F(cuStreamSynchronize, (void* stream)) \
	F(cuStreamWaitEvent, (void* stream, void* event, unsigned flags)) \
	F(cuStreamBeginCapture_v2, (void* stream, int mode)) \
	F(cuStreamEndCapture, (void* stream, void** graph)) \
	F(cuEventCreate, (void** event, unsigned flags)) \
	F(cuEventDestroy_v2, (void* event)) \
	F(cuEventRecord, (void* event, void* stream)) \
	F(cuEventQuery, (void* event)) \
	F(cuEventSynchronize, (void* event)) \
	F(cuEventElapsedTime, (float* milliseconds, void* start, void* end)) \
	F(cuGraphInstantiateWithFlags, (void** exec, void* graph, unsigned long long flags)) \
	F(cuGraphExecUpdate_v2, (void* exec, void* graph, void* result)) \
	F(cuGraphLaunch, (void* exec, void* stream)) \
	F(cuGraphExecDestroy, (void* exec)) \
	F(cuGraphDestroy, (void* graph))

#define GPK_CU_POINTER(name, parameters) static int (*name) parameters;
GPK_CU_FUNCTIONS(GPK_CU_POINTER)

// gpk_cu_load binds every function. If one is missing, it writes the reason to why. It returns -1 if the library
// cannot be opened, and -2 if it lacks a function.
static int gpk_cu_load(const char* library, char* why, size_t n) {
	void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (handle == NULL) {
		const char* s = dlerror();
		snprintf(why, n, "%s", s != NULL ? s : "dlopen failed");
		return -1;
	}
#define GPK_CU_BIND(name, parameters) \
	*(void**)&name = dlsym(handle, #name); \
	if (name == NULL) { \
		snprintf(why, n, "%s lacks %s", library, #name); \
		return -2; \
	}
	GPK_CU_FUNCTIONS(GPK_CU_BIND)
	return 0;
}

static const char* gpk_cu_error_name(int code) {
	const char* s = NULL;
	return cuGetErrorName(code, &s) == 0 && s != NULL ? s : "unknown error";
}

static const char* gpk_cu_error_text(int code) {
	const char* s = NULL;
	return cuGetErrorString(code, &s) == 0 && s != NULL ? s : "the driver does not say more";
}

static int gpk_cu_init(int* version, int* count) {
	int e = cuInit(0);
	if (e == 0) e = cuDriverGetVersion(version);
	if (e == 0) e = cuDeviceGetCount(count);
	return e;
}

// CU_DEVICE_ATTRIBUTE_ numbers, in the order of the fields of gpk_cu_info.
enum {
	GPK_CU_MULTIPROCESSORS = 16, GPK_CU_L2 = 38, GPK_CU_MAJOR = 75, GPK_CU_MINOR = 76,
	GPK_CU_SHARED_OPTIN = 97, GPK_CU_CLUSTERS = 120, GPK_CU_TENSOR_MAPS = 127
};

static int gpk_cu_describe(int ordinal, char* name, int n, size_t* total, int* values) {
	static const int attributes[] = {GPK_CU_MULTIPROCESSORS, GPK_CU_L2, GPK_CU_MAJOR, GPK_CU_MINOR,
		GPK_CU_SHARED_OPTIN, GPK_CU_CLUSTERS, GPK_CU_TENSOR_MAPS};
	int device, e = cuDeviceGet(&device, ordinal);
	if (e == 0) e = cuDeviceGetName(name, n, device);
	if (e == 0) e = cuDeviceTotalMem_v2(total, device);
	for (size_t i = 0; e == 0 && i < sizeof attributes / sizeof *attributes; i++) {
		// Some drivers do not know the last two attributes. These have no clusters.
		int r = cuDeviceGetAttribute(&values[i], attributes[i], device);
		if (r != 0 && attributes[i] < GPK_CU_CLUSTERS) e = r;
		if (r != 0) values[i] = 0;
	}
	return e;
}

static int gpk_cu_open(int ordinal, uintptr_t* context) {
	int device, e = cuDeviceGet(&device, ordinal);
	void* c = NULL;
	if (e == 0) e = cuDevicePrimaryCtxRetain(&c, device);
	*context = (uintptr_t)c;
	return e;
}

static void gpk_cu_close(int ordinal) {
	int device;
	if (cuDeviceGet(&device, ordinal) == 0) cuDevicePrimaryCtxRelease_v2(device);
}

// The current context belongs to the thread, and Go moves goroutines between threads. Therefore every function below
// sets the context first. A function returns the first error.
#define GPK_CU_IN(context) \
	int e = cuCtxSetCurrent((void*)(context)); \
	if (e != 0) return e

static int gpk_cu_mem_info(uintptr_t context, size_t* free, size_t* total) {
	GPK_CU_IN(context);
	return cuMemGetInfo_v2(free, total);
}

static int gpk_cu_alloc(uintptr_t context, uint64_t* address, size_t n) {
	GPK_CU_IN(context);
	unsigned long long a = 0;
	e = cuMemAlloc_v2(&a, n);
	*address = a;
	return e;
}

static int gpk_cu_free(uintptr_t context, uint64_t address) {
	GPK_CU_IN(context);
	return cuMemFree_v2(address);
}

static int gpk_cu_alloc_host(uintptr_t context, void** p, size_t n) {
	GPK_CU_IN(context);
	return cuMemHostAlloc(p, n, 1); // CU_MEMHOSTALLOC_PORTABLE: pinned for every context
}

static int gpk_cu_free_host(uintptr_t context, void* p) {
	GPK_CU_IN(context);
	return cuMemFreeHost(p);
}

static int gpk_cu_new_stream(uintptr_t context, uint64_t* stream) {
	GPK_CU_IN(context);
	void* s = NULL;
	e = cuStreamCreate(&s, 1); // CU_STREAM_NON_BLOCKING: does not wait for the legacy stream
	*stream = (uintptr_t)s;
	return e;
}

static int gpk_cu_close_stream(uintptr_t context, uint64_t stream) {
	GPK_CU_IN(context);
	return cuStreamDestroy_v2((void*)(uintptr_t)stream);
}

static int gpk_cu_sync_stream(uintptr_t context, uint64_t stream) {
	GPK_CU_IN(context);
	return cuStreamSynchronize((void*)(uintptr_t)stream);
}

static int gpk_cu_new_event(uintptr_t context, uint64_t* event, unsigned flags) {
	GPK_CU_IN(context);
	void* v = NULL;
	e = cuEventCreate(&v, flags);
	*event = (uintptr_t)v;
	return e;
}

static int gpk_cu_close_event(uintptr_t context, uint64_t event) {
	GPK_CU_IN(context);
	return cuEventDestroy_v2((void*)(uintptr_t)event);
}

static int gpk_cu_record(uintptr_t context, uint64_t event, uint64_t stream) {
	GPK_CU_IN(context);
	return cuEventRecord((void*)(uintptr_t)event, (void*)(uintptr_t)stream);
}

static int gpk_cu_wait(uintptr_t context, uint64_t stream, uint64_t event) {
	GPK_CU_IN(context);
	return cuStreamWaitEvent((void*)(uintptr_t)stream, (void*)(uintptr_t)event, 0);
}

static int gpk_cu_event_done(uintptr_t context, uint64_t event) {
	GPK_CU_IN(context);
	return cuEventQuery((void*)(uintptr_t)event);
}

static int gpk_cu_sync_event(uintptr_t context, uint64_t event) {
	GPK_CU_IN(context);
	return cuEventSynchronize((void*)(uintptr_t)event);
}

static int gpk_cu_elapsed(uintptr_t context, uint64_t start, uint64_t end, float* milliseconds) {
	GPK_CU_IN(context);
	return cuEventElapsedTime(milliseconds, (void*)(uintptr_t)start, (void*)(uintptr_t)end);
}

static int gpk_cu_copy_in(uintptr_t context, uint64_t dst, const void* src, size_t n, uint64_t stream, uint64_t event) {
	GPK_CU_IN(context);
	e = cuMemcpyHtoDAsync_v2(dst, src, n, (void*)(uintptr_t)stream);
	if (e == 0 && event != 0) e = cuEventRecord((void*)(uintptr_t)event, (void*)(uintptr_t)stream);
	return e;
}

static int gpk_cu_copy_out(uintptr_t context, void* dst, uint64_t src, size_t n, uint64_t stream, uint64_t event) {
	GPK_CU_IN(context);
	e = cuMemcpyDtoHAsync_v2(dst, src, n, (void*)(uintptr_t)stream);
	if (e == 0 && event != 0) e = cuEventRecord((void*)(uintptr_t)event, (void*)(uintptr_t)stream);
	return e;
}

static int gpk_cu_sync_copy_out(uintptr_t context, void* dst, uint64_t src, size_t n, uint64_t stream) {
	GPK_CU_IN(context);
	e = cuMemcpyDtoHAsync_v2(dst, src, n, (void*)(uintptr_t)stream);
	// Wait even after an error: nothing may write to dst after this function returns.
	int w = cuStreamSynchronize((void*)(uintptr_t)stream);
	return e != 0 ? e : w;
}

static int gpk_cu_copy_within(uintptr_t context, uint64_t dst, uint64_t src, size_t n, uint64_t stream) {
	GPK_CU_IN(context);
	return cuMemcpyDtoDAsync_v2(dst, src, n, (void*)(uintptr_t)stream);
}

static int gpk_cu_copy_peer(uintptr_t context, uint64_t dst, uintptr_t from, uint64_t src, size_t n, uint64_t stream) {
	GPK_CU_IN(context);
	return cuMemcpyPeerAsync(dst, (void*)context, src, (void*)from, n, (void*)(uintptr_t)stream);
}

static int gpk_cu_begin_capture(uintptr_t context, uint64_t stream) {
	GPK_CU_IN(context);
	return cuStreamBeginCapture_v2((void*)(uintptr_t)stream, 2); // CU_STREAM_CAPTURE_MODE_RELAXED: the capture belongs to no thread
}

static int gpk_cu_end_capture(uintptr_t context, uint64_t stream, uint64_t* graph) {
	GPK_CU_IN(context);
	void* g = NULL;
	e = cuStreamEndCapture((void*)(uintptr_t)stream, &g);
	*graph = (uintptr_t)g;
	return e;
}

static int gpk_cu_instantiate(uintptr_t context, uint64_t graph, uint64_t* exec) {
	GPK_CU_IN(context);
	void* x = NULL;
	e = cuGraphInstantiateWithFlags(&x, (void*)(uintptr_t)graph, 0);
	*exec = (uintptr_t)x;
	return e;
}

static int gpk_cu_update(uintptr_t context, uint64_t exec, uint64_t graph) {
	GPK_CU_IN(context);
	struct { int result; void* node; void* from; } info = {0}; // CUgraphExecUpdateResultInfo
	return cuGraphExecUpdate_v2((void*)(uintptr_t)exec, (void*)(uintptr_t)graph, &info);
}

static int gpk_cu_launch(uintptr_t context, uint64_t exec, uint64_t stream) {
	GPK_CU_IN(context);
	return cuGraphLaunch((void*)(uintptr_t)exec, (void*)(uintptr_t)stream);
}

static int gpk_cu_close_exec(uintptr_t context, uint64_t exec) {
	GPK_CU_IN(context);
	return cuGraphExecDestroy((void*)(uintptr_t)exec);
}

static int gpk_cu_close_graph(uintptr_t context, uint64_t graph) {
	GPK_CU_IN(context);
	return cuGraphDestroy((void*)(uintptr_t)graph);
}

#endif
