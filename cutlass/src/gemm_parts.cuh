// gemm_parts.cuh: the reduction of a split-k product, whose parts are the members of a batched product. It adds the parts
// in their order, in float32, and applies the epilogue of the product kernels.
#pragma once
#include <limits.h>

#include "dependent.cuh"
#include "gemm_epilogue.cuh"
#include "gpk.h"
#include "registry.cuh"

namespace gpk {
namespace parts {
namespace {

constexpr int threads = 128, vector = 4;

struct Parts {
  float const* p;
  int64_t ld, stride;  // pitch of a row, and distance between parts
  void* d;
  int64_t ldd;
  void const* bias;
  int n, parts;
  int64_t vectors;  // vectors of all rows
  bool vector_stores;       // D allows vector stores
  float alpha;
  Activation act;
};

template <class Out>
struct alignas(sizeof(Out) * vector) Vector {
  Out x[vector];
};

template <class Out>
__global__ void __launch_bounds__(threads) add_parts(__grid_constant__ Parts const p) {
  begin();
  int64_t const i = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (i >= p.vectors) return;
  int const across = (p.n + vector - 1) / vector;
  int64_t const row = i / across;
  int const column = static_cast<int>(i % across) * vector;
  float const* const from = p.p + row * p.ld + column;
  float4 sum = *reinterpret_cast<float4 const*>(from);
#pragma unroll 4
  for (int s = 1; s < p.parts; ++s) {
    float4 const v = *reinterpret_cast<float4 const*>(from + s * p.stride);
    sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
  }
  Out const* const bias = static_cast<Out const*>(p.bias);
  int const columns_left = p.n - column;
  cutlass::Array<float, vector> x, b;
  x[0] = sum.x, x[1] = sum.y, x[2] = sum.z, x[3] = sum.w;
#pragma unroll
  for (int c = 0; c < vector; ++c) b[c] = bias != nullptr && c < columns_left ? static_cast<float>(bias[column + c]) : 0.f;
  auto const y = cutlass::NumericArrayConverter<Out, float, vector>{}(apply_epilogue<Out>(x, b, p.alpha, p.act));
  Vector<Out> v;
#pragma unroll
  for (int c = 0; c < vector; ++c) v.x[c] = y[c];
  Out* const to = static_cast<Out*>(p.d) + row * p.ldd + column;
  if (p.vector_stores && columns_left >= vector) {
    *reinterpret_cast<Vector<Out>*>(to) = v;
  } else {
#pragma unroll
    for (int c = 0; c < vector; ++c) {
      if (c < columns_left) to[c] = v.x[c];
    }
  }
}

template <class Out>
int run(Parts& p, int device, cudaStream_t stream, uint64_t d) {
  static uint64_t known = 0;
  void const* const kernel = reinterpret_cast<void const*>(add_parts<Out>);
  int64_t const blocks = (p.vectors - 1) / threads + 1;
  if (blocks > INT_MAX) return GPK_ERR_ARGUMENT;
  p.vector_stores = d % sizeof(Vector<Out>) == 0 && p.ldd % vector == 0;
  void* params[] = {&p};
  return launch(kernel, dim3(static_cast<unsigned>(blocks)), dim3(threads), 0, stream, params, 1, 1,
                waits_for_previous(kernel, device, &known));
}

}  // namespace
}  // namespace parts
}  // namespace gpk

int gpk_gemm_parts(int device, uint64_t stream, int type, int64_t m, int64_t n, int64_t parts, uint64_t p, int64_t ldp,
                   uint64_t d, int64_t ldd, uint64_t bias, int act, double alpha) {
  uint64_t const size = type == GPK_F32 ? 4 : 2;
  if (type != GPK_F32 && type != GPK_F16 && type != GPK_BF16) return GPK_ERR_UNSUPPORTED;
  int const function = act & ~GPK_ACT_STEPS;
  if (m <= 0 || m > INT_MAX || n <= 0 || n > INT_MAX - gpk::parts::vector || parts <= 0 || parts > INT_MAX || p == 0 ||
      p % 16 != 0 || ldp < n || ldp % gpk::parts::vector != 0 || d == 0 || d % size != 0 || ldd < n || bias % size != 0 ||
      function < GPK_ACT_NONE || function > GPK_ACT_SILU ||
      (act != function && function > GPK_ACT_RELU && (size != 2 || function != GPK_ACT_GELU))) {
    return GPK_ERR_ARGUMENT;
  }
  if (cudaError_t const e = cudaSetDevice(device)) {
    cudaGetLastError();
    return e;
  }
  gpk::parts::Parts q = {reinterpret_cast<float const*>(p), ldp, m * ldp, reinterpret_cast<void*>(d), ldd,
                         reinterpret_cast<void const*>(bias), static_cast<int>(n), static_cast<int>(parts),
                         m * ((n + gpk::parts::vector - 1) / gpk::parts::vector), false,
                         static_cast<float>(alpha), gpk::Activation(act, bias != 0)};
  cudaStream_t const s = reinterpret_cast<cudaStream_t>(stream);
  switch (type) {
    case GPK_F16: return gpk::parts::run<cutlass::half_t>(q, device, s, d);
    case GPK_BF16: return gpk::parts::run<cutlass::bfloat16_t>(q, device, s, d);
  }
  return gpk::parts::run<float>(q, device, s, d);
}
