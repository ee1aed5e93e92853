// sort.cuh: sorted lines, and their largest elements.
//
// Elements are mapped to unsigned keys of the same order. `sort_tiles` sorts a tile of a line in shared memory: eight
// keys per thread by a network, then merges. Runs of tiles are merged pairwise, and each pass reads and writes once:
// `split_runs` finds where every tile of the output begins in the two runs (Odeh, Green, Mwassi, Shmueli and Birk,
// "Merge Path", 2012), `merge_runs` merges.
//
// The k largest elements are the first k keys in falling order, each with its index. If k is small, only the first k
// keys of every tile go on to the next pass; if it is very small, they are found without sorting the tile
// (`first_few`).
//
// Few long lines are sorted by radix instead, one after the other (radix.cuh).
#pragma once
#include "ops.cuh"
#include "radix.cuh"
#include "sort_parts.cuh"

namespace gpk {
namespace {

constexpr int keys_each = 8;                   // keys per thread
constexpr int tile_keys = threads * keys_each;  // keys per full block

// A key of 8 bytes with its index; ordered by key, then index.
struct Placed {
  uint64_t key, place;
};

template <class K>
__device__ inline bool before(K const& a, K const& b) {
  if constexpr (__is_same(K, Placed)) {
    return a.key < b.key || (a.key == b.key && a.place < b.place);
  } else {
    return a < b;
  }
}

// A key that sorts after every other key.
template <class K>
__device__ inline K last_key() {
  if constexpr (__is_same(K, Placed)) {
    return {~uint64_t{0}, ~uint64_t{0}};
  } else {
    return static_cast<K>(~K{0});
  }
}

// The lines of an operand and of a destination, and the mapping of elements to keys.
struct SortLines {
  char *x, *dst;
  int64_t n;         // elements per line
  int64_t xs, ds;    // distance between neighbouring elements, in elements
  Outer<2> outer;    // strides of the lines: destination, operand
  int type, bytes;
  bool descending;
  uint64_t most;     // the largest key
};

template <class U>
__device__ inline uint64_t float_key(U bits, U infinity, bool one_zero) {
  constexpr U sign = static_cast<U>(U{1} << (8 * sizeof(U) - 1));
  if (static_cast<U>(bits & ~sign) > infinity) return static_cast<U>(infinity | infinity >> 1 | sign);  // NaN, the largest
  if (one_zero && bits == sign) bits = 0;
  return static_cast<U>(bits & sign ? ~bits : bits | sign);
}

// The key of element `at`: NaN is the largest, and false is below true. one_zero: -0 and 0 are equal; otherwise -0 is
// below 0.
__device__ inline uint64_t key_of(SortLines const& l, int64_t at, bool one_zero) {
  char const* const p = l.x + at * l.bytes;
  uint64_t key = 0;
  switch (l.type) {
    case GPK_F32: key = float_key<uint32_t>(*reinterpret_cast<uint32_t const*>(p), 0x7f800000u, one_zero); break;
    case GPK_F64: key = float_key<uint64_t>(*reinterpret_cast<uint64_t const*>(p), 0x7ffull << 52, one_zero); break;
    case GPK_F16: key = float_key<uint16_t>(*reinterpret_cast<uint16_t const*>(p), 0x7c00, one_zero); break;
    case GPK_BF16: key = float_key<uint16_t>(*reinterpret_cast<uint16_t const*>(p), 0x7f80, one_zero); break;
    case GPK_I8: key = *reinterpret_cast<uint8_t const*>(p) ^ 0x80u; break;
    case GPK_I16: key = *reinterpret_cast<uint16_t const*>(p) ^ 0x8000u; break;
    case GPK_U16: key = *reinterpret_cast<uint16_t const*>(p); break;
    case GPK_U32: key = *reinterpret_cast<uint32_t const*>(p); break;
    case GPK_U64: key = *reinterpret_cast<uint64_t const*>(p); break;
    case GPK_I32: key = *reinterpret_cast<uint32_t const*>(p) ^ 0x80000000u; break;
    case GPK_I64: key = *reinterpret_cast<uint64_t const*>(p) ^ uint64_t{1} << 63; break;
    default: key = *reinterpret_cast<uint8_t const*>(p);
  }
  return l.descending ? l.most - key : key;
}

// Writes the element of a key, a NaN as a quiet one.
__device__ inline void put_element(SortLines const& l, int64_t at, uint64_t key) {
  if (l.descending) key = l.most - key;
  uint64_t const sign = (l.most >> 1) + 1;
  if (l.type == GPK_I8 || l.type == GPK_I16 || l.type == GPK_I32 || l.type == GPK_I64) {
    key ^= sign;
  } else if (!is_whole_type(l.type)) {
    key = key & sign ? key ^ sign : ~key;
  }
  char* const p = l.dst + at * l.bytes;
  switch (l.bytes) {
    case 1: *reinterpret_cast<uint8_t*>(p) = static_cast<uint8_t>(key); break;
    case 2: *reinterpret_cast<uint16_t*>(p) = static_cast<uint16_t>(key); break;
    case 4: *reinterpret_cast<uint32_t*>(p) = static_cast<uint32_t>(key); break;
    default: *reinterpret_cast<uint64_t*>(p) = key;
  }
}

// Shared memory, padded so that threads that read eight neighbours each have no bank conflicts.
constexpr int slots = tile_keys + tile_keys / 32;
__device__ inline int slot(int i) { return i + (i >> 5); }

template <class K>
__device__ inline void order_two(K& a, K& b) {
  if (before(b, a)) {
    K const t = a;
    a = b;
    b = t;
  }
}

// Batcher's sorting network.
template <class K>
__device__ inline void order_each(K (&r)[keys_each]) {
#pragma unroll
  for (int p = 1; p < keys_each; p *= 2) {
#pragma unroll
    for (int k = p; k >= 1; k /= 2) {
#pragma unroll
      for (int j = 0; j < keys_each; ++j) {
        int const from = k % p;
        if (j >= from && (j - from) % (2 * k) < k && j + k < keys_each && j / (2 * p) == (j + k) / (2 * p)) order_two(r[j], r[j + k]);
      }
    }
  }
}

// The number of keys from run a, which has `na` keys, among the first `diagonal` keys of the merged runs a and b; of
// equal keys a's come first.
template <class K, class A, class B>
__device__ inline int64_t split(int64_t diagonal, int64_t na, int64_t nb, A const& a, B const& b) {
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

// The keys diagonal ... diagonal+7 of two merged runs in shared memory.
template <class K>
__device__ inline void merge_each(K const* s, int a0, int na, int b0, int nb, int diagonal, K (&r)[keys_each]) {
  int lo = diagonal > nb ? diagonal - nb : 0, hi = diagonal < na ? diagonal : na;
  while (lo < hi) {
    int const mid = (lo + hi) >> 1;
    if (before(s[slot(b0 + diagonal - 1 - mid)], s[slot(a0 + mid)])) {
      hi = mid;
    } else {
      lo = mid + 1;
    }
  }
  int i = lo, j = diagonal - lo;
  K a = i < na ? s[slot(a0 + i)] : last_key<K>(), b = j < nb ? s[slot(b0 + j)] : last_key<K>();
#pragma unroll
  for (int e = 0; e < keys_each; ++e) {
    if (j < nb && (i >= na || before(b, a))) {
      r[e] = b;
      ++j;
      b = j < nb ? s[slot(b0 + j)] : last_key<K>();
    } else {
      r[e] = a;
      ++i;
      a = i < na ? s[slot(a0 + i)] : last_key<K>();
    }
  }
}

template <class K>
__device__ inline K from_lane(K const& x, int mask) {
  if constexpr (__is_same(K, Placed)) {
    return {__shfl_xor_sync(~0u, x.key, mask), __shfl_xor_sync(~0u, x.place, mask)};
  } else {
    return __shfl_xor_sync(~0u, x, mask);
  }
}

constexpr int very_few = 16;     // first_few finds up to this many
constexpr int candidates = 256;  // the most candidates of first_few

// Writes the `keep` first keys of a block to out. All keys have to be distinct, except those that sort last. Each
// thread finds the first of its own keys. In every warp at least `keep` keys are not after the keep-th of these, so
// that this one is an upper bound, and only keys up to the least bound of all warps are candidates. They are usually
// few, and each finds its rank by comparison with all others. If there are too many, it writes nothing and returns
// false. s is memory for the candidates.
template <class K>
__device__ inline bool first_few(K const (&r)[keys_each], int keep, K* s, K* out) {
  __shared__ K bounds[threads / 32];
  __shared__ int count;
  int const id = threadIdx.x, lane = id % 32;
  K first = r[0];
#pragma unroll
  for (int e = 1; e < keys_each; ++e) first = before(r[e], first) ? r[e] : first;
#pragma unroll
  for (int width = 2; width <= 32; width *= 2) {
#pragma unroll
    for (int step = width / 2; step >= 1; step /= 2) {
      K const other = from_lane(first, step);
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
  for (int e = 0; e < keys_each; ++e) {
    if (!before(bound, r[e]) && before(r[e], last_key<K>())) {
      int const at = atomicAdd(&count, 1);
      if (at < candidates) s[at] = r[e];
    }
  }
  __syncthreads();
  int const n = count;
  if (n > candidates) return false;
  for (int i = id; i < n; i += blockDim.x) {
    K const key = s[i];
    int place = 0;
    for (int j = 0; j < n; ++j) place += before(s[j], key) ? 1 : 0;
    if (place < keep) out[place] = key;
  }
  for (int i = n + id; i < keep; i += blockDim.x) out[i] = last_key<K>();
  return true;
}

template <class K>
struct SortTiles {
  SortLines lines;
  K const* in;     // keys; nullptr: the operand's elements
  K* out;          // keys; nullptr: the destination's elements
  int64_t n, pitch;  // keys per line, and per line of `out`
  int keep;        // keys of a tile that go on to the next pass; 0: all
  Divider tiles;   // tiles per line
};

template <class K>
__device__ inline K load_key(SortLines const& l, int64_t base, int64_t i) {
  if constexpr (__is_same(K, Placed)) {
    return {key_of(l, base + i * l.xs, true), static_cast<uint64_t>(i)};
  } else {
    return static_cast<K>(key_of(l, base + i * l.xs, false));
  }
}

// Places: a key of 8 bytes holds a key of up to 4 bytes above its index.
template <class K, bool Places>
__global__ void __launch_bounds__(threads) sort_tiles(SortTiles<K> p) {
  begin();
  __shared__ K s[slots];
  uint32_t t;
  uint32_t const line = p.tiles.divide(blockIdx.x, &t);
  int const tile = blockDim.x * keys_each, id = threadIdx.x;
  int64_t const first = static_cast<int64_t>(t) * tile;
  int const len = p.n - first < tile ? static_cast<int>(p.n - first) : tile;
  int64_t off[2] = {};
  p.lines.outer.offsets(line, off);
  K r[keys_each];
#pragma unroll
  for (int e = 0; e < keys_each; ++e) {
    int const i = id + e * blockDim.x;
    K& key = r[e];
    key = last_key<K>();
    if (i < len) {
      if (p.in != nullptr) {
        key = p.in[line * p.n + first + i];
      } else if constexpr (Places && !__is_same(K, Placed)) {
        key = key_of(p.lines, off[1] + (first + i) * p.lines.xs, true) << 32 | static_cast<uint64_t>(first + i);
      } else {
        key = load_key<K>(p.lines, off[1], first + i);
      }
    }
  }
  if constexpr (Places) {
    if (p.keep > 0 && p.keep <= very_few) {
      if (first_few(r, p.keep, s, p.out + line * p.pitch + static_cast<int64_t>(t) * p.keep)) return;
      __syncthreads();
    }
  }
#pragma unroll
  for (int e = 0; e < keys_each; ++e) s[slot(id + e * blockDim.x)] = r[e];
  __syncthreads();
#pragma unroll
  for (int e = 0; e < keys_each; ++e) r[e] = s[slot(id * keys_each + e)];
  order_each(r);
  for (int run = keys_each; run < tile; run *= 2) {
    __syncthreads();
#pragma unroll
    for (int e = 0; e < keys_each; ++e) s[slot(id * keys_each + e)] = r[e];
    __syncthreads();
    int const pair = id * keys_each & ~(2 * run - 1);
    merge_each(s, pair, run, pair + run, run, id * keys_each - pair, r);
  }
  __syncthreads();
#pragma unroll
  for (int e = 0; e < keys_each; ++e) s[slot(id * keys_each + e)] = r[e];
  __syncthreads();
  if (p.keep > 0) {
    for (int i = id; i < p.keep; i += blockDim.x) p.out[line * p.pitch + static_cast<int64_t>(t) * p.keep + i] = s[slot(i)];
    return;
  }
  for (int i = id; i < len; i += blockDim.x) {
    if (Places || p.out != nullptr) {
      p.out[line * p.pitch + first + i] = s[slot(i)];
    } else if constexpr (!Places) {
      put_element(p.lines, off[0] + (first + i) * p.lines.ds, s[slot(i)]);
    }
  }
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

// The two runs from which tile t of a line is merged.
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
  p.splits[g] = static_cast<uint32_t>(split<K>(static_cast<int64_t>(t) * tile_keys - r.start, r.na, r.nb,
                                               [&](int64_t i) { return a[i]; }, [&](int64_t i) { return b[i]; }));
}

template <class K, bool Places>
__global__ void __launch_bounds__(threads) merge_runs(MergeRuns<K> p) {
  begin();
  __shared__ K s[slots];
  uint32_t t;
  uint32_t const line = p.tiles.divide(blockIdx.x, &t);
  int const id = threadIdx.x;
  Runs const r = runs_of(t, p.run, p.n);
  int64_t const first = static_cast<int64_t>(t) * tile_keys, d0 = first - r.start;
  int64_t const d1 = d0 + tile_keys < r.na + r.nb ? d0 + tile_keys : r.na + r.nb;
  int64_t const a0 = p.splits[blockIdx.x], a1 = d1 < r.na + r.nb ? p.splits[blockIdx.x + 1] : r.na;
  int const na = static_cast<int>(a1 - a0), len = static_cast<int>(d1 - d0);
  K const* const in = p.in + line * p.n + r.start;
  int64_t const b0 = r.na + d0 - a0 - na;  // so that key i >= na is from b
#pragma unroll
  for (int e = 0; e < keys_each; ++e) {
    int const i = id + e * threads;
    if (i < len) s[slot(i)] = in[(i < na ? a0 : b0) + i];
  }
  __syncthreads();
  K k[keys_each];
  if (id * keys_each < len) merge_each(s, 0, na, na, len - na, id * keys_each, k);
  __syncthreads();
  if (id * keys_each < len) {
#pragma unroll
    for (int e = 0; e < keys_each; ++e) s[slot(id * keys_each + e)] = k[e];
  }
  __syncthreads();
  int64_t off[2] = {};
  p.lines.outer.offsets(line, off);
  for (int i = id; i < len; i += threads) {
    if (Places || p.out != nullptr) {
      p.out[line * p.n + first + i] = s[slot(i)];
    } else if constexpr (!Places) {
      put_element(p.lines, off[0] + (first + i) * p.lines.ds, s[slot(i)]);
    }
  }
}

// Writes result j of a line: the element at `place` and the place.
__device__ inline void put_place(SortLines const& l, Outer<1> const& outer, int64_t* places, int64_t step, uint32_t line, uint32_t j, int64_t place) {
  int64_t off[2] = {}, at[1] = {};
  l.outer.offsets(line, off);
  outer.offsets(line, at);
  places[at[0] + j * step] = place;
  int const bytes = l.bytes;
  char const* const x = l.x + (off[1] + place * l.xs) * bytes;
  char* const dst = l.dst + (off[0] + j * l.ds) * bytes;
  switch (bytes) {
    case 1: *dst = *x; break;
    case 2: *reinterpret_cast<uint16_t*>(dst) = *reinterpret_cast<uint16_t const*>(x); break;
    case 4: *reinterpret_cast<uint32_t*>(dst) = *reinterpret_cast<uint32_t const*>(x); break;
    default: *reinterpret_cast<uint64_t*>(dst) = *reinterpret_cast<uint64_t const*>(x);
  }
}

template <class K>
struct PutLargest {
  SortLines lines;   // dst: the values
  K const* in;
  int64_t pitch;     // keys per line
  int64_t* places;
  int64_t step;      // step of the indices
  Outer<1> outer;    // strides of the indices' lines
  Divider k;
  uint32_t total;
};

template <class K>
__global__ void __launch_bounds__(threads) put_largest(PutLargest<K> p) {
  begin();
  uint32_t const g = blockIdx.x * blockDim.x + threadIdx.x;
  if (g >= p.total) return;
  uint32_t j;
  uint32_t const line = p.k.divide(g, &j);
  K const key = p.in[line * p.pitch + j];
  if constexpr (__is_same(K, Placed)) {
    put_place(p.lines, p.outer, p.places, p.step, line, j, static_cast<int64_t>(key.place));
  } else {
    put_place(p.lines, p.outer, p.places, p.step, line, j, static_cast<int64_t>(key & 0xffffffffu));
  }
}

inline int64_t tiles_of(int64_t n) { return (n - 1) / tile_keys + 1; }

// The block size: no more threads than a short line needs.
inline unsigned block_for(int64_t n) {
  unsigned block = threads;
  while (block > 32 && n <= static_cast<int64_t>(block / 2) * keys_each) block /= 2;
  return block;
}

// Whether k is small enough that only k keys of every tile go on to the next pass.
inline bool keeps(int64_t k) { return k > 0 && k <= tile_keys / 2; }

// Sorts the keys of one line or of all lines, from the operand to the destination or, with Places, to the workspace;
// then *sorted is their address and *pitch the distance between lines. With base 0 nothing is launched; *need is the
// size of the workspace.
template <class K, bool Places>
int sort_keys(SortLines const& l, int64_t lines, int64_t k, uint64_t base, uint64_t stream, int64_t* need, K** sorted, int64_t* pitch) {
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
  if (keeps(k)) {
    p.keep = static_cast<int>(k);
    p.pitch = tiles * k;
    K* buffer[2];
    buffer[0] = parts.part<K>(base, lines * p.pitch);
    buffer[1] = tiles == 1 ? nullptr : parts.part<K>(base, lines * tiles_of(p.pitch) * k);
    *need = static_cast<int64_t>(parts.at);
    if (base == 0) return GPK_OK;
    for (int turn = 0;; turn ^= 1) {
      p.out = buffer[turn];
      p.tiles = Divider(static_cast<uint32_t>(tiles));
      int const code = launch(sort_tiles<K, Places>, static_cast<unsigned>(lines * tiles), block, stream, p);
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
  if (tiles > 1 || Places) buffer[0] = parts.part<K>(base, lines * l.n);
  if (tiles > 2 || (Places && tiles > 1)) buffer[1] = parts.part<K>(base, lines * l.n);
  uint32_t* const splits = tiles > 1 ? parts.part<uint32_t>(base, lines * tiles) : nullptr;
  *need = static_cast<int64_t>(parts.at);
  if (base == 0 && *need > 0) return GPK_OK;
  p.out = buffer[0];
  p.tiles = Divider(static_cast<uint32_t>(tiles));
  int code = launch(sort_tiles<K, Places>, static_cast<unsigned>(lines * tiles), block, stream, p);
  int turn = 0;
  for (int64_t run = 1; run < tiles && code == GPK_OK; run *= 2, turn ^= 1) {
    MergeRuns<K> m;
    m.lines = l;
    m.in = buffer[turn];
    m.out = !Places && 2 * run >= tiles ? nullptr : buffer[turn ^ 1];
    m.n = l.n;
    m.run = static_cast<uint32_t>(run);
    m.total = static_cast<uint32_t>(lines * tiles);
    m.tiles = p.tiles;
    m.splits = splits;
    code = launch(split_runs<K>, blocks_for(m.total, threads), threads, stream, m);
    if (code == GPK_OK) code = launch(merge_runs<K, Places>, m.total, threads, stream, m);
  }
  *sorted = buffer[turn];
  *pitch = l.n;
  return code;
}

// Whether lines are sorted by radix: few long ones, of which all elements are wanted or too many for `keeps`.
inline bool by_radix(SortLines const& l, int64_t lines, int64_t k) {
  return l.n >= int64_t{1} << 17 && lines <= 16 && !keeps(k);
}

// A line on its way through a radix sort.
template <class K>
struct RadixLine {
  SortLines lines;
  uint32_t line;
  bool one_zero;
  K* keys;
  uint32_t* places;  // nullptr: the keys are sorted without their places
  uint32_t count;    // of the results
  int64_t *to, step;  // where places go
  Outer<1> outer;
};

template <class K>
__global__ void __launch_bounds__(threads) get_keys(RadixLine<K> p) {
  begin();
  uint32_t const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= p.lines.n) return;
  int64_t off[2] = {};
  p.lines.outer.offsets(p.line, off);
  p.keys[i] = static_cast<K>(key_of(p.lines, off[1] + i * p.lines.xs, p.one_zero));
  if (p.places != nullptr) p.places[i] = i;
}

template <class K>
__global__ void __launch_bounds__(threads) put_keys(RadixLine<K> p) {
  begin();
  uint32_t const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= p.count) return;
  if (p.places != nullptr) return put_place(p.lines, p.outer, p.to, p.step, p.line, i, p.places[i]);
  int64_t off[2] = {};
  p.lines.outer.offsets(p.line, off);
  put_element(p.lines, off[0] + i * p.lines.ds, p.keys[i]);
}

// Sorts lines by radix; k > 0: the first k and their places go where p says. With base 0 nothing is launched; *need is
// the size of the workspace.
template <class K>
int radix_lines(RadixLine<K> p, int64_t lines, int64_t k, uint64_t base, uint64_t stream, int64_t* need) {
  Parts parts;
  RadixSort sort{static_cast<int>(sizeof(K)), 8 * p.lines.bytes, p.lines.n, {}, {}};
  for (int i = 0; i < 2; ++i) {
    sort.keys[i] = parts.part<K>(base, p.lines.n);
    if (k > 0) sort.values[i] = parts.part<uint32_t>(base, p.lines.n);
  }
  if (base == 0 && k > 0) sort.values[0] = reinterpret_cast<uint32_t*>(256);  // values follow
  int64_t const work = radix_workspace(sort);
  if (work < 0) return static_cast<int>(-work);
  uint64_t const temporary = reinterpret_cast<uint64_t>(parts.part<char>(base, work));
  *need = static_cast<int64_t>(parts.at);
  if (base == 0) return GPK_OK;
  p.count = static_cast<uint32_t>(k > 0 ? k : p.lines.n);
  p.one_zero = k > 0;
  int code = GPK_OK;
  for (p.line = 0; p.line < lines && code == GPK_OK; ++p.line) {
    int sorted = 0;
    p.keys = static_cast<K*>(sort.keys[0]);
    p.places = sort.values[0];
    code = launch_for(get_keys<K>, p.lines.n, 1, stream, p);
    if (code == GPK_OK) code = radix_sort(sort, temporary, work, stream, &sorted);
    p.keys = static_cast<K*>(sort.keys[sorted]);
    p.places = sort.values[sorted];
    if (code == GPK_OK) code = launch_for(put_keys<K>, p.count, 1, stream, p);
  }
  return code;
}

// Describes the lines along the last dimension. Returns a code.
inline int make_lines(SortLines* l, int64_t* lines, int type, int ndim, int64_t const* shape, uint64_t x,
                      int64_t const* x_strides, uint64_t dst, int64_t const* dst_strides, bool descending) {
  if (size_of(type) == 0 || type == GPK_C64 || type == GPK_C128) return GPK_ERR_UNSUPPORTED;
  if (ndim < 1 || ndim > GPK_MAX_DIMS) return GPK_ERR_ARGUMENT;
  int const last = ndim - 1;
  *lines = 1;
  l->outer.dims = 0;
  for (int d = last - 1; d >= 0; --d) {
    if (shape[d] < 0 || shape[d] >= int64_t{1} << 31) return GPK_ERR_ARGUMENT;
    *lines *= shape[d];
    if (*lines >= int64_t{1} << 31) return GPK_ERR_ARGUMENT;
    l->outer.n[l->outer.dims] = Divider(static_cast<uint32_t>(shape[d] > 0 ? shape[d] : 1));
    if (x_strides != nullptr) {
      l->outer.stride[0][l->outer.dims] = dst_strides[d];
      l->outer.stride[1][l->outer.dims] = x_strides[d];
    }
    ++l->outer.dims;
  }
  l->x = reinterpret_cast<char*>(x);
  l->dst = reinterpret_cast<char*>(dst);
  l->n = shape[last];
  if (x_strides != nullptr) l->xs = x_strides[last], l->ds = dst_strides[last];
  l->type = type;
  l->bytes = size_of(type);
  l->descending = descending;
  l->most = ~uint64_t{0} >> (64 - 8 * l->bytes);
  if (l->n < 0 || l->n >= int64_t{1} << 31) return GPK_ERR_ARGUMENT;
  if (l->n > 0 && *lines * tiles_of(l->n) >= int64_t{1} << 31) return GPK_ERR_ARGUMENT;
  return GPK_OK;
}

// radix_lines for keys of the width of the elements. places and place_strides are of the places of k elements.
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

struct Yes {
  static constexpr bool value = true;
};
struct No {
  static constexpr bool value = false;
};

// Calls f with a key of the width that sorting the type needs, and places: true if keys carry their index.
template <class F>
int by_key(int bytes, bool places, F const& f) {
  if (places) return bytes == 8 ? f(Placed{}, Yes{}) : f(uint64_t{}, Yes{});
  switch (bytes) {
    case 8: return f(uint64_t{}, No{});
    case 4: return f(uint32_t{}, No{});
    default: return f(uint16_t{}, No{});
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
      PutLargest<K> p;
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
      return launch_for(put_largest<K>, p.total, 1, stream, p);
    } else {
      return GPK_ERR_UNSUPPORTED;
    }
  });
}
