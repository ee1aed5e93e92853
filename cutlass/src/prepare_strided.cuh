// prepare_strided.cuh: the conversion of operands whose k is strided in memory, with neighbouring lines contiguous.
//
// A cluster converts a tile of 32 columns of the source, and each of its blocks a part of the rows. The blocks exchange the
// maxima of their columns, and send their counts of small elements to block 0. If the shared memory of a cluster is too
// small for the columns, three launches exchange maxima and counts through the workspace.
#pragma once
#include "prepare_operand.cuh"

namespace gpk {
namespace {

// V: neighbouring columns per thread, and floats per copy. K: the Kind.
template <bool Split, int K, int V>
struct StridedLines {
  static constexpr uint32_t lanes = tile_columns / V, height = threads / lanes;  // threads per row, and rows per step

  Operand const& o;
  Params const& p;
  Shared& s;
  float* stages_base;  // this thread's first element in the stages
  uint32_t rank;       // of the block in its cluster
  uint32_t at, down;   // this thread's first column in a tile, and first row in a chunk

  // An item of work: a tile, or a chunk of a tile's rows.
  struct Item {
    uint32_t member, column, chunk, row, rows;
  };

  __device__ bool has_chunks() const { return p.phase == find_maxima || p.phase == convert_lines; }

  __device__ Item item_of(uint32_t item) const {
    uint32_t const tiles = (o.width - 1) / tile_columns + 1;
    uint32_t const i = has_chunks() ? item / p.chunks : item;
    Item c;
    c.chunk = has_chunks() ? item - i * p.chunks : rank;
    c.member = o.members == 1 ? 0 : i / tiles;
    c.column = (i - c.member * tiles) * tile_columns;
    c.row = c.chunk * p.chunk;
    c.rows = c.row < o.rows ? min(p.chunk, o.rows - c.row) : 0;
    return c;
  }

  // This thread's source in an item. A vector is copied if it has at least one float of the row.
  struct Source {
    float const* from;
    uint32_t rows;
  };

  __device__ Source source(uint32_t item, uint32_t items) const {
    if (item >= items) return {o.x, 0};
    Item const c = item_of(item);
    uint32_t const column = c.column + at;
    if (column >= o.width) return {o.x, 0};
    return {o.x + c.member * o.member + static_cast<int64_t>(c.row + down) * o.pitch + column, c.rows};
  }

  __device__ float* stage_at(unsigned stage) const { return stages_base + stage * p.stage; }

  __device__ void load(Source const& c, unsigned stage) const {
    load_rows(c, stage);
    cp_async_commit();
  }

  __device__ void load_rows(Source c, unsigned stage) const {
    int64_t const step = height * o.pitch;
    float* to = stage_at(stage);
#pragma unroll 4
    for (uint32_t r = down; r < c.rows; r += height, c.from += step, to += threads * V) {
      cp_async<4 * V>(to, c.from);
    }
  }

  __device__ uint32_t* partial(uint32_t* of, Item const& c, uint32_t chunk) const {
    return of + (static_cast<int64_t>(c.member) * p.chunks + chunk) * o.width + c.column;
  }

  // Reduces the threads' values of each column over the block. Returns column `lane`. Calls with part[0] and with part[1]
  // have to alternate: the barrier of one call protects the values of the other.
  template <class F>
  __device__ uint32_t over_block(uint32_t (&part)[warps][tile_columns], Vec<uint32_t, V> v, F const& f) const {
    uint32_t const lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (unsigned mask = lanes; mask < 32; mask *= 2) {
#pragma unroll
      for (int e = 0; e < V; ++e) v.v[e] = f(v.v[e], __shfl_xor_sync(~0u, v.v[e], mask));
    }
    if (lane < lanes) *reinterpret_cast<Vec<uint32_t, V>*>(&part[warp][at]) = v;
    __syncthreads();
    uint32_t r = part[0][lane];
#pragma unroll
    for (unsigned w = 1; w < warps; ++w) r = f(r, part[w][lane]);
    return r;
  }

