// prepare_operand.cuh: the parameters of gpk_prepare's kernel, its shared memory, and the instructions and conversions that
// its variants share.
#pragma once
#include <cuda_runtime.h>
#include <stdint.h>

#include "gpk.h"
#include "line_scale.cuh"

namespace gpk {
namespace {

constexpr unsigned threads = 256, warps = threads / 32;
constexpr unsigned tile_columns = 32;  // columns of a tile, in floats: 128 bytes of a row
constexpr unsigned max_cluster = 16;
constexpr unsigned max_stages = 4;
constexpr unsigned buffer_bytes = 66048;  // of shared memory per block, unless a tile needs more
constexpr unsigned max_blocks = 4;  // per multiprocessor

// The source: a real operand, or a complex A or B.
enum Kind { real, complex_a, complex_b };

// The work of a launch for strided k: all of it, or one of three steps.
enum Phase { single_launch, find_maxima, convert_lines, collect_counts };

struct Operand {
  float const* x;
  int64_t pitch, member;  // floats between lines (strided k: between rows), and between members of the batch
  uint16_t *high, *low;   // the planes; low only of split operands
  int64_t plane_pitch, plane_member;
  float* scale;
  uint32_t* guard;  // nullptr if the caller needs no guard words
  uint32_t lines, members;
  uint32_t floats;        // floats per line
  uint32_t rows, width;   // strided k: rows of the source, and floats per row
  uint32_t workers;       // blocks (strided k: clusters) that share the work
  uint32_t sign_mask, sign_mask2;  // flip the signs of pairs of halves in the first and second output line or row
  uint32_t *maxima, *counts;  // in the workspace: [member][chunk][width]
  uint8_t kind;
  bool k_contiguous;
  bool block_per_line;  // contiguous k: a block per line; otherwise a warp per line
  uint8_t stages;       // lines (strided k: tiles) in the buffer
  uint8_t alignment;    // of the source's addresses in bytes: 4, 8 or 16
  uint32_t granules;    // contiguous k: granules of a line in the buffer, at most
};

struct Params {
  Operand operand[2];
  uint32_t second;   // index of the first block of operand[1]
  uint32_t cluster;  // blocks per cluster
  uint32_t chunk;    // strided k: rows per block
  uint32_t stage;    // strided k: floats per stage of the buffer
  uint32_t chunks;   // chunks per column, if blocks communicate through the workspace
  int phase;
};

struct Shared {
  uint64_t full_barriers[warps * max_stages];  // of the stages, per warp or of the block
  uint4 maxima[warps / 4], counts[warps / 4];
  alignas(16) uint32_t part[2][warps][tile_columns];  // maxima and counts of each warp
  // The maxima and counts that the cluster's blocks send, for even and odd tiles, and the barriers that count their bytes.
  alignas(16) uint32_t cluster_maxima[2][max_cluster][tile_columns];
  uint32_t cluster_counts[2][max_cluster][tile_columns];
  uint64_t maxima_in[2], counts_in[2];
};

template <class T, int N>
struct alignas(N * sizeof(T)) Vec {
  T v[N];
};

// ---- instructions

template <int Bytes>
__device__ inline void cp_async(void* to, void const* from) {
  uint32_t const at = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  if constexpr (Bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(at), "l"(from), "n"(Bytes) : "memory");
  }
}

__device__ inline void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most N groups of copies are pending.
template <int N>
__device__ inline void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

#if __CUDA_ARCH__ >= 900
__device__ inline uint32_t shared_address(void const* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

// Initializes barriers for one arrival per phase.
__device__ inline void mbarrier_init(uint64_t* barriers, unsigned n) {
  if (threadIdx.x < n) asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(shared_address(barriers + threadIdx.x)));
}

__device__ inline void mbarrier_arrive_expect_tx(uint64_t* barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}

// Waits until the phase with that parity has completed.
__device__ inline void mbarrier_wait(uint64_t* barrier, unsigned parity) {
  uint32_t done = 0;
  while (done == 0) {
    asm volatile(
        "{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.shared.b64 p, [%1], %2;\n\tselp.u32 %0, 1, 0, p;\n\t}"
        : "=r"(done)
        : "r"(shared_address(barrier)), "r"(parity)
        : "memory");
  }
}

// Starts a bulk copy. The barrier counts its bytes.
__device__ inline void bulk_copy(void* to, void const* from, uint32_t bytes, uint64_t* barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(from), "r"(bytes), "r"(shared_address(barrier))
               : "memory");
}

