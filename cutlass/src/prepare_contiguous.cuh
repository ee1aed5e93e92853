// prepare_contiguous.cuh: the conversion of operands whose k is contiguous in memory.
//
// A block, or a warp if lines are short, converts one line at a time. Meanwhile the next lines are loaded to a multistage
// buffer in shared memory. The copies move the aligned granules of 16 bytes that contain the line. If a line does not
// begin at a granule, four elements are assembled from two granules.
#pragma once
#include "prepare_operand.cuh"

namespace gpk {
namespace {

// TwoLines: a source line gives two output lines (complex B). Unaligned: lines need not begin at a granule.
template <bool Split, bool TwoLines, bool Unaligned>
struct ContiguousLines {
  Operand const& o;
  Shared& s;
  float4* line_stages;          // the stages of this thread's block or warp
  uint64_t* full_barriers;
  uint32_t lanes, rank;         // threads that share a line, and this thread's rank
  uint32_t first, total, step;  // the lines of these threads

  __device__ ContiguousLines(Operand const& operand, Shared& shared, float4* buffer, uint32_t worker) : o(operand), s(shared) {
    uint32_t const lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    lanes = o.block_per_line ? threads : 32;
    rank = o.block_per_line ? threadIdx.x : lane;
    total = o.lines * o.members;
    step = o.block_per_line ? o.workers : o.workers * warps;
    first = o.block_per_line ? worker : worker * warps + warp;
    line_stages = buffer + (o.block_per_line ? 0 : warp * o.stages * o.granules);
    full_barriers = s.full_barriers + (o.block_per_line ? 0 : warp * max_stages);
  }

  __device__ float const* line(uint32_t item) const {
    uint32_t const member = o.members == 1 ? 0 : item / o.lines;
    return o.x + member * o.member + (item - member * o.lines) * o.pitch;
  }

  __device__ int64_t row(uint32_t item) const {
    uint32_t const member = o.members == 1 ? 0 : item / o.lines;
    uint32_t const index = item - member * o.lines;
    return member * o.plane_member + (TwoLines ? 2 * static_cast<int64_t>(index) : index) * o.plane_pitch;
  }

  // The number of floats from the begin of the first granule to the line.
  __device__ static unsigned misalignment(float const* x) {
    return Unaligned ? reinterpret_cast<uintptr_t>(x) / sizeof(float) % 4 : 0;
  }

  __device__ uint32_t granules(unsigned m) const { return (m + o.floats + 3) / 4; }

  // Starts the copy of a line to a stage.
  __device__ void load(uint32_t item, unsigned stage) const {
#if __CUDA_ARCH__ >= 900
    if (rank != 0 || item >= total) return;
    float const* const x = line(item);
    unsigned const m = misalignment(x);
    uint32_t const bytes = 16 * min(granules(m), o.granules);
    mbarrier_arrive_expect_tx(&full_barriers[stage], bytes);
    bulk_copy(line_stages + stage * o.granules, x - m, bytes, &full_barriers[stage]);
#else
    if (item < total) {
      float const* const x = line(item);
      unsigned const m = misalignment(x);
      float4 const* const begin = reinterpret_cast<float4 const*>(x - m);
      uint32_t const n = min(granules(m), o.granules);
      for (uint32_t g = rank; g < n; g += lanes) cp_async<16>(line_stages + stage * o.granules + g, begin + g);
    }
    cp_async_commit();
#endif
  }

  __device__ void sync_threads() const {
    if (o.block_per_line) {
      __syncthreads();
    } else {
      __syncwarp();
    }
  }

  // Waits for the line of a stage.
  __device__ void wait_line(unsigned stage, unsigned parity) const {
#if __CUDA_ARCH__ >= 900
    mbarrier_wait(&full_barriers[stage], parity);
#else
    switch (o.stages) {
      case 1: cp_async_wait<0>(); break;
      case 2: cp_async_wait<1>(); break;
      case 3: cp_async_wait<2>(); break;
      default: cp_async_wait<3>();
    }
    sync_threads();
#endif
  }

  // Elements 4 i ... 4 i + 3 of a line, where g is granule i and m is the misalignment.
  __device__ static float4 elements(float4 const* g, unsigned m) {
    float4 v = g[0];
    if constexpr (Unaligned) {
      float4 const w = g[m != 0];  // for m = 0 granule i + 1 may be outside the allocation
      if (m & 2) v = {v.z, v.w, w.x, w.y};
      if (m & 1) v = {v.y, v.z, v.w, m & 2 ? w.z : w.x};
    }
    return v;
  }

  __device__ void store(uint16_t* to, uint32_t i, uint2 v) const {
    *reinterpret_cast<uint2*>(to + 4 * i) = {v.x ^ o.sign_mask, v.y ^ o.sign_mask};
    if constexpr (TwoLines) {
      *reinterpret_cast<uint2*>(to + o.plane_pitch + 4 * i) = {swap_halves(v.x) ^ o.sign_mask2, swap_halves(v.y) ^ o.sign_mask2};
    }
  }

  // Stores one element of the end of a line.
  __device__ void store_one(uint16_t* to, uint32_t i, uint16_t h) const {
    to[i] = h ^ (i % 2 == 0 ? 0 : o.sign_mask >> 16);
    if constexpr (TwoLines) to[o.plane_pitch + (i ^ 1)] = h ^ (i % 2 == 0 ? 0 : o.sign_mask2);
  }

