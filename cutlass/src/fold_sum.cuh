// fold_sum.cuh: sums at the end of chains that are compiled at run time (fold.cuh). Terms are added in the tree of
// ops_reduce.cuh.
#pragma once
#include "chain.cuh"
#include "reduce_sum.cuh"

namespace gpk {

struct Folding {
  char* partial;        // partial results: branch 0 of all folds, then branch 1, ...
  double const* means;  // for Var
  int64_t folds, terms;
  int64_t groups, per_group;  // branches per fold, and their length: in chunks for sums, otherwise in terms
  int64_t divisor;            // divisor of sums; 0: no division
  int64_t team;               // threads that share a fold; for columns, threads that own neighbouring folds
  // The slices that share a branch of a sum. For columns a slice is a thread with per_slice lanes, otherwise a warp with
  // per_slice chunks.
  int64_t slices, per_slice;
  int64_t last;  // nonzero in the second launch
};

template <class T, class A>
__device__ inline void store_sum(Folding const& p, void* dst, int64_t fold, int64_t group, A v) {
  using R = typename accumulator<T>::result;
  if (p.groups > 1) {
    reinterpret_cast<A*>(p.partial)[group * p.folds + fold] = v;
  } else {
    static_cast<R*>(dst)[fold] = rounded<R>(v, static_cast<double>(p.divisor));
  }
}

// Returns the sum of R rows of vectors of terms.
template <int R, int V, class A>
__device__ inline A add_vectors(A const (&t)[R][V]) {
  A sum[V];
#pragma unroll
  for (int e = 0; e < V; ++e) {
    A row[R];
#pragma unroll
    for (int k = 0; k < R; ++k) row[k] = t[k][e];
    pairs<R>(row);
    sum[e] = row[0];
  }
  pairs<V>(sum);
  return sum[0];
}

// Returns a lane's part of the sum of R rows of a chunk all of whose terms exist.
template <int R, class S, class B>
__device__ inline auto add_full_rows(S const& s, B const& base, int64_t first) {
  using T = typename S::T;
  using A = typename accumulator<T>::type;
  constexpr int V = vector_width<T>;
  if constexpr (__is_same(A, long long)) {  // the order of integer additions does not matter
    A sum = 0;
#pragma unroll(sizeof(T) == 1 ? 2 : 4)
    for (int k = 0; k < R; ++k) {
      auto const x = s.template terms<V>(base, first + k * lanes<T>, V);
#pragma unroll
      for (int e = 0; e < V; ++e) sum = plus(sum, convert<A>(x.v[e]));
    }
    return sum;
  } else {
    A t[R][V];
#pragma unroll(S::heavy ? 1 : R)
    for (int k = 0; k < R; ++k) {
      auto const x = s.template terms<V>(base, first + k * lanes<T>, V);
#pragma unroll
      for (int e = 0; e < V; ++e) t[k][e] = convert<A>(x.v[e]);
    }
    return add_vectors(t);
  }
}

// The same for a chunk of which only the terms below n exist.
template <int R, class S, class B>
__device__ inline auto add_partial_rows(S const& s, B const& base, int64_t first, int64_t n) {
  using T = typename S::T;
  using A = typename accumulator<T>::type;
  constexpr int V = vector_width<T>;
  A t[R][V];
#pragma unroll(S::heavy ? 1 : R)
  for (int k = 0; k < R; ++k) {
    int64_t const i = first + k * lanes<T>;
#pragma unroll
    for (int e = 0; e < V; ++e) t[k][e] = neutral<A>();
    if (i >= n) continue;
    auto const x = s.template terms<V>(base, i, n - i);
#pragma unroll
    for (int e = 0; e < V; ++e) {
      if (i + e < n) t[k][e] = convert<A>(x.v[e]);
    }
  }
  return add_vectors(t);
}

// Whether a lane's terms of R rows of a chunk all exist.
template <class T, int R>
__device__ inline bool all_present(int64_t first, int64_t n) {
  return first + ((R - 1) * lanes<T> + vector_width<T>) <= n;
}

// Sums of rows, with `slices` warps per branch.
template <class S>
__device__ inline void sum_rows(Folding const& p, void* dst, S const& s) {
  using T = typename S::T;
  using A = typename accumulator<T>::type;
  __shared__ A shared[warps];
  int const warp = threadIdx.x / 32, slices = static_cast<int>(p.slices);
  int64_t const branch = static_cast<int64_t>(blockIdx.x) * (warps / slices) + warp / slices;
  bool const active = branch < p.folds * p.groups;
  int64_t fold = active ? branch : 0, group = 0;
  if (p.groups > 1) group = fold % p.groups, fold /= p.groups;
  auto const base = s.template base<1>(fold);
  PairwiseSum<A, 1, levels> pairwise;
  A total[1];
  int64_t const c0 = group * p.per_group + warp % slices * p.per_slice;
  for (int64_t c = c0; active && c < c0 + p.per_slice && c * chunk<T> < p.terms; ++c) {
    int64_t const first = c * chunk<T> + threadIdx.x % 32 * vector_width<T>;
    total[0] = all_present<T, chunk_rows>(first, p.terms) ? add_full_rows<chunk_rows>(s, base, first)
                                                        : add_partial_rows<chunk_rows>(s, base, first, p.terms);
#pragma unroll
    for (int mask = 1; mask < 32; mask *= 2) total[0] = plus(total[0], shuffle_xor(total[0], mask));
    pairwise.push(total);
  }
  pairwise.finish(total);
  if (slices == 1) {
    if (active && threadIdx.x % 32 == 0) store_sum<T>(p, dst, fold, group, total[0]);
    return;
  }
  if (threadIdx.x % 32 == 0) shared[warp] = total[0];
  __syncthreads();
  if (!active || threadIdx.x % 32 != 0 || warp % slices != 0) return;
  for (int step = 1; step < slices; step *= 2) {
    for (int w = warp; w < warp + slices; w += 2 * step) shared[w] = plus(shared[w], shared[w + step]);
  }
  store_sum<T>(p, dst, fold, group, shared[warp]);
}

// Sums of at most R rows, R < 8. `team` lanes of a warp compute a sum. The warp computes 8/R times 32/team sums.
template <int R, class S>
__device__ inline void sum_short(Folding const& p, void* dst, S const& s) {
  using T = typename S::T;
  using A = typename accumulator<T>::type;
  constexpr int many = chunk_rows / R;
  int const lanes_per_sum = static_cast<int>(p.team), at = threadIdx.x % 32 % lanes_per_sum, at_once = 32 / lanes_per_sum;
  int64_t const warp = static_cast<int64_t>(blockIdx.x) * warps + threadIdx.x / 32;
  int64_t const first = warp * (many * at_once) + threadIdx.x % 32 / lanes_per_sum;
  A part[many];
  if (all_present<T, R>(at * vector_width<T>, p.terms)) {  // lanes without a fold compute the last one again
#pragma unroll
    for (int m = 0; m < many; ++m) {
      int64_t const fold = first + m * at_once;
      part[m] = add_full_rows<R>(s, s.template base<1>(fold < p.folds ? fold : p.folds - 1), at * vector_width<T>);
    }
  } else {
#pragma unroll
    for (int m = 0; m < many; ++m) {
      int64_t const fold = first + m * at_once;
      part[m] = add_partial_rows<R>(s, s.template base<1>(fold < p.folds ? fold : p.folds - 1), at * vector_width<T>, p.terms);
    }
  }
#pragma unroll
  for (int m = 0; m < many; ++m) {
    int64_t const fold = first + m * at_once;
    for (int mask = 1; mask < lanes_per_sum; mask *= 2) part[m] = plus(part[m], shuffle_xor(part[m], mask));
    if (fold < p.folds && at == 0) store_sum<T>(p, dst, fold, 0, part[m]);
  }
}

// Adds a lane's R rows of a chunk for N neighbouring sums: the terms i, i + lanes, ... below n. Missing terms are
// loaded from term n-1, so that the loads need no branches.
template <int N, int R, class S, class B, class A>
__device__ inline void add_lane(S const& s, B const& base, int64_t fold, int64_t i, int64_t end, int64_t n, A (&out)[N]) {
  using T = typename S::T;
  A t[R][N];
  if (!S::heavy && i < end && i + (R - 1) * lanes<T> < n) {
#pragma unroll
    for (int k = 0; k < R; ++k) {
      auto const x = s.template across<N>(base, fold, i + k * lanes<T>);
#pragma unroll
      for (int e = 0; e < N; ++e) t[k][e] = convert<A>(x.v[e]);
    }
  } else {
#pragma unroll(S::heavy ? 1 : R)
    for (int k = 0; k < R; ++k) {
      int64_t const j = i + k * lanes<T>;
      bool const present = i < end && j < n;
      auto const x = s.template across<N>(base, fold, present ? j : n - 1);
#pragma unroll
      for (int e = 0; e < N; ++e) t[k][e] = present ? convert<A>(x.v[e]) : neutral<A>();
    }
  }
#pragma unroll
  for (int e = 0; e < N; ++e) {
    A row[R];
#pragma unroll
    for (int k = 0; k < R; ++k) row[k] = t[k][e];
    pairs<R>(row);
    out[e] = row[0];
  }
}

// Sums of columns. `team` neighbouring threads own N sums each. Slices of as many threads share the lanes of a chunk,
// of which at most R rows exist. A thread adds Batch lanes in registers.
template <int N, int R, int Batch, class S>
__device__ inline void sum_columns(Folding const& p, void* dst, S const& s) {
  using T = typename S::T;
  using A = typename accumulator<T>::type;
  __shared__ __align__(16) char bytes[32 * warps * N * sizeof(A)];
  A(*const shared)[N] = reinterpret_cast<A(*)[N]>(bytes);
  int const width = static_cast<int>(p.team), slices = static_cast<int>(p.slices);
  int const team = threadIdx.x / width, slice = team % slices, per_block = 32 * warps / width / slices;
  int64_t const blocks = (p.folds - 1) / (width * N * per_block) + 1;
  int64_t const group = blockIdx.x / blocks, column_tile = blockIdx.x % blocks * per_block + team / slices;
  int64_t const fold = (column_tile * width + threadIdx.x % width) * N;
  bool const active = fold < p.folds;
  auto const base = s.template base<N>(active ? fold : 0);
  PairwiseSum<A, N, levels> chunks;
  for (int64_t c = group * p.per_group; c < (group + 1) * p.per_group && c * chunk<T> < p.terms; ++c) {
    A total[N];
    PairwiseSum<A, N, 10> pairwise;
    int64_t const i0 = c * chunk<T> + slice * p.per_slice, end = i0 + p.per_slice;
    for (int64_t j = i0; active && j < end && j < p.terms; j += Batch) {
      A v[Batch][N];
#pragma unroll
      for (int b = 0; b < Batch; ++b) {
        add_lane<N, R>(s, base, fold, j + b, end, p.terms, v[b]);
#pragma unroll
        for (int step = 1; (b + 1) % (2 * step) == 0; step *= 2) {
#pragma unroll
          for (int e = 0; e < N; ++e) v[b + 1 - 2 * step][e] = plus(v[b + 1 - 2 * step][e], v[b + 1 - step][e]);
        }
      }
      pairwise.push(v[0]);
    }
    pairwise.finish(total);
    for (int step = 1; step < slices; step *= 2) {
      if (slice % (2 * step) == step) {
#pragma unroll
        for (int e = 0; e < N; ++e) shared[threadIdx.x][e] = total[e];
      }
      __syncthreads();
      if (slice % (2 * step) == 0) {
#pragma unroll
        for (int e = 0; e < N; ++e) total[e] = plus(total[e], shared[threadIdx.x + step * width][e]);
      }
    }
    if (slices > 1) __syncthreads();
    if (slice == 0) chunks.push(total);
  }
  if (!active || slice != 0) return;
  A total[N];
  chunks.finish(total);
#pragma unroll
  for (int e = 0; e < N; ++e) store_sum<T>(p, dst, fold + e, group, total[e]);
}

// The second launch, which adds the partial sums of the first. A block computes one sum if team is 1, otherwise 32.
template <class T>
__device__ inline void last_sums(Folding const& p, void* dst) {
  PartialSums const f = {p.partial, static_cast<char*>(dst), p.folds, p.groups, p.folds, 1, static_cast<double>(p.divisor)};
  if (p.team == 1) {
    add_partials_by_block<T>(f);
  } else {
    add_partials_by_eight<T>(f);
  }
}

}  // namespace gpk
