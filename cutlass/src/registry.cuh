// registry.cuh: the declarations that all product kernels of libgpk.so share: the problem, the registry entry of a
// kernel, and the launch.
#pragma once
#include <cuda.h>
#include <cuda_runtime.h>
#include <stdint.h>

#include "gpk_gemm.h"

namespace gpk {

// The condition on which a kernel runs; see gpk_gemm.
struct Guard {
  int when;  // GPK_GUARD_*
  uint32_t const* a;
  uint32_t const* b;
  int64_t limit;
};

// The arguments of gpk_gemm after their check. Strides count elements.
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
  void const* bias;  // nullptr if there is none
  int act;           // GPK_ACT_*
  double alpha_re, alpha_im;
  float const* scale_a;  // scaled kernels only
  float const* scale_b;
  void const* low_a;  // split kernels only
  void const* low_b;
  Guard guard;
  void* workspace;
  int64_t workspace_bytes;
};

// A kernel's requirements on its operands, which gpk_gemm checks.
struct Traits {
  int size_a, size_b, size_d;     // bytes per element
  bool row_a, row_b;              // row-major
  int align_a, align_b, align_d;  // required alignment of address, pitch and batch stride in bytes
  int multiple_k;                 // k has to be a multiple of this
  bool epilogue;                  // supports bias and activation
  bool guarded = false;           // supports a guard
  bool scaled = false;            // reads scale_a and scale_b
  bool split = false;             // reads low_a and low_b too
  int columns = 1;                // columns of the product per column of D: 2 for a squared modulus
};

struct Entry {
  char const* name;
  Traits traits;
  int (*run)(Problem const&);
  int64_t (*workspace)(int device, int m, int n, int k, int batch) = nullptr;  // as gpk_gemm_workspace; nullptr if always 0
};

// The number of multiprocessors, cached per device; 0 if the query fails.
int sm_count(int device);

// Raises a kernel's limit of dynamic shared memory. cudaFuncSetAttribute takes about a microsecond, so it is called once
// per device: `done` has a bit per device.
int allow_shared(void const* kernel, int bytes, int device, uint64_t* done);

// The driver's cuTensorMapEncodeTiled, whose address is looked up once. CUTLASS discards its result. So it always
// returns CUDA_SUCCESS and stores an error per thread; take_tma_error returns and clears it.
CUresult encode_tiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                      cuuint64_t const* dim, cuuint64_t const* strides, cuuint32_t const* box,
                      cuuint32_t const* element_strides, CUtensorMapInterleave interleave,
                      CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill);
bool take_tma_error();

// Launches a kernel, returns the error of this launch and clears it. cluster_x, cluster_y: CTAs per cluster along x and
// y. early: the launch has the attribute of programmatic dependent launch; the machine code must contain the wait
// (dependent.cuh).
int launch(void const* kernel, dim3 grid, dim3 block, int shared, cudaStream_t stream, void** params,
           int cluster_x = 1, int cluster_y = 1, bool early = false);

}  // namespace gpk