  // The largest magnitude of column `lane` in the block's rows.
  __device__ uint32_t maximum(unsigned stage, uint32_t rows) const {
    float m[V] = {};
    float const* from = stage_at(stage);
#pragma unroll 4
    for (uint32_t r = down; r < rows; r += height, from += threads * V) {
      Vec<float, V> const x = *reinterpret_cast<Vec<float, V> const*>(from);
#pragma unroll
      for (int e = 0; e < V; ++e) m[e] = max_abs(m[e], x.v[e]);
    }
    Vec<uint32_t, V> bits;
#pragma unroll
    for (int e = 0; e < V; ++e) bits.v[e] = __float_as_uint(K == real ? m[e] : max_abs(m[e], m[e ^ 1]));
    return over_block(s.part[0], bits, [](uint32_t a, uint32_t b) { return max(a, b); });
  }

  // Stores the first n of V neighbouring halves of a row of a plane.
  __device__ static void store_row(uint16_t* to, uint32_t const (&h)[(V + 1) / 2], uint32_t n) {
    if (n == V) {
      if constexpr (V == 4) {
        *reinterpret_cast<uint2*>(to) = {h[0], h[1]};
      } else if constexpr (V == 2) {
        *reinterpret_cast<uint32_t*>(to) = h[0];
      } else {
        *to = static_cast<uint16_t>(h[0]);
      }
      return;
    }
#pragma unroll
    for (int e = 0; e < V - 1; ++e) {
      if (e < static_cast<int>(n)) to[e] = static_cast<uint16_t>(h[e / 2] >> 16 * (e % 2));
    }
  }

  // Stores the results for the first n of a row's V floats.
  __device__ void store(uint16_t* to, uint32_t const (&h)[(V + 1) / 2], uint32_t n) const {
    if constexpr (K == real) {
      store_row(to, h, n);
    } else if constexpr (K == complex_a && V == 4) {
      uint32_t const re = __byte_perm(h[0], h[1], 0x5410), im = __byte_perm(h[0], h[1], 0x7632) ^ o.sign_mask2;
      if (n == 4) {
        *reinterpret_cast<uint32_t*>(to) = re;
        *reinterpret_cast<uint32_t*>(to + o.plane_pitch) = im;
      } else if (n > 0) {
        to[0] = static_cast<uint16_t>(re);
        to[o.plane_pitch] = static_cast<uint16_t>(im);
      }
    } else if constexpr (K == complex_a) {
      if (n == 0) return;
      to[0] = static_cast<uint16_t>(h[0]);
      to[o.plane_pitch] = static_cast<uint16_t>(h[0] >> 16 ^ o.sign_mask2);
    } else {
      // The rows (re, im) and (-im, re); for a conjugate (re, -im) and (im, re).
      constexpr uint32_t minus = 0x8000;
      uint32_t first[V / 2], second[V / 2];
#pragma unroll
      for (int e = 0; e < V / 2; ++e) first[e] = h[e] ^ o.sign_mask, second[e] = swap_halves(first[e]) ^ minus;
      store_row(to, first, n);
      store_row(to + o.plane_pitch, second, n);
    }
  }

  // Converts the block's rows, and starts the copy of the rows of `next`, if any, to the same stage. m: the
  // maxima of this thread's columns. Returns the number of small elements in column `lane`.
  __device__ uint32_t convert(Item const& c, unsigned stage, Vec<uint32_t, V> const& m, Source const& next) const {
    uint32_t const column = c.column + at, n = column < o.width ? min(static_cast<uint32_t>(V), o.width - column) : 0;
    Vec<uint32_t, V> count{};
    if (n == V) {
      count = next.rows > 0 ? convert<true>(c, stage, m, next.from, V) : convert<false>(c, stage, m, nullptr, V);
    } else if (n > 0) {
      count = next.rows > 0 ? convert<true>(c, stage, m, next.from, n) : convert<false>(c, stage, m, nullptr, n);
    } else {
      load_rows(next, stage);
    }
    cp_async_commit();
    return over_block(s.part[1], count, [](uint32_t a, uint32_t b) { return a + b; });
  }

