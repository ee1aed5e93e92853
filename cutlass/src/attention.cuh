// attention.cuh: attention of any problem, by mma.sync; see gpk_attention.h.
//
// `tiles`: a block of four warps computes 64 queries of a sequence and head, each warp 16 of them. It loops over
// tiles of keys with a running maximum and sum for every query (Milakov and Gimelshein 2018; Dao et al. 2022). The
// keys of the next tile are loaded while weights are computed, the values while scores are.
//
// `few`: at most 16 rows, the queries of all heads that read one KV head, and many keys. A block computes a part of
// the keys, and each of its four warps every fourth group of 16. `combine` adds the parts in their order. The
// partition of the keys is a function of their number alone.
//
// The bits of a row are a function of its sequence: tiles begin at the sequence's first key, and a tile in which a
// row sees no key leaves the row's state unchanged.
#pragma once
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "attention_mma.cuh"
#include "attention_place.cuh"
#include "dependent.cuh"

namespace gpk {
namespace attention {

__device__ inline float power_of_two(float x) {
  float v;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(v) : "f"(x));
  return v;
}

// Starts a copy of 16 bytes: reads the first `bytes` bytes and fills the rest with zeros.
__device__ inline void copy_later(uint4* to, void const* from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(bytes) : "memory");
}

__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most the last N groups of copies are in flight.
template <int N>
__device__ inline void await_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

// Loads n elements at p, fewer than a granule holds, and fills the rest with zeros.
template <class T>
__device__ inline uint4 some_elements(T const* p, int n) {
  constexpr int room = 16 / sizeof(T);
  uint4 v = make_uint4(0, 0, 0, 0);
  T one[room];
  memcpy(one, &v, 16);
#pragma unroll
  for (int i = 0; i < room; i++) {
    if (i < n) one[i] = p[i];
  }
  memcpy(&v, one, 16);
  return v;
}

// Copies `Count` rows of `length` elements, from row `first` on, into a tile. The rest of each row, and rows from
// `end` on, become zeros. Threads: the number of threads that copy.
template <class M, int Count, int Threads>
__device__ __forceinline__ void load_rows(uint4* tile, Rows const& rows, typename M::Element const* base, int first, int end, int length,
                                          int thread) {
  constexpr int room = 16 / sizeof(typename M::Element), step = Threads / M::granules;
  static_assert(Threads % M::granules == 0 && Count % step == 0, "every thread has as many granules, of one column");
  int const r = thread / M::granules, c = thread % M::granules, last = end - first;
  auto const* from = base + (first + r) * rows.row + c * room;
  if (rows.granules) {
    int const bytes = c * room < length ? 16 : 0;
#pragma unroll
    for (int i = 0; i < Count / step; i++) {
      bool const valid = r + i * step < last;
      copy_later(tile + M::place(r + i * step, c), valid ? from + i * step * rows.row : base, valid ? bytes : 0);
    }
  } else {
#pragma unroll 1
    for (int i = r; i < Count; i += step, from += step * rows.row) tile[M::place(i, c)] = some_elements(from, i < last ? length - c * room : 0);
  }
}

// Stores a granule of a tile into row p of the result.
template <class T>
__device__ inline void store_granule(T* p, uint4 v, int c, int length, bool granules) {
  constexpr int room = 16 / sizeof(T);
  if (granules) {
    if (c * room < length) *reinterpret_cast<uint4*>(p + c * room) = v;
    return;
  }
  T one[room];
  memcpy(one, &v, 16);
#pragma unroll
  for (int i = 0; i < room; i++) {
    if (c * room + i < length) p[c * room + i] = one[i];
  }
}

// The masks of a lane's two rows of scores: how many keys each row sees at most, and its row of the mask. Masked:
// there is a mask, or scores are scaled before they are compared.
template <bool Masked>
struct Sight {
  int seen[2];
  char const* mask[Masked ? 2 : 1];

