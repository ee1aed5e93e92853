// sort.cuh: sorted lines, and the largest elements of lines.
//
// `sort_tiles` sorts the tiles of a line. Runs of tiles are then merged pairwise; each pass reads and writes every
// key once.
//
// The k largest elements are the first k keys in descending order, each with its index. If k is small, only the first
// k keys of every tile are the input of the next pass. If k is very small, they are found without sorting the tile
// (`select_first`).
//
// Few long lines are sorted by radix instead.
#pragma once
#include "sort_merge.cuh"
#include "sort_parts.cuh"
#include "sort_radix.cuh"

#include <type_traits>

namespace gpk {
namespace {

template <class K>
struct StoreLargest {
  SortLines lines;  // dst: the values
  K const* in;
  int64_t pitch;  // keys per line
  int64_t* places;
  int64_t step;    // step of the indices
  Outer<1> outer;  // strides of the indices' lines
  Divider k;
  uint32_t total;
};

template <class K>
__global__ void __launch_bounds__(threads) store_largest(StoreLargest<K> p) {
  begin();
  uint32_t const g = blockIdx.x * blockDim.x + threadIdx.x;
  if (g >= p.total) return;
  uint32_t j;
  uint32_t const line = p.k.divide(g, &j);
  K const key = p.in[line * p.pitch + j];
  if constexpr (__is_same(K, IndexedKey)) {
    store_indexed(p.lines, p.outer, p.places, p.step, line, j, static_cast<int64_t>(key.index));
  } else {
    store_indexed(p.lines, p.outer, p.places, p.step, line, j, static_cast<int64_t>(key & 0xffffffffu));
  }
}

// Returns the block size: no more threads than a short line needs.
inline unsigned block_for(int64_t n) {
  unsigned block = threads;
  while (block > 32 && n <= static_cast<int64_t>(block / 2) * keys_per_thread) block /= 2;
  return block;
}

// Sorts all lines. Keys without an index are written to the destination as elements. Keys with an index (WithIndex)
// stay in the workspace: *sorted is their address, and *pitch the distance between lines. With base 0 nothing is
// launched, and *need is the size of the workspace.
template <class K, bool WithIndex>
int sort_keys(SortLines const& l, int64_t lines, int64_t k, uint64_t base, uint64_t stream, int64_t* need, K** sorted,
              int64_t* pitch) {
  Parts parts;
  int64_t tiles = tiles_of(l.n);
  unsigned block = block_for(l.n);
  SortTiles<K> p;
  p.lines = l;
  p.in = nullptr;
  p.out = nullptr;
  p.n = l.n;
  p.pitch = l.n;
  p.keep = 0;
  if (selects_per_tile(k)) {
    p.keep = static_cast<int>(k);
    p.pitch = tiles * k;
    K* buffer[2];
    buffer[0] = parts.part<K>(base, lines * p.pitch);
    buffer[1] = tiles == 1 ? nullptr : parts.part<K>(base, lines * tiles_of(p.pitch) * k);
    *need = static_cast<int64_t>(parts.at);
    if (base == 0) return GPK_OK;
    for (int current = 0;; current ^= 1) {
      p.out = buffer[current];
      p.tiles = Divider(static_cast<uint32_t>(tiles));
      int const code = launch(sort_tiles<K, WithIndex>, static_cast<unsigned>(lines * tiles), block, stream, p);
      *sorted = p.out;
      *pitch = p.pitch;
      if (code != GPK_OK || tiles == 1) return code;
      p.in = p.out;
      p.n = p.pitch;
      tiles = tiles_of(p.n);
      p.pitch = tiles * k;
      block = block_for(p.n);
    }
  }
  K* buffer[2] = {};
  if (tiles > 1 || WithIndex) buffer[0] = parts.part<K>(base, lines * l.n);
  if (tiles > 2 || (WithIndex && tiles > 1)) buffer[1] = parts.part<K>(base, lines * l.n);
  uint32_t* const splits = tiles > 1 ? parts.part<uint32_t>(base, lines * tiles) : nullptr;
  *need = static_cast<int64_t>(parts.at);
  if (base == 0 && *need > 0) return GPK_OK;
  p.out = buffer[0];
  p.tiles = Divider(static_cast<uint32_t>(tiles));
  int code = launch(sort_tiles<K, WithIndex>, static_cast<unsigned>(lines * tiles), block, stream, p);
  int current = 0;
  for (int64_t run = 1; run < tiles && code == GPK_OK; run *= 2, current ^= 1) {
    MergeRuns<K> m;
    m.lines = l;
    m.in = buffer[current];
    m.out = !WithIndex && 2 * run >= tiles ? nullptr : buffer[current ^ 1];
    m.n = l.n;
    m.run = static_cast<uint32_t>(run);
    m.total = static_cast<uint32_t>(lines * tiles);
    m.tiles = p.tiles;
    m.splits = splits;
    code = launch(split_runs<K>, blocks_for(m.total, threads), threads, stream, m);
    if (code == GPK_OK) code = launch(merge_runs<K, WithIndex>, m.total, threads, stream, m);
  }
  *sorted = buffer[current];
  *pitch = l.n;
  return code;
}

// Calls f with a value of the key type for elements of `bytes` bytes, and with true_type if keys carry their index.
template <class F>
int by_key(int bytes, bool places, F const& f) {
  if (places) return bytes == 8 ? f(IndexedKey{}, std::true_type{}) : f(uint64_t{}, std::true_type{});
  switch (bytes) {
    case 8: return f(uint64_t{}, std::false_type{});
    case 4: return f(uint32_t{}, std::false_type{});
    default: return f(uint16_t{}, std::false_type{});
  }
}

}  // namespace
}  // namespace gpk

