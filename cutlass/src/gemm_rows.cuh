// gemm_rows.cuh: products of 16-bit operands of one to a few rows whose results
// begin anywhere, such as the last row behind whole tiles (matmul/last.go). They are
// bound by reading B, once for each four rows of A, and CUDA cores multiply.
//
// A cluster computes 256 columns of D, each of its CTAs with an eighth of k, which its
// warps take row by row of B, eight rows on the way each. Sums are added in a fixed
// order: of a thread, of the warps through shared memory, and of the CTAs through the
// cluster's. There is no workspace, and D is stored element by element.
#pragma once
#include <limits.h>

#include "dependent.cuh"
#include "gemm_epilogue.cuh"
#include "registry.cuh"

namespace gpk {
namespace rows {
namespace {

using bf16 = cutlass::bfloat16_t;
using fp16 = cutlass::half_t;

constexpr int most = 4, columns = 256, warps = 8, threads = 32 * warps, ctas = 8, ahead = 8;

template <class T>
struct Rows {
  int m, n, k;
  T const* a;
  int64_t lda, stride_a;
  T const* b;
  int64_t ldb, stride_b;
  T* d;
  int64_t ldd, stride_d;
  T const* bias;
  float alpha;
  Activation act;
};

// The floats of a pair of halves.
__device__ inline void widen(bf16 const*, uint32_t pair, float& first, float& second) {
  first = __uint_as_float(pair << 16);
  second = __uint_as_float(pair & 0xffff0000);
}
__device__ inline void widen(fp16 const*, uint32_t pair, float& first, float& second) {
  asm("{\n\t.reg .b16 a, b;\n\tmov.b32 {a, b}, %2;\n\tcvt.f32.f16 %0, a;\n\tcvt.f32.f16 %1, b;\n\t}"
      : "=f"(first), "=f"(second)
      : "r"(pair));
}

// Every thread of the cluster has come here, and sees what the others wrote before.
__device__ inline void all_here() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

// What lies at p in the shared memory of the cluster's CTA number `cta`.
__device__ inline float of_cta(float const* p, int cta) {
  float v = 0;
#if __CUDA_ARCH__ >= 900
  uint32_t at = static_cast<uint32_t>(__cvta_generic_to_shared(p));
  asm volatile("mapa.shared::cluster.u32 %0, %0, %1;" : "+r"(at) : "r"(cta));
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(at) : "memory");
#endif
  return v;
}

// This thread's sums of 8 columns: of rows first, first + warps ... of B, before end.
template <class T, int M>
__device__ inline void sum_up(float (&sum)[M][8], T const* a, int64_t lda, int m, T const* b, int64_t ldb, bool in,
                              int first, int end) {
  for (int k0 = first; k0 < end; k0 += warps * ahead) {
    uint4 v[ahead] = {};
    float x[ahead][M] = {};
#pragma unroll
    for (int u = 0; u < ahead; ++u) {
      int const k = k0 + u * warps;
      if (k >= end) continue;
      if (in) v[u] = *reinterpret_cast<uint4 const*>(b + k * ldb);
#pragma unroll
      for (int r = 0; r < M; ++r) {
        if (r < m) x[u][r] = static_cast<float>(a[r * lda + k]);
      }
    }
#pragma unroll
    for (int u = 0; u < ahead; ++u) {
      uint32_t const pairs[] = {v[u].x, v[u].y, v[u].z, v[u].w};
#pragma unroll
      for (int e = 0; e < 8; e += 2) {
        float y, z;
        widen(b, pairs[e / 2], y, z);
#pragma unroll
        for (int r = 0; r < M; ++r) {
          sum[r][e] = fmaf(x[u][r], y, sum[r][e]);
          sum[r][e + 1] = fmaf(x[u][r], z, sum[r][e + 1]);
        }
      }
    }
  }
}

// Grid: the CTAs of every 256 columns, every M rows, members of the batch.
template <class T, int M>
__global__ void __launch_bounds__(threads, 2) multiply_rows(__grid_constant__ Rows<T> const p) {
#if __CUDA_ARCH__ >= 900
  __shared__ alignas(16) float sums[warps][M][columns];
  begin();
  int const lane = threadIdx.x % 32, warp = threadIdx.x / 32, cta = blockIdx.x % ctas;
  int const n0 = blockIdx.x / ctas * columns, row0 = blockIdx.y * M, m = min(p.m - row0, M);
  int const share = (p.k - 1) / ctas + 1;
  T const* const a = p.a + blockIdx.z * p.stride_a + row0 * p.lda;
  T const* const b = p.b + blockIdx.z * p.stride_b + n0 + 8 * lane;
  float mine[M][8] = {};
  sum_up(mine, a, p.lda, m, b, p.ldb, n0 + 8 * lane < p.n, cta * share + warp, min(p.k, (cta + 1) * share));
#pragma unroll
  for (int r = 0; r < M; ++r) {
    float4* const to = reinterpret_cast<float4*>(&sums[warp][r][8 * lane]);
    to[0] = {mine[r][0], mine[r][1], mine[r][2], mine[r][3]};
    to[1] = {mine[r][4], mine[r][5], mine[r][6], mine[r][7]};
  }
  __syncthreads();
#pragma unroll
  for (int r = 0; r < M; ++r) {
    float s = sums[0][r][threadIdx.x];
#pragma unroll
    for (int w = 1; w < warps; ++w) s += sums[w][r][threadIdx.x];
    sums[0][r][threadIdx.x] = s;
  }
  all_here();
  // Each CTA finishes 32 columns, a warp a row.
  int const column = cta * (columns / ctas) + lane, n = n0 + column;
  if (warp < m && n < p.n) {
    cutlass::Array<float, 1> s, bias;
    s[0] = of_cta(&sums[0][warp][column], 0);
#pragma unroll
    for (int c = 1; c < ctas; ++c) s[0] += of_cta(&sums[0][warp][column], c);
    bias[0] = p.bias != nullptr ? static_cast<float>(p.bias[n]) : 0.f;
    p.d[blockIdx.z * p.stride_d + (row0 + warp) * p.ldd + n] = static_cast<T>(finish<T>(s, bias, p.alpha, p.act)[0]);
  }
  all_here();  // no CTA ends while another reads its shared memory
#endif
}

template <class T, int M>
int start(Problem const& p) {
  static uint64_t known = 0;
  void const* const kernel = reinterpret_cast<void const*>(multiply_rows<T, M>);
  int64_t const across = (int64_t{p.n} + columns - 1) / columns * ctas;
  int const down = (p.m - 1) / M + 1;
  if (across > INT_MAX || down > 65535 || p.batch > 65535) return GPK_ERR_ARGUMENT;
  Rows<T> q = {p.m, p.n, p.k, static_cast<T const*>(p.a), p.lda, p.stride_a, static_cast<T const*>(p.b), p.ldb, p.stride_b,
               static_cast<T*>(p.d), p.ldd, p.stride_d, static_cast<T const*>(p.bias), static_cast<float>(p.alpha_re),
               Activation(p.act, p.bias != nullptr)};
  void* params[] = {&q};
  return launch(kernel, dim3(static_cast<unsigned>(across), down, p.batch), threads, 0, p.stream, params, ctas, 1,
                waits(kernel, p.device, &known));
}

template <class T>
int run(Problem const& p) {
  return p.m == 1 ? start<T, 1>(p) : start<T, most>(p);
}

constexpr Traits traits = {2, 2, 2, true, true, 2, 16, 2, 1, true};

}  // namespace
}  // namespace rows

extern Entry const entry_any_bf16_bf16_rr_4x256x64_rows;
Entry const entry_any_bf16_bf16_rr_4x256x64_rows = {"any_bf16_bf16_rr_4x256x64_rows", rows::traits, rows::run<rows::bf16>};
extern Entry const entry_any_f16_f16_rr_4x256x64_rows;
Entry const entry_any_f16_f16_rr_4x256x64_rows = {"any_f16_f16_rr_4x256x64_rows", rows::traits, rows::run<rows::fp16>};

}  // namespace gpk
