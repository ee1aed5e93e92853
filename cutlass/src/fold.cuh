// fold.cuh: reductions at the end of chains that are compiled at run time. These are the kernels of sum_kernels.cuh,
// reduction_kernels.cuh and ops_line.cuh with terms that are computed as they are read. They combine the same terms
// in the same order. Package fused appends each kernel to this header and those that it includes, with a Source:
//
//   using T                      the type of the terms
//   Base<N> base<N>(fold)        values that the terms of N neighbouring folds share
//   terms<N>(base, i, left)      terms i ... i+N-1 of a fold, of which `left` exist
//   across<N>(base, fold, i)     term i of N neighbouring folds
//   heavy                        terms need so much arithmetic that the kernel has to limit code size
//
// If a fold has several branches, a second launch of the kernel merges their partial results.
#pragma once
#include "fold_sum.cuh"
#include "lines.cuh"
#include "reduce.cuh"

namespace gpk {

// Vectors that a thread reads before it accumulates the first one.
template <class T>
constexpr int vectors_in_flight = sizeof(T) == 1 ? 2 : 4;

template <class P>
__device__ inline void store_fold(Folding const& p, void* dst, int64_t fold, int64_t group, typename P::A a) {
  if (p.groups > 1) {
    reinterpret_cast<typename P::A*>(p.partial)[group * p.folds + fold] = a;
  } else {
    static_cast<typename P::R*>(dst)[fold] = P::result(a, static_cast<double>(p.terms));
  }
}

// Accumulates the N terms that begin with term k, at once if the reduction supports it.
template <class P, class T, int N>
__device__ inline void accumulate_terms(typename P::A& a, Some<T, N> const& x, int64_t k) {
  if constexpr (N > 1 && accumulates_vectors<P, T>) {
    P::accumulate_vector(a, x, k);
  } else if constexpr (N > 1 && locates_later<P, T>) {
    auto const m = P::of(x);
    if (a.k < 0 || P::beaten(a.v, m)) a = {m, k + P::find(m, x)};
  } else {
#pragma unroll
    for (int e = 0; e < N; ++e) P::accumulate(a, x.v[e], k + e);
  }
}

// `team` threads per branch. Vectors: a thread reads 16 bytes of terms at a time, and the remaining terms one by one.
template <class P, bool Vectors, class S>
__device__ inline void fold_rows(Folding const& p, void* dst, S const& s) {
  using T = typename S::T;
  constexpr int V = vector_width<T>, in_flight = vectors_in_flight<T>;
  int const team = static_cast<int>(p.team), at = threadIdx.x % team;
  int64_t const branch = static_cast<int64_t>(blockIdx.x) * (32 * warps / team) + threadIdx.x / team;
  bool const active = branch < p.folds * p.groups;
  int64_t fold = active ? branch : 0, group = 0;
  if (p.groups > 1) group = fold % p.groups, fold /= p.groups;
  int64_t const lo = group * p.per_group;
  int64_t const hi = !active ? lo : lo + p.per_group < p.terms ? lo + p.per_group : p.terms;
  auto const base = s.template base<1>(fold);
  typename P::A a = P::start(p.means, fold);
  int64_t const vector_end = Vectors ? lo + (hi - lo) / V * V : lo;
  if constexpr (Vectors) {
    int const step = team * V;
    int64_t j = lo + at * V;
    for (; j + (in_flight - 1) * step < vector_end; j += in_flight * step) {
      Some<T, V> x[in_flight];
#pragma unroll
      for (int u = 0; u < in_flight; ++u) x[u] = s.template terms<V>(base, j + u * step, V);
#pragma unroll
      for (int u = 0; u < in_flight; ++u) accumulate_terms<P>(a, x[u], j + u * step);
    }
    for (; j < vector_end; j += step) accumulate_terms<P>(a, s.template terms<V>(base, j, V), j);
  }
  int64_t j = vector_end + at;
  for (; !Vectors && j + (in_flight - 1) * team < hi; j += in_flight * team) {
    Some<T, 1> x[in_flight];
#pragma unroll
    for (int u = 0; u < in_flight; ++u) x[u] = s.template terms<1>(base, j + u * team, 1);
#pragma unroll
    for (int u = 0; u < in_flight; ++u) accumulate_terms<P>(a, x[u], j + u * team);
  }
  for (; j < hi; j += team) accumulate_terms<P>(a, s.template terms<1>(base, j, 1), j);
  a = merge_team<P>(a, team);
  if (active && at == 0) store_fold<P>(p, dst, fold, group, a);
}

// `team` neighbouring threads own N folds each. The terms are distributed round-robin over the teams of a block.
template <class P, int N, class S>
__device__ inline void fold_columns(Folding const& p, void* dst, S const& s) {
  using T = typename S::T;
  using A = typename P::A;
  constexpr int in_flight = 4;
  __shared__ __align__(16) char bytes[32 * warps * N * sizeof(A)];
  A(*const shared)[N] = reinterpret_cast<A(*)[N]>(bytes);
  int const team = static_cast<int>(p.team), teams = 32 * warps / team, slice = threadIdx.x / team;
  int64_t const column_tiles = (p.folds - 1) / (team * N) + 1;
  int64_t const group = blockIdx.x / column_tiles;
  int64_t const fold = (blockIdx.x % column_tiles * team + threadIdx.x % team) * N;
  bool const active = fold < p.folds;
  auto const base = s.template base<N>(active ? fold : 0);
  int64_t const lo = group * p.per_group, hi = lo + p.per_group < p.terms ? lo + p.per_group : p.terms;
  A a[N];
#pragma unroll
  for (int e = 0; e < N; ++e) a[e] = P::start(p.means, active ? fold + e : 0);
  int64_t j = lo + slice;
  for (; active && j + (in_flight - 1) * teams < hi; j += in_flight * teams) {
    Some<T, N> x[in_flight];
#pragma unroll
    for (int u = 0; u < in_flight; ++u) x[u] = s.template across<N>(base, fold, j + u * teams);
#pragma unroll
    for (int u = 0; u < in_flight; ++u) {
#pragma unroll
      for (int e = 0; e < N; ++e) P::accumulate(a[e], x[u].v[e], j + u * teams);
    }
  }
  for (; active && j < hi; j += teams) {
    Some<T, N> const x = s.template across<N>(base, fold, j);
#pragma unroll
    for (int e = 0; e < N; ++e) P::accumulate(a[e], x.v[e], j);
  }
#pragma unroll
  for (int e = 0; e < N; ++e) shared[threadIdx.x][e] = a[e];
  for (int step = 1; step < teams; step *= 2) {
    __syncthreads();
    if (slice % (2 * step) != 0) continue;
#pragma unroll
    for (int e = 0; e < N; ++e) a[e] = shared[threadIdx.x][e] = P::merge(a[e], shared[threadIdx.x + step * team][e]);
  }
  if (!active || slice != 0) return;
#pragma unroll
  for (int e = 0; e < N; ++e) store_fold<P>(p, dst, fold + e, group, a[e]);
}

// The second launch.
template <class P>
__device__ inline void last_folds(Folding const& p, void* dst) {
  merge_partials<P>({p.partial, static_cast<char*>(dst), p.folds, p.terms, p.groups, static_cast<int>(p.team)});
}

// ---- softmax and the norms

struct Weights {
  char const *gamma, *beta;
  double eps;
  int64_t n;
};

// `Team` threads compute a line as they read it, and write it once.
template <int op, int Team, int Held, class S>
__device__ inline void line_rows(Folding const& p, Weights const& w, void* dst, S const& s) {
  using T = typename S::T;
  constexpr int V = vector_width<T>, block = Team < 128 ? 128 : Team;
  int64_t const line = static_cast<int64_t>(blockIdx.x) * (block / Team) + threadIdx.x / Team;
  bool const active = line < p.folds;
  int const at = threadIdx.x % Team * V, step = Team * V;
  auto const base = s.template base<1>(active ? line : 0);
  auto const load = [&](int u) {
    auto const x = s.template terms<V>(base, at + u * step, V);
    uint4 v;
    memcpy(&v, &x, sizeof v);
    return v;
  };
  line_in_registers<op, T, Team, Held, false>(w, active ? static_cast<int>(p.terms) : 0, at, step, load,
                                      [&] {
                                        return ContiguousLine<T>{static_cast<T*>(dst) + (active ? line : 0) * p.terms + at};
                                      });
}

}  // namespace gpk
