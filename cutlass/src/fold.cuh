// fold.cuh: sums at the end of chains that are compiled at run time, along rows: the
// tree of ops_reduce.cuh, with a row a warp. Package fused writes each kernel behind
// this header, ops_math.cuh and chain.cuh.
#pragma once
#include "chain.cuh"

namespace gpk {

// What sums of T accumulate in.
template <class T>
struct Sums {
  using type = float;
};
template <>
struct Sums<double> {
  using type = double;
};

// Adds neighbours in pairs; the sum is in x[0].
template <int N, class A>
__device__ inline void pairs(A* x) {
#pragma unroll
  for (int step = 1; step < N; step *= 2) {
#pragma unroll
    for (int i = 0; i < N; i += 2 * step) x[i] = x[i] + x[i + step];
  }
}

// One row. terms(i, t) writes the terms i ... i + V - 1 to t, -0 where there is none.
template <class T, class Terms>
__device__ inline typename Sums<T>::type sum_row(int64_t n, Terms const& terms) {
  using A = typename Sums<T>::type;
  constexpr int V = 16 / sizeof(T), rows = 8, lanes = 32 * V;
  A level[32];
  unsigned count = 0;
  for (int64_t first = 0; first < n; first += rows * lanes) {
    A t[rows][V];
#pragma unroll
    for (int k = 0; k < rows; ++k) terms(first + k * lanes + threadIdx.x % 32 * V, t[k]);
    A sum[V];
#pragma unroll
    for (int e = 0; e < V; ++e) {
      A row[rows];
#pragma unroll
      for (int k = 0; k < rows; ++k) row[k] = t[k][e];
      pairs<rows>(row);
      sum[e] = row[0];
    }
    pairs<V>(sum);
#pragma unroll
    for (int mask = 1; mask < 32; mask *= 2) sum[0] = sum[0] + __shfl_xor_sync(~0u, sum[0], mask);
    // Chunks meet as their numbers count: level l has the sum of 2^l of them.
    int l = 0;
    for (; count >> l & 1; ++l) sum[0] = level[l] + sum[0];
    level[l] = sum[0];
    ++count;
  }
  A total = -A(0);
  for (int l = 0; count >> l; ++l) {
    if (count >> l & 1) total = level[l] + total;
  }
  return total;
}

// The sum, or the mean of so many, as a T.
template <class T, class A>
__device__ inline T rounded(A sum, double over) {
  if (over == 0) return convert<T>(sum);
  return convert<T>(static_cast<double>(sum) / over);
}

}  // namespace gpk
