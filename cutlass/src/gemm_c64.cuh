// gemm_c64.cuh: complex64 products with a conjugated operand, and squared moduli of complex64 products, in float32
// without tensor cores. They replace the scaled and split kernels for operands whose range float16 does not have, and
// for small products. A CTA of 16 x 16 threads computes tiles of 64 x 64, 4 x 4 elements per thread, in steps of 16 of
// k.
#pragma once
#include "guard.cuh"

namespace gpk {
namespace squares {
namespace {

constexpr int tile = 64, step = 16, per = 4, threads = 16 * 16, ctas = 2;

struct Product {
  int m, n, k, tiles_m, tiles_n;
  int64_t tiles;  // tiles of the batch
  float2 const* a;
  int64_t lda, stride_a;
  float2 const* b;
  int64_t ldb, stride_b;
  void* d;
  int64_t ldd, stride_d;
  float sign_a, sign_b;  // -1 for a conjugated operand
  Guard guard;
};

template <bool RowA, bool RowB, bool Square>
__global__ void __launch_bounds__(threads, ctas) multiply(__grid_constant__ Product const p) {
  begin();
  __shared__ float2 as[step][tile + 1], bs[step][tile + 1];
  if (!runs(p.guard, reinterpret_cast<uint32_t*>(as))) return;
  int const id = threadIdx.x, row = id / 16, col = id % 16;
  int64_t const tiles = static_cast<int64_t>(p.tiles_m) * p.tiles_n;

  for (int64_t at = blockIdx.x; at < p.tiles; at += gridDim.x) {
    int64_t const l = at / tiles, t = at % tiles;
    int const m0 = static_cast<int>(t / p.tiles_n) * tile, n0 = static_cast<int>(t % p.tiles_n) * tile;
    float2 const* const a = p.a + l * p.stride_a;
    float2 const* const b = p.b + l * p.stride_b;

    float2 acc[per][per] = {};
    for (int64_t k0 = 0; k0 < p.k; k0 += step) {
      for (int i = id; i < tile * step; i += threads) {
        // The contiguous index varies fastest over the threads.
        int const x = RowA ? i / step : i % tile, kx = RowA ? i % step : i / tile;
        int64_t const m = m0 + static_cast<int64_t>(x), ka = k0 + kx;
        float2 u = {0, 0};
        if (m < p.m && ka < p.k) u = a[RowA ? m * p.lda + ka : ka * p.lda + m];
        as[kx][x] = {u.x, p.sign_a * u.y};
        int const y = RowB ? i % tile : i / step, ky = RowB ? i / tile : i % step;
        int64_t const n = n0 + static_cast<int64_t>(y), kb = k0 + ky;
        float2 v = {0, 0};
        if (n < p.n && kb < p.k) v = b[RowB ? kb * p.ldb + n : n * p.ldb + kb];
        bs[ky][y] = {v.x, p.sign_b * v.y};
      }
      __syncthreads();
#pragma unroll
      for (int kk = 0; kk < step; ++kk) {
        float2 u[per], v[per];
#pragma unroll
        for (int i = 0; i < per; ++i) u[i] = as[kk][row + 16 * i], v[i] = bs[kk][col + 16 * i];
#pragma unroll
        for (int i = 0; i < per; ++i) {
#pragma unroll
          for (int j = 0; j < per; ++j) {
            acc[i][j].x = __fmaf_rn(u[i].x, v[j].x, acc[i][j].x);
            acc[i][j].x = __fmaf_rn(-u[i].y, v[j].y, acc[i][j].x);
            acc[i][j].y = __fmaf_rn(u[i].x, v[j].y, acc[i][j].y);
            acc[i][j].y = __fmaf_rn(u[i].y, v[j].x, acc[i][j].y);
          }
        }
      }
      __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < per; ++i) {
#pragma unroll
      for (int j = 0; j < per; ++j) {
        int64_t const m = m0 + static_cast<int64_t>(row) + 16 * i, n = n0 + static_cast<int64_t>(col) + 16 * j;
        if (m >= p.m || n >= p.n) continue;
        float2 const c = acc[i][j];
        int64_t const offset = l * p.stride_d + m * p.ldd + n;
        if constexpr (Square) {
          static_cast<float*>(p.d)[offset] = __fadd_rn(__fmul_rn(c.x, c.x), __fmul_rn(c.y, c.y));
        } else {
          static_cast<float2*>(p.d)[offset] = c;
        }
      }
    }
  }
}

template <bool RowA, bool RowB, bool Square, bool ConjA, bool ConjB>
int run(Problem const& q) {
  if (q.alpha_re != 1 || q.alpha_im != 0) return GPK_ERR_ARGUMENT;
  Product p = {q.m,
               q.n,
               q.k,
               (q.m - 1) / tile + 1,
               (q.n - 1) / tile + 1,
               0,
               static_cast<float2 const*>(q.a),
               q.lda,
               q.stride_a,
               static_cast<float2 const*>(q.b),
               q.ldb,
               q.stride_b,
               q.d,
               q.ldd,
               q.stride_d,
               ConjA ? -1.0f : 1.0f,
               ConjB ? -1.0f : 1.0f,
               q.guard};
  p.tiles = static_cast<int64_t>(p.tiles_m) * p.tiles_n * q.batch;
  int64_t const resident = static_cast<int64_t>(sm_count(q.device)) * ctas;
  void* params[] = {&p};
  static uint64_t known = 0;
  void const* const kernel = reinterpret_cast<void const*>(multiply<RowA, RowB, Square>);
  return launch(kernel, static_cast<unsigned>(p.tiles < resident ? p.tiles : resident), threads, 0, q.stream, params, 1, 1,
                waits_for_previous(kernel, q.device, &known));
}

template <bool RowA, bool RowB, bool Square>
constexpr Traits traits = {8, 8, Square ? 4 : 8, RowA, RowB, 8, 8, Square ? 4 : 8, 1, false, true};

}  // namespace
}  // namespace squares

#define GPK_C64(name, RowA, RowB, Square, ConjA, ConjB) \
  extern Entry const entry_##name;                      \
  Entry const entry_##name = {#name, squares::traits<RowA, RowB, Square>, squares::run<RowA, RowB, Square, ConjA, ConjB>};

#define GPK_C64_CONJ(suffix, ConjA, ConjB)                                             \
  GPK_C64(any_c64_c64_rr_64x64x16_plain_##suffix, true, true, false, ConjA, ConjB)    \
  GPK_C64(any_c64_c64_rc_64x64x16_plain_##suffix, true, false, false, ConjA, ConjB)   \
  GPK_C64(any_c64_c64_cr_64x64x16_plain_##suffix, false, true, false, ConjA, ConjB)   \
  GPK_C64(any_c64_c64_cc_64x64x16_plain_##suffix, false, false, false, ConjA, ConjB)

GPK_C64_CONJ(conja, true, false)
GPK_C64_CONJ(conjb, false, true)
GPK_C64(any_c64_f32sq_rc_64x64x16_plain, true, false, true, false, false)
GPK_C64(any_c64_f32sq_rc_64x64x16_plain_conjb, true, false, true, false, true)

}  // namespace gpk