  template <bool More>
  __device__ __forceinline__ Vec<uint32_t, V> convert(Item const& c, unsigned stage, Vec<uint32_t, V> const& m,
                                                      float const* next, uint32_t n) const {
    float factor[V], small[V];
#pragma unroll
    for (int e = 0; e < V; ++e) {
      Scale const scale(m.v[K == real ? e : e & ~1]);
      factor[e] = scale.factor, small[e] = scale.small;
    }
    Vec<uint32_t, V> count{};
    constexpr int each = K == real ? 1 : 2;  // output rows per source row
    int64_t const to = c.member * o.plane_member + static_cast<int64_t>(c.row + down) * each * o.plane_pitch +
                       (c.column + at) / (K == complex_a ? 2 : 1);
    int64_t const step = height * each * o.plane_pitch, next_step = height * o.pitch;
    uint16_t *high = o.high + to, *low = Split ? o.low + to : nullptr;
    float* from = stage_at(stage);
#pragma unroll 4
    for (uint32_t r = down; r < c.rows; r += height, from += threads * V) {
      Vec<float, V> const x = *reinterpret_cast<Vec<float, V> const*>(from);
      float y[V + V % 2];
      y[V + V % 2 - 1] = 0;
#pragma unroll
      for (int e = 0; e < V; ++e) {
        count_small(count.v[e], x.v[e], small[e]);
        y[e] = __fmul_rn(x.v[e], factor[e]);
      }
      uint32_t h[(V + 1) / 2], l[(V + 1) / 2];
#pragma unroll
      for (int e = 0; e < (V + 1) / 2; ++e) {
        h[e] = to_halves(y[2 * e], y[2 * e + 1]);
        float2 const f = to_floats(h[e]);
        if constexpr (Split) l[e] = to_halves(low_of(y[2 * e], f.x), low_of(y[2 * e + 1], f.y));
      }
      store(high, h, n);
      high += step;
      if constexpr (Split) {
        store(low, l, n);
        low += step;
      }
      if constexpr (More) {
        cp_async<4 * V>(from, next);
        next += next_step;
      }
    }
    return count;
  }

  // Stores the scale of column `lane`. All lanes of a warp call it.
  __device__ void store_scale(Item const& c, uint32_t max) const {
    uint32_t const column = c.column + threadIdx.x % 32;
    if (column >= o.width) return;
    if constexpr (K == complex_a) {
      if (column % 2 == 0) o.scale[static_cast<int64_t>(c.member) * o.lines + column / 2] = Scale(max).inverse;
    } else {
      o.scale[static_cast<int64_t>(c.member) * o.width + column] = Scale(max).inverse;
    }
  }

  // The guard word of column `lane`. All lanes of a warp call it.
  __device__ uint32_t guard_word(Item const& c, uint32_t max, uint32_t count) const {
    if constexpr (K != real) count += __shfl_xor_sync(~0u, count, 1);
    if (c.column + threadIdx.x % 32 >= o.width) return 0;
    return Scale(max).fits ? count : unfit;
  }

  // All of the work in one launch. Block 0 of the cluster sums the counts of a tile during the next tile.
  __device__ uint32_t single_launch(uint32_t worker) const {
    uint32_t const lane = threadIdx.x % 32, warp = threadIdx.x / 32, stages = o.stages;
    uint32_t const tiles = (o.width - 1) / tile_columns + 1, items = tiles * o.members;
    bool const collects = rank == 0 && warp == 0;
    for (unsigned i = 0; i < stages; ++i) load(source(worker + i * o.workers, items), i);
    // half: the index of the buffers that the blocks send to. parity: that of the phases of their barriers.
    uint32_t max_word = 0, column_max = 0, half = 0, parity = 0;
    unsigned stage = 0;
    Item last_item{};
    auto const add_up = [&](uint32_t t, uint32_t of) {
#if __CUDA_ARCH__ >= 900
      if (p.cluster > 1) mbarrier_wait(&s.counts_in[t], of);
#endif
      __syncwarp();
      uint32_t count = 0;
      for (unsigned from = 0; from < p.cluster; ++from) count += s.cluster_counts[t][from][lane];
      max_word = max(max_word, guard_word(last_item, column_max, count));
    };
    cluster_wait();
    for (uint32_t item = worker; item < items; item += o.workers) {
      Item const c = item_of(item);
      if (stages == 1) {
        cp_async_wait<0>();
      } else {
        cp_async_wait<1>();
      }
      uint32_t max = maximum(stage, c.rows);
#if __CUDA_ARCH__ >= 900
      if (p.cluster > 1) {
        if (threadIdx.x == 0) {
          mbarrier_arrive_expect_tx(&s.maxima_in[half], p.cluster * tile_columns * sizeof(uint32_t));
          if (rank == 0) mbarrier_arrive_expect_tx(&s.counts_in[half], p.cluster * tile_columns * sizeof(uint32_t));
        }
        for (unsigned to = warp; to < p.cluster; to += warps) {
          store_async(to, &s.cluster_maxima[half][rank][lane], max, &s.maxima_in[half]);
        }
        mbarrier_wait(&s.maxima_in[half], parity);
      }
#endif
      if (p.cluster == 1) {
        if (warp == 0) s.cluster_maxima[half][0][lane] = max;
        __syncthreads();
      }
      Vec<uint32_t, V> mine{};
      for (unsigned from = 0; from < p.cluster; ++from) {
        Vec<uint32_t, V> const v = *reinterpret_cast<Vec<uint32_t, V> const*>(&s.cluster_maxima[half][from][at]);
#pragma unroll
        for (int e = 0; e < V; ++e) mine.v[e] = ::max(mine.v[e], v.v[e]);
      }
      if (collects) {
        if (item != worker) add_up(half ^ 1, parity ^ half ^ 1);
        column_max = 0;
        for (unsigned from = 0; from < p.cluster; ++from) column_max = ::max(column_max, s.cluster_maxima[half][from][lane]);
        store_scale(c, column_max);
        last_item = c;
      }
      uint32_t const count = convert(c, stage, mine, source(item + stages * o.workers, items));
      if (warp == 0) {
#if __CUDA_ARCH__ >= 900
        if (p.cluster > 1) store_async(0, &s.cluster_counts[half][rank][lane], count, &s.counts_in[half]);
#endif
        if (p.cluster == 1) s.cluster_counts[half][0][lane] = count;
      }
      if (++stage == stages) stage = 0;
      parity ^= half;
      half ^= 1;
    }
    if (collects) add_up(half ^ 1, parity ^ half ^ 1);
    return max_word;
  }

