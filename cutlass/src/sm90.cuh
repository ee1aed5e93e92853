// sm90.cuh: Hopper's instructions for kernels that do not use CUTLASS's collectives: barriers in shared memory, TMA
// copies and wgmma. The names are those of PTX and of CUTLASS. Addresses of type uint32_t are in the shared state
// space.
#pragma once
#include "cute/arch/mma_sm90_gmma.hpp"
#include "cute/arch/mma_sm90_gmma_ext.hpp"
#include "cute/numeric/integer_sequence.hpp"
#include "cutlass/arch/reg_reconfig.h"
#include "registry.cuh"

namespace gpk {
namespace sm90 {

using cutlass::arch::warpgroup_reg_alloc;
using cutlass::arch::warpgroup_reg_dealloc;

__device__ inline uint32_t shared_address(void const* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

// Orders this thread's writes to shared memory before later accesses by TMA and wgmma (the async proxy).
__device__ inline void fence_proxy_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// ---- barriers in shared memory

// An array of mbarriers; `first` is the address of element 0.
struct Barriers {
  uint32_t first;
  __device__ uint32_t operator[](uint32_t i) const { return first + 8 * i; }
};

__device__ inline void mbarrier_init(uint32_t at, int arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at), "r"(arrivals));
}

// Makes initialized barriers visible to the cluster and to TMA. The initializing thread calls it before the CTA
// synchronizes.
__device__ inline void mbarrier_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;\n\tfence.proxy.async.shared::cta;" ::: "memory");
}

// Waits until the phase with that parity has completed. With GPK_BOUNDED_WAITS it traps after 2^26 polls.
__device__ inline void mbarrier_wait(uint32_t at, unsigned parity) {
#ifdef GPK_BOUNDED_WAITS
  for (int polls = 0; polls < 1 << 26; ++polls) {
    uint32_t done;
    asm volatile(
        "{\n\t.reg .pred p;\n"
        "\tmbarrier.try_wait.parity.shared.b64 p, [%1], %2;\n\tselp.u32 %0, 1, 0, p;\n\t}"
        : "=r"(done)
        : "r"(at), "r"(parity)
        : "memory");
    if (done) return;
  }
  __trap();
#else
  asm volatile(
      "{\n\t.reg .pred p;\n"
      "again:\n\tmbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n\t@!p bra again;\n\t}" ::"r"(at),
      "r"(parity)
      : "memory");
#endif
}

__device__ inline void mbarrier_arrive(uint32_t at) {
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(at) : "memory");
}

// Arrives at the barrier at the same address in another CTA of the cluster.
__device__ inline void mbarrier_arrive_cluster(uint32_t at, int cta) {
  asm volatile(
      "{\n\t.reg .b32 there;\n"
      "\tmapa.shared::cluster.u32 there, %0, %1;\n\tmbarrier.arrive.shared::cluster.b64 _, [there];\n\t}" ::"r"(at),
      "r"(cta)
      : "memory");
}

// Arrives, and adds `bytes` to the bytes that TMA has to copy before the phase completes.
__device__ inline void mbarrier_arrive_expect_tx(uint32_t at, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(at), "r"(bytes) : "memory");
}

// ---- named barriers

// Arrives at the barrier and waits until `threads` threads have arrived.
__device__ inline void named_barrier_sync(int barrier, int threads) {
  asm volatile("barrier.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// The same, for warps whose threads are converged.
__device__ inline void named_barrier_sync_aligned(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// Arrives without waiting.
__device__ inline void named_barrier_arrive(int barrier, int threads) {
  asm volatile("barrier.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// ---- TMA

__device__ inline void prefetch_tensormap(CUtensorMap const* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// Copies a box of the tensor to shared memory. The barrier counts its bytes.
__device__ inline void tma_load(uint32_t to, CUtensorMap const* map, int x, int y, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], "
      "[%4];" ::"r"(to),
      "l"(map), "r"(x), "r"(y), "r"(barrier)
      : "memory");
}

__device__ inline void tma_load(uint32_t to, CUtensorMap const* map, int x, int y, int z, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], "
      "[%5];" ::"r"(to),
      "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier)
      : "memory");
}

__device__ inline void tma_load(uint32_t to, CUtensorMap const* map, int x, int y, int z, int w, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], "
      "[%6];" ::"r"(to),
      "l"(map), "r"(x), "r"(y), "r"(z), "r"(w), "r"(barrier)
      : "memory");
}

