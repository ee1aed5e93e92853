// A kernel library for tests: its entries compute on the host, at addresses that a fake
// device gives out.
#include "../gpk_kernels.h"

#ifdef TEST_ABI
#undef GPK_KERNELS_ABI
#define GPK_KERNELS_ABI TEST_ABI
#endif

static const char* message(int code) { return code == GPK_KERNELS_BAD_ARGUMENT ? "arguments of another size" : "no such luck"; }

#ifdef TEST_SILENT
GPK_KERNEL_ENTRY int gpk_kernels_abi(void) { return GPK_KERNELS_ABI; }
#elif !defined(TEST_FOREIGN)
GPK_KERNEL_LIBRARY(message)
#endif

typedef struct {
  float a;
  int32_t n;
  uint64_t x, y;
  int64_t seen_device, seen_stream;
} axpy_args;

GPK_KERNEL_ENTRY int axpy(int device, uint64_t stream, void* args, int64_t bytes) {
  axpy_args const* p = (axpy_args const*)args;
  if (bytes != sizeof *p) return GPK_KERNELS_BAD_ARGUMENT;
  float const* x = (float const*)p->x;
  float* y = (float*)p->y;
  for (int i = 0; i < p->n; i++) y[i] += p->a * x[i];
  return 0;
}

// Says what it was called with.
GPK_KERNEL_ENTRY int question(int device, uint64_t stream, void* args, int64_t bytes) {
  axpy_args* p = (axpy_args*)args;
  if (bytes != sizeof *p) return GPK_KERNELS_BAD_ARGUMENT;
  p->seen_device = device;
  p->seen_stream = (int64_t)stream;
  p->n = 2 * p->n;
  return 0;
}

GPK_KERNEL_ENTRY int fails(int device, uint64_t stream, void* args, int64_t bytes) { return 10077; }
