// libcuda.c: a CUDA driver for tests, over the memory of the host. It knows the
// functions that package device binds, with the signatures of NVIDIA's header,
// does on the spot what a GPU would do later, and refuses calls on a thread that
// has not set its context, handles that it did not give, and waits for a stream
// that is being captured. It gives the handle of a closed stream to the next one.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
  SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_DEVICE = 101, INVALID_CONTEXT = 201,
  INVALID_HANDLE = 400, CAPTURE_UNSUPPORTED = 900, UPDATE_FAILURE = 910
};
enum { DEVICES = 2 };
static const size_t total = 1 << 28;

// Every handle begins with what it is.
enum { STREAM = 0x57A3, EVENT = 0xE3E7, GRAPH = 0x63A9, EXEC = 0xE8EC };
struct object {
  int what, capturing, launches;
  double at;
};

static struct { int retained; } contexts[DEVICES];
static __thread void* current;

#define NEEDS_CONTEXT if (current == NULL) return INVALID_CONTEXT
#define NEEDS(p, kind) NEEDS_CONTEXT; if ((p) == NULL || ((struct object*)(p))->what != (kind)) return INVALID_HANDLE

static int make(void** out, int what) {
  struct object* o = calloc(1, sizeof *o);
  o->what = what;
  *out = o;
  return SUCCESS;
}