  // One of the three launches that exchange maxima and counts through the workspace.
  __device__ uint32_t in_launches(uint32_t worker) const {
    cluster_wait();
    uint32_t const lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint32_t const items = ((o.width - 1) / tile_columns + 1) * o.members * (has_chunks() ? p.chunks : 1);
    uint32_t max_word = 0;
    for (uint32_t item = worker; item < items; item += o.workers) {
      Item const c = item_of(item);
      bool const in = c.column + lane < o.width;
      uint32_t max = 0;
      if (p.phase == find_maxima) {
        load(source(item, items), 0);
        cp_async_wait<0>();
        max = maximum(0, c.rows);
        if (warp == 0 && in) partial(o.maxima, c, c.chunk)[lane] = max;
        __syncthreads();
        continue;
      }
      for (uint32_t i = 0; in && i < p.chunks; ++i) max = ::max(max, partial(o.maxima, c, i)[lane]);
      if (p.phase == convert_lines) {
        load(source(item, items), 0);
        cp_async_wait<0>();
        if (warp == 0 && c.chunk == 0) store_scale(c, max);
        Vec<uint32_t, V> mine;
#pragma unroll
        for (int e = 0; e < V; ++e) mine.v[e] = __shfl_sync(~0u, max, at + e);
        uint32_t const count = convert(c, 0, mine, {o.x, 0});
        if (warp == 0 && in) partial(o.counts, c, c.chunk)[lane] = count;
        __syncthreads();
        continue;
      }
      uint32_t count = 0;
      for (uint32_t i = 0; in && i < p.chunks; ++i) count += partial(o.counts, c, i)[lane];
      max_word = ::max(max_word, guard_word(c, max, count));
    }
    return max_word;
  }

  __device__ void run(uint32_t worker) const {
    uint32_t max_word = p.phase == gpk::single_launch ? single_launch(worker) : in_launches(worker);
    if (rank != 0 || has_chunks()) return;
    if (threadIdx.x < 32) {
      max_word = __reduce_max_sync(~0u, max_word);
      if (threadIdx.x == 0) s.maxima[0].x = max_word;
    }
    __syncthreads();
    store_guard_words(o, worker, s.maxima[0].x);
  }
};

template <bool Split, int K, int V>
__device__ void convert_strided(Operand const& o, Params const& p, Shared& s, float4* buffer, uint32_t block) {
  using A = StridedLines<Split, K, V>;
  A{o, p, s, &buffer->x + threadIdx.x * V, block % p.cluster, threadIdx.x % A::lanes * V, threadIdx.x / A::lanes}.run(
      block / p.cluster);
}

}  // namespace
}  // namespace gpk
