// dependent.cuh: programmatic dependent launch. A kernel launched with its attribute starts while the previous kernel
// on the stream still runs, so that its launch and its prologue are hidden. In return it has to wait before it
// accesses global memory.
//
// The wait is for the whole previous grid and all its writes. Since every kernel that is launched so waits before it
// ends, the end of one kernel implies the end of all earlier ones: it is enough to wait for one.
#pragma once
#include <cuda_runtime.h>
#include <stdint.h>

namespace gpk {

// Waits until the previous kernel of the stream has ended and its writes are visible. Does nothing if the launch did
// not have the attribute.
__device__ inline void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Lets the next kernel of the stream start on multiprocessors that this one leaves, once every block has called this
// function or ended.
__device__ inline void let_next_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

// The prologue of a kernel with many short blocks.
__device__ inline void begin() {
  wait_for_previous();
  let_next_start();
}

// Whether the machine code of a kernel that calls wait_for_previous does wait on this device: code that was built
// only for sm_80 runs on later devices without the wait. `known` caches two bits per device, for one kernel or for
// kernels compiled alike.
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