static int drop(struct object* o) {
  o->what = 0;
  free(o);
  return SUCCESS;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

int cuInit(unsigned flags) { return getenv("GPK_TEST_NO_DEVICE") != NULL ? NO_DEVICE : flags; }
int cuDriverGetVersion(int* version) { return *version = 13000, SUCCESS; }
int cuGetErrorName(int code, const char** name) {
  *name = code == OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : code == NO_DEVICE ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR";
  return code == 12345 ? INVALID_VALUE : SUCCESS;
}
int cuGetErrorString(int code, const char** text) { return *text = "as the test wants", code == 12345 ? INVALID_VALUE : SUCCESS; }
int cuDeviceGetCount(int* count) { return *count = DEVICES, SUCCESS; }
int cuDeviceGet(int* device, int ordinal) { return *device = 40 + ordinal, ordinal < 0 || ordinal >= DEVICES ? INVALID_DEVICE : SUCCESS; }
int cuDeviceGetName(char* name, int n, int device) { return strncpy(name, device == 40 ? "Test GPU A" : "Test GPU B", n), SUCCESS; }
int cuDeviceTotalMem_v2(size_t* bytes, int device) { return *bytes = total * (device - 39), SUCCESS; }

int cuDeviceGetAttribute(int* value, int attribute, int device) {
  switch (attribute) {
    case 16: *value = 132; return SUCCESS;
    case 38: *value = 50 << 20; return SUCCESS;
    case 75: *value = 9; return SUCCESS;
    case 76: *value = 0; return SUCCESS;
    case 97: *value = 227 << 10; return SUCCESS;
    case 120: *value = 1; return SUCCESS;
  }
  return INVALID_VALUE; // 127 is newer than this driver
}

int cuDevicePrimaryCtxRetain(void** context, int device) {
  __atomic_fetch_add(&contexts[device - 40].retained, 1, __ATOMIC_SEQ_CST);
  return *context = &contexts[device - 40], SUCCESS;
}
int cuDevicePrimaryCtxRelease_v2(int device) {
  return __atomic_fetch_sub(&contexts[device - 40].retained, 1, __ATOMIC_SEQ_CST) > 0 ? SUCCESS : INVALID_CONTEXT;
}
int cuCtxSetCurrent(void* context) {
  if (context != &contexts[0] && context != &contexts[1]) return INVALID_CONTEXT;
  if (((__typeof__(&contexts[0]))context)->retained <= 0) return INVALID_CONTEXT;
  current = context;
  return SUCCESS;
}
int cuMemGetInfo_v2(size_t* free, size_t* all) {
  NEEDS_CONTEXT;
  *free = total / 2;
  *all = total;
  return SUCCESS;
}
int cuMemAlloc_v2(unsigned long long* address, size_t n) {
  NEEDS_CONTEXT;
  if (n > total) return OUT_OF_MEMORY;
  *address = (uintptr_t)aligned_alloc(256, (n + 255) / 256 * 256);
  return SUCCESS;
}
int cuMemFree_v2(unsigned long long address) {
  NEEDS_CONTEXT;
  free((void*)(uintptr_t)address);
  return SUCCESS;
}
int cuMemHostAlloc(void** p, size_t n, unsigned flags) {
  NEEDS_CONTEXT;
  if (flags != 1) return INVALID_VALUE;
  *p = aligned_alloc(4096, (n + 4095) / 4096 * 4096);
  return SUCCESS;
}
int cuMemFreeHost(void* p) {
  NEEDS_CONTEXT;
  free(p);
  return SUCCESS;
}

static int move(void* dst, const void* src, size_t n, struct object* stream) {
  NEEDS(stream, STREAM);
  if (!stream->capturing) memcpy(dst, src, n);
  return SUCCESS;
}
int cuMemcpyHtoDAsync_v2(unsigned long long dst, const void* src, size_t n, void* stream) { return move((void*)(uintptr_t)dst, src, n, stream); }
int cuMemcpyDtoHAsync_v2(void* dst, unsigned long long src, size_t n, void* stream) { return move(dst, (void*)(uintptr_t)src, n, stream); }
int cuMemcpyDtoDAsync_v2(unsigned long long dst, unsigned long long src, size_t n, void* stream) {
  return move((void*)(uintptr_t)dst, (void*)(uintptr_t)src, n, stream);
}
int cuMemcpyPeerAsync(unsigned long long dst, void* to, unsigned long long src, void* from, size_t n, void* stream) {
  if (to == from || to != current) return INVALID_CONTEXT;
  return move((void*)(uintptr_t)dst, (void*)(uintptr_t)src, n, stream);
}

static struct object* closed; // the stream that was closed last

int cuStreamCreate(void** stream, unsigned flags) {
  NEEDS_CONTEXT;
  if (getenv("GPK_TEST_NO_STREAM") != NULL) return OUT_OF_MEMORY;
  struct object* o = __atomic_exchange_n(&closed, NULL, __ATOMIC_SEQ_CST);
  if (o == NULL || flags != 1) return flags != 1 ? INVALID_VALUE : make(stream, STREAM);
  o->what = STREAM;
  return *stream = o, SUCCESS;
}
int cuStreamDestroy_v2(void* stream) {
  NEEDS(stream, STREAM);
  ((struct object*)stream)->what = 0;
  struct object* o = __atomic_exchange_n(&closed, stream, __ATOMIC_SEQ_CST);
  return o == NULL ? SUCCESS : drop(o);
}
int cuStreamSynchronize(void* stream) {
  NEEDS(stream, STREAM);
  return ((struct object*)stream)->capturing ? CAPTURE_UNSUPPORTED : SUCCESS;
}
int cuStreamWaitEvent(void* stream, void* event, unsigned flags) {
  NEEDS(stream, STREAM);
  NEEDS(event, EVENT);
  return flags != 0 ? INVALID_VALUE : SUCCESS;
}
int cuStreamBeginCapture_v2(void* stream, int mode) {
  NEEDS(stream, STREAM);
  if (mode != 2) return INVALID_VALUE;
  ((struct object*)stream)->capturing = 1;
  return SUCCESS;
}
int cuStreamEndCapture(void* stream, void** graph) {
  NEEDS(stream, STREAM);
  ((struct object*)stream)->capturing = 0;
  return make(graph, GRAPH);
}

int cuEventCreate(void** event, unsigned flags) {
  NEEDS_CONTEXT;
  return flags > 3 ? INVALID_VALUE : make(event, EVENT);
}
int cuEventDestroy_v2(void* event) {
  NEEDS(event, EVENT);
  return drop(event);
}
int cuEventRecord(void* event, void* stream) {
  NEEDS(event, EVENT);
  NEEDS(stream, STREAM);
  ((struct object*)event)->at = now();
  return SUCCESS;
}
int cuEventQuery(void* event) {
  NEEDS(event, EVENT);
  return now() - ((struct object*)event)->at < 0.2 ? 600 : SUCCESS;
}
int cuEventSynchronize(void* event) {
  NEEDS(event, EVENT);
  return SUCCESS;
}
int cuEventElapsedTime(float* milliseconds, void* start, void* end) {
  NEEDS(start, EVENT);
  NEEDS(end, EVENT);
  *milliseconds = ((struct object*)end)->at - ((struct object*)start)->at;
  return SUCCESS;
}

int cuGraphInstantiateWithFlags(void** exec, void* graph, unsigned long long flags) {
  NEEDS(graph, GRAPH);
  return flags != 0 ? INVALID_VALUE : make(exec, EXEC);
}
int cuGraphExecUpdate_v2(void* exec, void* graph, void* result) {
  struct { int result; void* node; void* from; }* r = result; // all of it is written
  NEEDS(exec, EXEC);
  NEEDS(graph, GRAPH);
  r->result = 3, r->node = r->from = graph;
  return getenv("GPK_TEST_NO_UPDATE") != NULL ? UPDATE_FAILURE : SUCCESS;
}
int cuGraphLaunch(void* exec, void* stream) {
  NEEDS(exec, EXEC);
  NEEDS(stream, STREAM);
  return SUCCESS;
}
int cuGraphExecDestroy(void* exec) {
  NEEDS(exec, EXEC);
  return drop(exec);
}
int cuGraphDestroy(void* graph) {
  NEEDS(graph, GRAPH);
  return drop(graph);
}

// A function is a number: what it adds to the word at its first parameter, of which
// it makes thirty-one times as much before. Its second parameter is how many
// microseconds the launch takes, its third what it answers.
struct config {
  unsigned grid[3], block[3], shared;
  void* stream;
};
int cuLaunchKernelEx(const struct config* config, void* function, void** params, void** extra) {
  NEEDS(config->stream, STREAM);
  if (params != NULL || extra[0] != (void*)1 || extra[2] != (void*)2 || *(size_t*)extra[3] != 24 || config->grid[0] != 7) return INVALID_VALUE;
  const uint64_t* words = extra[1];
  if (words[1] != 0) {
    for (double end = now() + words[1] / 1e3; now() < end;) {}
  }
  if (words[2] != 0) return (int)words[2];
  uint64_t* at = (uint64_t*)(uintptr_t)words[0];
  *at = *at * 31 + (uintptr_t)function;
  return SUCCESS;
}
int cuModuleLoadData(void** module, const void* image) { return *module = (void*)image, SUCCESS; }
int cuModuleUnload(void* module) { return module == NULL; }
int cuModuleGetFunction(void** function, void* module, const char* name) { return *function = module, name == NULL; }
int cuFuncGetAttribute(int* value, int attribute, void* function) { return *value = attribute == 0 ? 1024 : 0, function == NULL; }
int cuFuncSetAttribute(void* function, int attribute, int value) { return function == NULL || attribute != 8 || value < 0; }
int cuOccupancyMaxPotentialBlockSize(int* grid, int* block, void* function, void* of, size_t shared, int limit) {
  *grid = 132;
  *block = 256;
  return function == NULL || of != NULL || shared > 227 << 10 || limit != 0;
}
