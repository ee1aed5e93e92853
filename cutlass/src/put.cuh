// put.cuh: copies an array, and writes values at indices along an axis. The last of equal indices counts.
//
// put_last finds, for each element of the array, the last value that is written to it. The largest number does not
// depend on the order of the threads. put_values then copies either that value or the element.
#pragma once
#include "ops.cuh"

namespace gpk {
namespace {

// The indices are [outer, count, inner], and the array is [outer, n, inner]. W is uint32_t if both have fewer than 2^31
// elements.
template <class W>
struct PutLast {
  void const* indices;
  W* last;  // 1 + the number of the last value, or 0
  long long* flags;
  int64_t n, inner, block, all;  // block = count * inner, all = outer * block
  Divider by_inner, by_block;    // valid if W is uint32_t
};

__device__ inline void atomic_max(uint32_t* at, uint32_t v) { atomicMax(at, v); }
__device__ inline void atomic_max(uint64_t* at, uint64_t v) {
  atomicMax(reinterpret_cast<unsigned long long*>(at), static_cast<unsigned long long>(v));
}

template <class W, class I>
__global__ void __launch_bounds__(threads) put_last(__grid_constant__ PutLast<W> const p) {
  begin();
  int64_t const step = int64_t{gridDim.x} * threads;
  for (int64_t i = int64_t{blockIdx.x} * threads + threadIdx.x; i < p.all; i += step) {
    int64_t const given = static_cast<I const*>(p.indices)[i], at = given < 0 ? given + p.n : given;
    if (static_cast<uint64_t>(at) >= static_cast<uint64_t>(p.n)) {
      if (given < 0) {
        atomicMin(p.flags, static_cast<long long>(given));
      } else {
        atomicMax(p.flags + 1, static_cast<long long>(given));
      }
      continue;
    }
    int64_t outer, column;
    if constexpr (sizeof(W) == 4) {
      uint32_t rest, r;
      outer = p.by_block.divide(static_cast<uint32_t>(i), &rest);
      p.by_inner.divide(rest, &r);
      column = r;
    } else {
      outer = i / p.block;
      column = i % p.inner;
    }
    atomic_max(p.last + (outer * p.n + at) * p.inner + column, static_cast<W>(i + 1));
  }
}

template <class T, class W>
struct PutValues {
  T const *x, *values;
  W const* last;
  T* dst;
  int64_t n;
  bool splat;  // values has one element
};

template <class T, class W>
__global__ void __launch_bounds__(threads) put_values(__grid_constant__ PutValues<T, W> const p) {
  begin();
  constexpr int each = 4;
  int64_t const step = blockDim.x, first = blockIdx.x * (step * each) + threadIdx.x;
  W last[each];
  T v[each];
#pragma unroll
  for (int u = 0; u < each; ++u) {
    int64_t const i = first + u * step;
    last[u] = i < p.n ? p.last[i] : 0;
  }
#pragma unroll
  for (int u = 0; u < each; ++u) {
    int64_t const i = first + u * step;
    if (i < p.n) v[u] = last[u] == 0 ? p.x[i] : p.values[p.splat ? 0 : static_cast<int64_t>(last[u]) - 1];
  }
#pragma unroll
  for (int u = 0; u < each; ++u) {
    int64_t const i = first + u * step;
    if (i < p.n) p.dst[i] = v[u];
  }
}

template <class T, class W>
int start_put_values(gpk_put_along_args const& a, int64_t n) {
  PutValues<T, W> const p = {reinterpret_cast<T const*>(a.x), reinterpret_cast<T const*>(a.values),
                             reinterpret_cast<W const*>(a.workspace), reinterpret_cast<T*>(a.dst), n, a.splat != 0};
  return launch_for(put_values<T, W>, n, 4, a.stream, p);
}

// Puts values into an array of n elements; `all` is the number of indices.
template <class W>
int put_along(gpk_put_along_args const& a, int64_t n, int64_t all) {
  if (a.workspace == 0 || a.workspace_bytes < n * static_cast<int64_t>(sizeof(W))) return GPK_ERR_WORKSPACE;
  cudaError_t const e = cudaMemsetAsync(reinterpret_cast<void*>(a.workspace), 0, n * sizeof(W), reinterpret_cast<cudaStream_t>(a.stream));
  if (e != cudaSuccess) {
    cudaGetLastError();
    return e;
  }
  if (all > 0) {
    PutLast<W> p = {reinterpret_cast<void const*>(a.indices), reinterpret_cast<W*>(a.workspace), reinterpret_cast<long long*>(a.flags),
                    a.n, a.inner, a.count * a.inner, all, Divider(), Divider()};
    if (sizeof(W) == 4) {
      p.by_inner = Divider(static_cast<uint32_t>(p.inner));
      p.by_block = Divider(static_cast<uint32_t>(p.block));
    }
    int64_t const blocks = (all - 1) / threads + 1, most = 1 << 16;
    unsigned const grid = static_cast<unsigned>(blocks < most ? blocks : most);
    int const code = a.index_type == GPK_I64 ? launch(put_last<W, int64_t>, grid, threads, a.stream, p)
                                             : launch(put_last<W, int32_t>, grid, threads, a.stream, p);
    if (code != GPK_OK) return code;
  }
  switch (a.bytes) {
    case 1: return start_put_values<Blob<1>::type, W>(a, n);
    case 2: return start_put_values<Blob<2>::type, W>(a, n);
    case 4: return start_put_values<Blob<4>::type, W>(a, n);
    case 8: return start_put_values<Blob<8>::type, W>(a, n);
    case 16: return start_put_values<Blob<16>::type, W>(a, n);
  }
  return GPK_ERR_UNSUPPORTED;
}

}  // namespace
}  // namespace gpk
