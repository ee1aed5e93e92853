// launch.cuh: the current device, and the launch of kernels.
#pragma once
#include "dependent.cuh"
#include "gpk.h"

#include <cuda.h>

namespace gpk {

constexpr int threads = 256;  // per block, at most

// The device of the last set_device in this thread.
inline thread_local int current_device = -1;

// Makes a device current. Every entry point calls it first. Comparing the current context is faster than
// cudaSetDevice.
inline int set_device(int device) {
  using GetCurrent = CUresult (*)(CUcontext*);
  static constexpr int max_devices = 64;
  static uintptr_t contexts[max_devices];  // 0: not yet known
  static GetCurrent const get_current = [] {
    void* address = nullptr;
    cudaDriverEntryPointQueryResult status{};
    cudaError_t const e = cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", &address, 12000, cudaEnableDefault, &status);
    if (e != cudaSuccess) cudaGetLastError();
    return e == cudaSuccess && status == cudaDriverEntryPointSuccess ? reinterpret_cast<GetCurrent>(address) : nullptr;
  }();
  bool const cached = get_current != nullptr && device >= 0 && device < max_devices;
  current_device = device;
  CUcontext current = nullptr;
  if (cached && get_current(&current) == CUDA_SUCCESS && current != nullptr &&
      reinterpret_cast<uintptr_t>(current) == __atomic_load_n(&contexts[device], __ATOMIC_RELAXED)) {
    return GPK_OK;
  }
  cudaError_t const e = cudaSetDevice(device);
  if (e != cudaSuccess) {
    cudaGetLastError();
  } else if (cached && get_current(&current) == CUDA_SUCCESS) {
    __atomic_store_n(&contexts[device], reinterpret_cast<uintptr_t>(current), __ATOMIC_RELAXED);
  }
  return e;
}

// Launches a kernel and returns the error of this launch, which it clears. set_device must be called first. Every
// kernel calls begin() or begin_early() before it accesses global memory. cluster is the number of blocks per
// cluster.
template <class P>
int launch(void (*kernel)(P), unsigned grid, unsigned block, uint64_t stream, P const& p, unsigned cluster = 1) {
  static uint64_t known = 0;
  void* args[] = {const_cast<P*>(&p)};
  cudaLaunchAttribute attributes[2] = {};
  if (cluster > 1) {
    attributes[0].id = cudaLaunchAttributeClusterDimension;
    attributes[0].val.clusterDim = {cluster, 1, 1};
  }
  cudaLaunchAttribute& last = attributes[cluster > 1];
  last.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  last.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(grid);
  config.blockDim = dim3(block);
  config.stream = reinterpret_cast<cudaStream_t>(stream);
  config.attrs = attributes;
  config.numAttrs = (cluster > 1) + waits_for_previous(reinterpret_cast<void const*>(kernel), current_device, &known);
  cudaError_t const e = cudaLaunchKernelExC(&config, reinterpret_cast<void const*>(kernel), args);
  if (e != cudaSuccess) cudaGetLastError();
  return e;
}

inline unsigned blocks_for(int64_t items, int64_t per_block) {
  return static_cast<unsigned>((items - 1) / per_block + 1);
}

// Launches a kernel that processes `items` items, `per_thread` per thread. It launches at least one block. Blocks are
// smaller if full ones would leave multiprocessors idle.
template <class P>
int launch_for(void (*kernel)(P), int64_t items, int per_thread, uint64_t stream, P const& p) {
  unsigned block = threads;
  while (block > 64 && items < int64_t{block} * per_thread * 256) block /= 2;
  return launch(kernel, blocks_for(items > 0 ? items : 1, int64_t{block} * per_thread), block, stream, p);
}

// The prologue of a short kernel. Unlike begin(), it triggers launch_dependents before it waits, so that the next
// kernel is launched during the wait. The empty asm statements use the values: the compiler must load the parameters
// that they depend on before the wait as well.
template <class... V>
__device__ inline void begin_early(V... values) {
  launch_dependents();
  auto const use = [](int64_t v) { asm volatile("" ::"l"(v)); };
  (use(static_cast<int64_t>(values)), ...);
  griddepcontrol_wait();
}

}  // namespace gpk
