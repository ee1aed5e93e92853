//go:build cgo && linux && (amd64 || arm64) && !nocuda

package device

/*
#cgo noescape gpk_cu_launch_function
#cgo nocallback gpk_cu_launch_function

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// As in driver_cuda.h. The last function is new in CUDA 12.4 and may be missing.
#define GPK_CU_MODULE_FUNCTIONS(F) \
	F(cuCtxSetCurrent, (void* context)) \
	F(cuModuleLoadData, (void** module, const void* image)) \
	F(cuModuleUnload, (void* module)) \
	F(cuModuleGetFunction, (void** function, void* module, const char* name)) \
	F(cuFuncGetAttribute, (int* value, int attribute, void* function)) \
	F(cuFuncSetAttribute, (void* function, int attribute, int value)) \
	F(cuOccupancyMaxPotentialBlockSize, (int* grid, int* block, void* function, void* shared_of_block, size_t shared, int limit)) \
	F(cuLaunchKernelEx, (const void* config, void* function, void** params, void** extra))

#define GPK_CU_MODULE_POINTER(name, parameters) static int (*name) parameters;
GPK_CU_MODULE_FUNCTIONS(GPK_CU_MODULE_POINTER)
static int (*cuFuncGetParamInfo)(void* function, size_t index, size_t* offset, size_t* size);

// gpk_cu_module_load binds every function. If one is missing, it writes the reason to
// why.
static int gpk_cu_module_load(const char* library, char* why, size_t n) {
	void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (handle == NULL) {
		const char* s = dlerror();
		snprintf(why, n, "%s", s != NULL ? s : "dlopen failed");
		return -1;
	}
#define GPK_CU_MODULE_BIND(name, parameters) \
	*(void**)&name = dlsym(handle, #name); \
	if (name == NULL) { \
		snprintf(why, n, "%s lacks %s", library, #name); \
		return -1; \
	}
	GPK_CU_MODULE_FUNCTIONS(GPK_CU_MODULE_BIND)
	*(void**)&cuFuncGetParamInfo = dlsym(handle, "cuFuncGetParamInfo");
	return 0;
}

// CU_FUNC_ATTRIBUTE_ numbers.
enum { GPK_CU_MAX_THREADS = 0, GPK_CU_STATIC_SHARED = 1, GPK_CU_DYNAMIC_SHARED = 8 };

static int gpk_cu_load_function(uintptr_t context, const void* image, const char* name, uint64_t* function, int* values) {
	void *m = NULL, *f = NULL;
	int e = cuCtxSetCurrent((void*)context);
	if (e == 0) e = cuModuleLoadData(&m, image);
	if (e != 0) return e;
	e = cuModuleGetFunction(&f, m, name);
	if (e == 0) e = cuFuncGetAttribute(&values[0], GPK_CU_MAX_THREADS, f);
	if (e == 0) e = cuFuncGetAttribute(&values[1], GPK_CU_STATIC_SHARED, f);
	if (e != 0) cuModuleUnload(m);
	*function = (uintptr_t)f;
	return e;
}

// gpk_cu_params returns the number of parameters of a function, at most room; -1 if the
// driver does not report them.
static int gpk_cu_params(uint64_t function, size_t* offsets, size_t* sizes, int room) {
	int n = 0;
	if (cuFuncGetParamInfo == NULL) return -1;
	while (n < room && cuFuncGetParamInfo((void*)(uintptr_t)function, n, &offsets[n], &sizes[n]) == 0) n++;
	return n;
}

// Without the opt-in a block has 48 KiB, dynamic and static.
static int gpk_cu_allow_shared(uint64_t function, int shared) {
	if (shared <= 32 << 10) return 0;
	return cuFuncSetAttribute((void*)(uintptr_t)function, GPK_CU_DYNAMIC_SHARED, shared);
}

static int gpk_cu_occupancy(uintptr_t context, uint64_t function, int shared, int* block, int* grid) {
	int e = cuCtxSetCurrent((void*)context);
	if (e == 0) e = gpk_cu_allow_shared(function, shared);
	if (e == 0) e = cuOccupancyMaxPotentialBlockSize(grid, block, (void*)(uintptr_t)function, NULL, shared, 0);
	return e;
}

// CUlaunchConfig, and CUlaunchAttribute with a value of the same size as in cuda.h.
typedef struct { int id; char pad[4]; union { int flag; char room[64]; } value; } gpk_cu_attribute;
typedef struct {
	unsigned grid[3], block[3], shared;
	void* stream;
	gpk_cu_attribute* attributes;
	unsigned count;
} gpk_cu_config;

static int gpk_cu_launch_function(uintptr_t context, uint64_t function, uint64_t stream, unsigned gx, unsigned gy,
                                  unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, int dependent,
                                  void* params, size_t size) {
	int e = cuCtxSetCurrent((void*)context);
	if (e == 0) e = gpk_cu_allow_shared(function, shared);
	if (e != 0) return e;
	// CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
	gpk_cu_attribute attribute = {.id = 6, .value = {.flag = 1}};
	gpk_cu_config config = {{gx, gy, gz}, {bx, by, bz}, shared, (void*)(uintptr_t)stream, &attribute, dependent ? 1 : 0};
	// CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE, CU_LAUNCH_PARAM_END
	void* extra[] = {(void*)1, params, (void*)2, &size, (void*)0};
	return cuLaunchKernelEx(&config, (void*)(uintptr_t)function, NULL, size == 0 ? NULL : extra);
}

// gpk_cu_queued_launch is gpk_cu_launch_function with its arguments in a record of the
// queue.
static int gpk_cu_queued_launch(const uint64_t* a) {
	return gpk_cu_launch_function(a[0], a[1], a[2], (unsigned)a[3], (unsigned)a[4], (unsigned)a[5], (unsigned)a[6], (unsigned)a[7],
	                              (unsigned)a[8], (unsigned)(a[9] >> 1), a[9] & 1, (void*)(a + 11), a[10]);
}

static uintptr_t gpk_cu_queued_launch_at(void) { return (uintptr_t)gpk_cu_queued_launch; }
*/
import "C"

