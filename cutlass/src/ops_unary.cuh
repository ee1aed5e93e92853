// ops_unary.cuh: element-wise operations on one operand.
#pragma once
#include "ops.cuh"

namespace gpk {
namespace {

// Vectors that a thread has in flight. One vector reaches the memory's bandwidth and is fastest (H200: Add of half
// types at 4.38 TB/s; 3.94 with four). The smooth operations of float are bound by arithmetic. They are fastest with
// two vectors and a bound on registers.
template <class Op, class T>
constexpr int vectors_per_thread = is_smooth<Op> && !is_half<T> && !__is_same(Op, GELUTanh) ? 2 : 1;

// The minimum number of blocks per multiprocessor for __launch_bounds__; 1 sets no bound.
template <class Op, class T>
constexpr int unary_blocks = !is_smooth<Op> || sizeof(T) == 8 ? 1 : __is_same(Op, GELUTanh) && !is_half<T> ? 8 : 6;

// Applies Op to N elements. The result type D is T or, for a complex T, its real type.
template <class Op, class T, class D, int N>
__device__ void apply_to(T (&x)[N], D (&y)[N]) {
  if constexpr (__is_same(T, D)) {
    apply<Op>(x);
#pragma unroll
    for (int e = 0; e < N; ++e) y[e] = x[e];
  } else {
#pragma unroll
    for (int e = 0; e < N; ++e) y[e] = Op::apply(x[e]);
  }
}

template <class Op, class T, class D>
__global__ void __launch_bounds__(threads, unary_blocks<Op, T>) unary_rows(Rows<2> r) {
  constexpr int V = 16 / sizeof(T), per_thread = vectors_per_thread<Op, T>;
  Vec<T, V> x[per_thread];
  int64_t off[per_thread][2] = {};
  uint32_t const first = blockIdx.x * blockDim.x * per_thread + threadIdx.x;
#pragma unroll
  for (int u = 0; u < per_thread; ++u) {
    if (first + u * blockDim.x < r.vectors) vector_offsets(r, V, first + u * blockDim.x, off[u]);
  }
  begin_early(off[0][0], off[0][1], off[per_thread - 1][0], off[per_thread - 1][1],
              reinterpret_cast<intptr_t>(r.p[0]), reinterpret_cast<intptr_t>(r.p[1]), r.splat[1], r.tail);
#pragma unroll
  for (int u = 0; u < per_thread; ++u) {
    if (first + u * blockDim.x < r.vectors) x[u] = read<T, V>(r, 1, off[u][1]);
  }
#pragma unroll
  for (int u = 0; u < per_thread; ++u) {
    if (first + u * blockDim.x >= r.vectors) continue;
    Vec<D, V> y;
    apply_to<Op>(x[u].v, y.v);
    *reinterpret_cast<Vec<D, V>*>(reinterpret_cast<D*>(r.p[0]) + off[u][0]) = y;
  }
  if (first < r.tail) {
    uint32_t const i = r.vectors * V + first;
    T one[] = {reinterpret_cast<T const*>(r.p[1])[r.splat[1] ? 0 : i]};
    D y[1];
    apply_to<Op>(one, y);
    reinterpret_cast<D*>(r.p[0])[i] = y[0];
  }
}

struct Contiguous {
  char const* x;
  char* dst;
  uint32_t vectors, tail;
};

// Threads per block of unary_contiguous, its vectors per thread, and its minimum number of blocks per multiprocessor.
template <class T>
constexpr int contiguous_threads = is_half<T> ? 128 : 64;
template <class T>
constexpr int contiguous_vectors = is_half<T> ? 2 : 4;
template <class T>
constexpr int contiguous_blocks = is_half<T> ? 12 : 20;

// A smooth operation on at least 4 MiB of contiguous elements. This may be less than one wave: the blocks that are
// resident on an H200 process 10 MiB of float, or 6 MiB of halves. The arithmetic takes about as long as the memory
// traffic, so that index computations would slow down the kernel. Blocks are small and short: some read while others
// compute, and the addresses in use at a time are close together. (H200 at its power limit: GELU of float at 4.16
// TB/s, and 3.9 as a loop over eight vectors; GELU of bfloat16 at 4.25.)
template <class Op, class T>
__global__ void __launch_bounds__(contiguous_threads<T>, contiguous_blocks<T>) unary_contiguous(Contiguous p) {
  begin_early();
  constexpr int V = 16 / sizeof(T), block = contiguous_threads<T>, per_thread = contiguous_vectors<T>;
  uint32_t const first = blockIdx.x * (block * per_thread) + threadIdx.x;
  Vec<T, V> const* const x = reinterpret_cast<Vec<T, V> const*>(p.x) + first;
  Vec<T, V>* const y = reinterpret_cast<Vec<T, V>*>(p.dst) + first;
  if ((blockIdx.x + 1) * (block * per_thread) <= p.vectors) {
    Vec<T, V> v[per_thread];
#pragma unroll
    for (int u = 0; u < per_thread; ++u) v[u] = x[u * block];
#pragma unroll
    for (int u = 0; u < per_thread; ++u) {
      apply<Op>(v[u].v);
      y[u * block] = v[u];
    }
    return;
  }
  // The last block is partial.
#pragma unroll 1
  for (int u = 0; u < per_thread && first + u * block < p.vectors; ++u) {
    Vec<T, V> v = x[u * block];
    apply<Op>(v.v);
    y[u * block] = v;
  }
  if (threadIdx.x < p.tail) {
    uint32_t const i = p.vectors * V + threadIdx.x;
    T one[] = {reinterpret_cast<T const*>(p.x)[i]};
    apply<Op>(one);
    reinterpret_cast<T*>(p.dst)[i] = one[0];
  }
}

template <class Op, class T, class D>
__global__ void __launch_bounds__(threads) unary_tiles(Tiles<2> p) {
  begin_early();
  T x[4] = {};
  D y[4];
  for_each_in_tile(p, [&](int u, bool in, int64_t const(&off)[2]) {
    if (in) x[u] = reinterpret_cast<T const*>(p.p[1])[off[1]];
  });
  apply_to<Op>(x, y);
  for_each_in_tile(p, [&](int u, bool in, int64_t const(&off)[2]) {
    if (in) reinterpret_cast<D*>(p.p[0])[off[0]] = y[u];
  });
}

template <class Op, class T, class D = T>
int unary(Nest const& nest, uint64_t stream) {
  return for_each_launch(nest, [&](Nest const& t) {
    Rows<2> r;
    if (make_rows(t, 16 / sizeof(T), 0, &r)) {
      if constexpr (is_smooth<Op> && sizeof(T) <= 4) {
        if (r.outer.dims == 0 && !r.splat[1] && r.vectors >= 1u << 18) {
          constexpr int block = contiguous_threads<T>;
          Contiguous const p = {r.p[1], r.p[0], r.vectors, r.tail};
          return launch(unary_contiguous<Op, T>, r.vectors / (block * contiguous_vectors<T>) + 1, block, stream, p);
        }
      }
      return launch_for(unary_rows<Op, T, D>, r.vectors, vectors_per_thread<Op, T>, stream, r);
    }
    Tiles<2> p;
    unsigned const grid = make_tiles(t, &p);
    return launch(unary_tiles<Op, T, D>, grid, threads, stream, p);
  });
}

}  // namespace
}  // namespace gpk