// Stores a value to the same address in the cluster's block `to`. That block's barrier counts the bytes.
__device__ inline void store_async(unsigned to, uint32_t* slot, uint32_t value, uint64_t* barrier) {
  uint32_t at, counts;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(shared_address(slot)), "r"(to));
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(counts) : "r"(shared_address(barrier)), "r"(to));
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(at), "r"(value),
               "r"(counts)
               : "memory");
}
#endif

// Initializes the barriers and arrives at the cluster barrier. All threads call it first.
__device__ inline void init_barriers(Shared& s) {
#if __CUDA_ARCH__ >= 900
  mbarrier_init(s.full_barriers, warps * max_stages);
  mbarrier_init(s.maxima_in, 2);
  mbarrier_init(s.counts_in, 2);
  asm volatile("fence.mbarrier_init.release.cluster;\n\tfence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#endif
}

// Waits until all blocks of the cluster have initialized their barriers. All threads call it once.
__device__ inline void cluster_wait() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

// ---- elements

// max(a, |x|), which propagates NaN.
__device__ inline float max_abs(float a, float x) {
  float r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(fabsf(x)));
  return r;
}

__device__ inline uint4 max_abs(uint4 a, uint4 b) {
  return {max(a.x, b.x), max(a.y, b.y), max(a.z, b.z), max(a.w, b.w)};
}

__device__ inline uint32_t to_halves(float first, float second) {
  uint32_t h;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(h) : "f"(second), "f"(first));
  return h;
}

__device__ inline float2 to_floats(uint32_t h) {
  float2 f;
  asm("{\n\t.reg .b16 a, b;\n\tmov.b32 {a, b}, %2;\n\tcvt.f32.f16 %0, a;\n\tcvt.f32.f16 %1, b;\n\t}"
      : "=f"(f.x), "=f"(f.y)
      : "r"(h));
  return f;
}

// The element of the low plane: the difference to the element of the high plane, times 2^11.
__device__ inline float low_of(float scaled, float high) { return __fmul_rn(__fsub_rn(scaled, high), 0x1p11f); }

// Converts four scaled floats to the planes.
template <bool Split>
__device__ inline void convert(float4 v, uint2& high, uint2& low) {
  high = {to_halves(v.x, v.y), to_halves(v.z, v.w)};
  if constexpr (Split) {
    float2 const ab = to_floats(high.x), cd = to_floats(high.y);
    low = {to_halves(low_of(v.x, ab.x), low_of(v.y, ab.y)), to_halves(low_of(v.z, cd.x), low_of(v.w, cd.y))};
  }
}

__device__ inline float4 scale_by(float4 v, float x, float y, float z, float w) {
  return {__fmul_rn(v.x, x), __fmul_rn(v.y, y), __fmul_rn(v.z, z), __fmul_rn(v.w, w)};
}

__device__ inline uint32_t swap_halves(uint32_t pair) { return __funnelshift_r(pair, pair, 16); }

// Writes this worker's share of the guard words, all with the same value.
__device__ inline void store_guard_words(Operand const& o, uint32_t worker, uint32_t max_word) {
  if (o.guard == nullptr) return;
  for (uint32_t i = worker + threadIdx.x * o.workers; i < GPK_GUARD_WORDS; i += threads * o.workers) o.guard[i] = max_word;
}

}  // namespace
}  // namespace gpk
