// ops_cast.cu: conversions, copies and transposes.
//
// For equal types: `copy_rows` if rows are dense on both sides, with any alignment; `splat_rows` if each row of the
// source is one repeated element; `transpose` if the source's rows are the destination's columns; `copy_tiles` for
// all other layouts. For different types: `cast_rows` for dense, aligned rows; `cast_tiles`, which switches on the
// types at run time, for all other layouts.
#include "index.cuh"
#include "ops.cuh"
#include "random.cuh"
#include "sort.cuh"
#include "splat.cuh"
#include "straddle.cuh"

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
    place(r, V, first, off);
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

// by_type for kernels.
template <class F>
__device__ void by_type_here(int type, F const& f) {
  switch (type) {
#define GPK_CASE(number, T) \
  case number: return f(T{});
    GPK_TYPES(GPK_CASE)
#undef GPK_CASE
  }
}

// An element of any type without loss: integers are in i, those of uint64_t as their bits, all other types in x.
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
  bool const whole = is_whole_type(p.x_type);
  Any x[4];
  in_tile(p.tiles, [&](int u, bool in, int64_t const(&off)[2]) {
    if (!in) return;
    by_type_here(p.x_type, [&](auto type) {
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
  in_tile(p.tiles, [&](int u, bool in, int64_t const(&off)[2]) {
    if (!in) return;
    by_type_here(p.dst_type, [&](auto type) {
      using D = decltype(type);
      reinterpret_cast<D*>(p.tiles.p[0])[off[0]] = p.x_type == GPK_U64 ? convert<D>(static_cast<uint64_t>(x[u].i))
                                                   : whole             ? convert<D>(x[u].i)
                                                                       : convert<D>(x[u].x);
    });
  });
}

// The pairs of types that have cast_rows. Of int16 and the wider unsigned types, these are the pairs with a frequent
// type; the others take cast_tiles.
template <class T>
constexpr bool is_first = !__is_same(T, int16_t) && !__is_same(T, uint16_t) && !__is_same(T, uint32_t) && !__is_same(T, uint64_t);
template <class T>
constexpr bool frequent = __is_same(T, float) || __is_same(T, double) || __is_same(T, int32_t) || __is_same(T, int64_t);
template <class S, class D>
constexpr bool has_rows = (is_first<S> && is_first<D>) || frequent<S> || frequent<D>;

template <class S, class D>
int cast(Nest const& nest, int x_type, int dst_type, uint64_t stream) {
  return in_pieces(nest, [&](Nest const& t) {
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

// Rows of bytes. A thread writes aligned granules of 16 bytes of the destination. If the alignments of the source row
// and the destination row differ, it assembles a granule from the two source granules that overlap it. Both of these
// hold bytes of the row, so that nothing beyond an allocation is read.
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
  // The first byte of the granule that belongs to the row.
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

// ---- equal types: transposed

// Source element (r, c) lies at src + r*sr + c and goes to dst + c*dc + r.
struct Transpose {
  char *dst, *src;
  uint32_t rows, columns;
  int64_t sr, dc;           // in elements
  bool vectors_in, vectors_out;
  Divider down, across;     // tiles along the rows, which vary fastest, and along the columns
  Outer<2> batch;
};

// A tile in shared memory consists of words. A word is an element or, for elements below 4 bytes, the elements of one
// column in `pack` rows. So both sides move vectors of 16 bytes: a read along a row combines `pack` vectors into
// 16/Bytes words, and a write stores the words of a column, which are neighbours in the destination.
template <int Bytes>
struct TransposeTile {
  using Element = typename Blob<Bytes>::type;
  using Word = typename Blob<(Bytes < 4 ? 4 : Bytes)>::type;
  static constexpr int pack = Bytes < 4 ? 4 / Bytes : 1;
  static constexpr int width = 16 / Bytes;                              // elements per vector
  static constexpr int words = 16 / static_cast<int>(sizeof(Word));     // words per vector
  static constexpr int rows = Bytes == 4 ? 64 : 32 * pack;
  static constexpr int columns = Bytes == 16 ? 32 : Bytes == 2 || Bytes == 1 ? 128 : 64;
};

// Packs vectors from `pack` rows into one word per column.
__device__ inline void pack_words(uint4 const (&v)[1], uint32_t (&w)[4]) {
  w[0] = v[0].x, w[1] = v[0].y, w[2] = v[0].z, w[3] = v[0].w;
}
__device__ inline void pack_words(uint4 const (&v)[1], uint64_t (&w)[2]) {
  w[0] = v[0].x | static_cast<uint64_t>(v[0].y) << 32;
  w[1] = v[0].z | static_cast<uint64_t>(v[0].w) << 32;
}
__device__ inline void pack_words(uint4 const (&v)[1], ulonglong2 (&w)[1]) {
  uint64_t two[2];
  pack_words(v, two);
  w[0] = {two[0], two[1]};
}
__device__ inline void pack_words(uint4 const (&v)[2], uint32_t (&w)[8]) {
  uint32_t const a[] = {v[0].x, v[0].y, v[0].z, v[0].w}, b[] = {v[1].x, v[1].y, v[1].z, v[1].w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    w[2 * i] = __byte_perm(a[i], b[i], 0x5410);
    w[2 * i + 1] = __byte_perm(a[i], b[i], 0x7632);
  }
}
__device__ inline void pack_words(uint4 const (&v)[4], uint32_t (&w)[16]) {
  uint32_t const a[] = {v[0].x, v[0].y, v[0].z, v[0].w}, b[] = {v[1].x, v[1].y, v[1].z, v[1].w};
  uint32_t const c[] = {v[2].x, v[2].y, v[2].z, v[2].w}, d[] = {v[3].x, v[3].y, v[3].z, v[3].w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    uint32_t const ab = __byte_perm(a[i], b[i], 0x5140), cd = __byte_perm(c[i], d[i], 0x5140);
    uint32_t const ef = __byte_perm(a[i], b[i], 0x7362), gh = __byte_perm(c[i], d[i], 0x7362);
    w[4 * i] = __byte_perm(ab, cd, 0x5410);
    w[4 * i + 1] = __byte_perm(ab, cd, 0x7632);
    w[4 * i + 2] = __byte_perm(ef, gh, 0x5410);
    w[4 * i + 3] = __byte_perm(ef, gh, 0x7632);
  }
}

template <int Bytes>
__global__ void __launch_bounds__(threads) transpose(Transpose p) {
  begin();
  using T = TransposeTile<Bytes>;
  using Element = typename T::Element;
  using Word = typename T::Word;
  constexpr int tall = T::rows / T::pack, pitch = T::columns + 1;
  __shared__ Word tile[tall * pitch];

  uint32_t tc, tr;
  int64_t off[2] = {};
  p.batch.offsets(p.across.divide(p.down.divide(blockIdx.x, &tr), &tc), off);
  uint32_t const r0 = tr * T::rows, c0 = tc * T::columns;
  Element const* const src = reinterpret_cast<Element const*>(p.src) + off[1] + r0 * p.sr + c0;
  Element* const dst = reinterpret_cast<Element*>(p.dst) + off[0] + c0 * p.dc + r0;
  int const rows = min(p.rows - r0, static_cast<uint32_t>(T::rows));
  int const columns = min(p.columns - c0, static_cast<uint32_t>(T::columns));
  int const id = threadIdx.x;

  if (p.vectors_in && columns == T::columns) {
    // Eight lanes read 128 bytes of a row.
    constexpr int across = T::columns / T::width, units = tall * across / threads;
    uint4 v[units][T::pack];
#pragma unroll
    for (int u = 0; u < units; ++u) {
      int const unit = id + u * threads, q = unit / across, c = unit % across * T::width;
#pragma unroll
      for (int k = 0; k < T::pack; ++k) {
        int const r = q * T::pack + k;
        v[u][k] = r < rows ? *reinterpret_cast<uint4 const*>(src + r * p.sr + c) : uint4{};
      }
    }
#pragma unroll
    for (int u = 0; u < units; ++u) {
      int const unit = id + u * threads, q = unit / across, c = unit % across * T::width;
      Word w[T::width];
      pack_words(v[u], w);
#pragma unroll
      for (int e = 0; e < T::width; ++e) tile[q * pitch + c + e] = w[e];
    }
  } else {
    constexpr int total = T::rows * T::columns;
#pragma unroll 8
    for (int i = id; i < total; i += threads) {
      int const r = i / T::columns, c = i % T::columns;
      if (r < rows && c < columns) {
        reinterpret_cast<Element*>(&tile[r / T::pack * pitch + c])[r % T::pack] = src[r * p.sr + c];
      }
    }
  }
  __syncthreads();
  if (p.vectors_out && rows == T::rows) {
    constexpr int across = tall / T::words, units = T::columns * across / threads;
#pragma unroll
    for (int u = 0; u < units; ++u) {
      int const unit = id + u * threads, c = unit / across, q = unit % across * T::words;
      if (c >= columns) continue;
      Vec<Word, T::words> v;
#pragma unroll
      for (int e = 0; e < T::words; ++e) v.v[e] = tile[(q + e) * pitch + c];
      *reinterpret_cast<Vec<Word, T::words>*>(dst + c * p.dc + q * T::pack) = v;
    }
  } else {
    constexpr int total = T::rows * T::columns;
#pragma unroll 8
    for (int i = id; i < total; i += threads) {
      int const c = i / T::rows, r = i % T::rows;
      if (r < rows && c < columns) {
        dst[c * p.dc + r] = reinterpret_cast<Element const*>(&tile[r / T::pack * pitch + c])[r % T::pack];
      }
    }
  }
}

// ---- equal types: anything

template <class T>
__global__ void __launch_bounds__(threads) copy_tiles(Tiles<2> p) {
  begin();
  T x[4];
  in_tile(p, [&](int u, bool in, int64_t const(&off)[2]) {
    if (in) x[u] = reinterpret_cast<T const*>(p.p[1])[off[1]];
  });
  in_tile(p, [&](int u, bool in, int64_t const(&off)[2]) {
    if (in) reinterpret_cast<T*>(p.p[0])[off[0]] = x[u];
  });
}

// Rows shorter than this are faster as tiles.
constexpr int64_t short_row = 64;

// A dimension other than the innermost in which the source's elements are contiguous, where the destination's are
// contiguous in the innermost one; -1 if there is none.
int turned(Nest const& t) {
  int const last = t.dims - 1;
  if (t.inner(0) != 1 || t.inner(1) == 1 || t.n[last] < 16) return -1;
  for (int d = 0; d < last; ++d) {
    if (t.stride[1][d] == 1 && t.n[d] >= 16) return d;
  }
  return -1;
}

// Whether vectors of 16 bytes are aligned at the operand's address and after any number of steps along all dimensions
// but d.
bool aligned_but(Nest const& t, int operand, int d) {
  if (reinterpret_cast<uintptr_t>(t.p[operand]) % 16 != 0) return false;
  for (int i = 0; i < t.dims; ++i) {
    if (i != d && t.stride[operand][i] * t.size[operand] % 16 != 0) return false;
  }
  return true;
}

template <int Bytes>
int copy(Nest const& nest, uint64_t stream) {
  return in_pieces(nest, [&](Nest const& t) {
    int const last = t.dims - 1;
    if (t.inner(0) == 1 && t.inner(1) == 1 && (t.dims == 1 || t.n[last] * Bytes >= short_row)) {
      CopyRows p;
      p.dst = t.p[0];
      p.src = t.p[1];
      p.bytes = t.n[last] * Bytes;
      bool const aligned = aligned_but(t, 0, last);
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
    int const turn = turned(t);
    if (turn >= 0) {
      using T = TransposeTile<Bytes>;
      Transpose p;
      p.dst = t.p[0];
      p.src = t.p[1];
      p.rows = static_cast<uint32_t>(t.n[last]);
      p.columns = static_cast<uint32_t>(t.n[turn]);
      p.sr = t.stride[1][last];
      p.dc = t.stride[0][turn];
      p.vectors_in = aligned_but(t, 1, turn);
      p.vectors_out = aligned_but(t, 0, last);
      uint32_t const across = (p.columns - 1) / T::columns + 1, down = (p.rows - 1) / T::rows + 1;
      p.across = Divider(across);
      p.down = Divider(down);
      p.batch = outer_of<2>(t, 1u << last | 1u << turn);
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
