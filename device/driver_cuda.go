//go:build cgo && linux && (amd64 || arm64) && !nocuda

package device

/*
#cgo linux LDFLAGS: -ldl
#cgo noescape gpk_cu_copy_in
#cgo nocallback gpk_cu_copy_in
#cgo noescape gpk_cu_sync_copy_out
#cgo nocallback gpk_cu_sync_copy_out
#cgo noescape gpk_cu_copy_out
#cgo nocallback gpk_cu_copy_out
#cgo noescape gpk_cu_alloc
#cgo nocallback gpk_cu_alloc
#cgo noescape gpk_cu_new_event
#cgo nocallback gpk_cu_new_event
#cgo nocallback gpk_cu_record
#cgo nocallback gpk_cu_wait
#cgo nocallback gpk_cu_event_done
#cgo nocallback gpk_cu_launch
#cgo nocallback gpk_cu_copy_within

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// The driver's functions that are used here, as its header declares them: handles are
// pointers, CUresult, CUdevice and enumerations int. If a function has a _v2, that is the
// one that the header's name stands for. cuEventElapsedTime is the exception: every driver
// has its first form.
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

// gpk_cu_load binds every function. If one is missing, it writes the reason to why.
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
		// The last two are newer than some drivers, which have no clusters.
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

// The current context belongs to the thread, and Go moves goroutines between threads. So
// every function that follows first sets the context, and returns the first error.
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
	// Wait in any case: nothing may write to dst after this function returns.
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
*/
import "C"

import (
	"fmt"
	"os"
	"strings"
	"time"
	"unsafe"

	"github.com/gpk-go/gpk/internal/submit"
)

// driverLibrary is the NVIDIA driver's user-space library.
const driverLibrary = "libcuda.so.1"

// cudaDriver is the CUDA driver of this process.
type cudaDriver struct {
	version int // 13000 is CUDA 13.0
	count   int
}

func loadDriver() (driver, error) { return loadDriverFrom(driverLibrary) }

// loadDriverFrom binds the driver's functions, once per process: a loaded driver stays
// loaded.
func loadDriverFrom(library string) (driver, error) {
	name := C.CString(library)
	defer C.free(unsafe.Pointer(name))
	var why [512]C.char
	switch C.gpk_cu_load(name, &why[0], C.size_t(len(why))) {
	case -1:
		return nil, fmt.Errorf("the NVIDIA driver's %s was not found: %s (no driver is installed, or this is a container that was started without GPUs)", library, C.GoString(&why[0]))
	case -2:
		return nil, fmt.Errorf("the NVIDIA driver is too old, version 525 or newer is needed: %s", C.GoString(&why[0]))
	}
	var version, count C.int
	if code := C.gpk_cu_init(&version, &count); code != 0 {
		return nil, fmt.Errorf("%s is there, but does not start: %w", library, cudaError("cuInit", code))
	}
	return &cudaDriver{version: int(version), count: int(count)}, nil
}

// cudaError converts a result code to an error; nil for success.
func cudaError(call string, code C.int) error {
	if code == 0 {
		return nil
	}
	return &driverError{code: int(code), call: call, name: C.GoString(C.gpk_cu_error_name(code)), text: C.GoString(C.gpk_cu_error_text(code))}
}

func (c *cudaDriver) devices() ([]Info, error) {
	var list []Info
	for i := range c.count {
		var (
			name   [256]C.char
			total  C.size_t
			values [7]C.int // in the order of gpk_cu_describe
		)
		if code := C.gpk_cu_describe(C.int(i), &name[0], C.int(len(name)), &total, &values[0]); code != 0 {
			return nil, fmt.Errorf("describing cuda:%d: %w", i, cudaError("cuDeviceGetAttribute", code))
		}
		list = append(list, Info{
			Name: C.GoString(&name[0]), Kind: CUDA, Index: i, SM: int(values[2]*10 + values[3]), MultiProcessors: int(values[0]),
			TotalMemory: int64(total), L2Bytes: int64(values[1]), SharedMemoryPerBlock: int64(values[4]),
			Driver: c.describe(), CUDA: c.version, ClusterLaunch: values[5] != 0, TensorMaps: values[6] != 0,
		})
	}
	return list, nil
}