int64_t gpk_sort_workspace(int device, int type, int ndim, int64_t const* shape, int64_t k) {
  using namespace gpk;
  SortLines l{};
  int64_t lines = 0, need = 0, pitch = 0;
  int code = make_lines(&l, &lines, type, ndim, shape, 0, nullptr, 0, nullptr, false);
  if (code == GPK_OK && (k < 0 || k > l.n)) code = GPK_ERR_ARGUMENT;
  if (code != GPK_OK) return -code;
  if (lines == 0 || l.n == 0 || (k == 0 && tiles_of(l.n) == 1)) return 0;
  if (by_radix(l, lines, k)) {
    code = set_device(device);
    if (code == GPK_OK) code = radix_any(l, lines, k, 0, nullptr, nullptr, 0, &need);
    return code == GPK_OK ? need : -code;
  }
  by_key(l.bytes, k > 0, [&](auto key, auto places) {
    using K = decltype(key);
    K* sorted;
    return sort_keys<K, decltype(places)::value>(l, lines, k, 0, 0, &need, &sorted, &pitch);
  });
  return need;
}

int gpk_sort(int device, uint64_t stream, int type, int ndim, int64_t const* shape, uint64_t x, int64_t const* x_strides,
             uint64_t dst, int64_t const* dst_strides, int descending, uint64_t workspace, int64_t workspace_bytes) {
  using namespace gpk;
  SortLines l{};
  int64_t lines = 0, need = 0, pitch = 0;
  int code = make_lines(&l, &lines, type, ndim, shape, x, x_strides, dst, dst_strides, descending != 0);
  if (code != GPK_OK || lines == 0 || l.n == 0) return code;
  if (gpk_sort_workspace(device, type, ndim, shape, 0) > workspace_bytes) return GPK_ERR_WORKSPACE;
  code = set_device(device);
  if (code != GPK_OK) return code;
  if (by_radix(l, lines, 0)) return radix_any(l, lines, 0, workspace, nullptr, nullptr, stream, &need);
  return by_key(l.bytes, false, [&](auto key, auto places) {
    using K = decltype(key);
    K* sorted;
    return sort_keys<K, decltype(places)::value>(l, lines, 0, workspace, stream, &need, &sorted, &pitch);
  });
}

int gpk_topk(int device, uint64_t stream, int type, int ndim, int64_t const* shape, uint64_t x, int64_t const* x_strides,
             int64_t k, uint64_t values, int64_t const* value_strides, uint64_t places, int64_t const* place_strides,
             uint64_t workspace, int64_t workspace_bytes) {
  using namespace gpk;
  SortLines l{};
  int64_t lines = 0, need = 0, pitch = 0;
  int code = make_lines(&l, &lines, type, ndim, shape, x, x_strides, values, value_strides, true);
  if (code != GPK_OK || lines == 0 || l.n == 0 || k == 0) return code;
  if (k < 0 || k > l.n || lines * k >= int64_t{1} << 31) return GPK_ERR_ARGUMENT;
  if (workspace == 0 || gpk_sort_workspace(device, type, ndim, shape, k) > workspace_bytes) return GPK_ERR_WORKSPACE;
  code = set_device(device);
  if (code != GPK_OK) return code;
  if (by_radix(l, lines, k)) {
    return radix_any(l, lines, k, workspace, reinterpret_cast<int64_t*>(places), place_strides, stream, &need);
  }
  return by_key(l.bytes, true, [&](auto key, auto with) -> int {
    using K = decltype(key);
    if constexpr (decltype(with)::value) {
      StoreLargest<K> p;
      K* sorted = nullptr;
      int const code = sort_keys<K, true>(l, lines, k, workspace, stream, &need, &sorted, &pitch);
      if (code != GPK_OK) return code;
      p.lines = l;
      p.in = sorted;
      p.pitch = pitch;
      p.places = reinterpret_cast<int64_t*>(places);
      p.step = place_strides[ndim - 1];
      p.outer.dims = 0;
      for (int d = ndim - 2; d >= 0; --d) {
        p.outer.n[p.outer.dims] = l.outer.n[p.outer.dims];
        p.outer.stride[0][p.outer.dims++] = place_strides[d];
      }
      p.k = Divider(static_cast<uint32_t>(k));
      p.total = static_cast<uint32_t>(lines * k);
      return launch_for(store_largest<K>, p.total, 1, stream, p);
    } else {
      return GPK_ERR_UNSUPPORTED;
    }
  });
}
