// attention.cuh: attention by mma.sync, for every problem of gpk_attention.h.
//
// Kernel `tiles`: a block of four warps computes 64 queries of one sequence and head, each warp 16 of them. It loops over
// tiles of keys with the online softmax (Milakov and Gimelshein 2018; Dao et al. 2022). The keys of the next tile are
// loaded while weights are computed, and the values while scores are computed.
//
// Kernel `few` (attention_few.cuh): at most 16 rows, which are the queries of all heads that read one KV head, and many
// keys. A block computes a part of the keys (split-KV). Each of its four warps has every fourth group of 16 keys. Kernel
// `combine` adds the parts in their order. The parts are a function of the number of keys only.
//
// The bits of a row are a function of its sequence. Tiles begin at the sequence's first key, and a tile whose keys are
// all masked for a row does not change the row's state.
#pragma once
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "attention_mma.cuh"
#include "attention_params.cuh"
#include "dependent.cuh"

namespace gpk {
namespace attention {

__device__ inline float exp2_approx(float x) {
  float v;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(v) : "f"(x));
  return v;
}

// Starts a copy of `bytes` bytes and fills the rest of the 16 bytes with zeros.
__device__ inline void cp_async_zfill(uint4* to, void const* from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(bytes) : "memory");
}

__device__ inline void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most the last N groups of copies are pending.
template <int N>
__device__ inline void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

// Loads the first n elements of the granule at p, which need not be aligned, and zeros for the others.
template <class T>
__device__ inline uint4 load_partial_granule(T const* p, int n) {
  constexpr int per_granule = 16 / sizeof(T);
  uint4 v = make_uint4(0, 0, 0, 0);
  T elements[per_granule];
  memcpy(elements, &v, 16);
#pragma unroll
  for (int i = 0; i < per_granule; i++) {
    if (i < n) elements[i] = p[i];
  }
  memcpy(&v, elements, 16);
  return v;
}

// Starts the copy of `Count` rows of `length` elements, from row `first` on, to a tile. The rest of each row, and rows from
// `end` on, are zeros. Threads: the number of threads that copy.
template <class M, int Count, int Threads>
__device__ __forceinline__ void load_rows(uint4* tile, Rows const& rows, typename M::Element const* base, int first, int end, int length,
                                          int thread) {
  constexpr int per_granule = 16 / sizeof(typename M::Element), step = Threads / M::granules;
  static_assert(Threads % M::granules == 0 && Count % step == 0, "each thread copies the same number of granules, all of one column");
  int const r = thread / M::granules, c = thread % M::granules, last = end - first;
  auto const* from = base + (first + r) * rows.row + c * per_granule;
  if (rows.granules) {
    int const bytes = c * per_granule < length ? 16 : 0;
#pragma unroll
    for (int i = 0; i < Count / step; i++) {
      bool const valid = r + i * step < last;
      cp_async_zfill(tile + M::granule_index(r + i * step, c), valid ? from + i * step * rows.row : base, valid ? bytes : 0);
    }
  } else {
#pragma unroll 1
    for (int i = r; i < Count; i += step, from += step * rows.row) tile[M::granule_index(i, c)] = load_partial_granule(from, i < last ? length - c * per_granule : 0);
  }
}

// Stores granule c of a row to the result's row p. granules: whether p and the row's length are multiples of 16 bytes.
template <class T>
__device__ inline void store_granule(T* p, uint4 v, int c, int length, bool granules) {
  constexpr int per_granule = 16 / sizeof(T);
  if (granules) {
    if (c * per_granule < length) *reinterpret_cast<uint4*>(p + c * per_granule) = v;
    return;
  }
  T elements[per_granule];
  memcpy(elements, &v, 16);
#pragma unroll
  for (int i = 0; i < per_granule; i++) {
    if (c * per_granule + i < length) p[c * per_granule + i] = elements[i];
  }
}

// The masks of a lane's two rows of scores: the number of keys before the causal limit, and the row of the mask. Masked:
// whether there is a mask, or scores are scaled before the softmax.
template <bool Masked>
struct Mask {
  int keys_seen[2];
  char const* mask[Masked ? 2 : 1];

  // Initializes row r for query i of n, of a head with m keys.
  __device__ void set(Params const& p, int r, int i, int n, int m, int head, int batch) {
    keys_seen[r] = p.causal ? min(m, i + m - n + 1) : m;
    if constexpr (Masked) {
      int64_t const at = batch * p.mask_batch + head * p.mask_head + min(i, n - 1) * p.mask_row;
      mask[r] = p.mask + at * (p.mask_type == GPK_BOOL ? 1 : 4);
    }
  }

