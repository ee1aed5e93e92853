// index.cuh: gathers elements by indices along an axis. Elements are opaque. Contiguous elements with one index are
// copied in units of up to 16 bytes.
#pragma once
#include "ops.cuh"

namespace gpk {
namespace {

struct Take {
  Tiles<3> tiles;  // destination, source, indices
  int64_t length;  // length of the axis
  int64_t step;    // from one element of the axis to the next, in units
  bool check;      // check the indices only
  long long* flags;
};

// Gathers by indices of type I, 4 elements per thread. A thread loads all of its indices first, and then all of its
// elements: dependent loads one at a time would not use the memory's bandwidth. An index outside the axis reads the
// first element. It is recorded: the least such index in flags[0], the greatest in flags[1].
template <class T, class I>
__global__ void __launch_bounds__(threads) take_tiles(Take p) {
  begin();
  int64_t i[4] = {};
  T v[4];
  for_each_in_tile(p.tiles, [&](int u, bool in, int64_t const(&off)[3]) {
    if (in) i[u] = reinterpret_cast<I const*>(p.tiles.p[2])[off[2]];
  });
#pragma unroll
  for (int u = 0; u < 4; ++u) {
    int64_t const given = i[u];
    if (given < 0) i[u] += p.length;
    if (static_cast<uint64_t>(i[u]) < static_cast<uint64_t>(p.length)) continue;
    i[u] = 0;
    if (given < 0) {
      atomicMin(p.flags, given);
    } else {
      atomicMax(p.flags + 1, given);
    }
  }
  if (p.check) return;
  for_each_in_tile(p.tiles, [&](int u, bool in, int64_t const(&off)[3]) {
    if (in) v[u] = reinterpret_cast<T const*>(p.tiles.p[1])[off[1] + i[u] * p.step];
  });
  for_each_in_tile(p.tiles, [&](int u, bool in, int64_t const(&off)[3]) {
    if (in) reinterpret_cast<T*>(p.tiles.p[0])[off[0]] = v[u];
  });
}

template <class T>
int launch_take(Take const& p, bool wide, unsigned grid, uint64_t stream) {
  return wide ? launch(take_tiles<T, int64_t>, grid, threads, stream, p)
              : launch(take_tiles<T, int32_t>, grid, threads, stream, p);
}

// Returns the number of elements, a power of two, that are copied as one unit. It is more than 1 if rows are dense in
// source and destination and have one index each. Alignment and strides limit it.
int together(Nest const& t, int64_t step) {
  int const last = t.dims - 1, bytes = t.size[0];
  if (t.inner(0) != 1 || t.inner(1) != 1 || t.inner(2) != 0) return 1;
  uint64_t all = static_cast<uint64_t>(t.n[last]) | static_cast<uint64_t>(step);
  for (int j = 0; j < 2; ++j) {
    for (int d = 0; d < last; ++d) all |= static_cast<uint64_t>(t.stride[j][d]);
  }
  uint64_t const address = reinterpret_cast<uintptr_t>(t.p[0]) | reinterpret_cast<uintptr_t>(t.p[1]);
  int f = 1;
  while (2 * f * bytes <= 16 && all % (2 * f) == 0 && address % (2 * f * bytes) == 0) f *= 2;
  return f;
}

}  // namespace
}  // namespace gpk

int gpk_take(int device, uint64_t stream, int type, int index_type, int ndim, int64_t const* shape, uint64_t x,
             int64_t const* x_strides, int64_t length, int64_t step, uint64_t indices, int64_t const* index_strides,
             uint64_t dst, int64_t const* dst_strides, uint64_t flags) {
  using namespace gpk;
  int const bytes = size_of(type);
  if (bytes == 0 || (index_type != GPK_I32 && index_type != GPK_I64)) return GPK_ERR_UNSUPPORTED;
  Nest t;
  Operand const ops[] = {{dst, dst_strides, bytes}, {x, x_strides, bytes}, {indices, index_strides, size_of(index_type)}};
  int code = make_nest(&t, ndim, shape, 3, ops);
  if (code != GPK_OK || t.elements == 0) return code;
  if (length < 1 || flags == 0) return GPK_ERR_ARGUMENT;
  code = set_device(device);
  if (code != GPK_OK) return code;
  bool const check = dst == 0;
  int const f = check ? 1 : together(t, step);
  if (f > 1) {
    int const last = t.dims - 1;
    t.n[last] /= f;
    t.elements /= f;
    for (int j = 0; j < 2; ++j) {
      t.size[j] *= f;
      for (int d = 0; d < last; ++d) t.stride[j][d] /= f;
    }
    step /= f;
  }
  bool const wide = index_type == GPK_I64;
  return for_each_launch(t, [&](Nest const& part) {
    Take p;
    unsigned const grid = make_tiles(part, &p.tiles);
    p.length = length;
    p.step = step;
    p.check = check;
    p.flags = reinterpret_cast<long long*>(flags);
    switch (part.size[0]) {
      case 1: return launch_take<Blob<1>::type>(p, wide, grid, stream);
      case 2: return launch_take<Blob<2>::type>(p, wide, grid, stream);
      case 4: return launch_take<Blob<4>::type>(p, wide, grid, stream);
      case 8: return launch_take<Blob<8>::type>(p, wide, grid, stream);
      default: return launch_take<Blob<16>::type>(p, wide, grid, stream);
    }
  });
}
