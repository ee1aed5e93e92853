// ops_fill.cuh: fill, arange, and a kernel that only waits.
// waits.
#pragma once
#include "splat.cuh"

namespace gpk {
namespace {

// ---- fill

struct FillTiles {
  Tiles<1> tiles;
  Scalar scalar;
};

template <class T>
__global__ void __launch_bounds__(threads) fill_tiles(FillTiles p) {
  begin_early();
  T const one = p.scalar.as<T>();
  for_each_in_tile(p.tiles, [&](int, bool in, int64_t const(&off)[1]) {
    if (in) reinterpret_cast<T*>(p.tiles.p[0])[off[0]] = one;
  });
}

template <int Bytes>
int fill(Nest const& nest, Scalar const& scalar, uint64_t stream) {
  using T = typename Blob<Bytes>::type;
  return for_each_launch(nest, [&](Nest const& t) {
    Nest rows = t;
    rows.p[1] = nullptr;
    for (int d = 0; d < t.dims; ++d) rows.stride[1][d] = 0;
    int code;
    if (splat<Bytes>(rows, scalar.lo, scalar.hi, stream, &code)) return code;
    FillTiles p;
    p.scalar = scalar;
    unsigned const grid = make_tiles(t, &p.tiles);
    return launch(fill_tiles<T>, grid, threads, stream, p);
  });
}

// ---- arange

struct Range {
  char* dst;
  int64_t n;
  uint64_t start, step;
};

template <class T>
__global__ void __launch_bounds__(threads) arange(Range p) {
  begin_early();
  int64_t const i = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (i >= p.n) return;
  T* const dst = reinterpret_cast<T*>(p.dst) + i;
  if constexpr (is_float<T> || is_complex<T>) {
    *dst = convert<T>(__longlong_as_double(p.start) + static_cast<double>(i) * __longlong_as_double(p.step));
  } else {
    uint64_t const v = p.start + static_cast<uint64_t>(i) * p.step;
    if constexpr (__is_same(T, boolean)) {
      *dst = {static_cast<uint8_t>(v != 0)};
    } else {
      *dst = static_cast<T>(v);
    }
  }
}

// ---- spin

struct Spin {
  int64_t nanoseconds;
};

__global__ void spin(Spin p) {
  begin_early();
  uint64_t start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    __nanosleep(200);
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (static_cast<int64_t>(now - start) < p.nanoseconds);
}

}  // namespace
}  // namespace gpk
