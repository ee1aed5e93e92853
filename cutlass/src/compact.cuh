// compact.cuh: writes the indices, the coordinates or the elements at which a mask is true, in order.
//
// A block reads a tile of the mask. count_trues counts the true elements of each tile. sum_counts replaces the count of a
// tile by its offset, the sum of the counts before it. place_trues reads the mask again, and writes the results of a
// tile from its offset on.
#pragma once
#include "ops.cuh"

namespace gpk {
namespace {

constexpr int compact_warps = threads / 32, flags_per_thread = 32;
static_assert(threads * flags_per_thread == GPK_MASK_TILE, "a thread has one bit for each of its flags");

// Flags are bytes; true is not 0.
struct Mask {
  uint8_t const* p;
  int64_t n;
  int64_t* offsets;  // one per tile
  int64_t* total;
  int64_t tiles;
  int lead;  // 1: one more true element is before the first of the mask, else 0

  // Returns a bit for each of the thread's flags. Beyond the end the bits are 0.
  __device__ uint32_t bits() const {
    int64_t const first = int64_t{blockIdx.x} * GPK_MASK_TILE + threadIdx.x * flags_per_thread;
    uint32_t all = 0;
    if (first + flags_per_thread <= n && reinterpret_cast<uintptr_t>(p) % 16 == 0) {
      uint4 const v[2] = {reinterpret_cast<uint4 const*>(p + first)[0], reinterpret_cast<uint4 const*>(p + first)[1]};
      uint32_t const words[] = {v[0].x, v[0].y, v[0].z, v[0].w, v[1].x, v[1].y, v[1].z, v[1].w};
#pragma unroll
      for (int w = 0; w < 8; ++w) {
        uint32_t const ones = __vminu4(words[w], 0x01010101u);
        all |= (ones * 0x10204080u >> 28) << 4 * w;  // bit 8 b of ones becomes bit b
      }
    } else {
      for (int e = 0; e < flags_per_thread && first + e < n; ++e) all |= static_cast<uint32_t>(p[first + e] != 0) << e;
    }
    return all;
  }
};

// Returns the sum of v over the warp's lanes up to this one.
template <class V>
__device__ inline V sum_to_lane(V v) {
  int const lane = threadIdx.x % 32;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    V const below = __shfl_up_sync(~0u, v, d);
    if (lane >= d) v += below;
  }
  return v;
}

// Returns the sum of v over the block's threads before this one. *all becomes the sum over all threads. warp_sums is
// shared memory. All threads must call it, and synchronize before the next call.
template <class V>
__device__ inline V sum_before(V v, V (&warp_sums)[compact_warps], V* all) {
  int const warp = threadIdx.x / 32;
  V const to_lane = sum_to_lane(v);
  if (threadIdx.x % 32 == 31) warp_sums[warp] = to_lane;
  __syncthreads();
  V before = to_lane - v;
  *all = 0;
#pragma unroll
  for (int w = 0; w < compact_warps; ++w) {
    if (w < warp) before += warp_sums[w];
    *all += warp_sums[w];
  }
  return before;
}

__global__ void __launch_bounds__(threads) count_trues(__grid_constant__ Mask const p) {
  begin();
  __shared__ int warp_sums[compact_warps];
  int all;
  sum_before(__popc(p.bits()), warp_sums, &all);
  if (threadIdx.x == 0) p.offsets[blockIdx.x] = all;
}

// One block replaces the counts of all tiles by their offsets.
__global__ void __launch_bounds__(threads) sum_counts(__grid_constant__ Mask const p) {
  begin();
  constexpr int run = 8;
  __shared__ int64_t warp_sums[compact_warps];
  int64_t offset = p.lead;
  for (int64_t base = 0; base < p.tiles; base += threads * run) {
    int64_t const first = base + threadIdx.x * run;
    int64_t v[run], own = 0, all;
#pragma unroll
    for (int e = 0; e < run; ++e) {
      v[e] = first + e < p.tiles ? p.offsets[first + e] : 0;
      own += v[e];
    }
    int64_t to = offset + sum_before(own, warp_sums, &all);
#pragma unroll
    for (int e = 0; e < run; ++e) {
      if (first + e < p.tiles) p.offsets[first + e] = to;
      to += v[e];
    }
    offset += all;
    __syncthreads();
  }
  if (threadIdx.x == 0) *p.total = offset;
}

// What is written for the true element number `to`, whose index is i.
struct WriteIndex {
  int64_t* dst;
  __device__ void operator()(int64_t to, int64_t i) const { dst[to] = i; }
};

struct WriteCoordinates {
  int64_t* dst[GPK_MAX_DIMS];  // innermost first, as n
  Divider n[GPK_MAX_DIMS];     // valid if `narrow`
  int64_t shape[GPK_MAX_DIMS];
  int dims;
  bool narrow;  // all indices are below 2^31
  __device__ void operator()(int64_t to, int64_t i) const {
    if (narrow) {
      uint32_t rest = static_cast<uint32_t>(i), at;
      for (int d = 0; d < dims; ++d) {
        rest = n[d].divide(rest, &at);
        dst[d][to] = at;
      }
    } else {
      for (int d = 0; d < dims; ++d) {
        dst[d][to] = i % shape[d];
        i /= shape[d];
      }
    }
  }
};

template <class T>
struct WriteElement {
  T const* x;
  T* dst;
  __device__ void operator()(int64_t to, int64_t i) const { dst[to] = x[i]; }
};

// The bits of floating-point numbers. Zeros and NaNs are replaced by the first ones of `all`.
template <class T>
struct WriteDistinct {
  T const* x;
  T* dst;
  T const* all;
  long long const* first;  // the index of the first zero, of the first NaN
  T infinity;              // the bits of infinity without the sign, shifted left by one
  __device__ void operator()(int64_t to, int64_t i) const {
    T v = x[i];
    T const magnitude = static_cast<T>(v << 1);
    if (magnitude == 0) v = all[first[0]];
    if (magnitude > infinity) v = all[first[1]];
    dst[to] = v;
  }
};

template <class W>
struct Placing {
  Mask mask;
  W write;
};

template <class W>
__global__ void __launch_bounds__(threads) place_trues(__grid_constant__ Placing<W> const p) {
  begin();
  __shared__ uint16_t places[GPK_MASK_TILE];  // of the tile's true elements, so that neighbouring threads write neighbours
  __shared__ int warp_sums[compact_warps];
  uint32_t bits = p.mask.bits();
  int all, at = sum_before(__popc(bits), warp_sums, &all);
  for (; bits != 0; bits &= bits - 1) {
    places[at++] = static_cast<uint16_t>(threadIdx.x * flags_per_thread + __ffs(static_cast<int>(bits)) - 1);
  }
  __syncthreads();
  int64_t const first = int64_t{blockIdx.x} * GPK_MASK_TILE + p.mask.lead, to = p.mask.offsets[blockIdx.x];
  for (int i = threadIdx.x; i < all; i += threads) p.write(to + i, first + places[i]);
  if (p.mask.lead != 0 && blockIdx.x == 0 && threadIdx.x == 0) p.write(0, 0);
}

// Finds the first zero and the first NaN. x has the bits of floating-point numbers, as in WriteDistinct.
template <class T>
struct Firsts {
  T const* x;
  int64_t n;
  long long* first;  // initially large
  T infinity;
};

template <class T>
__global__ void __launch_bounds__(threads) find_firsts(__grid_constant__ Firsts<T> const p) {
  begin();
  constexpr long long none = 0x7fffffffffffffff;
  long long zero = none, nan = none;
  int64_t const step = int64_t{gridDim.x} * threads;
  for (int64_t i = int64_t{blockIdx.x} * threads + threadIdx.x; i < p.n; i += step) {
    T const magnitude = static_cast<T>(p.x[i] << 1);
    if (magnitude == 0 && zero == none) zero = i;
    if (magnitude > p.infinity && nan == none) nan = i;
  }
#pragma unroll
  for (int d = 16; d > 0; d /= 2) {
    long long const other_zero = __shfl_xor_sync(~0u, zero, d), other_nan = __shfl_xor_sync(~0u, nan, d);
    zero = zero < other_zero ? zero : other_zero;
    nan = nan < other_nan ? nan : other_nan;
  }
  if (threadIdx.x % 32 == 0) {
    if (zero != none) atomicMin(p.first, zero);
    if (nan != none) atomicMin(p.first + 1, nan);
  }
}

}  // namespace
}  // namespace gpk