// describe returns the driver's version, if the kernel module reports it, and the newest
// CUDA version that it supports.
func (c *cudaDriver) describe() string {
	s := fmt.Sprintf("CUDA %d.%d", c.version/1000, c.version%1000/10)
	if text, err := os.ReadFile("/sys/module/nvidia/version"); err == nil {
		return strings.TrimSpace(string(text)) + " (" + s + ")"
	}
	// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul …"
	text, _ := os.ReadFile("/proc/driver/nvidia/version")
	line, _, _ := strings.Cut(string(text), "\n")
	for _, f := range strings.Fields(line) {
		if f[0] >= '0' && f[0] <= '9' && strings.Contains(f, ".") {
			return f + " (" + s + ")"
		}
	}
	return s
}

func (c *cudaDriver) open(ordinal int) (backend, error) {
	var context C.uintptr_t
	if code := C.gpk_cu_open(C.int(ordinal), &context); code != 0 {
		return nil, cudaError("cuDevicePrimaryCtxRetain", code)
	}
	return &cudaBackend{ordinal, context, submit.New(submit.ModeOf())}, nil
}

// cudaBackend is one GPU through its primary context, which the CUDA runtime in the kernel
// library uses too.
type cudaBackend struct {
	ordinal int
	context C.uintptr_t
	calls   *submit.Queue // queued launches; drained before any other ordered call
}

func (b *cudaBackend) close() {
	b.calls.Close()
	b.calls = nil
	C.gpk_cu_close(C.int(b.ordinal))
}

func (b *cudaBackend) memory() (free, total int64, err error) {
	var f, t C.size_t
	code := C.gpk_cu_mem_info(b.context, &f, &t)
	return int64(f), int64(t), cudaError("cuMemGetInfo", code)
}

func (b *cudaBackend) alloc(n int64) (memory, error) {
	var a C.uint64_t
	code := C.gpk_cu_alloc(b.context, &a, C.size_t(n))
	return memory{addr: uint64(a)}, cudaError("cuMemAlloc", code)
}

func (b *cudaBackend) free(m memory) error {
	b.calls.Drain()
	return cudaError("cuMemFree", C.gpk_cu_free(b.context, C.uint64_t(m.addr)))
}

func (b *cudaBackend) allocHost(n int) (unsafe.Pointer, error) {
	var p unsafe.Pointer
	code := C.gpk_cu_alloc_host(b.context, &p, C.size_t(n))
	return p, cudaError("cuMemHostAlloc", code)
}

func (b *cudaBackend) freeHost(p unsafe.Pointer) error {
	b.calls.Drain()
	return cudaError("cuMemFreeHost", C.gpk_cu_free_host(b.context, p))
}

func (b *cudaBackend) newStream() (uint64, error) {
	var s C.uint64_t
	code := C.gpk_cu_new_stream(b.context, &s)
	return uint64(s), cudaError("cuStreamCreate", code)
}

func (b *cudaBackend) closeStream(stream uint64) error {
	b.calls.Drain()
	return cudaError("cuStreamDestroy", C.gpk_cu_close_stream(b.context, C.uint64_t(stream)))
}

func (b *cudaBackend) syncStream(stream uint64) error {
	b.calls.Drain()
	return cudaError("cuStreamSynchronize", C.gpk_cu_sync_stream(b.context, C.uint64_t(stream)))
}

// eventFlags are CU_EVENT_DISABLE_TIMING, 2, and CU_EVENT_BLOCKING_SYNC, 1.
var eventFlags = [...]C.uint{eventOrder: 2, eventTiming: 0, eventBlocking: 3}

func (b *cudaBackend) newEvent(kind eventKind) (uint64, error) {
	var e C.uint64_t
	code := C.gpk_cu_new_event(b.context, &e, eventFlags[kind])
	return uint64(e), cudaError("cuEventCreate", code)
}

func (b *cudaBackend) closeEvent(event uint64) error {
	return cudaError("cuEventDestroy", C.gpk_cu_close_event(b.context, C.uint64_t(event)))
}

func (b *cudaBackend) record(event, stream uint64) error {
	b.calls.Drain()
	return cudaError("cuEventRecord", C.gpk_cu_record(b.context, C.uint64_t(event), C.uint64_t(stream)))
}

func (b *cudaBackend) wait(stream, event uint64) error {
	b.calls.Drain()
	return cudaError("cuStreamWaitEvent", C.gpk_cu_wait(b.context, C.uint64_t(stream), C.uint64_t(event)))
}

func (b *cudaBackend) eventDone(event uint64) (bool, error) {
	const notReady = 600 // CUDA_ERROR_NOT_READY
	code := C.gpk_cu_event_done(b.context, C.uint64_t(event))
	if code == notReady {
		return false, nil
	}
	return code == 0, cudaError("cuEventQuery", code)
}

