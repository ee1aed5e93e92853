// sum_terms.cuh: the parameters of a sum, and its terms: their addresses, loads, and sums of one chunk.
#pragma once
#include "ops.cuh"
#include "reduce.cuh"

namespace gpk {

static_assert(threads == 32 * warps);

struct Sum {
  char const* x;
  double divisor;              // the divisor for Mean; 0: none
  char* out;                   // results, or partial sums
  int64_t sums;                // number of sums
  int64_t terms;               // terms per sum
  int64_t groups;              // branches (ranges of terms) per sum; 1: no partial sums
  int64_t per_group;           // chunks per branch, a power of two
  int64_t per_warp;            // rows: chunks per warp of a branch
  int slices;                  // rows: warps that share a branch; columns: threads that share a sum
  int per_slice;               // columns: lanes of a chunk per thread
  int width;                   // columns: neighbouring threads with neighbouring sums
  int lanes_per_sum;           // short: lanes of a warp that share a sum
  bool vectors;                // loads are vectors of 16 bytes
  int kept_dims, summed_dims;  // innermost first
  int64_t kept_n[GPK_MAX_DIMS], kept_stride[GPK_MAX_DIMS];
  int64_t summed_n[GPK_MAX_DIMS], summed_stride[GPK_MAX_DIMS];
};

// Returns the offset of element i of a nest of dimensions, innermost first. It is not inlined: its divisions would be
// duplicated for every term that a thread reads.
static __device__ __noinline__ int64_t nested_offset(int dims, int64_t const* n, int64_t const* stride, int64_t i) {
  int64_t off = 0;
  for (int d = 0; d < dims; ++d) {
    if (((i | n[d]) >> 32) == 0) {
      uint32_t const a = static_cast<uint32_t>(i), b = static_cast<uint32_t>(n[d]);
      off += a % b * stride[d];
      i = a / b;
    } else {
      off += i % n[d] * stride[d];
      i /= n[d];
    }
  }
  return off;
}

__device__ inline int64_t kept_offset(Sum const& p, int64_t sum) {
  return p.kept_dims == 1 ? sum * p.kept_stride[0] : nested_offset(p.kept_dims, p.kept_n, p.kept_stride, sum);
}

__device__ inline int64_t term_offset(Sum const& p, int64_t i) {
  return p.summed_dims == 1 ? i * p.summed_stride[0] : nested_offset(p.summed_dims, p.summed_n, p.summed_stride, i);
}

template <class T, class A>
__device__ inline void store(Sum const& p, int64_t i, A v) {
  using R = typename accumulator<T>::result;
  if (p.groups > 1) {
    reinterpret_cast<A*>(p.out)[i] = v;
  } else {
    reinterpret_cast<R*>(p.out)[i] = rounded<R>(v, p.divisor);
  }
}


// Sets a vector to neutral terms.
template <class T, int V>
__device__ inline void clear(Vec<T, V>& v) {
#pragma unroll
  for (int e = 0; e < V; ++e) v.v[e] = neutral_term<T>();
}

// Loads terms i ... i+present-1 of a sum over several dimensions.
template <class T>
__device__ __noinline__ Vec<T, vector_width<T>> terms_at_offsets(Sum const& p, T const* x, int64_t i, int present) {
  Vec<T, vector_width<T>> v;
  gpk::clear(v);
#pragma unroll
  for (int e = 0; e < vector_width<T>; ++e) {
    if (e < present) v.v[e] = x[nested_offset(p.summed_dims, p.summed_n, p.summed_stride, i + e)];
  }
  return v;
}

// Loads 16 bytes that no other thread needs, without allocating them in L1: sums of columns are 3 to 6 % faster.
__device__ inline uint4 read_once(void const* x) {
  uint4 v;
  asm volatile("ld.global.L1::no_allocate.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(x));
  return v;
}

// W neighbouring elements. Halves are kept as words: in a Vec that is loaded conditionally, the compiler would keep
// every half in a register of its own.
template <class T, int W>
struct Loaded {
  Vec<T, W> v;
  __device__ void clear() { gpk::clear(v); }
  __device__ void load(T const* x) {
    if constexpr (sizeof v == 16) {
      uint4 const w = read_once(x);
      memcpy(&v, &w, sizeof v);
    } else {
      v = *reinterpret_cast<Vec<T, W> const*>(x);
    }
  }
  template <class A>
  __device__ A get(int e) const {
    return term<A>(v.v[e]);
  }
};
template <class T>
struct LoadedHalves {
  uint4 v;
  __device__ void clear() { v = {0x80008000, 0x80008000, 0x80008000, 0x80008000}; }
  __device__ void load(T const* x) { v = read_once(x); }
  template <class A>
  __device__ A get(int e) const {
    uint32_t const w[] = {v.x, v.y, v.z, v.w};
    return term<A>(T{static_cast<uint16_t>(w[e / 2] >> e % 2 * 16)});
  }
};
template <>
struct Loaded<f16, 8> : LoadedHalves<f16> {};
template <>
struct Loaded<bf16, 8> : LoadedHalves<bf16> {};

template <class A, class T, int W>
__device__ inline A term_at(Vec<T, W> const& v, int e) {
  return term<A>(v.v[e]);
}
template <class A, class T, int W>
__device__ inline A term_at(Loaded<T, W> const& v, int e) {
  return v.template get<A>(e);
}

// Loads those of the terms i ... i+V-1 that exist.
template <class T>
__device__ inline void load_terms(Sum const& p, T const* x, int64_t i, Vec<T, vector_width<T>>& v) {
  constexpr int V = vector_width<T>;
  int64_t const left = p.terms - i;
  clear(v);
  if (p.vectors && left >= V) {
    v = *reinterpret_cast<Vec<T, V> const*>(x + term_offset(p, i));
  } else if (p.summed_dims == 1) {
    T const* const at = x + i * p.summed_stride[0];
#pragma unroll
    for (int e = 0; e < V; ++e) {
      if (e < left) v.v[e] = at[e * p.summed_stride[0]];
    }
  } else if (left > 0) {
    v = terms_at_offsets(p, x, i, left < V ? static_cast<int>(left) : V);
  }
}

// Returns the sum of R rows of vectors.
template <int R, class A, class T, class L>
__device__ inline A sum_vectors(L const* v) {
  constexpr int V = vector_width<T>;
  if constexpr (is_integer<T> || __is_same(T, boolean)) {
    // The order of integer additions does not matter. Sums of single bytes fit in an int here.
    using Part = decltype(sizeof(T) == 1 ? int{} : 0ull);
    Part sum = 0;
#pragma unroll
    for (int k = 0; k < R; ++k) {
#pragma unroll
      for (int e = 0; e < V; ++e) sum += static_cast<Part>(term_at<A>(v[k], e));
    }
    return static_cast<A>(sum);
  } else {
    A lane_sum[V];
#pragma unroll
    for (int e = 0; e < V; ++e) {
      A row[R];
#pragma unroll
      for (int k = 0; k < R; ++k) row[k] = term_at<A>(v[k], e);
      pairs<R>(row);
      lane_sum[e] = row[0];
    }
    pairs<V>(lane_sum);
    return lane_sum[0];
  }
}

// Returns a lane's part of the sum of a chunk of contiguous terms, which are vectors. `left` terms remain from x.
template <class A, class T>
__device__ inline A sum_dense_chunk(T const* x, int64_t left) {
  Loaded<T, vector_width<T>> v[chunk_rows];
#pragma unroll
  for (int k = 0; k < chunk_rows; ++k) {
    v[k].clear();
    if (k * lanes<T> < left) v[k].load(x + k * lanes<T>);
  }
  return sum_vectors<chunk_rows, A, T>(v);
}

// The same for a chunk all of whose terms exist.
template <class A, class T>
__device__ inline A sum_full_chunk(T const* x) {
  Loaded<T, vector_width<T>> v[chunk_rows];
#pragma unroll
  for (int k = 0; k < chunk_rows; ++k) v[k].load(x + k * lanes<T>);
  return sum_vectors<chunk_rows, A, T>(v);
}

// The same for a chunk with any layout.
template <class A, class T>
__device__ inline A sum_any_chunk(Sum const& p, T const* x, int64_t first) {
  Vec<T, vector_width<T>> v[chunk_rows];
#pragma unroll
  for (int k = 0; k < chunk_rows; ++k) load_terms(p, x, first + k * lanes<T>, v[k]);
  return sum_vectors<chunk_rows, A, T>(v);
}

}  // namespace gpk
