// reduce_sum.cuh: the definition of sums, for the precompiled kernels (sum_kernels.cuh) and for those that are
// compiled at run time (fold_sum.cuh). ops_reduce.cuh describes the tree of additions.
#pragma once
#include "ops_math.cuh"

namespace gpk {

// The type in which sums of T accumulate, and the type of the result.
template <class T>
struct accumulator {
  using type = long long;
  using result = int64_t;
};
template <>
struct accumulator<float> {
  using type = float;
  using result = float;
};
template <>
struct accumulator<double> {
  using type = double;
  using result = double;
};
template <>
struct accumulator<f16> {
  using type = float;
  using result = f16;
};
template <>
struct accumulator<bf16> {
  using type = float;
  using result = bf16;
};
template <>
struct accumulator<c64> {
  using type = c64;
  using result = c64;
};
template <>
struct accumulator<c128> {
  using type = c128;
  using result = c128;
};

// The neutral term is -0: x + 0 would change -0.
template <class A>
__device__ inline A neutral() {
  if constexpr (is_complex<A>) {
    return {-typename A::real(0), -typename A::real(0)};
  } else {
    return -A(0);
  }
}

// The element that converts to the neutral term: -0, or 0 for integers.
template <class T>
__device__ inline T neutral_term() {
  if constexpr (is_half<T>) {
    return {0x8000};
  } else if constexpr (__is_same(T, boolean)) {
    return {0};
  } else {
    return neutral<T>();
  }
}

template <class A>
__device__ inline A plus(A x, A y) {
  if constexpr (__is_same(A, long long)) {
    return static_cast<long long>(static_cast<unsigned long long>(x) + static_cast<unsigned long long>(y));
  } else {
    return x + y;
  }
}

template <class A>
__device__ inline A shuffle_xor(A x, int mask) {
  if constexpr (is_complex<A>) {
    return {__shfl_xor_sync(~0u, x.re, mask), __shfl_xor_sync(~0u, x.im, mask)};
  } else {
    return __shfl_xor_sync(~0u, x, mask);
  }
}

template <class A, class T>
__device__ inline A term(T x) {
  return convert<A>(x);
}

constexpr int chunk_rows = 8, warps = 8;  // rows per chunk; warps per block
template <class T>
constexpr int vector_width = 16 / sizeof(T);
template <class T>
constexpr int lanes = 32 * vector_width<T>;
template <class T>
constexpr int chunk = chunk_rows * lanes<T>;

// Adds terms pairwise as they arrive. Level l contains the sum of 2^l terms until the next 2^l have arrived. The
// levels are in local memory; a term is pushed about once per chunk.
template <class A, int N, int Levels>
struct PairwiseSum {
  unsigned count = 0;
  A level[Levels][N];

