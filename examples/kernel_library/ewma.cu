// y[r][t] = alpha x[r][t] + (1 - alpha) y[r][t-1]: a thread a row, from the row's first
// element, which y begins with.
#include <cuda_runtime.h>
#include "gpk_kernels.h"

struct ewma_args {  // ewmaArgs of main.go
  uint64_t x, y;
  int64_t rows, length;
  float alpha;
};

__global__ void ewma_rows(ewma_args a) {
  int64_t r = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (r >= a.rows) return;
  float const* x = (float const*)a.x + r * a.length;
  float* y = (float*)a.y + r * a.length;
  float last = x[0];
  for (int64_t t = 0; t < a.length; t++) y[t] = last += a.alpha * (x[t] - last);
}

static char const* message(int code) {
  return code == GPK_KERNELS_BAD_ARGUMENT ? "ewma: arguments of another size" : cudaGetErrorString((cudaError_t)code);
}

GPK_KERNEL_LIBRARY(message)

GPK_KERNEL_ENTRY int ewma(int device, uint64_t stream, void* args, int64_t bytes) {
  if (bytes != sizeof(ewma_args)) return GPK_KERNELS_BAD_ARGUMENT;
  ewma_args a = *(ewma_args const*)args;
  if (a.rows == 0 || a.length == 0) return 0;
  if (cudaError_t e = cudaSetDevice(device)) return e;
  ewma_rows<<<(unsigned)((a.rows + 127) / 128), 128, 0, (cudaStream_t)stream>>>(a);
  return cudaGetLastError();
}
