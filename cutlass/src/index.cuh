// index.cuh: gathers elements by an index. Elements are opaque: if rows of them are contiguous, they are copied in
// units of up to 16 bytes.
#pragma once
#include "ops.cuh"

namespace gpk {
namespace {

struct Take {
  Tiles<3> tiles;  // destination, source, indices
  int64_t length;  // length of the axis
  int64_t step;    // from one element of the axis to the next, in units
  bool wide;       // whether indices are int64 (otherwise int32)
  bool check;      // check the indices only
  long long* flags;
};

// An index outside the axis reads the axis' first element, and is recorded: the least in flags[0], the greatest in
// flags[1].
template <class T>
__global__ void __launch_bounds__(threads) take_tiles(Take p) {
  begin();
  T v[4];
  in_tile(p.tiles, [&](int u, bool in, int64_t const(&off)[3]) {
    if (!in) return;
    int64_t const given = p.wide ? reinterpret_cast<int64_t const*>(p.tiles.p[2])[off[2]]
                                 : reinterpret_cast<int32_t const*>(p.tiles.p[2])[off[2]];
    int64_t i = given < 0 ? given + p.length : given;
    if (static_cast<uint64_t>(i) >= static_cast<uint64_t>(p.length)) {
      if (given < 0) {
        atomicMin(p.flags, given);
      } else {
        atomicMax(p.flags + 1, given);
      }
      i = 0;
    }
    if (!p.check) v[u] = reinterpret_cast<T const*>(p.tiles.p[1])[off[1] + i * p.step];
  });
  if (p.check) return;
  in_tile(p.tiles, [&](int u, bool in, int64_t const(&off)[3]) {
    if (in) reinterpret_cast<T*>(p.tiles.p[0])[off[0]] = v[u];
  });
}

// The number of elements, a power of two, that are copied as one unit: the elements of a row that is dense on both
// sides and has one index, as far as alignment and strides allow.
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
  return in_pieces(t, [&](Nest const& part) {
    Take p;
    unsigned const grid = make_tiles(part, &p.tiles);
    p.length = length;
    p.step = step;
    p.wide = index_type == GPK_I64;
    p.check = check;
    p.flags = reinterpret_cast<long long*>(flags);
    switch (part.size[0]) {
      case 1: return launch(take_tiles<Blob<1>::type>, grid, threads, stream, p);
      case 2: return launch(take_tiles<Blob<2>::type>, grid, threads, stream, p);
      case 4: return launch(take_tiles<Blob<4>::type>, grid, threads, stream, p);
      case 8: return launch(take_tiles<Blob<8>::type>, grid, threads, stream, p);
      default: return launch(take_tiles<Blob<16>::type>, grid, threads, stream, p);
    }
  });
}
