// fold.cuh: reductions at the end of chains that are compiled at run time. They are the kernels of ops_reduce.cuh and
// ops_rows.cu with terms that are computed on the fly, and combine the same terms in the same order. Package fused
// appends each kernel to this header, ops_math.cuh, reduce.cuh, lines.cuh and chain.cuh, with a Source:
//
//   using T                      the type of the terms
//   Base<N> base<N>(fold)        values that the terms of N neighbouring folds share
//   terms<N>(base, i, left)      terms i ... i+N-1 of a fold, of which `left` exist
//   across<N>(base, fold, i)     term i of N neighbouring folds
//   heavy                        terms need so much arithmetic that the kernel has to limit code size
//
// If each branch of a fold has a block, a second launch of the kernel merges the branches.
#pragma once
#include "chain.cuh"
#include "lines.cuh"
#include "reduce.cuh"

namespace gpk {

struct Folding {
  char* partial;        // results of branches, group by group
  double const* means;  // for Var
  int64_t folds, terms;
  int64_t groups, per_group;  // branches per fold, and their length: in chunks for sums, otherwise in terms
  int64_t over;               // divisor of sums; 0: no division
  int64_t team;               // threads that share a fold; for columns, threads that own neighbouring folds
  int64_t slices, per_slice;  // what shares a branch of a sum: for columns threads with per_slice lanes each, otherwise warps with per_slice chunks each
  int64_t last;               // nonzero in the second launch
};

// Vectors that a thread reads before it folds the first one.
template <class T>
constexpr int in_flight = sizeof(T) == 1 ? 2 : 4;

// ---- sums

template <class T, class A>
__device__ inline void store_sum(Folding const& p, void* dst, int64_t fold, int64_t group, A v) {
  using R = typename accumulator<T>::result;
  if (p.groups > 1) {
    reinterpret_cast<A*>(p.partial)[group * p.folds + fold] = v;
  } else {
    static_cast<R*>(dst)[fold] = rounded<R>(v, static_cast<double>(p.over));
  }
}

// The sum of R rows of vectors of terms.
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

// A lane's part of R rows of a chunk without missing terms.
template <int R, class S, class B>
__device__ inline auto add_whole(S const& s, B const& base, int64_t first) {
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

// The same for a chunk of which only n terms exist.
template <int R, class S, class B>
__device__ inline auto add_some(S const& s, B const& base, int64_t first, int64_t n) {
  using T = typename S::T;
  using A = typename accumulator<T>::type;
  constexpr int V = vector_width<T>;
  A t[R][V];
#pragma unroll(S::heavy ? 1 : R)
  for (int k = 0; k < R; ++k) {
    int64_t const i = first + k * lanes<T>;
#pragma unroll
    for (int e = 0; e < V; ++e) t[k][e] = nothing<A>();
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
__device__ inline bool all_there(int64_t first, int64_t n) {
  return first + ((R - 1) * lanes<T> + vector_width<T>) <= n;
}

// `slices` warps per branch.
template <class S>
__device__ inline void sum_rows(Folding const& p, void* dst, S const& s) {
  using T = typename S::T;
  using A = typename accumulator<T>::type;
  __shared__ A shared[warps];
  int const warp = threadIdx.x / 32, slices = static_cast<int>(p.slices);
  int64_t const branch = static_cast<int64_t>(blockIdx.x) * (warps / slices) + warp / slices;
  bool const mine = branch < p.folds * p.groups;
  int64_t fold = mine ? branch : 0, group = 0;
  if (p.groups > 1) group = fold % p.groups, fold /= p.groups;
  auto const base = s.template base<1>(fold);
  Pile<A, 1, levels> pile;
  A total[1];
  int64_t const c0 = group * p.per_group + warp % slices * p.per_slice;
  for (int64_t c = c0; mine && c < c0 + p.per_slice && c * chunk<T> < p.terms; ++c) {
    int64_t const first = c * chunk<T> + threadIdx.x % 32 * vector_width<T>;
    total[0] = all_there<T, chunk_rows>(first, p.terms) ? add_whole<chunk_rows>(s, base, first)
                                                        : add_some<chunk_rows>(s, base, first, p.terms);
#pragma unroll
    for (int mask = 1; mask < 32; mask *= 2) total[0] = plus(total[0], from_lane(total[0], mask));
    pile.push(total);
  }
  pile.close(total);
  if (slices == 1) {
    if (mine && threadIdx.x % 32 == 0) store_sum<T>(p, dst, fold, group, total[0]);
    return;
  }
  if (threadIdx.x % 32 == 0) shared[warp] = total[0];
  __syncthreads();
  if (!mine || threadIdx.x % 32 != 0 || warp % slices != 0) return;
  for (int step = 1; step < slices; step *= 2) {
    for (int w = warp; w < warp + slices; w += 2 * step) shared[w] = plus(shared[w], shared[w + step]);
  }
  store_sum<T>(p, dst, fold, group, shared[warp]);
}

// Sums of up to R rows, R < 8: `team` lanes of a warp compute one sum each, and the warp 8/R times as many.
template <int R, class S>
__device__ inline void sum_short(Folding const& p, void* dst, S const& s) {
  using T = typename S::T;
  using A = typename accumulator<T>::type;
  constexpr int many = chunk_rows / R;
  int const share = static_cast<int>(p.team), at = threadIdx.x % 32 % share, at_once = 32 / share;
  int64_t const warp = static_cast<int64_t>(blockIdx.x) * warps + threadIdx.x / 32;
  int64_t const first = warp * (many * at_once) + threadIdx.x % 32 / share;
  A part[many];
  if (all_there<T, R>(at * vector_width<T>, p.terms)) {  // lanes without a fold compute the last one again
#pragma unroll
    for (int m = 0; m < many; ++m) {
      int64_t const fold = first + m * at_once;
      part[m] = add_whole<R>(s, s.template base<1>(fold < p.folds ? fold : p.folds - 1), at * vector_width<T>);
    }
  } else {
#pragma unroll
    for (int m = 0; m < many; ++m) {
      int64_t const fold = first + m * at_once;
      part[m] = add_some<R>(s, s.template base<1>(fold < p.folds ? fold : p.folds - 1), at * vector_width<T>, p.terms);
    }
  }
#pragma unroll
  for (int m = 0; m < many; ++m) {
    int64_t const fold = first + m * at_once;
    for (int mask = 1; mask < share; mask *= 2) part[m] = plus(part[m], from_lane(part[m], mask));
    if (fold < p.folds && at == 0) store_sum<T>(p, dst, fold, 0, part[m]);
  }
}

// A lane's R rows of a chunk for N neighbouring sums: the terms i, i + lanes ... below n. Missing terms are loaded
// from term n-1, so that no load waits for a branch.
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
      bool const there = i < end && j < n;
      auto const x = s.template across<N>(base, fold, there ? j : n - 1);
#pragma unroll
      for (int e = 0; e < N; ++e) t[k][e] = there ? convert<A>(x.v[e]) : nothing<A>();
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

// `team` neighbouring threads own N sums each; each slice of as many threads has the next lanes of a chunk, of which
// up to R rows exist. A thread adds Batch lanes in registers.
template <int N, int R, int Batch, class S>
__device__ inline void sum_columns(Folding const& p, void* dst, S const& s) {
  using T = typename S::T;
  using A = typename accumulator<T>::type;
  __shared__ __align__(16) char bytes[32 * warps * N * sizeof(A)];
  A(*const shared)[N] = reinterpret_cast<A(*)[N]>(bytes);
  int const width = static_cast<int>(p.team), slices = static_cast<int>(p.slices);
  int const team = threadIdx.x / width, slice = team % slices, per_block = 32 * warps / width / slices;
  int64_t const blocks = (p.folds - 1) / (width * N * per_block) + 1;
  int64_t const group = blockIdx.x / blocks, strip = blockIdx.x % blocks * per_block + team / slices;
  int64_t const fold = (strip * width + threadIdx.x % width) * N;
  bool const mine = fold < p.folds;
  auto const base = s.template base<N>(mine ? fold : 0);
  Pile<A, N, levels> chunks;
  for (int64_t c = group * p.per_group; c < (group + 1) * p.per_group && c * chunk<T> < p.terms; ++c) {
    A total[N];
    Pile<A, N, 10> pile;
    int64_t const i0 = c * chunk<T> + slice * p.per_slice, end = i0 + p.per_slice;
    for (int64_t j = i0; mine && j < end && j < p.terms; j += Batch) {
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
      pile.push(v[0]);
    }
    pile.close(total);
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
  if (!mine || slice != 0) return;
  A total[N];
  chunks.close(total);
#pragma unroll
  for (int e = 0; e < N; ++e) store_sum<T>(p, dst, fold + e, group, total[e]);
}

// The second launch: a block per sum, or per 32 sums.
template <class T>
__device__ inline void last_sums(Folding const& p, void* dst) {
  Fold const f = {p.partial, static_cast<char*>(dst), p.folds, p.groups, p.folds, 1, static_cast<double>(p.over)};
  if (p.team == 1) {
    add_long<T>(f);
  } else {
    add_wide<T>(f);
  }
}

// ---- other reductions

template <class P>
__device__ inline void store_fold(Folding const& p, void* dst, int64_t fold, int64_t group, typename P::A a) {
  if (p.groups > 1) {
    reinterpret_cast<typename P::A*>(p.partial)[group * p.folds + fold] = a;
  } else {
    static_cast<typename P::R*>(dst)[fold] = P::result(a, static_cast<double>(p.terms));
  }
}

// Folds terms k ... of a fold: all at once if the reduction supports it.
template <class P, class T, int N>
__device__ inline void take_terms(typename P::A& a, Some<T, N> const& x, int64_t k) {
  if constexpr (N > 1 && takes_vectors<P, T>) {
    P::take_vector(a, x, k);
  } else if constexpr (N > 1 && finds<P, T>) {
    auto const m = P::of(x);
    if (a.k < 0 || P::beaten(a.v, m)) a = {m, k + P::find(m, x)};
  } else {
#pragma unroll
    for (int e = 0; e < N; ++e) P::take(a, x.v[e], k + e);
  }
}

// `team` threads per branch. Vectors: the threads read 16 bytes of terms in turn, and the remaining terms one by one.
template <class P, bool Vectors, class S>
__device__ inline void fold_rows(Folding const& p, void* dst, S const& s) {
  using T = typename S::T;
  constexpr int V = vector_width<T>, flight = in_flight<T>;
  int const team = static_cast<int>(p.team), at = threadIdx.x % team;
  int64_t const branch = static_cast<int64_t>(blockIdx.x) * (32 * warps / team) + threadIdx.x / team;
  bool const mine = branch < p.folds * p.groups;
  int64_t fold = mine ? branch : 0, group = 0;
  if (p.groups > 1) group = fold % p.groups, fold /= p.groups;
  int64_t const lo = group * p.per_group;
  int64_t const hi = !mine ? lo : lo + p.per_group < p.terms ? lo + p.per_group : p.terms;
  auto const base = s.template base<1>(fold);
  typename P::A a = P::start(p.means, fold);
  int64_t const whole = Vectors ? lo + (hi - lo) / V * V : lo;
  if constexpr (Vectors) {
    int const step = team * V;
    int64_t j = lo + at * V;
    for (; j + (flight - 1) * step < whole; j += flight * step) {
      Some<T, V> x[flight];
#pragma unroll
      for (int u = 0; u < flight; ++u) x[u] = s.template terms<V>(base, j + u * step, V);
#pragma unroll
      for (int u = 0; u < flight; ++u) take_terms<P>(a, x[u], j + u * step);
    }
    for (; j < whole; j += step) take_terms<P>(a, s.template terms<V>(base, j, V), j);
  }
  int64_t j = whole + at;
  for (; !Vectors && j + (flight - 1) * team < hi; j += flight * team) {
    Some<T, 1> x[flight];
#pragma unroll
    for (int u = 0; u < flight; ++u) x[u] = s.template terms<1>(base, j + u * team, 1);
#pragma unroll
    for (int u = 0; u < flight; ++u) take_terms<P>(a, x[u], j + u * team);
  }
  for (; j < hi; j += team) take_terms<P>(a, s.template terms<1>(base, j, 1), j);
  a = merge_team<P>(a, team);
  if (mine && at == 0) store_fold<P>(p, dst, fold, group, a);
}

// `team` neighbouring threads own N folds each, and the teams of a block process terms in turn.
template <class P, int N, class S>
__device__ inline void fold_columns(Folding const& p, void* dst, S const& s) {
  using T = typename S::T;
  using A = typename P::A;
  constexpr int flight = 4;
  __shared__ __align__(16) char bytes[32 * warps * N * sizeof(A)];
  A(*const shared)[N] = reinterpret_cast<A(*)[N]>(bytes);
  int const team = static_cast<int>(p.team), teams = 32 * warps / team, slice = threadIdx.x / team;
  int64_t const strips = (p.folds - 1) / (team * N) + 1;
  int64_t const group = blockIdx.x / strips;
  int64_t const fold = (blockIdx.x % strips * team + threadIdx.x % team) * N;
  bool const mine = fold < p.folds;
  auto const base = s.template base<N>(mine ? fold : 0);
  int64_t const lo = group * p.per_group, hi = lo + p.per_group < p.terms ? lo + p.per_group : p.terms;
  A a[N];
#pragma unroll
  for (int e = 0; e < N; ++e) a[e] = P::start(p.means, mine ? fold + e : 0);
  int64_t j = lo + slice;
  for (; mine && j + (flight - 1) * teams < hi; j += flight * teams) {
    Some<T, N> x[flight];
#pragma unroll
    for (int u = 0; u < flight; ++u) x[u] = s.template across<N>(base, fold, j + u * teams);
#pragma unroll
    for (int u = 0; u < flight; ++u) {
#pragma unroll
      for (int e = 0; e < N; ++e) P::take(a[e], x[u].v[e], j + u * teams);
    }
  }
  for (; mine && j < hi; j += teams) {
    Some<T, N> const x = s.template across<N>(base, fold, j);
#pragma unroll
    for (int e = 0; e < N; ++e) P::take(a[e], x.v[e], j);
  }
#pragma unroll
  for (int e = 0; e < N; ++e) shared[threadIdx.x][e] = a[e];
  for (int step = 1; step < teams; step *= 2) {
    __syncthreads();
    if (slice % (2 * step) != 0) continue;
#pragma unroll
    for (int e = 0; e < N; ++e) a[e] = shared[threadIdx.x][e] = P::merge(a[e], shared[threadIdx.x + step * team][e]);
  }
  if (!mine || slice != 0) return;
#pragma unroll
  for (int e = 0; e < N; ++e) store_fold<P>(p, dst, fold + e, group, a[e]);
}

// The second launch.
template <class P>
__device__ inline void last_folds(Folding const& p, void* dst) {
  merge_last<P>({p.partial, static_cast<char*>(dst), p.folds, p.terms, p.groups, static_cast<int>(p.team)});
}

// ---- softmax and the norms

struct Weights {
  char const *gamma, *beta;
  double eps;
  int64_t n;
};

// `Team` threads per line, which compute the line as they read it and write it once.
template <int op, int Team, int Held, class S>
__device__ inline void line_rows(Folding const& p, Weights const& w, void* dst, S const& s) {
  using T = typename S::T;
  constexpr int V = vector_width<T>, block = Team < 128 ? 128 : Team;
  int64_t const line = static_cast<int64_t>(blockIdx.x) * (block / Team) + threadIdx.x / Team;
  bool const mine = line < p.folds;
  int const at = threadIdx.x % Team * V, step = Team * V;
  auto const base = s.template base<1>(mine ? line : 0);
  auto const load = [&](int u) {
    auto const x = s.template terms<V>(base, at + u * step, V);
    uint4 v;
    memcpy(&v, &x, sizeof v);
    return v;
  };
  held_line<op, T, Team, Held, false>(w, mine ? static_cast<int>(p.terms) : 0, at, step, load,
                                      [&] { return Beside<T>{static_cast<T*>(dst) + (mine ? line : 0) * p.terms + at}; });
}

}  // namespace gpk