  // Adds the mask to scores whose first column is `key`, and sets masked scores to -Inf.
  template <int N>
  __device__ void apply(float (&s)[N][4], Params const& p, int key) const {
#pragma unroll
    for (int n = 0; n < N; n++) {
#pragma unroll
      for (int e = 0; e < 4; e++) {
        int const r = e / 2, k = key + 8 * n + e % 2;
        float x = s[n][e];
        if constexpr (Masked) {
          if (p.scaled) x *= p.factor;
          if (k < keys_seen[r] && p.mask_type == GPK_BOOL && mask[r][k * p.mask_step] == 0) x = -INFINITY;
          if (k < keys_seen[r] && p.mask_type == GPK_F32) x = fmaf(reinterpret_cast<float const*>(mask[r])[k * p.mask_step], log2_e, x);
        }
        s[n][e] = k < keys_seen[r] ? x : -INFINITY;
      }
    }
  }
};

// The online softmax of a lane's two rows, with the accumulators of the results.
template <int D>
struct OnlineSoftmax {
  float o[D / 8][4];
  float largest[2], sum[2];  // the largest score; the sum of the weights in the lane's columns

  __device__ void clear() {
#pragma unroll
    for (int n = 0; n < D / 8; n++) o[n][0] = o[n][1] = o[n][2] = o[n][3] = 0;
    for (int r = 0; r < 2; r++) largest[r] = -INFINITY, sum[r] = 0;
  }

  // The exponent of the largest score, which is subtracted from the exponents of all weights. __fmul_rn keeps the
  // compiler from contracting the product differently for some weights.
  __device__ static float base(float largest, float factor) {
    return largest == -INFINITY ? 0 : __fmul_rn(largest, factor);
  }

  // Replaces scores by weights, and rescales the accumulators to the new maxima.
  template <int N>
  __device__ void to_weights(float (&s)[N][4], float factor) {
    float rescale[2];
#pragma unroll
    for (int r = 0; r < 2; r++) {
      float row_max = largest[r];
#pragma unroll
      for (int n = 0; n < N; n++) row_max = fmaxf(row_max, fmaxf(s[n][2 * r], s[n][2 * r + 1]));
      row_max = fmaxf(row_max, __shfl_xor_sync(~0u, row_max, 1));
      row_max = fmaxf(row_max, __shfl_xor_sync(~0u, row_max, 2));
      float const now = base(row_max, factor);
      rescale[r] = largest[r] == -INFINITY ? 0 : exp2_approx(__fsub_rn(base(largest[r], factor), now));
      largest[r] = row_max;
      float total = 0;
#pragma unroll
      for (int n = 0; n < N; n++) {
#pragma unroll
        for (int e = 2 * r; e < 2 * r + 2; e++) {
          s[n][e] = exp2_approx(fmaf(s[n][e], factor, -now));
          total += s[n][e];
        }
      }
      sum[r] = fmaf(sum[r], rescale[r], total);
    }
    // Factors of 1 are skipped. Most tiles after the first have only these.
    if (__any_sync(~0u, rescale[0] != 1 || rescale[1] != 1)) {
#pragma unroll
      for (int n = 0; n < D / 8; n++) {
        o[n][0] *= rescale[0], o[n][1] *= rescale[0];
        o[n][2] *= rescale[1], o[n][3] *= rescale[1];
      }
    }
  }

  __device__ void add_columns() {
    for (int r = 0; r < 2; r++) {
      sum[r] += __shfl_xor_sync(~0u, sum[r], 1);
      sum[r] += __shfl_xor_sync(~0u, sum[r], 2);
    }
  }
};

extern __shared__ __align__(128) uint4 shared_granules[];

template <class M>
constexpr int tile_bytes(int rows) {
  return rows * M::pitch * 16;
}

// Blocks per multiprocessor, which limit the registers per thread.
constexpr int tile_blocks(int d) { return d <= 32 ? 5 : d <= 64 ? 4 : d <= 128 ? 3 : 2; }

