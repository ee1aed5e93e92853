// ops_ternary.cuh: element-wise operations on three operands.
#pragma once
#include "ops.cuh"

namespace gpk {
namespace {

// The operations, by their numbers in package expr.
enum { op_where = 150, op_clamp };

struct Triple {
  uint64_t scalar[4][2];  // values of the scalars among operands 2 and 3
  int scalars;            // bit j: operand j is a scalar
};
struct TernaryRows {
  Rows<4> rows;
  Triple triple;
};
struct TernaryTiles {
  Tiles<4> tiles;
  Triple triple;
};

template <class T>
__device__ T scalar_of(Triple const& t, int operand) {
  T v;
  memcpy(&v, t.scalar[operand], sizeof v);
  return v;
}

template <class T, int V>
__device__ Vec<T, V> read(TernaryRows const& p, int operand, int64_t off) {
  if (!(p.triple.scalars >> operand & 1)) return read<T, V>(p.rows, operand, off);
  Vec<T, V> v;
#pragma unroll
  for (int e = 0; e < V; ++e) v.v[e] = scalar_of<T>(p.triple, operand);
  return v;
}

// X is the type of operand 1, T that of the others.
template <class Op, class X, class T>
__global__ void __launch_bounds__(threads) ternary_rows(__grid_constant__ TernaryRows const p) {
  begin();
  constexpr int V = 16 / sizeof(T);
  Rows<4> const& r = p.rows;
  uint32_t const first = blockIdx.x * blockDim.x + threadIdx.x;
  if (first < r.vectors) {
    int64_t off[4];
    vector_offsets(r, V, first, off);
    Vec<X, V> const x = read<X, V>(p, 1, off[1]);
    Vec<T, V> y = read<T, V>(p, 2, off[2]), z = read<T, V>(p, 3, off[3]);
#pragma unroll
    for (int e = 0; e < V; ++e) z.v[e] = Op::apply(x.v[e], y.v[e], z.v[e]);
    *reinterpret_cast<Vec<T, V>*>(reinterpret_cast<T*>(r.p[0]) + off[0]) = z;
  }
  if (first < r.tail) {
    uint32_t const i = r.vectors * V + first;
    X const x = read<X, 1>(p, 1, r.splat[1] ? 0 : i).v[0];
    T const y = read<T, 1>(p, 2, r.splat[2] ? 0 : i).v[0], z = read<T, 1>(p, 3, r.splat[3] ? 0 : i).v[0];
    reinterpret_cast<T*>(r.p[0])[i] = Op::apply(x, y, z);
  }
}

template <class Op, class X, class T>
__global__ void __launch_bounds__(threads) ternary_tiles(__grid_constant__ TernaryTiles const p) {
  begin();
  T r[4];
  for_each_in_tile(p.tiles, [&](int u, bool in, int64_t const(&off)[4]) {
    if (!in) return;
    X const x = reinterpret_cast<X const*>(p.tiles.p[1])[off[1]];
    T const y = p.triple.scalars >> 2 & 1 ? scalar_of<T>(p.triple, 2) : reinterpret_cast<T const*>(p.tiles.p[2])[off[2]];
    T const z = p.triple.scalars >> 3 & 1 ? scalar_of<T>(p.triple, 3) : reinterpret_cast<T const*>(p.tiles.p[3])[off[3]];
    r[u] = Op::apply(x, y, z);
  });
  for_each_in_tile(p.tiles, [&](int u, bool in, int64_t const(&off)[4]) {
    if (in) reinterpret_cast<T*>(p.tiles.p[0])[off[0]] = r[u];
  });
}

template <class Op, class X, class T>
int ternary(Nest const& nest, Triple const& triple, uint64_t stream) {
  return for_each_launch(nest, [&](Nest const& t) {
    TernaryRows r;
    r.triple = triple;
    if (make_rows(t, 16 / sizeof(T), 0, &r.rows)) {
      return launch_for(ternary_rows<Op, X, T>, r.rows.vectors, 1, stream, r);
    }
    TernaryTiles p;
    p.triple = triple;
    unsigned const grid = make_tiles(t, &p.tiles);
    return launch(ternary_tiles<Op, X, T>, grid, threads, stream, p);
  });
}

}  // namespace
}  // namespace gpk
