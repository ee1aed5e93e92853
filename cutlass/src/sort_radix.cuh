// sort_radix.cuh: sorts few long lines by radix, one after the other.
#pragma once
#include "radix.cuh"
#include "sort_keys.cuh"
#include "sort_parts.cuh"

namespace gpk {
namespace {

// Whether k is small enough for only k keys of every tile to be the input of the next pass.
inline bool selects_per_tile(int64_t k) { return k > 0 && k <= tile_keys / 2; }

// Whether lines are sorted by radix: few long ones, if all elements are wanted or too many for selects_per_tile.
inline bool by_radix(SortLines const& l, int64_t lines, int64_t k) {
  return l.n >= int64_t{1} << 17 && lines <= 16 && !selects_per_tile(k);
}

// The keys of a line that is sorted by radix.
template <class K>
struct RadixLine {
  SortLines lines;
  uint32_t line;
  bool equal_zeros;
  K* keys;
  uint32_t* places;   // indices; nullptr: only the keys are sorted
  uint32_t count;     // number of results
  int64_t *to, step;  // destination of the indices
  Outer<1> outer;
};

template <class K>
__global__ void __launch_bounds__(threads) load_keys(RadixLine<K> p) {
  begin();
  uint32_t const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= p.lines.n) return;
  int64_t off[2] = {};
  p.lines.outer.offsets(p.line, off);
  p.keys[i] = static_cast<K>(key_of(p.lines, off[1] + i * p.lines.xs, p.equal_zeros));
  if (p.places != nullptr) p.places[i] = i;
}

template <class K>
__global__ void __launch_bounds__(threads) store_keys(RadixLine<K> p) {
  begin();
  uint32_t const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= p.count) return;
  if (p.places != nullptr) return store_indexed(p.lines, p.outer, p.to, p.step, p.line, i, p.places[i]);
  int64_t off[2] = {};
  p.lines.outer.offsets(p.line, off);
  store_element(p.lines, off[0] + i * p.lines.ds, p.keys[i]);
}

// Sorts lines by radix. If k > 0, the first k elements and their indices are the results. With base 0 nothing is
// launched, and *need is the size of the workspace.
template <class K>
int radix_lines(RadixLine<K> p, int64_t lines, int64_t k, uint64_t base, uint64_t stream, int64_t* need) {
  Parts parts;
  RadixSort sort{static_cast<int>(sizeof(K)), 8 * p.lines.bytes, p.lines.n, {}, {}};
  for (int i = 0; i < 2; ++i) {
    sort.keys[i] = parts.part<K>(base, p.lines.n);
    if (k > 0) sort.values[i] = parts.part<uint32_t>(base, p.lines.n);
  }
  // Any address: the size of the workspace depends on whether there are values.
  if (base == 0 && k > 0) sort.values[0] = reinterpret_cast<uint32_t*>(256);
  int64_t const work = radix_workspace(sort);
  if (work < 0) return static_cast<int>(-work);
  uint64_t const temporary = reinterpret_cast<uint64_t>(parts.part<char>(base, work));
  *need = static_cast<int64_t>(parts.at);
  if (base == 0) return GPK_OK;
  p.count = static_cast<uint32_t>(k > 0 ? k : p.lines.n);
  p.equal_zeros = k > 0;
  int code = GPK_OK;
  for (p.line = 0; p.line < lines && code == GPK_OK; ++p.line) {
    int sorted = 0;
    p.keys = static_cast<K*>(sort.keys[0]);
    p.places = sort.values[0];
    code = launch_for(load_keys<K>, p.lines.n, 1, stream, p);
    if (code == GPK_OK) code = radix_sort(sort, temporary, work, stream, &sorted);
    p.keys = static_cast<K*>(sort.keys[sorted]);
    p.places = sort.values[sorted];
    if (code == GPK_OK) code = launch_for(store_keys<K>, p.count, 1, stream, p);
  }
  return code;
}

// Calls radix_lines with keys as wide as the elements. places is the destination of k indices per line.
inline int radix_any(SortLines const& l, int64_t lines, int64_t k, uint64_t base, int64_t* places, int64_t const* place_strides,
                     uint64_t stream, int64_t* need) {
  auto const run = [&](auto key) {
    RadixLine<decltype(key)> p{};
    p.lines = l;
    p.to = places;
    p.outer.dims = l.outer.dims;
    if (place_strides != nullptr) p.step = place_strides[l.outer.dims];
    for (int d = 0; d < l.outer.dims; ++d) {
      p.outer.n[d] = l.outer.n[d];
      if (place_strides != nullptr) p.outer.stride[0][d] = place_strides[l.outer.dims - 1 - d];
    }
    return radix_lines(p, lines, k, base, stream, need);
  };
  return l.bytes == 8 ? run(uint64_t{}) : l.bytes == 4 ? run(uint32_t{}) : run(uint16_t{});
}

}  // namespace
}  // namespace gpk