  // Initializes row r: query i of n of a head with m keys.
  __device__ void set(Params const& p, int r, int i, int n, int m, int head, int batch) {
    seen[r] = p.causal ? min(m, i + m - n + 1) : m;
    if constexpr (Masked) {
      int64_t const at = batch * p.mask_batch + head * p.mask_head + min(i, n - 1) * p.mask_row;
      mask[r] = p.mask + at * (p.mask_type == GPK_BOOL ? 1 : 4);
    }
  }

  // Adds the mask to the scores whose first column is `key`, and sets those that are masked out to -Inf.
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
          if (k < seen[r] && p.mask_type == GPK_BOOL && mask[r][k * p.mask_step] == 0) x = -INFINITY;
          if (k < seen[r] && p.mask_type == GPK_F32) x = fmaf(reinterpret_cast<float const*>(mask[r])[k * p.mask_step], log2_e, x);
        }
        s[n][e] = k < seen[r] ? x : -INFINITY;
      }
    }
  }
};

// The state of the online softmax for a lane's two rows.
template <int D>
struct Running {
  float o[D / 8][4];
  float largest[2], sum[2];  // sum: over the lane's own columns

  __device__ void clear() {
#pragma unroll
    for (int n = 0; n < D / 8; n++) o[n][0] = o[n][1] = o[n][2] = o[n][3] = 0;
    for (int r = 0; r < 2; r++) largest[r] = -INFINITY, sum[r] = 0;
  }

  // The exponent that is subtracted for the largest score. The product is rounded here once, and so is the same for
  // all weights.
  __device__ static float base(float largest, float factor) {
    return largest == -INFINITY ? 0 : __fmul_rn(largest, factor);
  }