// Copies a box to the same address in several CTAs of the cluster. Bit i of `ctas` selects CTA i.
__device__ inline void tma_load_multicast(uint16_t ctas, uint32_t to, CUtensorMap const* map, int x, int y, int z,
                                          uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, "
      "{%2, %3, %4}], [%5], %6;" ::"r"(to),
      "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier), "h"(ctas)
      : "memory");
}

// Stores a box from shared memory. The store belongs to the thread's current bulk group.
__device__ inline void tma_store(CUtensorMap const* map, uint32_t from, int x, int y, int z) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(map), "r"(x),
               "r"(y), "r"(z), "r"(from)
               : "memory");
}

// Commits the thread's current bulk group.
__device__ inline void tma_store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// Waits until at most the thread's last n bulk groups are still reading shared memory.
template <int n>
__device__ inline void tma_store_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(n) : "memory");
}

// Encodes the TMA descriptor of an operand of a product. A box consists of lines of 128 bytes. If k is contiguous, it
// has box_lines lines, each of 128 bytes of k for one row of A (column of B). Otherwise it has box_k lines, each of 128
// bytes of rows (columns) for one k. ld and stride count elements. Returns whether it succeeded.
inline bool encode_operand(CUtensorMap* map, CUtensorMapDataType type, int size, void const* address, bool k_major,
                           int lines, int k, int64_t ld, int64_t stride, int batch, int box_lines, int box_k) {
  bool const batched = batch > 1 && stride != 0;
  cuuint64_t const pitch = ld * size;
  cuuint64_t const dims[3] = {cuuint64_t(k_major ? k : lines), cuuint64_t(k_major ? lines : k),
                              cuuint64_t(batched ? batch : 1)};
  cuuint64_t const strides[2] = {pitch, batched ? stride * size : pitch};
  cuuint32_t const box[3] = {cuuint32_t(128 / size), cuuint32_t(k_major ? box_lines : box_k), 1}, ones[3] = {1, 1, 1};
  CUresult const e = encode_tiled(map, type, 3, const_cast<void*>(address), dims, strides, box, ones,
                                  CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                  CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return e == CUDA_SUCCESS && !take_tma_error();
}

// ---- wgmma

// The wgmma descriptor of swizzled lines in shared memory. start, leading and stride are in units of 16 bytes: the
// address; the leading byte offset, which is 1 if k is contiguous; and the distance between groups of 8 lines.
// swizzle: 1 for lines of 128 bytes, 2 for lines of 64.
__device__ inline uint64_t matrix_descriptor(uint32_t start, uint64_t leading, uint64_t stride, uint64_t swizzle) {
  return uint64_t(start) | leading << 16 | stride << 32 | swizzle << 62;
}

// Keeps the compiler from moving accesses to an accumulator across this point.
template <int N>
__device__ __forceinline__ void warpgroup_fence_operand(float (&d)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) cute::warpgroup_fence_operand(d[i]);
}

template <class Instruction, int... I>
__device__ __forceinline__ void wgmma_of(float* d, uint64_t left, uint64_t right, bool add, cute::integer_sequence<int, I...>) {
  Instruction::fma(left, right, d[I]..., add ? cute::SM90::GMMA::ScaleOut::One : cute::SM90::GMMA::ScaleOut::Zero);
}
template <class Instruction, int... I>
__device__ __forceinline__ void wgmma_of(float* d, uint32_t const* left, uint64_t right, bool add, cute::integer_sequence<int, I...>) {
  Instruction::fma(left[0], left[1], left[2], left[3], right, d[I]..., add ? cute::SM90::GMMA::ScaleOut::One : cute::SM90::GMMA::ScaleOut::Zero);
}

// Starts d = left right, or d += left right if `add` is set. The instruction is one of cute's (SM90::GMMA). `left` is a
// descriptor, or four registers.
template <class Instruction, int N, class Left>
__device__ __forceinline__ void wgmma(float (&d)[N], Left left, uint64_t right, bool add) {
  wgmma_of<Instruction>(d, left, right, add, cute::make_integer_sequence<int, N>{});
}

}  // namespace sm90
}  // namespace gpk
