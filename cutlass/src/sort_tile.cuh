// sort_tile.cuh: sorts a tile of a line in shared memory.
//
// A thread sorts eight keys by a network. Sorted runs are then merged pairwise, until one run is left.
#pragma once
#include "sort_keys.cuh"

namespace gpk {
namespace {

// Shared memory is padded so that threads that read eight neighbours each have no bank conflicts.
constexpr int padded_tile_keys = tile_keys + tile_keys / 32;
__device__ inline int padded_index(int i) { return i + (i >> 5); }

template <class K>
__device__ inline void compare_exchange(K& a, K& b) {
  if (before(b, a)) {
    K const t = a;
    a = b;
    b = t;
  }
}

// Batcher's sorting network.
template <class K>
__device__ inline void sort_in_registers(K (&r)[keys_per_thread]) {
#pragma unroll
  for (int p = 1; p < keys_per_thread; p *= 2) {
#pragma unroll
    for (int k = p; k >= 1; k /= 2) {
#pragma unroll
      for (int j = 0; j < keys_per_thread; ++j) {
        int const from = k % p;
        if (j >= from && (j - from) % (2 * k) < k && j + k < keys_per_thread && j / (2 * p) == (j + k) / (2 * p)) {
          compare_exchange(r[j], r[j + k]);
        }
      }
    }
  }
}

// Merges two runs in shared memory, and returns the keys diagonal ... diagonal+7 of the result.
template <class K>
__device__ inline void merge_to_registers(K const* s, int a0, int na, int b0, int nb, int diagonal, K (&r)[keys_per_thread]) {
  int lo = diagonal > nb ? diagonal - nb : 0, hi = diagonal < na ? diagonal : na;
  while (lo < hi) {
    int const mid = (lo + hi) >> 1;
    if (before(s[padded_index(b0 + diagonal - 1 - mid)], s[padded_index(a0 + mid)])) {
      hi = mid;
    } else {
      lo = mid + 1;
    }
  }
  int i = lo, j = diagonal - lo;
  K a = i < na ? s[padded_index(a0 + i)] : last_key<K>(), b = j < nb ? s[padded_index(b0 + j)] : last_key<K>();
#pragma unroll
  for (int e = 0; e < keys_per_thread; ++e) {
    if (j < nb && (i >= na || before(b, a))) {
      r[e] = b;
      ++j;
      b = j < nb ? s[padded_index(b0 + j)] : last_key<K>();
    } else {
      r[e] = a;
      ++i;
      a = i < na ? s[padded_index(a0 + i)] : last_key<K>();
    }
  }
}

template <class K>
__device__ inline K shuffle_xor(K const& x, int mask) {
  if constexpr (__is_same(K, IndexedKey)) {
    return {__shfl_xor_sync(~0u, x.key, mask), __shfl_xor_sync(~0u, x.index, mask)};
  } else {
    return __shfl_xor_sync(~0u, x, mask);
  }
}

constexpr int max_selected = 16;     // keys that select_first finds, at most
constexpr int max_candidates = 256;  // candidates of select_first, at most

// Writes the `keep` first keys of a block to out. All keys must be distinct, except those that are last_key. Each
// thread finds the first of its own keys. The keep-th of these in a warp is an upper bound: at least `keep` keys of
// the warp are not after it. Only keys up to the least bound of all warps are candidates. They are usually few, and
// each finds its rank by comparison with all others. If there are too many, select_first writes nothing and returns
// false. s is memory for the candidates.
template <class K>
__device__ inline bool select_first(K const (&r)[keys_per_thread], int keep, K* s, K* out) {
  __shared__ K bounds[threads / 32];
  __shared__ int count;
  int const id = threadIdx.x, lane = id % 32;
  K first = r[0];
#pragma unroll
  for (int e = 1; e < keys_per_thread; ++e) first = before(r[e], first) ? r[e] : first;
#pragma unroll
  for (int width = 2; width <= 32; width *= 2) {
#pragma unroll
    for (int step = width / 2; step >= 1; step /= 2) {
      K const other = shuffle_xor(first, step);
      bool const low = ((lane & step) == 0) == ((lane & width) == 0);
      if (low == before(other, first)) first = other;
    }
  }
  if (lane == keep - 1) bounds[id / 32] = first;
  if (id == 0) count = 0;
  __syncthreads();
  K bound = bounds[0];
  for (unsigned w = 1; w < blockDim.x / 32; ++w) bound = before(bounds[w], bound) ? bounds[w] : bound;
#pragma unroll
  for (int e = 0; e < keys_per_thread; ++e) {
    if (!before(bound, r[e]) && before(r[e], last_key<K>())) {
      int const at = atomicAdd(&count, 1);
      if (at < max_candidates) s[at] = r[e];
    }
  }
  __syncthreads();
  int const n = count;
  if (n > max_candidates) return false;
  for (int i = id; i < n; i += blockDim.x) {
    K const key = s[i];
    int index = 0;
    for (int j = 0; j < n; ++j) index += before(s[j], key) ? 1 : 0;
    if (index < keep) out[index] = key;
  }
  for (int i = n + id; i < keep; i += blockDim.x) out[i] = last_key<K>();
  return true;
}

template <class K>
struct SortTiles {
  SortLines lines;
  K const* in;       // keys; nullptr: the operand's elements
  K* out;            // keys; nullptr: the destination's elements
  int64_t n, pitch;  // keys per line, and per line of `out`
  int keep;          // keys of a tile that are the input of the next pass; 0: all
  Divider tiles;     // tiles per line
};

template <class K>
__device__ inline K load_key(SortLines const& l, int64_t base, int64_t i) {
  if constexpr (__is_same(K, IndexedKey)) {
    return {key_of(l, base + i * l.xs, true), static_cast<uint64_t>(i)};
  } else {
    return static_cast<K>(key_of(l, base + i * l.xs, false));
  }
}

// WithIndex: keys carry their index. A key of 8 bytes has the key of an element of at most 4 bytes in its upper half,
// and the index in its lower half.
template <class K, bool WithIndex>
__global__ void __launch_bounds__(threads) sort_tiles(SortTiles<K> p) {
  begin();
  __shared__ K s[padded_tile_keys];
  uint32_t t;
  uint32_t const line = p.tiles.divide(blockIdx.x, &t);
  int const tile = blockDim.x * keys_per_thread, id = threadIdx.x;
  int64_t const first = static_cast<int64_t>(t) * tile;
  int const len = p.n - first < tile ? static_cast<int>(p.n - first) : tile;
  int64_t off[2] = {};
  p.lines.outer.offsets(line, off);
  K r[keys_per_thread];
#pragma unroll
  for (int e = 0; e < keys_per_thread; ++e) {
    int const i = id + e * blockDim.x;
    K& key = r[e];
    key = last_key<K>();
    if (i < len) {
      if (p.in != nullptr) {
        key = p.in[line * p.n + first + i];
      } else if constexpr (WithIndex && !__is_same(K, IndexedKey)) {
        key = key_of(p.lines, off[1] + (first + i) * p.lines.xs, true) << 32 | static_cast<uint64_t>(first + i);
      } else {
        key = load_key<K>(p.lines, off[1], first + i);
      }
    }
  }
  if constexpr (WithIndex) {
    if (p.keep > 0 && p.keep <= max_selected) {
      if (select_first(r, p.keep, s, p.out + line * p.pitch + static_cast<int64_t>(t) * p.keep)) return;
      __syncthreads();
    }
  }
#pragma unroll
  for (int e = 0; e < keys_per_thread; ++e) s[padded_index(id + e * blockDim.x)] = r[e];
  __syncthreads();
#pragma unroll
  for (int e = 0; e < keys_per_thread; ++e) r[e] = s[padded_index(id * keys_per_thread + e)];
  sort_in_registers(r);
  for (int run = keys_per_thread; run < tile; run *= 2) {
    __syncthreads();
#pragma unroll
    for (int e = 0; e < keys_per_thread; ++e) s[padded_index(id * keys_per_thread + e)] = r[e];
    __syncthreads();
    int const pair = id * keys_per_thread & ~(2 * run - 1);
    merge_to_registers(s, pair, run, pair + run, run, id * keys_per_thread - pair, r);
  }
  __syncthreads();
#pragma unroll
  for (int e = 0; e < keys_per_thread; ++e) s[padded_index(id * keys_per_thread + e)] = r[e];
  __syncthreads();
  if (p.keep > 0) {
    for (int i = id; i < p.keep; i += blockDim.x) p.out[line * p.pitch + static_cast<int64_t>(t) * p.keep + i] = s[padded_index(i)];
    return;
  }
  for (int i = id; i < len; i += blockDim.x) {
    if (WithIndex || p.out != nullptr) {
      p.out[line * p.pitch + first + i] = s[padded_index(i)];
    } else if constexpr (!WithIndex) {
      store_element(p.lines, off[0] + (first + i) * p.lines.ds, s[padded_index(i)]);
    }
  }
}

}  // namespace
}  // namespace gpk