func (b *cudaBackend) syncEvent(event uint64) error {
	return cudaError("cuEventSynchronize", C.gpk_cu_sync_event(b.context, C.uint64_t(event)))
}

func (b *cudaBackend) elapsed(start, end uint64) (time.Duration, error) {
	var ms C.float
	code := C.gpk_cu_elapsed(b.context, C.uint64_t(start), C.uint64_t(end), &ms)
	return time.Duration(float64(ms) * float64(time.Millisecond)), cudaError("cuEventElapsedTime", code)
}

func (b *cudaBackend) copyIn(m memory, off int64, src unsafe.Pointer, n int64, stream, event uint64) error {
	b.calls.Drain()
	return cudaError("cuMemcpyHtoDAsync", C.gpk_cu_copy_in(b.context, C.uint64_t(m.addr)+C.uint64_t(off), src, C.size_t(n), C.uint64_t(stream), C.uint64_t(event)))
}

func (b *cudaBackend) copyOut(dst unsafe.Pointer, m memory, off, n int64, stream, event uint64) error {
	b.calls.Drain()
	return cudaError("cuMemcpyDtoHAsync", C.gpk_cu_copy_out(b.context, dst, C.uint64_t(m.addr)+C.uint64_t(off), C.size_t(n), C.uint64_t(stream), C.uint64_t(event)))
}

func (b *cudaBackend) syncCopyOut(dst unsafe.Pointer, m memory, off, n int64, stream uint64) error {
	b.calls.Drain()
	return cudaError("cuMemcpyDtoHAsync", C.gpk_cu_sync_copy_out(b.context, dst, C.uint64_t(m.addr)+C.uint64_t(off), C.size_t(n), C.uint64_t(stream)))
}

func (b *cudaBackend) copyWithin(dst memory, dstOff int64, src memory, srcOff, n int64, stream uint64) error {
	b.calls.Drain()
	return cudaError("cuMemcpyDtoDAsync", C.gpk_cu_copy_within(b.context, C.uint64_t(dst.addr)+C.uint64_t(dstOff), C.uint64_t(src.addr)+C.uint64_t(srcOff), C.size_t(n), C.uint64_t(stream)))
}

func (b *cudaBackend) copyPeer(dst memory, dstOff int64, from backend, src memory, srcOff, n int64, stream uint64) error {
	b.calls.Drain()
	peer, ok := from.(*cudaBackend)
	if !ok {
		return errorf("a copy between GPUs of different drivers")
	}
	return cudaError("cuMemcpyPeerAsync", C.gpk_cu_copy_peer(b.context, C.uint64_t(dst.addr)+C.uint64_t(dstOff), peer.context, C.uint64_t(src.addr)+C.uint64_t(srcOff), C.size_t(n), C.uint64_t(stream)))
}

func (b *cudaBackend) beginCapture(stream uint64) error {
	b.calls.Drain()
	return cudaError("cuStreamBeginCapture", C.gpk_cu_begin_capture(b.context, C.uint64_t(stream)))
}

func (b *cudaBackend) endCapture(stream uint64) (uint64, error) {
	b.calls.Drain()
	var g C.uint64_t
	code := C.gpk_cu_end_capture(b.context, C.uint64_t(stream), &g)
	return uint64(g), cudaError("cuStreamEndCapture", code)
}

func (b *cudaBackend) newExec(graph uint64) (uint64, error) {
	var x C.uint64_t
	code := C.gpk_cu_instantiate(b.context, C.uint64_t(graph), &x)
	return uint64(x), cudaError("cuGraphInstantiate", code)
}

func (b *cudaBackend) updateExec(exec, graph uint64) error {
	return cudaError("cuGraphExecUpdate", C.gpk_cu_update(b.context, C.uint64_t(exec), C.uint64_t(graph)))
}

func (b *cudaBackend) launchExec(exec, stream uint64) error {
	b.calls.Drain()
	return cudaError("cuGraphLaunch", C.gpk_cu_launch(b.context, C.uint64_t(exec), C.uint64_t(stream)))
}

func (b *cudaBackend) closeExec(exec uint64) error {
	return cudaError("cuGraphExecDestroy", C.gpk_cu_close_exec(b.context, C.uint64_t(exec)))
}

func (b *cudaBackend) closeGraph(graph uint64) error {
	return cudaError("cuGraphDestroy", C.gpk_cu_close_graph(b.context, C.uint64_t(graph)))
}
