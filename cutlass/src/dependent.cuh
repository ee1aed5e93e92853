// dependent.cuh: programmatic dependent launch. A kernel launched with its
// attribute starts while the one before it on the stream still runs, so that
// its launch and its prologue cost nothing; in return it waits before it
// touches global memory.
//
// Waiting is for all of the previous grid and for all that it wrote. Since
// every kernel launched so waits before it ends, the end of one is the end of
// all before it: no kernel looks further back than one.
#pragma once
#include <cuda_runtime.h>
#include <stdint.h>

namespace gpk {

// Returns when the previous kernel of the stream has ended and what it wrote
// is visible. Does nothing where the launch had no such attribute.
__device__ inline void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Lets the next kernel of the stream take the multiprocessors that this one
// leaves, once every block has come here or ended.
__device__ inline void let_next_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

// What a kernel of many short blocks begins with.
__device__ inline void begin() {
  wait_for_previous();
  let_next_start();
}

// Whether the machine code of a kernel that calls wait_for_previous does wait on
// this device: what was built for sm_80 alone runs on later ones without.
// `known` holds two bits a device, of one kernel or of kernels compiled alike.
inline bool waits(void const* kernel, int device, uint64_t* known) {
  if (device < 0 || device >= 32) return false;
  int const shift = 2 * device;
  uint64_t const had = __atomic_load_n(known, __ATOMIC_RELAXED) >> shift & 3;
  if (had != 0) return had == 2;
  cudaFuncAttributes attributes{};
  if (cudaFuncGetAttributes(&attributes, kernel) != cudaSuccess) {
    cudaGetLastError();
    return false;
  }
  bool const yes = attributes.ptxVersion >= 90;
  __atomic_fetch_or(known, uint64_t(yes ? 2 : 1) << shift, __ATOMIC_RELAXED);
  return yes;
}

}  // namespace gpk
