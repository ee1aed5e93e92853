// layers_pool.cuh: the means of the rows of sequences.
#pragma once
#include "gpk_layers.h"
#include "ops.cuh"

namespace gpk {
namespace {

struct Pool {
  char const* x;
  int32_t const* offsets;
  char* dst;
  long long* flags;
  int64_t pitch, rows, n, batch;
  int columns;  // neighbouring columns that the threads compute in one iteration
  bool first, normalize;
};

constexpr int pool_threads = 1024;
constexpr int pool_cached_means = 4096;  // means in shared memory; those of later columns are computed again

__device__ inline void record_offset(Pool const& p, int kind, int64_t i, int32_t at) {
  long long const number = 0xfffffff - i;
  atomicMax(p.flags, (4LL - kind) << 60 | number << 32 | static_cast<uint32_t>(at));
}

// Records an error in offset i + 1, or in the first offset, as GPK_OFFSETS_*.
__device__ inline void check_offset(Pool const& p, int64_t i) {
  int32_t const from = p.offsets[i], to = p.offsets[i + 1];
  if (i == 0 && from != 0) record_offset(p, 1, 0, from);
  if (to < from) record_offset(p, 2, i + 1, to);
  if (i + 1 == p.batch && to != p.rows) record_offset(p, 3, i + 1, to);
}

// A block computes a sequence. p.columns threads compute neighbouring columns, and the rows are distributed
// round-robin over the row lanes of a column. Their number, and therefore the order of additions, depends only on n
// and the length of the sequence.
template <class T, class R>
__global__ void __launch_bounds__(pool_threads) pool_sequences(__grid_constant__ Pool const p) {
  begin();
  __shared__ double mean[pool_cached_means], partial[pool_threads], squares[32];
  int const column = threadIdx.x % p.columns, row_lane = threadIdx.x / p.columns, row_lanes = blockDim.x / p.columns;
  int64_t const i = blockIdx.x;
  if (p.flags != nullptr && threadIdx.x == 0) check_offset(p, i);
  auto clamped = [&](int64_t at) { return at < 0 ? 0 : at > p.rows ? p.rows : at; };
  int64_t const from = clamped(p.offsets[i]);
  int64_t to = clamped(p.offsets[i + 1]);
  if (to < from) to = from;
  if (p.first && to > from) to = from + 1;
  double const rows = static_cast<double>(to - from);

  // Returns the mean of column c, in the threads with row_lane 0. All threads of the block must call it.
  auto mean_of = [&](int64_t c) {
    double sum = 0;
    if (c < p.n) {
      constexpr int in_flight = 8;
      T const* const x = reinterpret_cast<T const*>(p.x) + c;
      int64_t r = from + row_lane;
      for (; r + (in_flight - 1) * row_lanes < to; r += in_flight * row_lanes) {
        T v[in_flight];
#pragma unroll
        for (int u = 0; u < in_flight; ++u) v[u] = x[(r + u * row_lanes) * p.pitch];
#pragma unroll
        for (int u = 0; u < in_flight; ++u) sum += convert<double>(v[u]);
      }
      for (; r < to; r += row_lanes) sum += convert<double>(x[r * p.pitch]);
    }
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int t = 1; row_lane == 0 && t < row_lanes; ++t) sum += partial[t * p.columns + column];
    __syncthreads();
    return rows > 0 ? sum / rows : 0;
  };

  R* const dst = reinterpret_cast<R*>(p.dst) + i * p.n;
  double square = 0;
  for (int64_t c = column; c - column < p.n; c += p.columns) {
    double const m = mean_of(c);
    if (row_lane != 0 || c >= p.n) continue;
    if (!p.normalize) {
      dst[c] = static_cast<R>(m);
      continue;
    }
    if (c < pool_cached_means) mean[c] = m;
    square += m * m;
  }
  if (!p.normalize) return;
#pragma unroll
  for (int mask = 1; mask < 32; mask *= 2) square += __shfl_xor_sync(~0u, square, mask);
  if (threadIdx.x % 32 == 0) squares[threadIdx.x / 32] = square;
  __syncthreads();
  double total = 0;
  for (int w = 0; w < blockDim.x / 32; ++w) total += squares[w];
  double const length = fmax(sqrt(total), 1e-12);
  for (int64_t c = column; c - column < p.n; c += p.columns) {
    bool const recompute = c - column + p.columns > pool_cached_means;  // uniform in the block
    double m = recompute ? mean_of(c) : 0;
    if (row_lane != 0 || c >= p.n) continue;
    if (!recompute) m = mean[c];
    dst[c] = static_cast<R>(m / length);
  }
}

template <class T, class R>
int pool(Pool p, uint64_t stream) {
  p.columns = 32;
  while (p.columns < 512 && p.columns < p.n) p.columns += 32;
  int row_lanes = 1;
  while (row_lanes < 8 && 2 * row_lanes * p.columns <= pool_threads) row_lanes *= 2;
  return launch(pool_sequences<T, R>, static_cast<unsigned>(p.batch), static_cast<unsigned>(p.columns * row_lanes), stream, p);
}

}  // namespace
}  // namespace gpk
