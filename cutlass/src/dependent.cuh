// dependent.cuh: programmatic dependent launch. A kernel with this launch attribute starts while the previous kernel
// of the stream still runs, which hides its launch latency and its prologue. It has to wait before it accesses global
// memory.
//
// griddepcontrol.wait returns when the previous grid has ended and its writes are visible. Every kernel of gpk with the
// attribute waits before it ends. So the end of a kernel implies the end of all earlier kernels, and one wait is enough.
#pragma once
#include <cuda_runtime.h>
#include <stdint.h>

namespace gpk {

// Waits until the previous kernel of the stream has ended and its writes are visible. It returns at once if the launch
// did not have the attribute.
__device__ inline void griddepcontrol_wait() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Allows the next kernel of the stream to start on idle multiprocessors once every block has called this function or
// ended.
__device__ inline void launch_dependents() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

// The prologue of most kernels, which have many short blocks.
__device__ inline void begin() {
  griddepcontrol_wait();
  launch_dependents();
}

// Whether the machine code of a kernel that calls griddepcontrol_wait contains the wait on this device. Code that was
// built only for sm_80 also runs on later devices, but without the wait. `known` caches two bits per device: 0 unknown,
// 1 no, 2 yes. Kernels that are compiled for the same targets may share it.
inline bool waits_for_previous(void const* kernel, int device, uint64_t* known) {
  if (device < 0 || device >= 32) return false;
  int const shift = 2 * device;
  uint64_t const cached = __atomic_load_n(known, __ATOMIC_RELAXED) >> shift & 3;
  if (cached != 0) return cached == 2;
  cudaFuncAttributes attributes{};
  if (cudaFuncGetAttributes(&attributes, kernel) != cudaSuccess) {
    cudaGetLastError();
    return false;
  }
  bool const waits = attributes.ptxVersion >= 90;
  __atomic_fetch_or(known, uint64_t(waits ? 2 : 1) << shift, __ATOMIC_RELAXED);
  return waits;
}

}  // namespace gpk
