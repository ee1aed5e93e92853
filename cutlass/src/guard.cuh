// guard.cuh: kernels that decide on the device whether they run, so that a choice that depends on data needs no host
// synchronization. The guard words that gpk_prepare computes from its operands select the scaled or the plain kernel.
#pragma once
#include "dependent.cuh"
#include "registry.cuh"

namespace gpk {

// Whether this kernel runs. Every thread of the block calls it and gets the same result. scratch: two words of shared
// memory per warp.
__device__ inline bool runs(Guard const& guard, uint32_t* scratch) {
  if (guard.when == GPK_GUARD_NONE) return true;
  griddepcontrol_wait();
  unsigned const warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = (blockDim.x + 31) / 32;
  uint32_t a = 0, b = 0;
  for (unsigned i = threadIdx.x; i < GPK_GUARD_WORDS; i += blockDim.x) {
    a = max(a, guard.a[i]);
    b = max(b, guard.b[i]);
  }
  a = __reduce_max_sync(~0u, a);
  b = __reduce_max_sync(~0u, b);
  if (lane == 0) scratch[2 * warp] = a, scratch[2 * warp + 1] = b;
  __syncthreads();
  for (unsigned i = 0; i < warps; ++i) a = max(a, scratch[2 * i]), b = max(b, scratch[2 * i + 1]);
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // orders these reads before TMA's writes to the same memory
#endif
  __syncthreads();  // the kernel may use scratch after this
  bool const fits = static_cast<int64_t>(a) + b < guard.limit;
  return fits == (guard.when == GPK_GUARD_FITS);
}

// A CUTLASS 3.x kernel with a guard. Its producer warps wait for the previous kernel. Its consumer warps access global
// memory only after the producers' data has arrived.
template <class Kernel, int Ctas = Kernel::MinBlocksPerMultiprocessor>
__global__ void __launch_bounds__(Kernel::MaxThreadsPerBlock, Ctas)
    guarded(__grid_constant__ typename Kernel::Params const params, __grid_constant__ Guard const guard) {
  extern __shared__ char shared[];
  if (!runs(guard, reinterpret_cast<uint32_t*>(shared))) return;
  Kernel()(params, shared);
}

}  // namespace gpk
