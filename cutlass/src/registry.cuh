// registry.cuh: what every product kernel of libgpk.so shares: the problem, the
// entry by which gpk_gemm finds a kernel, and the launch.
#pragma once
#include <cuda.h>
#include <cuda_runtime.h>
#include <stdint.h>

#include "gpk_gemm.h"

namespace gpk {

// When a kernel runs, see gpk_gemm.
struct Guard {
  int when;  // GPK_GUARD_*
  uint32_t const* a;
  uint32_t const* b;
  int64_t limit;
};

// A product as gpk_gemm was given it, checked. Strides count elements.
struct Problem {
  int device;
  cudaStream_t stream;
  int m, n, k, batch;
  void const* a;
  int64_t lda, stride_a;
  void const* b;
  int64_t ldb, stride_b;
  void* d;
  int64_t ldd, stride_d;
  void const* bias;  // nullptr without
  int act;           // GPK_ACT_*
  double alpha_re, alpha_im;
  float const* scale_a;  // of scaled kernels
  float const* scale_b;
  void const* low_a;  // of split kernels
  void const* low_b;
  Guard guard;
  void* workspace;
  int64_t workspace_bytes;
};

// How a kernel reads its operands: what check() needs to know.
struct Traits {
  int size_a, size_b, size_d;     // bytes of an element
  bool row_a, row_b;              // row-major
  int align_a, align_b, align_d;  // bytes that divide address, pitch and batch stride
  int multiple_k;                 // k has to be a multiple of this
  bool epilogue;                  // takes bias and activation
  bool guarded = false;           // takes a guard
  bool scaled = false;            // reads scale_a and scale_b
  bool split = false;             // reads low_a and low_b too
  int columns = 1;                // columns of the product that make one of D's: 2 for a squared modulus
};

struct Entry {
  char const* name;
  Traits traits;
  int (*run)(Problem const&);
  int64_t (*workspace)(int device, int m, int n, int k, int batch) = nullptr;  // as gpk_gemm_workspace; none: 0
};

// The number of multiprocessors; asked once a device. 0: the device cannot be asked.
int sm_count(int device);

// cudaFuncSetAttribute costs about a microsecond: a kernel asks for its shared
// memory once a device. `done` holds a bit a device.
int allow_shared(void const* kernel, int bytes, int device, uint64_t* done);

// The driver's encoder of TMA descriptors, found once. It remembers a refusal
// for the thread, since CUTLASS has no way to hand one up: take_tma_error
// answers whether there was one, and forgets it.
CUresult encode_tiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                      cuuint64_t const* dim, cuuint64_t const* strides, cuuint32_t const* box,
                      cuuint32_t const* element_strides, CUtensorMapInterleave interleave,
                      CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill);
bool take_tma_error();

// Launches and returns this launch's own error, leaving none behind. clusters:
// CTAs of a cluster along x and y. early: before the previous kernel has ended;
// only for machine code that waits for it (dependent.cuh).
int launch(void const* kernel, dim3 grid, dim3 block, int shared, cudaStream_t stream, void** params,
           int cluster_x = 1, int cluster_y = 1, bool early = false);

}  // namespace gpk
