// gemm_int.cuh: integer products with wrapping arithmetic, without tensor cores. The product of int8 or uint8 matrices is
// int32. A CTA of 16 x 16 threads computes 64 x 64 elements of D, 4 x 4 per thread, in steps of 16 of k.
#pragma once
#include "dependent.cuh"
#include "registry.cuh"

namespace gpk {
namespace integers {
namespace {

constexpr int tile = 64, step = 16, per = 4, threads = 16 * 16;

struct Grid {
  int m, n, k, tiles_m, tiles_n;
};

// Acc is unsigned, because signed overflow is undefined.
template <class In, class Acc, bool RowA, bool RowB>
__global__ void __launch_bounds__(threads)
    multiply(Grid g, In const* a, int64_t lda, int64_t stride_a, In const* b, int64_t ldb, int64_t stride_b, Acc* d,
             int64_t ldd, int64_t stride_d) {
  begin();
  __shared__ Acc as[step][tile + 1], bs[step][tile + 1];
  unsigned const tiles = static_cast<unsigned>(g.tiles_m) * g.tiles_n;
  int64_t const l = blockIdx.x / tiles;
  unsigned const t = blockIdx.x % tiles;
  int const m0 = static_cast<int>(t / g.tiles_n) * tile, n0 = static_cast<int>(t % g.tiles_n) * tile;
  int const id = threadIdx.x, row = id / 16, col = id % 16;
  a += l * stride_a;
  b += l * stride_b;
  d += l * stride_d;

  Acc acc[per][per] = {};
  for (int64_t k0 = 0; k0 < g.k; k0 += step) {
    for (int i = id; i < tile * step; i += threads) {
      // The contiguous index varies fastest over the threads.
      int const x = RowA ? i / step : i % tile, kx = RowA ? i % step : i / tile;
      int64_t const m = m0 + static_cast<int64_t>(x), ka = k0 + kx;
      as[kx][x] = m < g.m && ka < g.k ? static_cast<Acc>(a[RowA ? m * lda + ka : ka * lda + m]) : 0;
      int const y = RowB ? i % tile : i / step, ky = RowB ? i / tile : i % step;
      int64_t const n = n0 + static_cast<int64_t>(y), kb = k0 + ky;
      bs[ky][y] = n < g.n && kb < g.k ? static_cast<Acc>(b[RowB ? kb * ldb + n : n * ldb + kb]) : 0;
    }
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < step; ++kk) {
#pragma unroll
      for (int i = 0; i < per; ++i) {
#pragma unroll
        for (int j = 0; j < per; ++j) acc[i][j] += as[kk][row + 16 * i] * bs[kk][col + 16 * j];
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < per; ++i) {
#pragma unroll
    for (int j = 0; j < per; ++j) {
      int64_t const m = m0 + static_cast<int64_t>(row) + 16 * i, n = n0 + static_cast<int64_t>(col) + 16 * j;
      if (m < g.m && n < g.n) d[m * ldd + n] = acc[i][j];
    }
  }
}

template <class In, class Acc, bool RowA, bool RowB>
int run(Problem const& p) {
  if (p.alpha_re != 1 || p.alpha_im != 0) return GPK_ERR_ARGUMENT;
  Grid g = {p.m, p.n, p.k, (p.m - 1) / tile + 1, (p.n - 1) / tile + 1};
  int64_t const tiles = static_cast<int64_t>(g.tiles_m) * g.tiles_n;
  if (tiles > INT32_MAX / p.batch) return GPK_ERR_ARGUMENT;
  auto a = static_cast<In const*>(p.a);
  auto b = static_cast<In const*>(p.b);
  auto d = static_cast<Acc*>(p.d);
  auto q = p;
  void* params[] = {&g, &a, &q.lda, &q.stride_a, &b, &q.ldb, &q.stride_b, &d, &q.ldd, &q.stride_d};
  static uint64_t known = 0;
  void const* const kernel = reinterpret_cast<void const*>(multiply<In, Acc, RowA, RowB>);
  return launch(kernel, static_cast<unsigned>(tiles * p.batch), threads, 0, p.stream, params, 1, 1,
                waits_for_previous(kernel, p.device, &known));
}

template <class In, class Acc, bool RowA, bool RowB>
constexpr Traits traits = {sizeof(In), sizeof(In), sizeof(Acc), RowA, RowB, sizeof(In), sizeof(In), sizeof(Acc), 1,
                           false};

}  // namespace
}  // namespace integers

#define GPK_INT1(name, In, Acc, RowA, RowB) \
  extern Entry const entry_##name;          \
  Entry const entry_##name = {#name, integers::traits<In, Acc, RowA, RowB>, integers::run<In, Acc, RowA, RowB>};

#define GPK_INT(in, out, In, Acc)                                 \
  GPK_INT1(any_##in##_##out##_rr_64x64x16_plain, In, Acc, true, true)   \
  GPK_INT1(any_##in##_##out##_rc_64x64x16_plain, In, Acc, true, false)  \
  GPK_INT1(any_##in##_##out##_cr_64x64x16_plain, In, Acc, false, true)  \
  GPK_INT1(any_##in##_##out##_cc_64x64x16_plain, In, Acc, false, false)

GPK_INT(i8, i32, int8_t, uint32_t)
GPK_INT(u8, i32, uint8_t, uint32_t)
GPK_INT(i32, i32, int32_t, uint32_t)
GPK_INT(i64, i64, int64_t, uint64_t)

}  // namespace gpk
