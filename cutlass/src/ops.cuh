// ops.cuh: code that the element-wise kernels and reductions share: vectors, the layouts that kernels support, and
// element types that are known at run time.
#pragma once
#include "launch.cuh"
#include "nest.cuh"
#include "ops_math.cuh"

namespace gpk {

template <class T, int N>
struct alignas(N * sizeof(T)) Vec {
  T v[N];
};

// Whether every row of an operand starts at a multiple of `elements` elements. If so, vectors of that length can be
// read along the innermost dimension.
inline bool rows_aligned(Nest const& t, int operand, int elements) {
  if (t.inner(operand) != 1) return false;
  if (reinterpret_cast<uintptr_t>(t.p[operand]) % (elements * t.size[operand]) != 0) return false;
  for (int d = 0; d + 1 < t.dims; ++d) {
    if (t.stride[operand][d] % elements != 0) return false;
  }
  return true;
}

// The layout of kernels on rows. The innermost dimension is dense in the destination. In each source it is dense or
// one repeated element (a broadcast row or column, or a scalar). Rows begin at vector boundaries.
template <int Operands>
struct Rows {
  char* p[Operands];
  bool splat[Operands];  // a row consists of one repeated element
  uint32_t vectors;      // vectors of all rows
  uint32_t tail;         // elements after the vectors; nonzero only if there is a single row
  Divider row;           // vectors per row
  Outer<Operands> outer;
};

// Whether the nest has that layout for vectors of `width` elements. If so, it fills in r. The operand number `scalar`
// is not an array.
template <int Operands>
bool make_rows(Nest const& t, int width, int scalar, Rows<Operands>* r) {
  int64_t const n = t.n[t.dims - 1];
  if (!rows_aligned(t, 0, width) || (t.dims > 1 && n % width != 0)) return false;
  for (int j = 0; j < Operands; ++j) {
    r->p[j] = t.p[j];
    r->splat[j] = t.inner(j) == 0 && n > 1;
    if (j > 0 && j != scalar && !r->splat[j] && !rows_aligned(t, j, width)) return false;
  }
  r->vectors = static_cast<uint32_t>(t.elements / width);
  r->tail = static_cast<uint32_t>(t.elements % width);
  r->row = Divider(static_cast<uint32_t>(n >= width ? n / width : 1));
  r->outer = outer_of<Operands>(t, 1u << (t.dims - 1));
  return true;
}

template <int Operands>
__device__ void vector_offsets(Rows<Operands> const& r, int width, uint32_t vector, int64_t (&off)[Operands]) {
  uint32_t i = vector;
#pragma unroll
  for (int j = 0; j < Operands; ++j) off[j] = 0;
  if (r.outer.dims > 0) r.outer.offsets(r.row.divide(vector, &i), off);
#pragma unroll
  for (int j = 0; j < Operands; ++j) off[j] += r.splat[j] ? 0 : static_cast<int64_t>(i) * width;
}

template <class T, int V, int Operands>
__device__ Vec<T, V> read(Rows<Operands> const& r, int operand, int64_t off) {
  T const* const p = reinterpret_cast<T const*>(r.p[operand]) + off;
  Vec<T, V> v;
  if constexpr (sizeof(T) == 2 && V == 8) {
    // Halves are read as words: otherwise the compiler would keep every half in a register of its own.
    uint4 w;
    if (r.splat[operand]) {
      w.x = *reinterpret_cast<uint16_t const*>(p) * 0x10001u;
      w = {w.x, w.x, w.x, w.x};
    } else {
      w = *reinterpret_cast<uint4 const*>(p);
    }
    memcpy(&v, &w, sizeof v);
  } else if (r.splat[operand]) {
    T const one = *p;
#pragma unroll
    for (int e = 0; e < V; ++e) v.v[e] = one;
  } else {
    v = *reinterpret_cast<Vec<T, V> const*>(p);
  }
  return v;
}

// A scalar operand, passed by value. `operand` is its number, or 0 if there is none.
struct Scalar {
  uint64_t lo, hi;
  int operand;