  // The maximum of `largest` and the magnitudes in the granules begin ... end - 1, all of whose elements are in the line.
  __device__ float maximum(float4 const* g, uint32_t begin, uint32_t end, float largest) const {
    float other = 0;
#pragma unroll 4
    for (uint32_t i = begin; i < end; i += lanes) {
      float4 const v = g[i];
      largest = max_abs(max_abs(largest, v.x), v.y);
      other = max_abs(max_abs(other, v.z), v.w);
    }
    return max_abs(largest, other);
  }

  // Converts the elements 4 begin ... 4 end - 1. Returns the number of small ones.
  __device__ uint32_t convert_line(float4 const* g, unsigned m, uint32_t begin, uint32_t end, Scale const& scale,
                                   uint16_t* high, uint16_t* low) const {
    uint32_t count = 0;
#pragma unroll 4
    for (uint32_t i = begin; i < end; i += lanes) {
      float4 const v = elements(g + i, m);
      count_small(count, v.x, scale.small);
      count_small(count, v.y, scale.small);
      count_small(count, v.z, scale.small);
      count_small(count, v.w, scale.small);
      uint2 h, l;
      convert<Split>(scale_by(v, scale.factor, scale.factor, scale.factor, scale.factor), h, l);
      store(high, i, h);
      if constexpr (Split) store(low, i, l);
    }
    return count;
  }

  __device__ void run(uint32_t worker) const {
    uint32_t const lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned const stages = o.stages;
    for (unsigned i = 0; i < stages; ++i) load(first + i * step, i);
    cluster_wait();
    uint32_t const vectors = o.floats / 4, left = o.floats % 4;
    uint32_t max_word = 0;
    unsigned stage = 0, parity = 0;
    for (uint32_t item = first; item < total; item += step) {
      float const* const x = line(item);
      unsigned const m = misalignment(x);
      float4 const* const line_in_buffer = line_stages + stage * o.granules;
      float4 const* const line_in_memory = reinterpret_cast<float4 const*>(x - m);
      // The maximum of the granules that are in the line entirely, and then of the line's part of the first and last granule.
      uint32_t const begin = Unaligned ? 1 : 0, end = Unaligned ? granules(m) - 1 : vectors, granules_in_buffer = min(end, o.granules);
      wait_line(stage, parity);
      float largest = maximum(line_in_buffer, begin + rank, granules_in_buffer, 0);
      uint32_t const f = Unaligned && rank < 4 ? rank : 4 * end + rank % 4;
      if (rank < (Unaligned ? 8 : 4) && f >= m && f < m + o.floats) {
        largest = max_abs(largest, end < o.granules ? (&line_in_buffer->x)[f] : (&line_in_memory->x)[f]);
      }
      if (granules_in_buffer < end) largest = maximum(line_in_memory, granules_in_buffer + rank, end, largest);
      uint32_t max = __reduce_max_sync(~0u, __float_as_uint(largest));
      if (o.block_per_line) {
        if (lane == 0) (&s.maxima[0].x)[warp] = max;
        __syncthreads();
        uint4 const v = max_abs(s.maxima[0], s.maxima[1]);
        max = ::max(::max(v.x, v.y), ::max(v.z, v.w));
      }
      Scale const scale(max);
      if (rank == 0) {
        if constexpr (TwoLines) {
          *reinterpret_cast<float2*>(o.scale + 2 * static_cast<int64_t>(item)) = {scale.inverse, scale.inverse};
        } else {
          o.scale[item] = scale.inverse;
        }
      }
      int64_t const to = row(item);
      uint16_t *const high = o.high + to, *const low = Split ? o.low + to : nullptr;
      uint32_t const vectors_in_buffer = min(vectors, o.granules - begin);
      uint32_t count = convert_line(line_in_buffer, m, rank, vectors_in_buffer, scale, high, low);
      if (vectors_in_buffer < vectors) count += convert_line(line_in_memory, m, vectors_in_buffer + rank, vectors, scale, high, low);
      if (rank < left) {
        uint32_t const i = 4 * vectors + rank;
        float const v = x[i], scaled = __fmul_rn(v, scale.factor);
        count_small(count, v, scale.small);
        uint32_t const h = to_halves(scaled, 0);
        store_one(high, i, static_cast<uint16_t>(h));
        if constexpr (Split) store_one(low, i, static_cast<uint16_t>(to_halves(low_of(scaled, to_floats(h).x), 0)));
      }
      count = __reduce_add_sync(~0u, count);
      if (o.block_per_line && lane == 0) (&s.counts[0].x)[warp] = count;
      sync_threads();
      load(item + stages * step, stage);
      if (o.block_per_line && rank == 0) {
        uint4 const a = s.counts[0], b = s.counts[1];
        count = a.x + a.y + a.z + a.w + b.x + b.y + b.z + b.w;
      }
      max_word = ::max(max_word, scale.fits ? count : unfit);  // valid in rank 0
      if (++stage == stages) stage = 0, parity ^= 1;
    }
    if (!o.block_per_line) {
      if (lane == 0) (&s.maxima[0].x)[warp] = max_word;
      __syncthreads();
      uint4 const v = max_abs(s.maxima[0], s.maxima[1]);
      max_word = ::max(::max(v.x, v.y), ::max(v.z, v.w));
    } else {
      if (rank == 0) s.maxima[0].x = max_word;
      __syncthreads();
      max_word = s.maxima[0].x;
    }
    store_guard_words(o, worker, max_word);
  }
};

}  // namespace
}  // namespace gpk