  __device__ void push(A (&v)[N]) {
    int l = 0;
    for (; count >> l & 1; ++l) {
#pragma unroll
      for (int e = 0; e < N; ++e) v[e] = plus(level[l][e], v[e]);
    }
#pragma unroll
    for (int e = 0; e < N; ++e) level[l][e] = v[e];
    ++count;
  }
  // Adds the levels that contain a sum, from the lowest up.
  __device__ void finish(A (&v)[N]) const {
#pragma unroll
    for (int e = 0; e < N; ++e) v[e] = neutral<A>();
    for (int l = 0; count >> l; ++l) {
      if (!(count >> l & 1)) continue;
#pragma unroll
      for (int e = 0; e < N; ++e) v[e] = plus(level[l][e], v[e]);
    }
  }
};

// Levels for a PairwiseSum of at most 2^(levels-1) terms.
constexpr int levels = 32;

// Converts a sum to its result type. If divisor is not 0, the result is a mean, which is rounded once more.
template <class R, class A>
__device__ inline R rounded(A v, double divisor) {
  if (divisor == 0) return convert<R>(v);
  if constexpr (is_complex<A>) {
    using P = typename R::real;
    return {static_cast<P>(v.re / divisor), static_cast<P>(v.im / divisor)};
  } else if constexpr (is_float<A>) {
    return convert<R>(static_cast<double>(v) / divisor);
  } else {
    return convert<R>(v);
  }
}

// Adds N neighbours pairwise. The sum is in x[0].
template <int N, class A>
__device__ inline void pairs(A* x) {
#pragma unroll
  for (int step = 1; step < N; step *= 2) {
#pragma unroll
    for (int i = 0; i < N; i += 2 * step) x[i] = plus(x[i], x[i + step]);
  }
}

// Parameters of the kernels that add the partial sums of branches.
struct PartialSums {
  char const* partial;
  char* out;
  int64_t sums, groups;
  int64_t step, pitch;  // distance between the groups of a sum, and between sums
  double divisor;
};

// Pushes the partial sums from `first` to `end`, with several loads in flight.
template <class A>
__device__ inline void push_all(PairwiseSum<A, 1, levels>& pairwise, A const* x, int64_t step, int64_t first, int64_t end) {
  constexpr int in_flight = 8;
  for (int64_t i = first; i < end; i += in_flight) {
    A v[in_flight];
#pragma unroll
    for (int u = 0; u < in_flight; ++u) {
      if (i + u < end) v[u] = x[(i + u) * step];
    }
#pragma unroll
    for (int u = 0; u < in_flight; ++u) {
      A one[1] = {v[u]};
      if (i + u < end) pairwise.push(one);
    }
  }
}

constexpr int max_partial_threads = 1024;

// A block computes a sum. Thread t adds the t-th run of 2^n neighbours; then the sums of the runs are added.
template <class T>
__device__ void add_partials_by_block(PartialSums const& p) {
  using A = typename accumulator<T>::type;
  using R = typename accumulator<T>::result;
  __shared__ A shared[max_partial_threads];
  A const* const x = reinterpret_cast<A const*>(p.partial) + blockIdx.x * p.pitch;
  int64_t run = 1;
  while (run * blockDim.x < p.groups) run *= 2;
  PairwiseSum<A, 1, levels> pairwise;
  int64_t const first = threadIdx.x * run;
  push_all(pairwise, x, p.step, first, first + run < p.groups ? first + run : p.groups);
  A total[1];
  pairwise.finish(total);
  shared[threadIdx.x] = total[0];
  for (int step = 1; step < blockDim.x; step *= 2) {
    __syncthreads();
    if (threadIdx.x % (2 * step) == 0) shared[threadIdx.x] = plus(shared[threadIdx.x], shared[threadIdx.x + step]);
  }
  if (threadIdx.x == 0) reinterpret_cast<R*>(p.out)[blockIdx.x] = rounded<R>(shared[0], p.divisor);
}

// Eight threads compute a sum. Each adds a run of 2^n neighbours; then the sums of the runs are added.
template <class T>
__device__ void add_partials_by_eight(PartialSums const& p) {
  using A = typename accumulator<T>::type;
  using R = typename accumulator<T>::result;
  __shared__ A shared[warps][32];
  int const lane = threadIdx.x % 32, at = threadIdx.x / 32;
  int64_t const sum = static_cast<int64_t>(blockIdx.x) * 32 + lane;
  int64_t run = 1;
  while (run * warps < p.groups) run *= 2;
  A total[1] = {neutral<A>()};
  if (sum < p.sums) {
    PairwiseSum<A, 1, levels> pairwise;
    int64_t const first = at * run;
    push_all(pairwise, reinterpret_cast<A const*>(p.partial) + sum * p.pitch, p.step, first,
             first + run < p.groups ? first + run : p.groups);
    pairwise.finish(total);
  }
  shared[at][lane] = total[0];
  for (int step = 1; step < warps; step *= 2) {
    __syncthreads();
    if (at % (2 * step) == 0) shared[at][lane] = plus(shared[at][lane], shared[at + step][lane]);
  }
  if (at == 0 && sum < p.sums) reinterpret_cast<R*>(p.out)[sum] = rounded<R>(shared[0][lane], p.divisor);
}

}  // namespace gpk
