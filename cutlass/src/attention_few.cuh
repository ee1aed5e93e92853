// attention_few.cuh: the kernels for few queries and many keys, as in a decoder (split-KV); see attention.cuh.
#pragma once
#include "attention.cuh"

namespace gpk {
namespace attention {

constexpr int few_rows = 16;   // the largest number of rows
constexpr int few_warps = 4;
constexpr int few_step = 16;   // keys that a warp processes per step
constexpr int few_stages = 2;  // steps of a warp in shared memory
// Keys per part. With 1,024 keys and 8 KV heads of size 128, on an H200, a batch of 1 takes 7.6 us with parts of 128 keys,
// 8.6 us with 256 and 11.0 us with 512; a batch of 64 takes 84, 76 and 75 us.
constexpr int few_span = 4 * few_warps * few_step;
constexpr int few_min_keys = 256;  // the least number of keys for which `few` is used
constexpr int max_parts = 64;

// M: the products (Halves). D: the padded head size.
template <class M, int D>
struct Few {
  static constexpr int step = few_step * M::pitch;  // granules of keys, or of values, per step
  static constexpr int queries = few_rows * M::pitch;
  static constexpr int ring = few_stages * 2 * step;  // granules per warp
  static constexpr int bytes = (queries + few_warps * ring) * 16;
  static_assert(few_rows * D * 4 <= ring * 16, "a warp's results fit in its stages");
};

// Starts the copies of a step of a warp: keys from `key` on, and their values.
template <class M, int D>
__device__ inline void start_step(uint4* stage, Params const& p, typename M::Element const* k, typename M::Element const* v, int key, int end) {
  load_rows<M, few_step, 32>(stage, p.k, k, key, end, p.dim, threadIdx.x % 32);
  load_rows<M, few_step, 32>(stage + Few<M, D>::step, p.v, v, key, end, p.value_dim, threadIdx.x % 32);
}

// Row r is query r % queries of the KV head's query head r / queries.
template <class M, int D, bool Masked>
__global__ void __launch_bounds__(32 * few_warps) few(__grid_constant__ Params const p) {
  using T = typename M::Element;
  using F = Few<M, D>;
  __shared__ float2 max_and_sum[few_warps][few_rows];
  begin();
  unsigned const part = blockIdx.x % p.parts, which = blockIdx.x / p.parts;
  int const kv = which % p.kv_heads, batch = which / p.kv_heads, rows = p.group * p.queries;
  int const thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
  int const from = part * p.span, end = min(p.keys, from + p.span);
  T const* const k = reinterpret_cast<T const*>(p.k.data) + batch * p.k.batch + kv * p.k.head;
  T const* const v = reinterpret_cast<T const*>(p.v.data) + batch * p.v.batch + kv * p.v.head;

  uint4* const queries = shared_granules;
  uint4* const ring = queries + F::queries + warp * F::ring;
  int const begin_at = from + warp * few_step;
  int const count = begin_at >= end ? 0 : (end - begin_at + few_warps * few_step - 1) / (few_warps * few_step);
#pragma unroll
  for (int j = 0; j < few_stages; j++) {
    if (j < count) start_step<M, D>(ring + j * 2 * F::step, p, k, v, begin_at + j * few_warps * few_step, end);
    cp_async_commit();
  }

  for (int i = thread; i < few_rows * M::granules; i += 32 * few_warps) {
    int const r = i / M::granules, c = i % M::granules, head = kv * p.group + r / p.queries;
    T const* const q = reinterpret_cast<T const*>(p.q.data) + batch * p.q.batch + head * p.q.head + r % p.queries * p.q.row;
    constexpr int per_granule = 16 / sizeof(T);
    int const left = r < rows ? p.dim - c * per_granule : 0;
    uint4 g = make_uint4(0, 0, 0, 0);
    if (p.q.granules) {
      if (left > 0) g = *reinterpret_cast<uint4 const*>(q + c * per_granule);
    } else {
      g = load_partial_granule(q + c * per_granule, left);
    }
    queries[M::granule_index(r, c)] = g;
  }
  __syncthreads();

  Mask<Masked> mask;
  for (int r = 0; r < 2; r++) {
    int const row = min(lane / 4 + 8 * r, rows - 1);
    mask.set(p, r, row % p.queries, p.queries, p.keys, kv * p.group + row / p.queries, batch);
  }
  int const unmasked = Masked ? 0 : p.causal ? min(end, p.keys - p.queries + 1) : end;
  float const factor = Masked && p.scaled ? 1 : p.factor;
  typename M::Queries query_fragments;
  query_fragments.load(queries);
  OnlineSoftmax<D> softmax;
  softmax.clear();
  for (int j = 0; j < count; j++) {
    cp_async_wait<few_stages - 1>();
    __syncwarp();
    uint4* const stage = ring + j % few_stages * 2 * F::step;
    int const key = begin_at + j * few_warps * few_step;
    float s[few_step / 8][4];
    M::template scores<few_step / 8>(s, query_fragments, stage);
    if (key + few_step > unmasked) mask.apply(s, p, key + 2 * (lane % 4));
    softmax.to_weights(s, factor);
    M::template accumulate<few_step / 8>(softmax.o, s, stage + F::step);
    __syncwarp();
    if (j + few_stages < count) start_step<M, D>(stage, p, k, v, key + few_stages * few_warps * few_step, end);
    cp_async_commit();
  }
  cp_async_wait<0>();
  __syncwarp();

  // Adds the results of the warps in the order of the warps.
  softmax.add_columns();
  float* const results = reinterpret_cast<float*>(ring);
  for (int r = 0; r < 2; r++) {
    int const row = lane / 4 + 8 * r;
    if (lane % 4 == 0) {
      max_and_sum[warp][row] = make_float2(softmax.sum[r] == 0 ? -INFINITY : OnlineSoftmax<D>::base(softmax.largest[r], factor), softmax.sum[r]);
    }
#pragma unroll
    for (int n = 0; n < D / 8; n++) {
      *reinterpret_cast<float2*>(results + row * D + 8 * n + 2 * (lane % 4)) = make_float2(softmax.o[n][2 * r], softmax.o[n][2 * r + 1]);
    }
  }
  __syncthreads();
  float const* const all_results = reinterpret_cast<float const*>(queries + F::queries);
  for (int i = thread; i < rows * D; i += 32 * few_warps) {
    int const r = i / D, d = i % D;
    float row_max = max_and_sum[0][r].x;
    for (int w = 1; w < few_warps; w++) row_max = fmaxf(row_max, max_and_sum[w][r].x);
    float total = 0, x = 0;
    for (int w = 0; w < few_warps; w++) {
      float2 const partial = max_and_sum[w][r];
      float const weight = partial.x == -INFINITY ? 0 : exp2_approx(partial.x - row_max);
      if (weight == 0) continue;
      total = fmaf(weight, partial.y, total);
      x = fmaf(weight, all_results[w * F::ring * 4 + r * D + d], x);
    }
    int64_t const at = (static_cast<int64_t>(which) * p.parts + part) * rows + r;
    if (d == 0) p.sums[at] = make_float2(row_max, total);
    if (d < p.value_dim) p.partial[at * p.value_dim + d] = x;
  }
}

// Adds the parts of one row of the result. 128 threads per row.
template <class T>
__global__ void __launch_bounds__(128) combine(__grid_constant__ Params const p) {
  __shared__ float weights[max_parts];
  __shared__ float sum;
  begin();
  int const rows = p.group * p.queries, r = blockIdx.x % rows;
  unsigned const which = blockIdx.x / rows;
  int const kv = which % p.kv_heads, batch = which / p.kv_heads, lane = threadIdx.x % 32;
  int64_t const first = static_cast<int64_t>(which) * p.parts * rows + r;
  if (threadIdx.x < 32) {
    float2 partial[max_parts / 32];
    float row_max = -INFINITY;
    for (int i = 0; i < max_parts / 32; i++) {
      int const part = lane + 32 * i;
      partial[i] = part < p.parts ? p.sums[first + static_cast<int64_t>(part) * rows] : make_float2(-INFINITY, 0);
      row_max = fmaxf(row_max, partial[i].x);
    }
    for (int step = 16; step > 0; step /= 2) row_max = fmaxf(row_max, __shfl_xor_sync(~0u, row_max, step));
    float total = 0;
    for (int i = 0; i < max_parts / 32; i++) {
      float const weight = partial[i].x == -INFINITY ? 0 : exp2_approx(partial[i].x - row_max);
      weights[lane + 32 * i] = weight;
      total += weight == 0 ? 0 : weight * partial[i].y;
    }
    for (int step = 16; step > 0; step /= 2) total += __shfl_xor_sync(~0u, total, step);
    if (lane == 0) sum = total;
  }
  __syncthreads();
  float const inverse = sum == 0 ? 0 : 1 / sum;
  T* const out = reinterpret_cast<T*>(p.out.data) + batch * p.out.batch + (kv * p.group + r / p.queries) * p.out.head + r % p.queries * p.out.row;
  for (int d = threadIdx.x; d < p.value_dim; d += 128) {
    float x = 0;
#pragma unroll 8
    for (int part = 0; part < p.parts; part++) {
      float const partial = p.partial[(first + static_cast<int64_t>(part) * rows) * p.value_dim + d];
      if (weights[part] != 0) x = fmaf(weights[part], partial, x);
    }
    out[d] = T(x * inverse);
  }
}

}  // namespace attention
}  // namespace gpk
