// ops_cast.cu: conversions, copies and transposes.
//
// If the types are equal, there are four kernels: `copy_rows` for rows that are dense in source and destination, with
// any alignment; `splat_rows` if each row of the source is one repeated element; `transpose` if the rows of the
// source are the columns of the destination; `copy_tiles` for all other layouts. If the types differ, there are two:
// `cast_rows` for dense, aligned rows, and `cast_tiles`, which switches on the types at run time, for all other
// layouts.
#include "index.cuh"
#include "ops.cuh"
#include "random.cuh"
#include "sort.cuh"
#include "splat.cuh"
#include "straddle.cuh"
#include "transpose.cuh"

namespace gpk {
namespace {

// ---- different types

template <class S, class D>
__global__ void __launch_bounds__(threads) cast_rows(Rows<2> r) {
  begin();
  constexpr int V = 16 / (sizeof(S) > sizeof(D) ? sizeof(S) : sizeof(D));
  uint32_t const first = blockIdx.x * blockDim.x + threadIdx.x;
  if (first < r.vectors) {
    int64_t off[2];
    vector_offsets(r, V, first, off);
    Vec<S, V> const x = read<S, V>(r, 1, off[1]);
    Vec<D, V> y;
#pragma unroll
    for (int e = 0; e < V; ++e) y.v[e] = convert<D>(x.v[e]);
    *reinterpret_cast<Vec<D, V>*>(reinterpret_cast<D*>(r.p[0]) + off[0]) = y;
  }
  if (first < r.tail) {
    uint32_t const i = r.vectors * V + first;
    reinterpret_cast<D*>(r.p[0])[i] = convert<D>(reinterpret_cast<S const*>(r.p[1])[r.splat[1] ? 0 : i]);
  }
}

// by_type in device code.
template <class F>
__device__ void by_type_on_device(int type, F const& f) {
  switch (type) {
#define GPK_CASE(number, T) \
  case number: return f(T{});
    GPK_TYPES(GPK_CASE)
#undef GPK_CASE
  }
}

// An element of any type, without loss. Integers are in i (a uint64_t as its bits), all other types in x.
struct Any {
  int64_t i;
  c128 x;
};

struct CastTiles {
  Tiles<2> tiles;
  int x_type, dst_type;
};

__global__ void __launch_bounds__(threads) cast_tiles(CastTiles p) {
  begin();
  bool const integral = is_integral_type(p.x_type);
  Any x[4];
  for_each_in_tile(p.tiles, [&](int u, bool in, int64_t const(&off)[2]) {
    if (!in) return;
    by_type_on_device(p.x_type, [&](auto type) {
      using S = decltype(type);
      S const v = reinterpret_cast<S const*>(p.tiles.p[1])[off[1]];
      if constexpr (__is_same(S, uint64_t)) {
        x[u].i = static_cast<int64_t>(v);
      } else if constexpr (is_integer<S> || __is_same(S, boolean)) {
        x[u].i = convert<int64_t>(v);
      } else {
        x[u].x = convert<c128>(v);
      }
    });
  });
  for_each_in_tile(p.tiles, [&](int u, bool in, int64_t const(&off)[2]) {
    if (!in) return;
    by_type_on_device(p.dst_type, [&](auto type) {
      using D = decltype(type);
      reinterpret_cast<D*>(p.tiles.p[0])[off[0]] = p.x_type == GPK_U64 ? convert<D>(static_cast<uint64_t>(x[u].i))
                                                   : integral             ? convert<D>(x[u].i)
                                                                       : convert<D>(x[u].x);
    });
  });
}

// The pairs of types that have cast_rows. int16 and the unsigned types wider than a byte have it only together with a
// frequent type. All other pairs use cast_tiles.
template <class T>
constexpr bool is_common = !__is_same(T, int16_t) && !__is_same(T, uint16_t) && !__is_same(T, uint32_t) && !__is_same(T, uint64_t);
template <class T>
constexpr bool frequent = __is_same(T, float) || __is_same(T, double) || __is_same(T, int32_t) || __is_same(T, int64_t);
template <class S, class D>
constexpr bool has_rows = (is_common<S> && is_common<D>) || frequent<S> || frequent<D>;

template <class S, class D>
int cast(Nest const& nest, int x_type, int dst_type, uint64_t stream) {
  return for_each_launch(nest, [&](Nest const& t) {
    if constexpr (has_rows<S, D>) {
      Rows<2> r;
      if (make_rows(t, 16 / (sizeof(S) > sizeof(D) ? sizeof(S) : sizeof(D)), 0, &r)) {
        return launch_for(cast_rows<S, D>, r.vectors, 1, stream, r);
      }
    }
    CastTiles p;
    p.x_type = x_type;
    p.dst_type = dst_type;
    unsigned const grid = make_tiles(t, &p.tiles);
    return launch(cast_tiles, grid, threads, stream, p);
  });
}

// ---- equal types: dense rows

// Rows of bytes. A thread writes an aligned granule of 16 bytes of the destination. If the alignments of the source
// row and of the destination row differ, it assembles the granule from the two source granules that overlap it. Both
// contain bytes of the row, so that nothing outside of an allocation is read.
struct CopyRows {
  char *dst, *src;
  int64_t bytes;      // bytes per row
  uint32_t granules;  // granules of all rows
  Divider row;        // granules that a row can overlap
  Outer<2> outer;     // strides in bytes
};

__global__ void __launch_bounds__(threads) copy_rows(CopyRows p) {
  begin();
  uint32_t const v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= p.granules) return;
  uint32_t i = v;
  int64_t off[2] = {};
  if (p.outer.dims > 0) p.outer.offsets(p.row.divide(v, &i), off);
  char* const dst = p.dst + off[0];
  int const before = static_cast<int>(reinterpret_cast<uintptr_t>(dst) % granule);
  int64_t const at = static_cast<int64_t>(i) * granule - before;
  // Bytes from ... until-1 of the granule belong to the row.
  int const from = at < 0 ? static_cast<int>(-at) : 0;
  int const until = p.bytes - at < granule ? static_cast<int>(p.bytes - at) : granule;
  if (until <= 0) return;
  char const* const src = p.src + off[1] + at;
  int const m = static_cast<int>(reinterpret_cast<uintptr_t>(src) % granule);
  uint4 const* const q = reinterpret_cast<uint4 const*>(src - m);
  uint4 x;
  if (m == 0) {
    x = *q;
  } else {
    uint4 lo = {}, hi = {};
    if (from < granule - m) lo = q[0];
    if (until > granule - m) hi = q[1];
    x = straddle(lo, hi, m);
  }
  if (until - from == granule) {
    *reinterpret_cast<uint4*>(dst + at) = x;
    return;
  }
  uint32_t const w[] = {x.x, x.y, x.z, x.w};
#pragma unroll
  for (int b = 0; b < granule; ++b) {
    if (b >= from && b < until) dst[at + b] = static_cast<char>(w[b / 4] >> b % 4 * 8);
  }
}

// ---- equal types: any layout

template <class T>
__global__ void __launch_bounds__(threads) copy_tiles(Tiles<2> p) {
  begin();
  T x[4];
  for_each_in_tile(p, [&](int u, bool in, int64_t const(&off)[2]) {
    if (in) x[u] = reinterpret_cast<T const*>(p.p[1])[off[1]];
  });
  for_each_in_tile(p, [&](int u, bool in, int64_t const(&off)[2]) {
    if (in) reinterpret_cast<T*>(p.p[0])[off[0]] = x[u];
  });
}

// Rows of fewer bytes than this are copied faster as tiles.
constexpr int64_t short_row = 64;

// Returns a dimension other than the innermost in which the source is contiguous, if the destination is contiguous in
// the innermost one. Returns -1 if there is none.
int transposed_dimension(Nest const& t) {
  int const last = t.dims - 1;
  if (t.inner(0) != 1 || t.inner(1) == 1 || t.n[last] < 16) return -1;
  for (int d = 0; d < last; ++d) {
    if (t.stride[1][d] == 1 && t.n[d] >= 16) return d;
  }
  return -1;
}

// Whether 16-byte vectors are aligned at the address of the operand and after any number of steps along every
// dimension except d.
bool aligned_except_along(Nest const& t, int operand, int d) {
  if (reinterpret_cast<uintptr_t>(t.p[operand]) % 16 != 0) return false;
  for (int i = 0; i < t.dims; ++i) {
    if (i != d && t.stride[operand][i] * t.size[operand] % 16 != 0) return false;
  }
  return true;
}

template <int Bytes>
int copy(Nest const& nest, uint64_t stream) {
  return for_each_launch(nest, [&](Nest const& t) {
    int const last = t.dims - 1;
    if (t.inner(0) == 1 && t.inner(1) == 1 && (t.dims == 1 || t.n[last] * Bytes >= short_row)) {
      CopyRows p;
      p.dst = t.p[0];
      p.src = t.p[1];
      p.bytes = t.n[last] * Bytes;
      bool const aligned = aligned_except_along(t, 0, last);
      int64_t const row = (p.bytes + (aligned ? 0 : granule - 1) + granule - 1) / granule;
      p.row = Divider(static_cast<uint32_t>(row));
      p.granules = static_cast<uint32_t>(row * (t.elements / t.n[last]));
      p.outer = outer_of<2>(t, 1u << last);
      for (int j = 0; j < 2; ++j) {
        for (int d = 0; d < p.outer.dims; ++d) p.outer.stride[j][d] *= Bytes;
      }
      return launch_for(copy_rows, p.granules, 1, stream, p);
    }
    int code;
    if (splat<Bytes>(t, 0, 0, stream, &code)) return code;
    int const second = transposed_dimension(t);
    if (second >= 0) {
      using T = TransposeTile<Bytes>;
      Transpose p;
      p.dst = t.p[0];
      p.src = t.p[1];
      p.rows = static_cast<uint32_t>(t.n[last]);
      p.columns = static_cast<uint32_t>(t.n[second]);
      p.sr = t.stride[1][last];
      p.dc = t.stride[0][second];
      p.vectors_in = aligned_except_along(t, 1, second);
      p.vectors_out = aligned_except_along(t, 0, last);
      uint32_t const across = (p.columns - 1) / T::columns + 1, down = (p.rows - 1) / T::rows + 1;
      p.across = Divider(across);
      p.down = Divider(down);
      p.batch = outer_of<2>(t, 1u << last | 1u << second);
      int64_t const grid = t.elements / p.rows / p.columns * across * down;
      return launch(transpose<Bytes>, static_cast<unsigned>(grid), threads, stream, p);
    }
    Tiles<2> p;
    unsigned const grid = make_tiles(t, &p);
    return launch(copy_tiles<typename Blob<Bytes>::type>, grid, threads, stream, p);
  });
}

}  // namespace
}  // namespace gpk