  template <class T>
  __device__ T as() const {
    uint64_t const both[] = {lo, hi};
    T v;
    memcpy(&v, both, sizeof v);
    return v;
  }
};

// An opaque element of a number of bytes.
template <int Bytes>
struct Blob;
template <>
struct Blob<1> {
  using type = uint8_t;
};
template <>
struct Blob<2> {
  using type = uint16_t;
};
template <>
struct Blob<4> {
  using type = uint32_t;
};
template <>
struct Blob<8> {
  using type = uint64_t;
};
template <>
struct Blob<16> {
  using type = ulonglong2;
};

// Tiles of two dimensions, of 2^bits by 2^(tile_bits - bits) elements, for kernels that accept any layout. Lanes are
// along the innermost dimension.
constexpr int tile_bits = 10;
template <int Operands>
struct Tiles {
  char* p[Operands];
  int bits;
  uint32_t n0, n1;
  int64_t s0[Operands], s1[Operands];
  Divider across, down;  // tiles along the two dimensions
  Outer<Operands> outer;
};

// Tiles span the innermost dimension and a second one. If a source is transposed, the second one is the dimension in
// which its elements are contiguous, so that a tile reads entire cache lines. Otherwise it is the longest one.
// Returns the number of tiles.
template <int Operands>
unsigned make_tiles(Nest const& t, Tiles<Operands>* p) {
  int const last = t.dims - 1;
  int second = last - 1;
  for (int d = last - 1; d >= 0; --d) {
    if (t.n[d] > t.n[second]) second = d;
  }
  bool transposed = false;
  for (int j = 1; j < Operands && !transposed; ++j) {
    if (t.inner(j) == 0 || t.inner(j) == 1) continue;
    for (int d = 0; d < last && !transposed; ++d) {
      if (t.stride[j][d] == 1 && t.n[d] >= 4 && t.n[d] * t.n[last] >= 512) second = d, transposed = true;
    }
  }
  p->n0 = static_cast<uint32_t>(t.n[last]);
  p->n1 = second < 0 ? 1 : static_cast<uint32_t>(t.n[second]);
  p->bits = 0;
  while (p->bits < (transposed ? tile_bits / 2 : tile_bits) && (1u << p->bits) < p->n0) ++p->bits;
  for (int j = 0; j < Operands; ++j) {
    p->p[j] = t.p[j];
    p->s0[j] = t.stride[j][last];
    p->s1[j] = second < 0 ? 0 : t.stride[j][second];
  }
  uint32_t const across = ((p->n0 - 1) >> p->bits) + 1, down = ((p->n1 - 1) >> (tile_bits - p->bits)) + 1;
  p->across = Divider(across);
  p->down = Divider(down);
  p->outer = outer_of<Operands>(t, 1u << last | (second < 0 ? 0 : 1u << second));
  return static_cast<unsigned>(t.elements / p->n0 / p->n1 * across * down);
}

// Calls f(number, whether the element exists, offsets) for each of this thread's elements of a tile.
template <int Operands, class F>
__device__ inline void for_each_in_tile(Tiles<Operands> const& p, F const& f) {
  uint32_t c, r;
  uint32_t const k = p.down.divide(p.across.divide(blockIdx.x, &c), &r);
  int64_t base[Operands] = {};
  p.outer.offsets(k, base);
#pragma unroll
  for (int j = 0; j < 1 << tile_bits; j += threads) {
    uint32_t const id = j + threadIdx.x;
    uint32_t const i0 = (c << p.bits) + (id & ((1u << p.bits) - 1));
    uint32_t const i1 = (r << (tile_bits - p.bits)) + (id >> p.bits);
    int64_t off[Operands];
#pragma unroll
    for (int l = 0; l < Operands; ++l) off[l] = base[l] + i0 * p.s0[l] + i1 * p.s1[l];
    f(j / threads, i0 < p.n0 && i1 < p.n1, off);
  }
}

// Calls f with a value of the C++ type of element type `type`.
template <class F>
int by_type(int type, F const& f) {
  switch (type) {
#define GPK_CASE(number, T) \
  case number: return f(T{});
    GPK_TYPES(GPK_CASE)
#undef GPK_CASE
  }
  return GPK_ERR_UNSUPPORTED;
}

// Returns the bytes of an element, or 0 for an unknown type.
inline int size_of(int type) {
  switch (type) {
#define GPK_CASE(number, T) \
  case number: return sizeof(T);
    GPK_TYPES(GPK_CASE)
#undef GPK_CASE
  }
  return 0;
}

__host__ __device__ constexpr bool is_integer_type(int type) {
  return (type >= GPK_I8 && type <= GPK_I64) || (type >= GPK_I16 && type <= GPK_U64);
}

// Integers and Bool.
__host__ __device__ constexpr bool is_integral_type(int type) { return type == GPK_BOOL || is_integer_type(type); }

// Returns the type of sums and products, as dtype.DType.SumType does.
inline int sum_type(int type) {
  return type == GPK_U16 || type == GPK_U32 || type == GPK_U64 ? GPK_U64 : is_integral_type(type) ? GPK_I64 : type;
}

// Returns the type whose kernels compute operations that do not depend on the sign of a type: operations that wrap,
// and comparisons for equality. For types of one byte each operation chooses.
inline int sign_free(int type) {
  return type == GPK_I16 ? GPK_U16 : type == GPK_U32 ? GPK_I32 : type == GPK_U64 ? GPK_I64 : type;
}
template <class T>
constexpr bool is_sign_free = !__is_same(T, int16_t) && !__is_same(T, uint32_t) && !__is_same(T, uint64_t);

}  // namespace gpk