import (
	"sync"
	"unsafe"

	"github.com/gpk-go/gpk/internal/submit"
)

// bindModules binds the functions of this file, once.
var bindModules = sync.OnceValue(func() error { return bindModulesFrom(driverLibrary) })

func bindModulesFrom(library string) error {
	name := C.CString(library)
	defer C.free(unsafe.Pointer(name))
	var why [512]C.char
	if C.gpk_cu_module_load(name, &why[0], C.size_t(len(why))) != 0 {
		return errorf("kernels compiled at run time: %s", C.GoString(&why[0]))
	}
	return nil
}

// maxParams is the maximum number of parameters that are read.
const maxParams = 256

func (b *cudaBackend) loadFunction(image []byte, name string) (uint64, functionInfo, error) {
	if err := bindModules(); err != nil {
		return 0, functionInfo{}, err
	}
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	copied := C.CBytes(image)
	defer C.free(copied)
	var function C.uint64_t
	var values [2]C.int
	if code := C.gpk_cu_load_function(b.context, copied, text, &function, &values[0]); code != 0 {
		return 0, functionInfo{}, cudaError("cuModuleLoadData", code)
	}
	info := functionInfo{maxThreads: int(values[0]), staticShared: int(values[1])}
	var offsets, sizes [maxParams]C.size_t
	if n := int(C.gpk_cu_params(function, &offsets[0], &sizes[0], maxParams)); n >= 0 {
		info.known = n < maxParams
		for i := range n {
			info.params = append(info.params, Param{int(offsets[i]), int(sizes[i])})
		}
	}
	return uint64(function), info, nil
}

func (b *cudaBackend) occupancy(function uint64, shared int) (block, grid int, err error) {
	var bl, gr C.int
	code := C.gpk_cu_occupancy(b.context, C.uint64_t(function), C.int(shared), &bl, &gr)
	return int(bl), int(gr), cudaError("cuOccupancyMaxPotentialBlockSize", code)
}

func (b *cudaBackend) launchFunction(function, stream uint64, l Launch, params []byte) error {
	dependent := C.int(0)
	if l.Dependent {
		dependent = 1
	}
	return cudaError("cuLaunchKernelEx", C.gpk_cu_launch_function(b.context, C.uint64_t(function), C.uint64_t(stream),
		C.uint(l.Grid[0]), C.uint(l.Grid[1]), C.uint(l.Grid[2]), C.uint(l.Block[0]), C.uint(l.Block[1]), C.uint(l.Block[2]),
		C.uint(l.Shared), dependent, unsafe.Pointer(unsafe.SliceData(params)), C.size_t(len(params))))
}

// queuedLaunch is the C function that the queue calls.
var queuedLaunch = uintptr(C.gpk_cu_queued_launch_at())

func (b *cudaBackend) queue() *submit.Queue { return b.calls }

func (b *cudaBackend) launchError(function uintptr, code int) (error, bool) {
	return cudaError("cuLaunchKernelEx", C.int(code)), function == queuedLaunch
}

func (b *cudaBackend) enqueueFunction(function, stream uint64, l Launch, params []byte) {
	shared := uint64(l.Shared) << 1
	if l.Dependent {
		shared |= 1
	}
	r := b.calls.Next()
	r.Function = queuedLaunch
	*(*[functionWords]uint64)(r.Args[:]) = [functionWords]uint64{
		uint64(b.context), function, stream, uint64(l.Grid[0]), uint64(l.Grid[1]), uint64(l.Grid[2]),
		uint64(l.Block[0]), uint64(l.Block[1]), uint64(l.Block[2]), shared, uint64(len(params)),
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&r.Args[functionWords])), 8*maxParamWords), params)
	b.calls.Push()
}
