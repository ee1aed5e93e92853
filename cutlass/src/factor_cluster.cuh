// factor_cluster.cuh: the instructions of factor_panel.cuh: barriers and messages of a cluster, and reductions of a warp.
#pragma once
#include "factor_number.cuh"

namespace gpk {
namespace factor {
namespace {

#ifndef GPK_EMULATED
__device__ inline unsigned cluster_rank() {
  unsigned r = 0;
#if __CUDA_ARCH__ >= 900
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
#endif
  return r;
}

// A cluster barrier. It also makes writes to global memory before it visible to the cluster.
__device__ inline void cluster_sync() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

// Initializes a barrier for one phase, which completes after st.async has stored `bytes` bytes. The cluster has to
// synchronize before the first st.async.
__device__ inline void mbarrier_init_expect_tx(uint64_t* barrier, int bytes) {
#if __CUDA_ARCH__ >= 900
  uint32_t const at = static_cast<uint32_t>(__cvta_generic_to_shared(barrier));
  asm volatile(
      "mbarrier.init.shared.b64 [%0], 1;\n\tfence.mbarrier_init.release.cluster;\n\t"
      "mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(at),
      "r"(bytes)
      : "memory");
#endif
}

// Waits for the barrier's first phase.
__device__ inline void mbarrier_wait(uint64_t* barrier) {
#if __CUDA_ARCH__ >= 900
  uint32_t const at = static_cast<uint32_t>(__cvta_generic_to_shared(barrier));
  uint32_t done = 0;
  while (!done) {
    asm volatile(
        "{\n\t.reg .pred p;\n"
        "\tmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0;\n\tselp.u32 %0, 1, 0, p;\n\t}"
        : "=r"(done)
        : "r"(at)
        : "memory");
  }
#endif
}

// Stores 16 bytes to the same address in the shared memory of CTA `rank`. The barrier at the same address there counts them.
template <class W>
__device__ inline void store_async(W* to, W const& from, uint64_t* barrier, int rank) {
  static_assert(sizeof(W) == 16);
#if __CUDA_ARCH__ >= 900
  uint4 const v = *reinterpret_cast<uint4 const*>(&from);
  asm volatile(
      "{\n\t.reg .b32 data, counter;\n"
      "\tmapa.shared::cluster.u32 data, %0, %2;\n\tmapa.shared::cluster.u32 counter, %1, %2;\n"
      "\tst.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [data], {%3, %4, %5, %6}, [counter];\n\t}" ::"r"(
          static_cast<uint32_t>(__cvta_generic_to_shared(to))),
      "r"(static_cast<uint32_t>(__cvta_generic_to_shared(barrier))), "r"(rank), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
      : "memory");
#endif
}

__device__ inline uint32_t warp_max(uint32_t x) { return __reduce_max_sync(0xffffffffu, x); }
__device__ inline uint32_t warp_min(uint32_t x) { return __reduce_min_sync(0xffffffffu, x); }
__device__ inline uint32_t warp_ballot(bool x) { return __ballot_sync(0xffffffffu, x); }
__device__ inline int first_bit(uint32_t x) { return __ffs(static_cast<int>(x)) - 1; }
__device__ inline uint32_t bits_of(float x) { return __float_as_uint(x); }
__device__ inline uint64_t bits_of(double x) { return static_cast<uint64_t>(__double_as_longlong(x)); }
#endif

}  // namespace
}  // namespace factor
}  // namespace gpk