  // Turns scores into weights, and rescales the accumulators to the new maxima.
  template <int N>
  __device__ void weigh(float (&s)[N][4], float factor) {
    float shrink[2];
#pragma unroll
    for (int r = 0; r < 2; r++) {
      float most = largest[r];
#pragma unroll
      for (int n = 0; n < N; n++) most = fmaxf(most, fmaxf(s[n][2 * r], s[n][2 * r + 1]));
      most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
      most = fmaxf(most, __shfl_xor_sync(~0u, most, 2));
      float const now = base(most, factor);
      shrink[r] = largest[r] == -INFINITY ? 0 : power_of_two(__fsub_rn(base(largest[r], factor), now));
      largest[r] = most;
      float total = 0;
#pragma unroll
      for (int n = 0; n < N; n++) {
#pragma unroll
        for (int e = 2 * r; e < 2 * r + 2; e++) {
          s[n][e] = power_of_two(fmaf(s[n][e], factor, -now));
          total += s[n][e];
        }
      }
      sum[r] = fmaf(sum[r], shrink[r], total);
    }
    // A factor of 1 changes no bit. Most tiles after the first have only such factors.
    if (__any_sync(~0u, shrink[0] != 1 || shrink[1] != 1)) {
#pragma unroll
      for (int n = 0; n < D / 8; n++) {
        o[n][0] *= shrink[0], o[n][1] *= shrink[0];
        o[n][2] *= shrink[1], o[n][3] *= shrink[1];
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

// Blocks per multiprocessor, which bound the registers per thread.
constexpr int tile_blocks(int d) { return d <= 32 ? 5 : d <= 64 ? 4 : d <= 128 ? 3 : 2; }

// M: the type of the products; D: the padded head size, also of values; Keys: keys per tile.
template <class M, int D, int Keys, bool Masked>
__global__ void __launch_bounds__(2 * tile_rows, M::exact || Masked ? 1 : tile_blocks(D)) tiles(__grid_constant__ Params const p) {
  using T = typename M::Element;
  constexpr int threads = 2 * tile_rows;
  begin();
  if (p.flags != nullptr && blockIdx.x == 0) check_offsets(p);
  if (p.value_dim == 0) return;
  Place at;
  if (!at.find(p)) return;

  uint4* const queries = shared_granules;
  uint4* const keys = queries + tile_rows * M::pitch;
  uint4* const values = keys + Keys * M::pitch;
  int const thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
  int const first = at.tile * tile_rows, mine = first + 16 * warp;
  int const kv = at.head / p.group;
  T const* const q = reinterpret_cast<T const*>(p.q.data) + at.batch * p.q.batch + at.head * p.q.head + at.start * p.q.row;
  T const* const k = reinterpret_cast<T const*>(p.k.data) + at.batch * p.k.batch + kv * p.k.head + at.start * p.k.row;
  T const* const v = reinterpret_cast<T const*>(p.v.data) + at.batch * p.v.batch + kv * p.v.head + at.start * p.v.row;

  // The number of keys that any row of the tile sees, and the number that every row of the warp sees.
  int const ahead = at.m - at.n + 1;
  int const end = p.causal ? max(min(at.m, min(first + tile_rows, at.n) - 1 + ahead), 0) : at.m;
  int const plain = Masked ? 0 : p.causal ? min(at.m, mine + ahead) : at.m;
  int const count = (end + Keys - 1) / Keys;

  load_rows<M, tile_rows, threads>(queries, p.q, q, first, at.n, p.dim, thread);
  load_rows<M, Keys, threads>(keys, p.k, k, 0, end, p.dim, thread);
  commit_copies();
  load_rows<M, Keys, threads>(values, p.v, v, 0, end, p.value_dim, thread);
  commit_copies();

  Sight<Masked> sight;
  sight.set(p, 0, mine + lane / 4, at.n, at.m, at.head, at.batch);
  sight.set(p, 1, mine + lane / 4 + 8, at.n, at.m, at.head, at.batch);
  float const factor = Masked && p.scaled ? 1 : p.factor;
  bool const works = mine < at.n;
  Running<D> run;
  run.clear();
  typename M::Queries held;

  for (int j = 0; j < count; j++) {
    if (j == 0) {
      await_copies<1>();
      __syncthreads();
      if (works) held.load(queries + 16 * warp * M::pitch);
    } else {
      await_copies<0>();
      __syncthreads();
      load_rows<M, Keys, threads>(values, p.v, v, j * Keys, end, p.value_dim, thread);
      commit_copies();
    }
    float s[Keys / 8][4];
    if (works) {
      M::template scores<Keys / 8>(s, held, keys);
      if ((j + 1) * Keys > plain) sight.apply(s, p, j * Keys + 2 * (lane % 4));
    }
    await_copies<0>();
    __syncthreads();
    if (j + 1 < count) {
      load_rows<M, Keys, threads>(keys, p.k, k, (j + 1) * Keys, end, p.dim, thread);
      commit_copies();
    }
    if (works) {
      run.weigh(s, factor);
      M::template accumulate<Keys / 8>(run.o, s, values);
    }
  }
  if (count == 0) {
    await_copies<0>();
    __syncthreads();
  }
  if (!works) return;

  // Results pass through the queries' shared memory, which no other warp reads.
  run.add_columns();
  uint4* const results = queries + 16 * warp * M::pitch;
  __syncwarp();
#pragma unroll
  for (int r = 0; r < 2; r++) {
    float const by = run.sum[r] == 0 ? 0 : 1 / run.sum[r];
#pragma unroll
    for (int n = 0; n < D / 8; n++) {
      float const x = run.sum[r] == 0 ? 0 : run.o[n][2 * r] * by, y = run.sum[r] == 0 ? 0 : run.o[n][2 * r + 1] * by;
      M::put(results, lane / 4 + 8 * r, n, lane % 4, x, y);
    }
  }
  __syncwarp();
  T* const out = reinterpret_cast<T*>(p.out.data) + at.batch * p.out.batch + at.head * p.out.head + (at.start + mine) * p.out.row;
#pragma unroll
  for (int i = 0; i < 16 * M::granules / 32; i++) {
    int const g = lane + 32 * i, r = g / M::granules, c = g % M::granules;
    if (mine + r < at.n) store_granule(out + r * p.out.row, results[M::place(r, c)], c, p.value_dim, p.out.granules);
  }
}

template <class M, int D, int Keys>
constexpr int tiles_bytes = tile_bytes<M>(tile_rows + 2 * Keys);

}  // namespace attention
}  // namespace gpk