using namespace gpk;

int gpk_cast(int device, uint64_t stream, int x_type, int dst_type, int ndim, int64_t const* shape, uint64_t x,
             int64_t const* x_strides, uint64_t dst, int64_t const* dst_strides) {
  if (size_of(x_type) == 0 || size_of(dst_type) == 0) return GPK_ERR_UNSUPPORTED;
  Nest t;
  Operand const ops[] = {{dst, dst_strides, size_of(dst_type)}, {x, x_strides, size_of(x_type)}};
  int code = make_nest(&t, ndim, shape, 2, ops);
  if (code != GPK_OK || t.elements == 0) return code;
  code = set_device(device);
  if (code != GPK_OK) return code;
  if (x_type == dst_type) {
    switch (size_of(dst_type)) {
      case 1: return copy<1>(t, stream);
      case 2: return copy<2>(t, stream);
      case 4: return copy<4>(t, stream);
      case 8: return copy<8>(t, stream);
      default: return copy<16>(t, stream);
    }
  }
  return by_type(x_type, [&](auto from) {
    return by_type(dst_type, [&](auto to) -> int {
      using S = decltype(from);
      using D = decltype(to);
      if constexpr (__is_same(S, D)) {
        return GPK_ERR_UNSUPPORTED;  // copied above
      } else {
        return cast<S, D>(t, x_type, dst_type, stream);
      }
    });
  });
}