// M: the products (Halves or Floats). D: the padded head size, also of values. Keys: keys per tile.
template <class M, int D, int Keys, bool Masked>
__global__ void __launch_bounds__(2 * tile_rows, M::exact || Masked ? 1 : tile_blocks(D)) tiles(__grid_constant__ Params const p) {
  using T = typename M::Element;
  constexpr int threads = 2 * tile_rows;
  begin();
  if (p.flags != nullptr && blockIdx.x == 0) check_offsets(p);
  if (p.value_dim == 0) return;
  TileCoord at;
  if (!at.find(p)) return;

  uint4* const queries = shared_granules;
  uint4* const keys = queries + tile_rows * M::pitch;
  uint4* const values = keys + Keys * M::pitch;
  int const thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
  int const first = at.tile * tile_rows, first_query = first + 16 * warp;
  int const kv = at.head / p.group;
  T const* const q = reinterpret_cast<T const*>(p.q.data) + at.batch * p.q.batch + at.head * p.q.head + at.start * p.q.row;
  T const* const k = reinterpret_cast<T const*>(p.k.data) + at.batch * p.k.batch + kv * p.k.head + at.start * p.k.row;
  T const* const v = reinterpret_cast<T const*>(p.v.data) + at.batch * p.v.batch + kv * p.v.head + at.start * p.v.row;

  // end: the number of keys that some row of the tile sees. unmasked: the number that all rows of the warp see.
  int const ahead = at.m - at.n + 1;
  int const end = p.causal ? max(min(at.m, min(first + tile_rows, at.n) - 1 + ahead), 0) : at.m;
  int const unmasked = Masked ? 0 : p.causal ? min(at.m, first_query + ahead) : at.m;
  int const count = (end + Keys - 1) / Keys;

  load_rows<M, tile_rows, threads>(queries, p.q, q, first, at.n, p.dim, thread);
  load_rows<M, Keys, threads>(keys, p.k, k, 0, end, p.dim, thread);
  cp_async_commit();
  load_rows<M, Keys, threads>(values, p.v, v, 0, end, p.value_dim, thread);
  cp_async_commit();

  Mask<Masked> mask;
  mask.set(p, 0, first_query + lane / 4, at.n, at.m, at.head, at.batch);
  mask.set(p, 1, first_query + lane / 4 + 8, at.n, at.m, at.head, at.batch);
  float const factor = Masked && p.scaled ? 1 : p.factor;
  bool const has_queries = first_query < at.n;
  OnlineSoftmax<D> softmax;
  softmax.clear();
  typename M::Queries query_fragments;

  for (int j = 0; j < count; j++) {
    if (j == 0) {
      cp_async_wait<1>();
      __syncthreads();
      if (has_queries) query_fragments.load(queries + 16 * warp * M::pitch);
    } else {
      cp_async_wait<0>();
      __syncthreads();
      load_rows<M, Keys, threads>(values, p.v, v, j * Keys, end, p.value_dim, thread);
      cp_async_commit();
    }
    float s[Keys / 8][4];
    if (has_queries) {
      M::template scores<Keys / 8>(s, query_fragments, keys);
      if ((j + 1) * Keys > unmasked) mask.apply(s, p, j * Keys + 2 * (lane % 4));
    }
    cp_async_wait<0>();
    __syncthreads();
    if (j + 1 < count) {
      load_rows<M, Keys, threads>(keys, p.k, k, (j + 1) * Keys, end, p.dim, thread);
      cp_async_commit();
    }
    if (has_queries) {
      softmax.to_weights(s, factor);
      M::template accumulate<Keys / 8>(softmax.o, s, values);
    }
  }
  if (count == 0) {
    cp_async_wait<0>();
    __syncthreads();
  }
  if (!has_queries) return;

  // Results are transposed through the shared memory of the warp's queries, which no other warp reads.
  softmax.add_columns();
  uint4* const results = queries + 16 * warp * M::pitch;
  __syncwarp();
#pragma unroll
  for (int r = 0; r < 2; r++) {
    float const inverse = softmax.sum[r] == 0 ? 0 : 1 / softmax.sum[r];
#pragma unroll
    for (int n = 0; n < D / 8; n++) {
      float const x = softmax.sum[r] == 0 ? 0 : softmax.o[n][2 * r] * inverse, y = softmax.sum[r] == 0 ? 0 : softmax.o[n][2 * r + 1] * inverse;
      M::store_pair(results, lane / 4 + 8 * r, n, lane % 4, x, y);
    }
  }
  __syncwarp();
  T* const out = reinterpret_cast<T*>(p.out.data) + at.batch * p.out.batch + at.head * p.out.head + (at.start + first_query) * p.out.row;
#pragma unroll
  for (int i = 0; i < 16 * M::granules / 32; i++) {
    int const g = lane + 32 * i, r = g / M::granules, c = g % M::granules;
    if (first_query + r < at.n) store_granule(out + r * p.out.row, results[M::granule_index(r, c)], c, p.value_dim, p.out.granules);
  }
}

template <class M, int D, int Keys>
constexpr int tiles_bytes = tile_bytes<M>(tile_rows + 2 * Keys);

}  // namespace attention
}  // namespace gpk
