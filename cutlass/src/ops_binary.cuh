// ops_binary.cuh: element-wise operations on two operands, one of which may be a scalar.
#pragma once
#include "ops.cuh"

namespace gpk {
namespace {

struct BinaryRows {
  Rows<3> rows;
  Scalar scalar;
};
struct BinaryTiles {
  Tiles<3> tiles;
  Scalar scalar;
};

template <class T, int V>
__device__ Vec<T, V> read(BinaryRows const& p, int operand, int64_t off) {
  if (p.scalar.operand != operand) return read<T, V>(p.rows, operand, off);
  Vec<T, V> v;
#pragma unroll
  for (int e = 0; e < V; ++e) v.v[e] = p.scalar.as<T>();
  return v;
}

template <class Op, class T, class D>
__global__ void __launch_bounds__(threads) binary_rows(BinaryRows p) {
  constexpr int V = 16 / sizeof(T);
  Rows<3> const& r = p.rows;
  uint32_t const first = blockIdx.x * blockDim.x + threadIdx.x;
  int64_t off[3] = {};
  if (first < r.vectors) vector_offsets(r, V, first, off);
  begin_early(off[0], off[1], off[2], reinterpret_cast<intptr_t>(r.p[0]), reinterpret_cast<intptr_t>(r.p[1]),
              reinterpret_cast<intptr_t>(r.p[2]), r.splat[1], r.splat[2], p.scalar.operand, p.scalar.lo, r.tail);
  if (first < r.vectors) {
    Vec<T, V> const x = read<T, V>(p, 1, off[1]), y = read<T, V>(p, 2, off[2]);
    Vec<D, V> z;
#pragma unroll
    for (int e = 0; e < V; ++e) z.v[e] = combine<Op, T, D>(x.v[e], y.v[e]);
    *reinterpret_cast<Vec<D, V>*>(reinterpret_cast<D*>(r.p[0]) + off[0]) = z;
  }
  if (first < r.tail) {
    uint32_t const i = r.vectors * V + first;
    T const a = read<T, 1>(p, 1, r.splat[1] ? 0 : i).v[0], b = read<T, 1>(p, 2, r.splat[2] ? 0 : i).v[0];
    reinterpret_cast<D*>(r.p[0])[i] = combine<Op, T, D>(a, b);
  }
}

template <class Op, class T, class D>
__global__ void __launch_bounds__(threads) binary_tiles(BinaryTiles p) {
  begin_early();
  T x[4], y[4];
  for_each_in_tile(p.tiles, [&](int u, bool in, int64_t const(&off)[3]) {
    if (!in) return;
    x[u] = p.scalar.operand == 1 ? p.scalar.as<T>() : reinterpret_cast<T const*>(p.tiles.p[1])[off[1]];
    y[u] = p.scalar.operand == 2 ? p.scalar.as<T>() : reinterpret_cast<T const*>(p.tiles.p[2])[off[2]];
  });
  for_each_in_tile(p.tiles, [&](int u, bool in, int64_t const(&off)[3]) {
    if (in) reinterpret_cast<D*>(p.tiles.p[0])[off[0]] = combine<Op, T, D>(x[u], y[u]);
  });
}

template <class Op, class T, class D = T>
int binary(Nest const& nest, Scalar const& scalar, uint64_t stream) {
  return for_each_launch(nest, [&](Nest const& t) {
    BinaryRows r;
    r.scalar = scalar;
    if (make_rows(t, 16 / sizeof(T), scalar.operand, &r.rows)) {
      return launch_for(binary_rows<Op, T, D>, r.rows.vectors, 1, stream, r);
    }
    BinaryTiles p;
    p.scalar = scalar;
    unsigned const grid = make_tiles(t, &p.tiles);
    return launch(binary_tiles<Op, T, D>, grid, threads, stream, p);
  });
}

}  // namespace
}  // namespace gpk
