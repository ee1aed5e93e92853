// sum_kernels.cuh: the kernels of Sum and Mean (ops_reduce.cuh).
//
// In `sum_rows` a warp reads a chunk. Its lanes are the L/V vectors of a row. A thread has 8 vectors in flight, and
// shuffles combine the sums of the lanes.
//
// In `sum_short`, for sums of at most half a chunk, a warp reads as many terms of several sums.
//
// In `sum_columns` a thread owns V neighbouring sums, or one. It adds the rows of one lane while it loads those of
// the next.
//
// If no block reads all terms of a sum, each branch of the tree has a partial sum, and a last kernel adds the partial
// sums.
#pragma once
#include "sum_terms.cuh"

#include <type_traits>

namespace gpk {

// Chunks (rows) or lanes (columns) that a thread adds in registers before it pushes their sum onto a PairwiseSum.
constexpr int batch = 4;

// There are sums * groups branches. Each is computed by `slices` warps, so a block computes warps / slices of them. Dense:
// the terms of a sum are contiguous and their number is a multiple of V.
template <class T, bool Dense>
__global__ void __launch_bounds__(threads, Dense ? 4 : 2) sum_rows(__grid_constant__ Sum const p) {
  begin();
  using A = typename accumulator<T>::type;
  constexpr int V = vector_width<T>;
  __shared__ A shared[warps];
  int const warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int64_t const branch = static_cast<int64_t>(blockIdx.x) * (warps / p.slices) + warp / p.slices;
  bool const active = branch < p.sums * p.groups;
  int64_t sum = active ? branch : 0, group = 0;
  if (p.groups > 1) group = sum % p.groups, sum /= p.groups;
  T const* const x = reinterpret_cast<T const*>(p.x) + kept_offset(p, sum);
  int64_t const per_warp = p.per_warp;
  int64_t const c0 = group * p.per_group + warp % p.slices * per_warp;

  // Chunks whose shuffles overlap.
  constexpr int many = Dense ? batch : 1;
  int64_t const end = c0 + per_warp;
  PairwiseSum<A, 1, levels> pairwise;
  A total[1] = {neutral<A>()};
  for (int64_t c = c0; active && c < end && c * chunk<T> < p.terms; c += many) {
    A part[many];
    if (Dense && c + many <= end && (c + many) * chunk<T> <= p.terms) {
#pragma unroll
      for (int m = 0; m < many; ++m) part[m] = sum_full_chunk<A>(x + (c + m) * chunk<T> + lane * V);
    } else {
#pragma unroll
      for (int m = 0; m < many; ++m) {
        int64_t const first = (c + m) * chunk<T> + lane * V;
        part[m] = neutral<A>();
        if (c + m >= end) continue;
        if constexpr (Dense) {
          part[m] = sum_dense_chunk<A>(x + first, p.terms - first);
        } else {
          part[m] = sum_any_chunk<A>(p, x, first);
        }
      }
    }
#pragma unroll
    for (int mask = 1; mask < 32; mask *= 2) {
#pragma unroll
      for (int m = 0; m < many; ++m) part[m] = plus(part[m], shuffle_xor(part[m], mask));
    }
    pairs<many>(part);
    total[0] = part[0];
    if (per_warp > many) pairwise.push(total);
  }
  if (per_warp > many) pairwise.finish(total);
  if (p.slices == 1) {
    if (active && lane == 0) store<T>(p, branch, total[0]);
    return;
  }
  if (lane == 0) shared[warp] = total[0];
  __syncthreads();
  if (!active || lane != 0 || warp % p.slices != 0) return;
  for (int step = 1; step < p.slices; step *= 2) {
    for (int w = warp; w < warp + p.slices; w += 2 * step) shared[w] = plus(shared[w], shared[w + step]);
  }
  store<T>(p, branch, shared[warp]);
}

// Sums of at most R rows, R < 8. `lanes_per_sum` lanes compute a sum: a warp, or half of it, a quarter and so on if
// the only row is short enough. A warp computes 32/lanes_per_sum * 8/R sums.
template <class T, int R, bool Dense>
__global__ void __launch_bounds__(threads, Dense ? 3 : 2) sum_short(__grid_constant__ Sum const p) {
  begin();
  using A = typename accumulator<T>::type;
  constexpr int V = vector_width<T>, many = chunk_rows / R;
  int const lane = threadIdx.x % 32, at = lane % p.lanes_per_sum, at_once = 32 / p.lanes_per_sum;
  int64_t const warp = static_cast<int64_t>(blockIdx.x) * warps + threadIdx.x / 32;
  int64_t const first = warp * (many * at_once) + lane / p.lanes_per_sum;
  std::conditional_t<Dense, Loaded<T, V>, Vec<T, V>> v[chunk_rows];
#pragma unroll
  for (int m = 0; m < many; ++m) {
    int64_t const sum = first + m * at_once;
    if (sum >= p.sums) continue;
    T const* const x = reinterpret_cast<T const*>(p.x) + kept_offset(p, sum);
#pragma unroll
    for (int k = 0; k < R; ++k) {
      int const i = k * lanes<T> + at * V;
      if constexpr (Dense) {
        v[m * R + k].clear();
        if (i < p.terms) v[m * R + k].load(x + i);
      } else {
        load_terms(p, x, i, v[m * R + k]);
      }
    }
  }
#pragma unroll
  for (int m = 0; m < many; ++m) {
    int64_t const sum = first + m * at_once;
    A total = neutral<A>();
    if (sum < p.sums) total = sum_vectors<R, A, T>(v + m * R);
    for (int mask = 1; mask < p.lanes_per_sum; mask *= 2) total = plus(total, shuffle_xor(total, mask));
    if (sum < p.sums && at == 0) store<T>(p, sum, total);
  }
}

// ---- neighbouring sums are contiguous: W sums per thread

// Reads the rows of lane i for W neighbouring sums. Missing terms are -0. Even: the distance between terms is
// constant.
template <class T, int W, bool Even>
__device__ inline void load_rows(Sum const& p, T const* x, int64_t i, int64_t end, Loaded<T, W> (&v)[chunk_rows]) {
  if (Even && i < end && i + (chunk_rows - 1) * lanes<T> < p.terms) {
    T const* const at = x + i * p.summed_stride[0];
    int64_t const step = lanes<T> * p.summed_stride[0];
#pragma unroll
    for (int k = 0; k < chunk_rows; ++k) v[k].load(at + k * step);
    return;
  }
#pragma unroll
  for (int k = 0; k < chunk_rows; ++k) {
    int64_t const j = i + k * lanes<T>;
    v[k].clear();
    if (i < end && j < p.terms) v[k].load(x + (Even ? j * p.summed_stride[0] : term_offset(p, j)));
  }
}

template <class T, int W, class A>
__device__ inline void add_rows(Loaded<T, W> const (&v)[chunk_rows], A (&out)[W]) {
#pragma unroll
  for (int e = 0; e < W; ++e) {
    A row[chunk_rows];
#pragma unroll
    for (int k = 0; k < chunk_rows; ++k) row[k] = v[k].template get<A>(e);
    pairs<chunk_rows>(row);
    out[e] = row[0];
  }
}

// `width` neighbouring threads own W sums each: a column tile, whose sums are neighbours along the innermost kept
// dimension. Slices of `width` threads share the lanes of a chunk. A block has threads / width / slices column tiles.
// The grid covers all column tiles, `groups` times. Partial sums are stored group by group.
template <class T, int W, bool Even>
__global__ void __launch_bounds__(threads, 2) sum_columns(__grid_constant__ Sum const p) {
  begin();
  using A = typename accumulator<T>::type;
  __shared__ A shared[threads][W];
  int const team = threadIdx.x / p.width, slice = team % p.slices, per_block = threads / p.width / p.slices;
  int64_t const blocks = (p.sums - 1) / (p.width * W * per_block) + 1;
  int64_t const group = blockIdx.x / blocks, column_tile = blockIdx.x % blocks * per_block + team / p.slices;
  int64_t const sum = (column_tile * p.width + threadIdx.x % p.width) * W;
  bool const active = sum < p.sums;
  T const* const x = reinterpret_cast<T const*>(p.x) + kept_offset(p, active ? sum : 0);

  PairwiseSum<A, W, levels> chunks;
  for (int64_t c = group * p.per_group; c < (group + 1) * p.per_group && c * chunk<T> < p.terms; ++c) {
    A total[W];
    PairwiseSum<A, W, 10> pairwise;
    int64_t const i0 = c * chunk<T> + slice * p.per_slice;
    int64_t const end = i0 + p.per_slice;
    // Even: the rows of the next lane are loaded while those of the current one are added.
    Loaded<T, W> rows[Even ? 2 : 1][chunk_rows];
    if (Even && active) load_rows<T, W, Even>(p, x, i0, end, rows[0]);
    for (int64_t j = i0; active && j < end && j < p.terms; j += batch) {
      A v[batch][W];
#pragma unroll
      for (int b = 0; b < batch; ++b) {
        load_rows<T, W, Even>(p, x, j + b + Even, end, rows[Even ? (b + 1) % 2 : 0]);
        if constexpr (Even) asm volatile("" ::: "memory");  // keeps the compiler from delaying the loads
        add_rows(rows[Even ? b % 2 : 0], v[b]);
#pragma unroll
        for (int step = 1; (b + 1) % (2 * step) == 0; step *= 2) {
#pragma unroll
          for (int e = 0; e < W; ++e) v[b + 1 - 2 * step][e] = plus(v[b + 1 - 2 * step][e], v[b + 1 - step][e]);
        }
      }
      pairwise.push(v[0]);
    }
    pairwise.finish(total);
    for (int step = 1; step < p.slices; step *= 2) {
      if (slice % (2 * step) == step) {
#pragma unroll
        for (int e = 0; e < W; ++e) shared[threadIdx.x][e] = total[e];
      }
      __syncthreads();
      if (slice % (2 * step) == 0) {
#pragma unroll
        for (int e = 0; e < W; ++e) total[e] = plus(total[e], shared[threadIdx.x + step * p.width][e]);
      }
    }
    if (p.slices > 1) __syncthreads();
    if (slice == 0) chunks.push(total);
  }
  if (!active || slice != 0) return;
  A total[W];
  chunks.finish(total);
#pragma unroll
  for (int e = 0; e < W; ++e) store<T>(p, group * p.sums + sum + e, total[e]);
}

// ---- the last kernel adds the partial sums

template <class T>
__global__ void __launch_bounds__(max_partial_threads) sum_partials_by_block(PartialSums p) {
  begin();
  add_partials_by_block<T>(p);
}

template <class T>
__global__ void __launch_bounds__(threads) sum_partials_by_eight(PartialSums p) {
  begin();
  add_partials_by_eight<T>(p);
}

}  // namespace gpk
