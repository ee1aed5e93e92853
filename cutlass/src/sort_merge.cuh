// sort_merge.cuh: merges sorted runs of tiles in global memory, in pairs.
//
// `split_runs` finds where every tile of the output begins in the two runs (Odeh, Green, Mwassi, Shmueli and Birk,
// "Merge Path", 2012). `merge_runs` merges.
#pragma once
#include "sort_tile.cuh"

namespace gpk {
namespace {

// Returns the number of keys from run a, which has `na` keys, among the first `diagonal` keys of the merged runs a
// and b. Of equal keys a's come first.
template <class K, class A, class B>
__device__ inline int64_t merge_path(int64_t diagonal, int64_t na, int64_t nb, A const& a, B const& b) {
  int64_t lo = diagonal > nb ? diagonal - nb : 0, hi = diagonal < na ? diagonal : na;
  while (lo < hi) {
    int64_t const mid = (lo + hi) / 2;
    if (before<K>(b(diagonal - 1 - mid), a(mid))) {
      hi = mid;
    } else {
      lo = mid + 1;
    }
  }
  return lo;
}

template <class K>
struct MergeRuns {
  SortLines lines;
  K const* in;
  K* out;          // nullptr: the destination's elements
  int64_t n;       // keys per line
  uint32_t run;    // tiles per sorted run, a power of two
  uint32_t total;  // tiles of all lines
  Divider tiles;   // tiles per line
  uint32_t* splits;
};

// The two runs that are merged to tile t of a line.
struct Runs {
  int64_t start, na, nb;
};

__device__ inline Runs runs_of(uint32_t t, uint32_t run, int64_t n) {
  Runs r;
  r.start = static_cast<int64_t>(t & ~(2 * run - 1)) * tile_keys;
  int64_t const width = static_cast<int64_t>(run) * tile_keys, rest = n - r.start;
  r.na = rest < width ? rest : width;
  r.nb = rest - r.na < width ? rest - r.na : width;
  return r;
}

template <class K>
__global__ void __launch_bounds__(threads) split_runs(MergeRuns<K> p) {
  begin();
  uint32_t const g = blockIdx.x * blockDim.x + threadIdx.x;
  if (g >= p.total) return;
  uint32_t t;
  uint32_t const line = p.tiles.divide(g, &t);
  Runs const r = runs_of(t, p.run, p.n);
  K const* const a = p.in + line * p.n + r.start;
  K const* const b = a + r.na;
  p.splits[g] = static_cast<uint32_t>(merge_path<K>(static_cast<int64_t>(t) * tile_keys - r.start, r.na, r.nb,
                                               [&](int64_t i) { return a[i]; }, [&](int64_t i) { return b[i]; }));
}

template <class K, bool WithIndex>
__global__ void __launch_bounds__(threads) merge_runs(MergeRuns<K> p) {
  begin();
  __shared__ K s[padded_tile_keys];
  uint32_t t;
  uint32_t const line = p.tiles.divide(blockIdx.x, &t);
  int const id = threadIdx.x;
  Runs const r = runs_of(t, p.run, p.n);
  int64_t const first = static_cast<int64_t>(t) * tile_keys, d0 = first - r.start;
  int64_t const d1 = d0 + tile_keys < r.na + r.nb ? d0 + tile_keys : r.na + r.nb;
  int64_t const a0 = p.splits[blockIdx.x], a1 = d1 < r.na + r.nb ? p.splits[blockIdx.x + 1] : r.na;
  int const na = static_cast<int>(a1 - a0), len = static_cast<int>(d1 - d0);
  K const* const in = p.in + line * p.n + r.start;
  int64_t const b0 = r.na + d0 - a0 - na;  // in[b0 + i] is from b for i >= na
#pragma unroll
  for (int e = 0; e < keys_per_thread; ++e) {
    int const i = id + e * threads;
    if (i < len) s[padded_index(i)] = in[(i < na ? a0 : b0) + i];
  }
  __syncthreads();
  K k[keys_per_thread];
  if (id * keys_per_thread < len) merge_to_registers(s, 0, na, na, len - na, id * keys_per_thread, k);
  __syncthreads();
  if (id * keys_per_thread < len) {
#pragma unroll
    for (int e = 0; e < keys_per_thread; ++e) s[padded_index(id * keys_per_thread + e)] = k[e];
  }
  __syncthreads();
  int64_t off[2] = {};
  p.lines.outer.offsets(line, off);
  for (int i = id; i < len; i += threads) {
    if (WithIndex || p.out != nullptr) {
      p.out[line * p.n + first + i] = s[padded_index(i)];
    } else if constexpr (!WithIndex) {
      store_element(p.lines, off[0] + (first + i) * p.lines.ds, s[padded_index(i)]);
    }
  }
}

}  // namespace
}  // namespace gpk
