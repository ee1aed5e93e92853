// attention_few.cuh: attention of few queries and many keys, as in a decoder; see attention.cuh.
#pragma once
#include "attention.cuh"

namespace gpk {
namespace attention {

constexpr int few_rows = 16;   // at most
constexpr int few_warps = 4;
constexpr int few_step = 16;   // keys that a warp processes per step
constexpr int few_stages = 2;  // steps of a warp that are in flight
// Keys per part: 128 take 7.6 us for a batch of 1 and 84 for one of 64 (1,024 keys, 8 KV heads of size 128, H200),
// 256 take 8.6 and 76, 512 take 11.0 and 75.
constexpr int few_span = 4 * few_warps * few_step;
constexpr int few_least = 256;  // least number of keys for which `few` is used
constexpr int max_parts = 64;

// M: the type of the products, for halves; D: the padded head size.
template <class M, int D>
struct Few {
  static constexpr int step = few_step * M::pitch;  // granules of keys, or of values, per step
  static constexpr int queries = few_rows * M::pitch;
  static constexpr int ring = few_stages * 2 * step;  // granules per warp
  static constexpr int bytes = (queries + few_warps * ring) * 16;
  static_assert(few_rows * D * 4 <= ring * 16, "a warp's results fit its ring");
};

// Starts the copies of a warp's step: keys from `key` on and their values.
template <class M, int D>
__device__ inline void start_step(uint4* stage, Params const& p, typename M::Element const* k, typename M::Element const* v, int key, int end) {
  load_rows<M, few_step, 32>(stage, p.k, k, key, end, p.dim, threadIdx.x % 32);
  load_rows<M, few_step, 32>(stage + Few<M, D>::step, p.v, v, key, end, p.value_dim, threadIdx.x % 32);
}

// Row r is query r % queries of head r / queries among those that read the KV head.
template <class M, int D, bool Masked>
__global__ void __launch_bounds__(32 * few_warps) few(__grid_constant__ Params const p) {
  using T = typename M::Element;
  using F = Few<M, D>;
  __shared__ float2 numbers[few_warps][few_rows];
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
    commit_copies();
  }

  for (int i = thread; i < few_rows * M::granules; i += 32 * few_warps) {
    int const r = i / M::granules, c = i % M::granules, head = kv * p.group + r / p.queries;
    T const* const q = reinterpret_cast<T const*>(p.q.data) + batch * p.q.batch + head * p.q.head + r % p.queries * p.q.row;
    constexpr int room = 16 / sizeof(T);
    int const left = r < rows ? p.dim - c * room : 0;
    uint4 g = make_uint4(0, 0, 0, 0);
    if (p.q.granules) {
      if (left > 0) g = *reinterpret_cast<uint4 const*>(q + c * room);
    } else {
      g = some_elements(q + c * room, left);
    }
    queries[M::place(r, c)] = g;
  }
  __syncthreads();

  Sight<Masked> sight;
  for (int r = 0; r < 2; r++) {
    int const row = min(lane / 4 + 8 * r, rows - 1);
    sight.set(p, r, row % p.queries, p.queries, p.keys, kv * p.group + row / p.queries, batch);
  }
  int const plain = Masked ? 0 : p.causal ? min(end, p.keys - p.queries + 1) : end;
  float const factor = Masked && p.scaled ? 1 : p.factor;
  typename M::Queries held;
  held.load(queries);
  Running<D> run;
  run.clear();
  for (int j = 0; j < count; j++) {
    await_copies<few_stages - 1>();
    __syncwarp();
    uint4* const stage = ring + j % few_stages * 2 * F::step;
    int const key = begin_at + j * few_warps * few_step;
    float s[few_step / 8][4];
    M::template scores<few_step / 8>(s, held, stage);
    if (key + few_step > plain) sight.apply(s, p, key + 2 * (lane % 4));
    run.weigh(s, factor);
    M::template accumulate<few_step / 8>(run.o, s, stage + F::step);
    __syncwarp();
    if (j + few_stages < count) start_step<M, D>(stage, p, k, v, key + few_stages * few_warps * few_step, end);
    commit_copies();
  }
  await_copies<0>();
  __syncwarp();

  // The results of the warps are combined in the order of the warps.
  run.add_columns();
  float* const own = reinterpret_cast<float*>(ring);
  for (int r = 0; r < 2; r++) {
    int const row = lane / 4 + 8 * r;
    if (lane % 4 == 0) {
      numbers[warp][row] = make_float2(run.sum[r] == 0 ? -INFINITY : Running<D>::base(run.largest[r], factor), run.sum[r]);
    }
#pragma unroll
    for (int n = 0; n < D / 8; n++) {
      *reinterpret_cast<float2*>(own + row * D + 8 * n + 2 * (lane % 4)) = make_float2(run.o[n][2 * r], run.o[n][2 * r + 1]);
    }
  }
  __syncthreads();
  float const* const all = reinterpret_cast<float const*>(queries + F::queries);
  for (int i = thread; i < rows * D; i += 32 * few_warps) {
    int const r = i / D, d = i % D;
    float most = numbers[0][r].x;
    for (int w = 1; w < few_warps; w++) most = fmaxf(most, numbers[w][r].x);
    float total = 0, x = 0;
    for (int w = 0; w < few_warps; w++) {
      float2 const had = numbers[w][r];
      float const weight = had.x == -INFINITY ? 0 : power_of_two(had.x - most);
      if (weight == 0) continue;
      total = fmaf(weight, had.y, total);
      x = fmaf(weight, all[w * F::ring * 4 + r * D + d], x);
    }
    int64_t const at = (static_cast<int64_t>(which) * p.parts + part) * rows + r;
    if (d == 0) p.sums[at] = make_float2(most, total);
    if (d < p.value_dim) p.partial[at * p.value_dim + d] = x;
  }
}

// A block of 128 threads adds the parts of one row of the result.
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
    float2 had[max_parts / 32];
    float most = -INFINITY;
    for (int i = 0; i < max_parts / 32; i++) {
      int const part = lane + 32 * i;
      had[i] = part < p.parts ? p.sums[first + static_cast<int64_t>(part) * rows] : make_float2(-INFINITY, 0);
      most = fmaxf(most, had[i].x);
    }
    for (int step = 16; step > 0; step /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, step));
    float total = 0;
    for (int i = 0; i < max_parts / 32; i++) {
      float const weight = had[i].x == -INFINITY ? 0 : power_of_two(had[i].x - most);
      weights[lane + 32 * i] = weight;
      total += weight == 0 ? 0 : weight * had[i].y;
    }
    for (int step = 16; step > 0; step /= 2) total += __shfl_xor_sync(~0u, total, step);
    if (lane == 0) sum = total;
  }
  __syncthreads();
  float const by = sum == 0 ? 0 : 1 / sum;
  T* const out = reinterpret_cast<T*>(p.out.data) + batch * p.out.batch + (kv * p.group + r / p.queries) * p.out.head + r % p.queries * p.out.row;
  for (int d = threadIdx.x; d < p.value_dim; d += 128) {
    float x = 0;
#pragma unroll 8
    for (int part = 0; part < p.parts; part++) {
      float const had = p.partial[(first + static_cast<int64_t>(part) * rows) * p.value_dim + d];
      if (weights[part] != 0) x = fmaf(weights[part], had, x);
    }
    out[d] = T(x * by);
  }
}

}  // namespace attention
}  // namespace gpk
