// entry.cuh: common code of the entry points: their arguments, their device, and launches of one thread per element.
#pragma once
#include "arguments.h"
#include "gpk_kernels.h"
#include "registry.cuh"

namespace gpk {
namespace {

// The arguments of an entry point, or nullptr if they are not a structure of this size.
template <class Args>
Args* arguments(void* args, int64_t bytes) {
  return bytes == sizeof(Args) ? static_cast<Args*>(args) : nullptr;
}

inline int set_device(int device) {
  cudaError_t const e = cudaSetDevice(device);
  if (e != cudaSuccess) cudaGetLastError();
  return e;
}

constexpr int element_threads = 128;  // threads per block of launch_elements

// Whether a grid of launch_elements can have n threads.
inline bool too_many_elements(int64_t n) { return n > int64_t{element_threads} * INT32_MAX; }

// Launches a kernel with a thread per element.
template <class Kernel>
int launch_elements(int64_t n, uint64_t stream, Kernel kernel, void** params) {
  if (n == 0) return 0;
  return launch(reinterpret_cast<void const*>(kernel), dim3(static_cast<unsigned>((n + element_threads - 1) / element_threads)), dim3(element_threads), 0,
                reinterpret_cast<cudaStream_t>(stream), params);
}

}  // namespace
}  // namespace gpk
