// sort_keys.cuh: the mapping of elements to unsigned keys of the same order, and the lines that are sorted.
#pragma once
#include "ops.cuh"

namespace gpk {
namespace {

constexpr int keys_per_thread = 8;
constexpr int tile_keys = threads * keys_per_thread;  // of a full block

// A key of 8 bytes with its index. The order is by key, then by index.
struct IndexedKey {
  uint64_t key, index;
};

template <class K>
__device__ inline bool before(K const& a, K const& b) {
  if constexpr (__is_same(K, IndexedKey)) {
    return a.key < b.key || (a.key == b.key && a.index < b.index);
  } else {
    return a < b;
  }
}

// The greatest key.
template <class K>
__device__ inline K last_key() {
  if constexpr (__is_same(K, IndexedKey)) {
    return {~uint64_t{0}, ~uint64_t{0}};
  } else {
    return static_cast<K>(~K{0});
  }
}

// The lines of an operand and of a destination, and the mapping of elements to keys.
struct SortLines {
  char *x, *dst;
  int64_t n;       // elements per line
  int64_t xs, ds;  // distance between neighbouring elements, in elements
  Outer<2> outer;  // strides of the lines: destination, operand
  int type, bytes;
  bool descending;
  uint64_t max_key;  // the largest value of a key
};

template <class U>
__device__ inline uint64_t float_key(U bits, U infinity, bool equal_zeros) {
  constexpr U sign = static_cast<U>(U{1} << (8 * sizeof(U) - 1));
  if (static_cast<U>(bits & ~sign) > infinity) return static_cast<U>(infinity | infinity >> 1 | sign);  // NaN, the largest
  if (equal_zeros && bits == sign) bits = 0;
  return static_cast<U>(bits & sign ? ~bits : bits | sign);
}

// Returns the key of element `at`. NaN is the largest, and false is less than true. equal_zeros: -0 and 0 are equal;
// otherwise -0 is less than 0.
__device__ inline uint64_t key_of(SortLines const& l, int64_t at, bool equal_zeros) {
  char const* const p = l.x + at * l.bytes;
  uint64_t key = 0;
  switch (l.type) {
    case GPK_F32: key = float_key<uint32_t>(*reinterpret_cast<uint32_t const*>(p), 0x7f800000u, equal_zeros); break;
    case GPK_F64: key = float_key<uint64_t>(*reinterpret_cast<uint64_t const*>(p), 0x7ffull << 52, equal_zeros); break;
    case GPK_F16: key = float_key<uint16_t>(*reinterpret_cast<uint16_t const*>(p), 0x7c00, equal_zeros); break;
    case GPK_BF16: key = float_key<uint16_t>(*reinterpret_cast<uint16_t const*>(p), 0x7f80, equal_zeros); break;
    case GPK_I8: key = *reinterpret_cast<uint8_t const*>(p) ^ 0x80u; break;
    case GPK_I16: key = *reinterpret_cast<uint16_t const*>(p) ^ 0x8000u; break;
    case GPK_U16: key = *reinterpret_cast<uint16_t const*>(p); break;
    case GPK_U32: key = *reinterpret_cast<uint32_t const*>(p); break;
    case GPK_U64: key = *reinterpret_cast<uint64_t const*>(p); break;
    case GPK_I32: key = *reinterpret_cast<uint32_t const*>(p) ^ 0x80000000u; break;
    case GPK_I64: key = *reinterpret_cast<uint64_t const*>(p) ^ uint64_t{1} << 63; break;
    default: key = *reinterpret_cast<uint8_t const*>(p);
  }
  return l.descending ? l.max_key - key : key;
}

// Writes the element of a key. A NaN becomes quiet.
__device__ inline void store_element(SortLines const& l, int64_t at, uint64_t key) {
  if (l.descending) key = l.max_key - key;
  uint64_t const sign = (l.max_key >> 1) + 1;
  if (l.type == GPK_I8 || l.type == GPK_I16 || l.type == GPK_I32 || l.type == GPK_I64) {
    key ^= sign;
  } else if (!is_integral_type(l.type)) {
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

// Writes result j of a line: the element with an index, and the index.
__device__ inline void store_indexed(SortLines const& l, Outer<1> const& outer, int64_t* places, int64_t step,
                                     uint32_t line, uint32_t j, int64_t index) {
  int64_t off[2] = {}, at[1] = {};
  l.outer.offsets(line, off);
  outer.offsets(line, at);
  places[at[0] + j * step] = index;
  int const bytes = l.bytes;
  char const* const x = l.x + (off[1] + index * l.xs) * bytes;
  char* const dst = l.dst + (off[0] + j * l.ds) * bytes;
  switch (bytes) {
    case 1: *dst = *x; break;
    case 2: *reinterpret_cast<uint16_t*>(dst) = *reinterpret_cast<uint16_t const*>(x); break;
    case 4: *reinterpret_cast<uint32_t*>(dst) = *reinterpret_cast<uint32_t const*>(x); break;
    default: *reinterpret_cast<uint64_t*>(dst) = *reinterpret_cast<uint64_t const*>(x);
  }
}

inline int64_t tiles_of(int64_t n) { return (n - 1) / tile_keys + 1; }

// Sets the lines along the last dimension. Returns a code.
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
  l->max_key = ~uint64_t{0} >> (64 - 8 * l->bytes);
  if (l->n < 0 || l->n >= int64_t{1} << 31) return GPK_ERR_ARGUMENT;
  if (l->n > 0 && *lines * tiles_of(l->n) >= int64_t{1} << 31) return GPK_ERR_ARGUMENT;
  return GPK_OK;
}

}  // namespace
}  // namespace gpk
