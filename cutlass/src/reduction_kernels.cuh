// reduction_kernels.cuh: kernels of the reductions other than Sum and Mean.
//
// A fold combines the terms of one result. A branch is a range of the terms of a fold; if folds have several
// branches, fold_partials combines their partial results.
//
// If the order of the terms affects a result, two kernels compute the same tree. fold_rows and fold_columns each read
// one layout. fold_rows_transposed and fold_columns_transposed compute the trees of these two from the other layout.
#pragma once
#include "ops.cuh"
#include "ops_reduce.cuh"

namespace gpk {
namespace {

struct Reduction {
  char const* x;
  char* out;  // results, or partial results: branch 0 of all folds, then branch 1, ...
  double const* means;
  int64_t folds, terms, groups, per_group;  // groups: branches per fold; per_group: terms per branch
  int team;                                 // threads that share a fold, a power of two
  bool vectors;                             // terms are read 16 bytes at a time
  int kept_dims, folded_dims;               // innermost first
  int64_t kept_n[GPK_MAX_DIMS], kept_stride[GPK_MAX_DIMS];
  int64_t folded_n[GPK_MAX_DIMS], folded_stride[GPK_MAX_DIMS];
  int parts;  // threads that share a fold in fold_rows_transposed, at most team

  __device__ int64_t kept(int64_t i) const {
    return kept_dims == 1 ? i * kept_stride[0] : nested_offset(kept_dims, kept_n, kept_stride, i);
  }
  __device__ int64_t folded(int64_t i) const {
    return folded_dims == 1 ? i * folded_stride[0] : nested_offset(folded_dims, folded_n, folded_stride, i);
  }
};

template <class P>
__device__ void store_result(Reduction const& p, int64_t fold, int64_t group, typename P::A a) {
  if (p.groups > 1) {
    reinterpret_cast<typename P::A*>(p.out)[group * p.folds + fold] = a;
  } else {
    reinterpret_cast<typename P::R*>(p.out)[fold] = P::result(a, static_cast<double>(p.terms));
  }
}

// Whether the order of terms affects the result. If so, the order depends only on shape and type, not on the strides.
template <class P>
constexpr bool ordered = false;
template <class T>
constexpr bool ordered<Product<T>> = is_float<T> || is_complex<T>;
template <class T>
constexpr bool ordered<Average<T>> = true;
template <class T>
constexpr bool ordered<Variance<T>> = true;

// The minimum number of blocks of fold_rows per multiprocessor.
template <class P, class T, bool Dense>
constexpr int fold_blocks = !Dense || sizeof(typename P::A) > 16 ? 2
                            : locates_later<P, T>                        ? (sizeof(T) == 1 ? 2 : 3)
                            : accumulates_vectors<P, T> || sizeof(T) >= 4 ? (sizeof(T) == 1 ? 2 : 4)
                                                                 : 2;

template <class P, class T, int V>
__device__ void accumulate(typename P::A& a, Vec<T, V> const& x, int64_t k) {
  if constexpr (accumulates_vectors<P, T>) {
    P::accumulate_vector(a, x, k);
  } else {
#pragma unroll
    for (int e = 0; e < V; ++e) P::accumulate(a, x.v[e], k + e);
  }
}

// For folds with contiguous terms. `team` threads compute a branch, and a block computes threads/team branches.
// Dense: the terms have one dimension and are read as vectors of 16 bytes. Gathered: the elements of a vector are
// read one by one.
template <class P, class T, bool Dense, bool Gathered = false>
__global__ void __launch_bounds__(threads, fold_blocks<P, T, Dense>)
    fold_rows(__grid_constant__ Reduction const p) {
  begin();
  constexpr int V = vector_width<T>, in_flight = Dense ? 8 : 4, scalars_in_flight = Dense || Gathered ? 8 : 4;
  int64_t const branch = static_cast<int64_t>(blockIdx.x) * (threads / p.team) + threadIdx.x / p.team;
  bool const active = branch < p.folds * p.groups;
  int64_t fold = active ? branch : 0, group = 0;
  if (p.groups > 1) group = fold % p.groups, fold /= p.groups;
  int const at = threadIdx.x % p.team;
  T const* const x = reinterpret_cast<T const*>(p.x) + p.kept(fold);
  int64_t const lo = group * p.per_group;
  int64_t const hi = !active ? lo : lo + p.per_group < p.terms ? lo + p.per_group : p.terms;
  typename P::A a = P::start(p.means, fold);
  int64_t i = lo;
  if constexpr (Dense) {
    T const* const y = x + lo;
    int const vector_end = static_cast<int>(hi - lo) / V * V, step = p.team * V;
    auto best = a;
    int found = -1;
    for (int j = at * V; j < vector_end; j += in_flight * step) {
      Vec<T, V> v[in_flight];
#pragma unroll
      for (int u = 0; u < in_flight; ++u) {
        if (j + u * step < vector_end) v[u] = *reinterpret_cast<Vec<T, V> const*>(y + j + u * step);
      }
#pragma unroll
      for (int u = 0; u < in_flight; ++u) {
        int const k = j + u * step;
        if (k >= vector_end) continue;
        if constexpr (locates_later<P, T>) {
          auto const m = P::of(v[u]);
          if (found < 0 || P::beaten(best.v, m)) best.v = m, found = k;
        } else {
          accumulate<P, T>(a, v[u], lo + k);
        }
      }
    }
    if constexpr (locates_later<P, T>) {
      if (found >= 0) a = {best.v, lo + found + P::find(best.v, *reinterpret_cast<Vec<T, V> const*>(y + found))};
    }
    i = lo + vector_end;
  } else if (p.vectors) {
    int64_t const vector_end = lo + (hi - lo) / V * V;
    int const step = p.team * V;
    for (int64_t j = lo + at * V; j < vector_end; j += in_flight * step) {
      Vec<T, V> v[in_flight];
#pragma unroll
      for (int u = 0; u < in_flight; ++u) {
        if constexpr (Gathered) {
          if (j + u * step >= vector_end) continue;
#pragma unroll
          for (int e = 0; e < V; ++e) v[u].v[e] = x[p.folded(j + u * step + e)];
        } else {
          if (j + u * step < vector_end) v[u] = *reinterpret_cast<Vec<T, V> const*>(x + p.folded(j + u * step));
        }
      }
#pragma unroll
      for (int u = 0; u < in_flight; ++u) {
        if (j + u * step < vector_end) accumulate<P, T>(a, v[u], j + u * step);
      }
    }
    i = vector_end;
  }
  for (int64_t j = i + at; j < hi; j += scalars_in_flight * p.team) {
    T v[scalars_in_flight];
#pragma unroll
    for (int u = 0; u < scalars_in_flight; ++u) {
      int64_t const k = j + u * p.team;
      if (k < hi) v[u] = x[Dense ? k : p.folded(k)];
    }
#pragma unroll
    for (int u = 0; u < scalars_in_flight; ++u) {
      if (j + u * p.team < hi) P::accumulate(a, v[u], j + u * p.team);
    }
  }
  a = merge_team<P>(a, p.team);
  if (active && at == 0) store_result<P>(p, fold, group, a);
}

// For neighbouring folds that are contiguous. `team` neighbouring threads own W folds each. The terms are distributed
// round-robin over the teams of a block.
template <class P, class T, int W>
__global__ void __launch_bounds__(threads, 2) fold_columns(__grid_constant__ Reduction const p) {
  begin();
  using A = typename P::A;
  constexpr int in_flight = 8;
  __shared__ __align__(16) char bytes[threads * W * sizeof(A)];
  A(*const shared)[W] = reinterpret_cast<A(*)[W]>(bytes);
  int const teams = threads / p.team, slice = threadIdx.x / p.team;
  int64_t const column_tiles = (p.folds - 1) / (p.team * W) + 1;
  int64_t const group = blockIdx.x / column_tiles;
  int64_t const fold = (blockIdx.x % column_tiles * p.team + threadIdx.x % p.team) * W;
  bool const active = fold < p.folds;
  T const* const x = reinterpret_cast<T const*>(p.x) + p.kept(active ? fold : 0);
  int64_t const lo = group * p.per_group, hi = lo + p.per_group < p.terms ? lo + p.per_group : p.terms;
  A a[W];
#pragma unroll
  for (int e = 0; e < W; ++e) a[e] = P::start(p.means, active ? fold + e : 0);
  for (int64_t j = lo + slice; active && j < hi; j += in_flight * teams) {
    Vec<T, W> v[in_flight];
#pragma unroll
    for (int u = 0; u < in_flight; ++u) {
      int64_t const k = j + u * teams;
      if (k < hi) v[u] = *reinterpret_cast<Vec<T, W> const*>(x + p.folded(k));
    }
#pragma unroll
    for (int u = 0; u < in_flight; ++u) {
      if (j + u * teams >= hi) continue;
#pragma unroll
      for (int e = 0; e < W; ++e) P::accumulate(a[e], v[u].v[e], j + u * teams);
    }
  }
#pragma unroll
  for (int e = 0; e < W; ++e) shared[threadIdx.x][e] = a[e];
  for (int step = 1; step < teams; step *= 2) {
    __syncthreads();
    if (slice % (2 * step) != 0) continue;
#pragma unroll
    for (int e = 0; e < W; ++e) a[e] = shared[threadIdx.x][e] = P::merge(a[e], shared[threadIdx.x + step * p.team][e]);
  }
  if (!active || slice != 0) return;
#pragma unroll
  for (int e = 0; e < W; ++e) store_result<P>(p, fold + e, group, a[e]);
}

// Computes the tree of fold_columns for folds whose terms are contiguous and are read as vectors. A thread computes
// what V neighbouring teams of fold_columns compute.
template <class P, class T>
__global__ void __launch_bounds__(threads, 2) fold_columns_transposed(__grid_constant__ Reduction const p) {
  begin();
  constexpr int V = vector_width<T>, in_flight = V > 4 ? 4 : 8;
  int64_t const branch = static_cast<int64_t>(blockIdx.x) * (threads / p.team) + threadIdx.x / p.team;
  bool const active = branch < p.folds * p.groups;
  int64_t fold = active ? branch : 0, group = 0;
  if (p.groups > 1) group = fold % p.groups, fold /= p.groups;
  int const at = threadIdx.x % p.team * V, step = p.team * V;
  T const* const x = reinterpret_cast<T const*>(p.x) + p.kept(fold);
  int64_t const lo = group * p.per_group;
  int64_t const hi = !active ? lo : lo + p.per_group < p.terms ? lo + p.per_group : p.terms;
  typename P::A a[V];
#pragma unroll
  for (int e = 0; e < V; ++e) a[e] = P::start(p.means, fold);
  int64_t j = lo + at;
  for (; j + V <= hi; j += in_flight * step) {
    Vec<T, V> v[in_flight];
#pragma unroll
    for (int u = 0; u < in_flight; ++u) {
      if (j + u * step + V <= hi) v[u] = *reinterpret_cast<Vec<T, V> const*>(x + p.folded(j + u * step));
    }
#pragma unroll
    for (int u = 0; u < in_flight; ++u) {
      if (j + u * step + V > hi) continue;
#pragma unroll
      for (int e = 0; e < V; ++e) P::accumulate(a[e], v[u].v[e], j + u * step + e);
    }
  }
  // The last, partial vector belongs to one thread.
  j = lo + (hi - lo) / V * V;
#pragma unroll
  for (int e = 0; e < V; ++e) {
    if ((j - lo) % step == at && j + e < hi) P::accumulate(a[e], x[p.folded(j + e)], j + e);
  }
#pragma unroll
  for (int n = 1; n < V; n *= 2) {
#pragma unroll
    for (int e = 0; e < V; e += 2 * n) a[e] = P::merge(a[e], a[e + n]);
  }
  a[0] = merge_team<P>(a[0], p.team);
  if (active && at == 0) store_result<P>(p, fold, group, a[0]);
}

// Computes the tree of fold_rows for neighbouring folds that are contiguous. A thread owns W folds. For each, it
// computes one after another the results of team/parts of the `team` threads of fold_rows.
template <class P, class T, int W>
__global__ void __launch_bounds__(threads, 2) fold_rows_transposed(__grid_constant__ Reduction const p) {
  begin();
  using A = typename P::A;
  constexpr int V = vector_width<T>, in_flight = 8, vectors_in_flight = V < in_flight ? in_flight / V : 1;
  __shared__ __align__(16) char bytes[threads * W * sizeof(A)];
  A(*const shared)[W] = reinterpret_cast<A(*)[W]>(bytes);
  int const width = threads / p.parts, part = threadIdx.x / width, each = p.team / p.parts;
  int64_t const column_tiles = (p.folds - 1) / (width * W) + 1;
  int64_t const group = blockIdx.x / column_tiles;
  int64_t const fold = (blockIdx.x % column_tiles * width + threadIdx.x % width) * W;
  bool const active = fold < p.folds;
  T const* const x = reinterpret_cast<T const*>(p.x) + p.kept(active ? fold : 0);
  int64_t const lo = group * p.per_group, hi = lo + p.per_group < p.terms ? lo + p.per_group : p.terms;
  int64_t const vector_end = p.vectors ? lo + (hi - lo) / V * V : lo;
  int const step = p.team * V;
  A a[W], level[6][W];  // level l: the merged results of 2^l threads of fold_rows
  for (int n = 0; active && n < each; ++n) {
    int const at = part * each + n;
#pragma unroll
    for (int e = 0; e < W; ++e) a[e] = P::start(p.means, fold + e);
    for (int64_t j = lo + at * V; j < vector_end; j += vectors_in_flight * step) {
      Vec<T, W> v[vectors_in_flight * V];
#pragma unroll
      for (int u = 0; u < vectors_in_flight * V; ++u) {
        int64_t const k = j + u / V * step;
        if (k < vector_end) v[u] = *reinterpret_cast<Vec<T, W> const*>(x + p.folded(k + u % V));
      }
#pragma unroll
      for (int u = 0; u < vectors_in_flight * V; ++u) {
        int64_t const k = j + u / V * step;
        if (k >= vector_end) continue;
#pragma unroll
        for (int e = 0; e < W; ++e) P::accumulate(a[e], v[u].v[e], k + u % V);
      }
    }
    for (int64_t j = vector_end + at; j < hi; j += in_flight * p.team) {
      Vec<T, W> v[in_flight];
#pragma unroll
      for (int u = 0; u < in_flight; ++u) {
        int64_t const k = j + u * p.team;
        if (k < hi) v[u] = *reinterpret_cast<Vec<T, W> const*>(x + p.folded(k));
      }
#pragma unroll
      for (int u = 0; u < in_flight; ++u) {
        if (j + u * p.team >= hi) continue;
#pragma unroll
        for (int e = 0; e < W; ++e) P::accumulate(a[e], v[u].v[e], j + u * p.team);
      }
    }
    int l = 0;
    for (; n >> l & 1; ++l) {
#pragma unroll
      for (int e = 0; e < W; ++e) a[e] = P::merge(level[l][e], a[e]);
    }
#pragma unroll
    for (int e = 0; e < W; ++e) level[l][e] = a[e];
  }
#pragma unroll
  for (int e = 0; e < W; ++e) shared[threadIdx.x][e] = a[e];
  for (int n = 1; n < p.parts; n *= 2) {
    __syncthreads();
    if (part % (2 * n) != 0) continue;
#pragma unroll
    for (int e = 0; e < W; ++e) a[e] = shared[threadIdx.x][e] = P::merge(a[e], shared[threadIdx.x + n * width][e]);
  }
  if (!active || part != 0) return;
#pragma unroll
  for (int e = 0; e < W; ++e) store_result<P>(p, fold + e, group, a[e]);
}

template <class P>
__global__ void __launch_bounds__(threads) fold_partials(PartialResults p) {
  begin();
  merge_partials<P>(p);
}

}  // namespace
}  // namespace gpk
