// ops_rows.cu: operations on three operands, reductions other than Sum and Mean, and operations along one axis.
//
// If a line (softmax, the norms) fits a team of threads, or the blocks of a cluster, it is read once, kept in
// registers and written once. A sum over a line adds the elements of each thread, then neighbouring threads in pairs,
// then blocks. Its order depends only on the line's length, and that of Var and Prod only on the shape. Operands that
// are not dense have kernels that read the same terms at other addresses.
#include "lines.cuh"
#include "ops.cuh"
#include "ops_reduce.cuh"
#include "scan.cuh"

namespace gpk {
namespace {

// The operations, by their numbers in package expr.
enum {
  op_where = 150, op_clamp,
  op_max = 202, op_min, op_prod, op_var, op_any, op_all, op_arg_max, op_arg_min
};

// ---- three operands

struct Triple {
  uint64_t scalar[4][2];  // values of the scalars among operands 2 and 3
  int scalars;            // bit j: operand j is a scalar
};
struct TernaryRows {
  Rows<4> rows;
  Triple triple;
};
struct TernaryTiles {
  Tiles<4> tiles;
  Triple triple;
};

template <class T>
__device__ T scalar_of(Triple const& t, int operand) {
  T v;
  memcpy(&v, t.scalar[operand], sizeof v);
  return v;
}

template <class T, int V>
__device__ Vec<T, V> read(TernaryRows const& p, int operand, int64_t off) {
  if (!(p.triple.scalars >> operand & 1)) return read<T, V>(p.rows, operand, off);
  Vec<T, V> v;
#pragma unroll
  for (int e = 0; e < V; ++e) v.v[e] = scalar_of<T>(p.triple, operand);
  return v;
}

// X is the type of the first operand.
template <class Op, class X, class T>
__global__ void __launch_bounds__(threads) ternary_rows(__grid_constant__ TernaryRows const p) {
  begin();
  constexpr int V = 16 / sizeof(T);
  Rows<4> const& r = p.rows;
  uint32_t const first = blockIdx.x * blockDim.x + threadIdx.x;
  if (first < r.vectors) {
    int64_t off[4];
    place(r, V, first, off);
    Vec<X, V> const x = read<X, V>(p, 1, off[1]);
    Vec<T, V> y = read<T, V>(p, 2, off[2]), z = read<T, V>(p, 3, off[3]);
#pragma unroll
    for (int e = 0; e < V; ++e) z.v[e] = Op::apply(x.v[e], y.v[e], z.v[e]);
    *reinterpret_cast<Vec<T, V>*>(reinterpret_cast<T*>(r.p[0]) + off[0]) = z;
  }
  if (first < r.tail) {
    uint32_t const i = r.vectors * V + first;
    X const x = read<X, 1>(p, 1, r.splat[1] ? 0 : i).v[0];
    T const y = read<T, 1>(p, 2, r.splat[2] ? 0 : i).v[0], z = read<T, 1>(p, 3, r.splat[3] ? 0 : i).v[0];
    reinterpret_cast<T*>(r.p[0])[i] = Op::apply(x, y, z);
  }
}

template <class Op, class X, class T>
__global__ void __launch_bounds__(threads) ternary_tiles(__grid_constant__ TernaryTiles const p) {
  begin();
  T r[4];
  in_tile(p.tiles, [&](int u, bool in, int64_t const(&off)[4]) {
    if (!in) return;
    X const x = reinterpret_cast<X const*>(p.tiles.p[1])[off[1]];
    T const y = p.triple.scalars >> 2 & 1 ? scalar_of<T>(p.triple, 2) : reinterpret_cast<T const*>(p.tiles.p[2])[off[2]];
    T const z = p.triple.scalars >> 3 & 1 ? scalar_of<T>(p.triple, 3) : reinterpret_cast<T const*>(p.tiles.p[3])[off[3]];
    r[u] = Op::apply(x, y, z);
  });
  in_tile(p.tiles, [&](int u, bool in, int64_t const(&off)[4]) {
    if (in) reinterpret_cast<T*>(p.tiles.p[0])[off[0]] = r[u];
  });
}

template <class Op, class X, class T>
int ternary(Nest const& nest, Triple const& triple, uint64_t stream) {
  return in_pieces(nest, [&](Nest const& t) {
    TernaryRows r;
    r.triple = triple;
    if (make_rows(t, 16 / sizeof(T), 0, &r.rows)) {
      return launch_for(ternary_rows<Op, X, T>, r.rows.vectors, 1, stream, r);
    }
    TernaryTiles p;
    p.triple = triple;
    unsigned const grid = make_tiles(t, &p.tiles);
    return launch(ternary_tiles<Op, X, T>, grid, threads, stream, p);
  });
}

// ---- reductions

struct Reduction {
  char const* x;
  char* out;          // results, or partial results group by group
  double const* means;
  int64_t folds, terms, groups, per_group;
  int team;      // threads that share a fold, a power of two
  bool vectors;  // terms are read 16 bytes at a time
  int kept_dims, folded_dims;  // innermost first
  int64_t kept_n[GPK_MAX_DIMS], kept_stride[GPK_MAX_DIMS];
  int64_t folded_n[GPK_MAX_DIMS], folded_stride[GPK_MAX_DIMS];
  int parts;  // threads that share a fold in fold_turned, at most team

  __device__ int64_t kept(int64_t i) const {
    return kept_dims == 1 ? i * kept_stride[0] : far_offset(kept_dims, kept_n, kept_stride, i);
  }
  __device__ int64_t folded(int64_t i) const {
    return folded_dims == 1 ? i * folded_stride[0] : far_offset(folded_dims, folded_n, folded_stride, i);
  }
};

template <class P>
__device__ void finish(Reduction const& p, int64_t fold, int64_t group, typename P::A a) {
  if (p.groups > 1) {
    reinterpret_cast<typename P::A*>(p.out)[group * p.folds + fold] = a;
  } else {
    reinterpret_cast<typename P::R*>(p.out)[fold] = P::result(a, static_cast<double>(p.terms));
  }
}

// Whether the order of terms affects the result. If so, the order is a function of shape and type alone, whatever the
// strides.
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
                            : finds<P, T>                        ? (sizeof(T) == 1 ? 2 : 3)
                            : takes_vectors<P, T> || sizeof(T) >= 4 ? (sizeof(T) == 1 ? 2 : 4)
                                                                 : 2;

template <class P, class T, int V>
__device__ void take(typename P::A& a, Vec<T, V> const& x, int64_t k) {
  if constexpr (takes_vectors<P, T>) {
    P::take_vector(a, x, k);
  } else {
#pragma unroll
    for (int e = 0; e < V; ++e) P::take(a, x.v[e], k + e);
  }
}

// For folds whose terms are contiguous: `team` threads per branch, threads/team branches per block. Dense: one
// dimension, read as vectors of 16 bytes. Alone: the terms of vectors, if there are any, are read one by one.
template <class P, class T, bool Dense, bool Alone = false>
__global__ void __launch_bounds__(threads, fold_blocks<P, T, Dense>)
    fold_rows(__grid_constant__ Reduction const p) {
  begin();
  constexpr int V = vector_width<T>, flight = Dense ? 8 : 4, few = Dense || Alone ? 8 : 4;
  int64_t const branch = static_cast<int64_t>(blockIdx.x) * (threads / p.team) + threadIdx.x / p.team;
  bool const mine = branch < p.folds * p.groups;
  int64_t fold = mine ? branch : 0, group = 0;
  if (p.groups > 1) group = fold % p.groups, fold /= p.groups;
  int const at = threadIdx.x % p.team;
  T const* const x = reinterpret_cast<T const*>(p.x) + p.kept(fold);
  int64_t const lo = group * p.per_group;
  int64_t const hi = !mine ? lo : lo + p.per_group < p.terms ? lo + p.per_group : p.terms;
  typename P::A a = P::start(p.means, fold);
  int64_t i = lo;
  if constexpr (Dense) {
    T const* const y = x + lo;
    int const whole = static_cast<int>(hi - lo) / V * V, step = p.team * V;
    auto best = a;
    int found = -1;
    for (int j = at * V; j < whole; j += flight * step) {
      Vec<T, V> v[flight];
#pragma unroll
      for (int u = 0; u < flight; ++u) {
        if (j + u * step < whole) v[u] = *reinterpret_cast<Vec<T, V> const*>(y + j + u * step);
      }
#pragma unroll
      for (int u = 0; u < flight; ++u) {
        int const k = j + u * step;
        if (k >= whole) continue;
        if constexpr (finds<P, T>) {
          auto const m = P::of(v[u]);
          if (found < 0 || P::beaten(best.v, m)) best.v = m, found = k;
        } else {
          take<P, T>(a, v[u], lo + k);
        }
      }
    }
    if constexpr (finds<P, T>) {
      if (found >= 0) a = {best.v, lo + found + P::find(best.v, *reinterpret_cast<Vec<T, V> const*>(y + found))};
    }
    i = lo + whole;
  } else if (p.vectors) {
    int64_t const whole = lo + (hi - lo) / V * V;
    int const step = p.team * V;
    for (int64_t j = lo + at * V; j < whole; j += flight * step) {
      Vec<T, V> v[flight];
#pragma unroll
      for (int u = 0; u < flight; ++u) {
        if constexpr (Alone) {
          if (j + u * step >= whole) continue;
#pragma unroll
          for (int e = 0; e < V; ++e) v[u].v[e] = x[p.folded(j + u * step + e)];
        } else {
          if (j + u * step < whole) v[u] = *reinterpret_cast<Vec<T, V> const*>(x + p.folded(j + u * step));
        }
      }
#pragma unroll
      for (int u = 0; u < flight; ++u) {
        if (j + u * step < whole) take<P, T>(a, v[u], j + u * step);
      }
    }
    i = whole;
  }
  for (int64_t j = i + at; j < hi; j += few * p.team) {
    T v[few];
#pragma unroll
    for (int u = 0; u < few; ++u) {
      int64_t const k = j + u * p.team;
      if (k < hi) v[u] = x[Dense ? k : p.folded(k)];
    }
#pragma unroll
    for (int u = 0; u < few; ++u) {
      if (j + u * p.team < hi) P::take(a, v[u], j + u * p.team);
    }
  }
  a = merge_team<P>(a, p.team);
  if (mine && at == 0) finish<P>(p, fold, group, a);
}

// For contiguous neighbouring folds: `team` neighbouring threads own W folds each, and the teams of a block take
// terms in turn.
template <class P, class T, int W>
__global__ void __launch_bounds__(threads, 2) fold_columns(__grid_constant__ Reduction const p) {
  begin();
  using A = typename P::A;
  constexpr int flight = 8;
  __shared__ __align__(16) char bytes[threads * W * sizeof(A)];
  A(*const shared)[W] = reinterpret_cast<A(*)[W]>(bytes);
  int const teams = threads / p.team, slice = threadIdx.x / p.team;
  int64_t const strips = (p.folds - 1) / (p.team * W) + 1;
  int64_t const group = blockIdx.x / strips;
  int64_t const fold = (blockIdx.x % strips * p.team + threadIdx.x % p.team) * W;
  bool const mine = fold < p.folds;
  T const* const x = reinterpret_cast<T const*>(p.x) + p.kept(mine ? fold : 0);
  int64_t const lo = group * p.per_group, hi = lo + p.per_group < p.terms ? lo + p.per_group : p.terms;
  A a[W];
#pragma unroll
  for (int e = 0; e < W; ++e) a[e] = P::start(p.means, mine ? fold + e : 0);
  for (int64_t j = lo + slice; mine && j < hi; j += flight * teams) {
    Vec<T, W> v[flight];
#pragma unroll
    for (int u = 0; u < flight; ++u) {
      int64_t const k = j + u * teams;
      if (k < hi) v[u] = *reinterpret_cast<Vec<T, W> const*>(x + p.folded(k));
    }
#pragma unroll
    for (int u = 0; u < flight; ++u) {
      if (j + u * teams >= hi) continue;
#pragma unroll
      for (int e = 0; e < W; ++e) P::take(a[e], v[u].v[e], j + u * teams);
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
  if (!mine || slice != 0) return;
#pragma unroll
  for (int e = 0; e < W; ++e) finish<P>(p, fold + e, group, a[e]);
}

// Reproduces the tree of fold_columns for folds whose terms are contiguous and read as vectors. fold_columns has
// `slices` teams that take terms in turn; here a thread stands for V neighbouring ones.
template <class P, class T>
__global__ void __launch_bounds__(threads, 2) fold_slices(__grid_constant__ Reduction const p) {
  begin();
  constexpr int V = vector_width<T>, flight = V > 4 ? 4 : 8;
  int64_t const branch = static_cast<int64_t>(blockIdx.x) * (threads / p.team) + threadIdx.x / p.team;
  bool const mine = branch < p.folds * p.groups;
  int64_t fold = mine ? branch : 0, group = 0;
  if (p.groups > 1) group = fold % p.groups, fold /= p.groups;
  int const at = threadIdx.x % p.team * V, step = p.team * V;
  T const* const x = reinterpret_cast<T const*>(p.x) + p.kept(fold);
  int64_t const lo = group * p.per_group;
  int64_t const hi = !mine ? lo : lo + p.per_group < p.terms ? lo + p.per_group : p.terms;
  typename P::A a[V];
#pragma unroll
  for (int e = 0; e < V; ++e) a[e] = P::start(p.means, fold);
  int64_t j = lo + at;
  for (; j + V <= hi; j += flight * step) {
    Vec<T, V> v[flight];
#pragma unroll
    for (int u = 0; u < flight; ++u) {
      if (j + u * step + V <= hi) v[u] = *reinterpret_cast<Vec<T, V> const*>(x + p.folded(j + u * step));
    }
#pragma unroll
    for (int u = 0; u < flight; ++u) {
      if (j + u * step + V > hi) continue;
#pragma unroll
      for (int e = 0; e < V; ++e) P::take(a[e], v[u].v[e], j + u * step + e);
    }
  }
  // The last, partial vector belongs to one thread.
  j = lo + (hi - lo) / V * V;
#pragma unroll
  for (int e = 0; e < V; ++e) {
    if ((j - lo) % step == at && j + e < hi) P::take(a[e], x[p.folded(j + e)], j + e);
  }
#pragma unroll
  for (int n = 1; n < V; n *= 2) {
#pragma unroll
    for (int e = 0; e < V; e += 2 * n) a[e] = P::merge(a[e], a[e + n]);
  }
  a[0] = merge_team<P>(a[0], p.team);
  if (mine && at == 0) finish<P>(p, fold, group, a[0]);
}

// Reproduces the tree of fold_rows for contiguous neighbouring folds. A thread owns W folds, and computes one after
// the other what team/parts of the `team` threads of fold_rows compute.
template <class P, class T, int W>
__global__ void __launch_bounds__(threads, 2) fold_turned(__grid_constant__ Reduction const p) {
  begin();
  using A = typename P::A;
  constexpr int V = vector_width<T>, flight = 8, many = V < flight ? flight / V : 1;
  __shared__ __align__(16) char bytes[threads * W * sizeof(A)];
  A(*const shared)[W] = reinterpret_cast<A(*)[W]>(bytes);
  int const width = threads / p.parts, part = threadIdx.x / width, each = p.team / p.parts;
  int64_t const strips = (p.folds - 1) / (width * W) + 1;
  int64_t const group = blockIdx.x / strips;
  int64_t const fold = (blockIdx.x % strips * width + threadIdx.x % width) * W;
  bool const mine = fold < p.folds;
  T const* const x = reinterpret_cast<T const*>(p.x) + p.kept(mine ? fold : 0);
  int64_t const lo = group * p.per_group, hi = lo + p.per_group < p.terms ? lo + p.per_group : p.terms;
  int64_t const whole = p.vectors ? lo + (hi - lo) / V * V : lo;
  int const step = p.team * V;
  A a[W], level[6][W];  // level l: the result of 2^l threads, until it is merged with that of 2^l more
  for (int n = 0; mine && n < each; ++n) {
    int const at = part * each + n;
#pragma unroll
    for (int e = 0; e < W; ++e) a[e] = P::start(p.means, fold + e);
    for (int64_t j = lo + at * V; j < whole; j += many * step) {
      Vec<T, W> v[many * V];
#pragma unroll
      for (int u = 0; u < many * V; ++u) {
        int64_t const k = j + u / V * step;
        if (k < whole) v[u] = *reinterpret_cast<Vec<T, W> const*>(x + p.folded(k + u % V));
      }
#pragma unroll
      for (int u = 0; u < many * V; ++u) {
        int64_t const k = j + u / V * step;
        if (k >= whole) continue;
#pragma unroll
        for (int e = 0; e < W; ++e) P::take(a[e], v[u].v[e], k + u % V);
      }
    }
    for (int64_t j = whole + at; j < hi; j += flight * p.team) {
      Vec<T, W> v[flight];
#pragma unroll
      for (int u = 0; u < flight; ++u) {
        int64_t const k = j + u * p.team;
        if (k < hi) v[u] = *reinterpret_cast<Vec<T, W> const*>(x + p.folded(k));
      }
#pragma unroll
      for (int u = 0; u < flight; ++u) {
        if (j + u * p.team >= hi) continue;
#pragma unroll
        for (int e = 0; e < W; ++e) P::take(a[e], v[u].v[e], j + u * p.team);
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
  if (!mine || part != 0) return;
#pragma unroll
  for (int e = 0; e < W; ++e) finish<P>(p, fold + e, group, a[e]);
}

template <class P>
__global__ void __launch_bounds__(threads) fold_last(Last p) {
  begin();
  merge_last<P>(p);
}

// Branches of a fold: a function of shape alone, because the size of the workspace is one. A branch has at least
// `least` terms, and there are no more branches than keep any device busy.
int64_t branches(int64_t folds, int64_t terms) {
  constexpr int64_t least = 1024;
  int64_t const wanted = busy / ((folds - 1) / 8 + 1), most = (terms - 1) / least + 1;
  int64_t const n = wanted < 1 ? 1 : wanted < most ? wanted : most;
  return n > 1024 ? 1024 : n;
}

template <class P>
int64_t fold_workspace(int64_t folds, int64_t terms) {
  if (folds == 0 || terms == 0) return 0;
  int64_t const n = branches(folds, terms);
  return n == 1 ? 0 : (n * folds * static_cast<int64_t>(sizeof(typename P::A)) + 15) / 16 * 16;
}

// The layout of a reduction's elements. columns: neighbouring folds are closer in memory than neighbouring terms.
// vectors: W folds (columns) or V terms (rows) are 16 aligned bytes.
struct AccessPattern {
  bool columns, vectors;
};

template <int W, int V>
AccessPattern access_pattern(Reduction const& p, bool aligned) {
  auto magnitude = [](int64_t v) { return v < 0 ? -v : v; };
  auto even = [](int width, int dims, int64_t const* stride, int from) {
    bool yes = true;
    for (int d = from; d < dims; ++d) yes = yes && stride[d] % width == 0;
    return yes;
  };
  int64_t const kept = p.kept_stride[0], folded = p.folded_stride[0];
  bool const columns = p.folds > 1 && (p.terms < 8 || magnitude(kept) < magnitude(folded));
  return {columns, columns ? W > 1 && aligned && kept == 1 && p.kept_n[0] % W == 0 && even(W, p.kept_dims, p.kept_stride, 1) &&
                                 even(W, p.folded_dims, p.folded_stride, 0)
                           : aligned && folded == 1 && (p.folded_dims == 1 || p.folded_n[0] % V == 0) &&
                                 even(V, p.folded_dims, p.folded_stride, 1) && even(V, p.kept_dims, p.kept_stride, 0)};
}

// dense is p with the strides of a dense array. If the order of terms affects the result, the tree is that of dense,
// and p's own layout decides only how the terms are read.
template <class P, class T>
int fold(Reduction p, Reduction const& dense, uint64_t stream, uint64_t dst, uint64_t workspace) {
  constexpr int V = vector_width<T>;
  constexpr int most = sizeof(typename P::A) > 16 ? 4 : 8, W = V < most ? V : most;  // folds per thread
  AccessPattern const lies = access_pattern<W, V>(p, reinterpret_cast<uintptr_t>(p.x) % 16 == 0);
  AccessPattern const tree = ordered<P> ? access_pattern<W, V>(dense, true) : lies;
  p.vectors = tree.vectors;
  p.groups = branches(p.folds, p.terms);
  p.per_group = ((p.terms - 1) / p.groups + V) / V * V;  // whole vectors
  p.groups = (p.terms - 1) / p.per_group + 1;
  p.out = reinterpret_cast<char*>(p.groups > 1 ? workspace : dst);
  if (tree.columns) {
    int64_t const each = tree.vectors ? W : 1;
    p.team = 32;
    while (p.team > 1 && p.team / 2 * each >= p.folds) p.team /= 2;
    // Gives each team of a block enough terms for the loads in flight.
    while (p.team < threads && p.team * each < p.folds && threads / p.team * 8 > p.per_group) p.team *= 2;
  } else {
    // Up to 16 vectors per thread, 32 where merging costs more, but at least 128 contiguous bytes per team.
    constexpr int max_vectors = finds<P, T> ? 32 : 16;
    p.team = 1;
    while (p.team < threads && p.team * V < p.per_group && (p.team < 8 || p.team * max_vectors * V < p.per_group)) p.team *= 2;
  }
  // Threads next to each other work on `folds` folds each, or on a branch.
  auto side_by_side = [&](auto kernel, int64_t folds) {
    int64_t const grid = ((p.folds - 1) / folds + 1) * p.groups;
    return grid > INT32_MAX ? GPK_ERR_ARGUMENT : launch(kernel, static_cast<unsigned>(grid), threads, stream, p);
  };
  auto along = [&](auto kernel) {
    int64_t const grid = (p.folds * p.groups - 1) / (threads / p.team) + 1;
    return grid > INT32_MAX ? GPK_ERR_ARGUMENT : launch(kernel, static_cast<unsigned>(grid), threads, stream, p);
  };
  int code = GPK_ERR_UNSUPPORTED;
  if (tree.columns && lies.columns) {
    code = side_by_side(lies.vectors ? fold_columns<P, T, W> : fold_columns<P, T, 1>, p.team * (lies.vectors ? W : 1));
  } else if (!tree.columns && !lies.columns) {
    bool const whole = p.vectors && lies.vectors && p.folded_dims == 1 && p.per_group < 1 << 30;
    auto kernel = whole ? fold_rows<P, T, true> : fold_rows<P, T, false>;
    if constexpr (ordered<P>) {
      if (p.vectors && !lies.vectors) kernel = fold_rows<P, T, false, true>;
    }
    code = along(kernel);
  } else if constexpr (ordered<P>) {
    if (tree.columns) {
      p.vectors = false;
      p.team = threads / p.team;  // the teams of fold_columns
      bool const slices = lies.vectors && p.team >= V;
      if (slices) p.team /= V;
      code = along(slices ? fold_slices<P, T> : fold_rows<P, T, false, true>);
    } else {
      int const each = lies.vectors ? W : 1;
      int width = 32;
      while (width > 1 && width / 2 * each >= p.folds) width /= 2;
      p.parts = threads / width < p.team ? threads / width : p.team;
      code = side_by_side(lies.vectors ? fold_turned<P, T, W> : fold_turned<P, T, 1>, threads / p.parts * each);
    }
  }
  if (code != GPK_OK || p.groups == 1) return code;
  Last last = {reinterpret_cast<char const*>(workspace), reinterpret_cast<char*>(dst), p.folds, p.terms, p.groups, 1};
  while (last.team < threads && last.team * 2 <= p.groups) last.team *= 2;
  int64_t const grid = (p.folds - 1) / (threads / last.team) + 1;
  if (grid > INT32_MAX) return GPK_ERR_ARGUMENT;
  return launch(fold_last<P>, static_cast<unsigned>(grid), threads, stream, last);
}

// Calls f with the reduction of op on elements of type `type` and a value of that type.
template <class F>
int by_reduction(int op, int type, F const& f) {
  if (type == GPK_BOOL && op != op_prod) type = GPK_U8;  // a byte, 0 or 1
  if (op == op_any || op == op_all) type = sign_free(type);
  if (op == op_prod && type == GPK_U64) type = GPK_I64;
  return by_type(type, [&](auto x) -> int {
    using T = decltype(x);
    constexpr bool real = is_float<T> || is_integer<T>;
    if constexpr (real) {
      switch (op) {
        case op_max: return f(Extreme<T, true>{}, x);
        case op_min: return f(Extreme<T, false>{}, x);
        case op_arg_max: return f(ArgExtreme<T, true>{}, x);
        case op_arg_min: return f(ArgExtreme<T, false>{}, x);
      }
    }
    if constexpr ((real && is_sign_free<T>) || is_complex<T>) {
      switch (op) {
        case op_any: return f(Truth<T, false>{}, x);
        case op_all: return f(Truth<T, true>{}, x);
      }
    }
    if constexpr (is_float<T> || is_complex<T>) {
      if (op == op_var) return f(Variance<T>{}, x);
    }
    if constexpr (!__is_same(T, uint64_t)) {
      if (op == op_prod) return f(Product<T>{}, x);
    }
    return GPK_ERR_UNSUPPORTED;
  });
}

int result_type(int op, int type) {
  switch (op) {
    case op_arg_max:
    case op_arg_min: return GPK_I64;
    case op_any:
    case op_all: return GPK_BOOL;
    case op_prod: return sum_type(type);
    case op_var: return type == GPK_C64 ? GPK_F32 : type == GPK_C128 ? GPK_F64 : type;
  }
  return type;
}

// ---- along an axis

// A line is read once, held in registers by a team of threads (Blocks: by a cluster of blocks with a team each) and
// written once. Half types stay half in registers.
template <int op, class T, int Team, int Held, bool Blocks>
__global__ void __launch_bounds__(Team < 128 ? 128 : Team, 1024 / (Team < 128 ? 128 : Team))
    line_rows(__grid_constant__ Lines const p) {
  begin();
  constexpr int V = vector_width<T>, block = Team < 128 ? 128 : Team;
  int64_t line = static_cast<int64_t>(blockIdx.x) * (block / Team) + threadIdx.x / Team;
  int at = threadIdx.x % Team * V, step = Team * V;
  if constexpr (Blocks) {
    uint32_t const n = cluster_blocks();
    line = blockIdx.x / n;
    at += cluster_rank() * Team * V;
    step *= n;
  }
  bool const mine = line < p.lines;
  T const* const x = reinterpret_cast<T const*>(p.x) + p.x_at(mine ? line : 0) + at;
  held_line<op, T, Team, Held, Blocks>(
      p, mine ? static_cast<int>(p.n) : 0, at, step, [&](int u) { return *reinterpret_cast<uint4 const*>(x + u * step); },
      [&] { return Beside<T>{reinterpret_cast<T*>(p.dst) + p.dst_at(mine ? line : 0) + at}; });
}

// Lines whose layout line_rows does not support.
struct Apart {
  Lines lines;
  int team;     // threads per line, as many as line_rows would use
  bool turned;  // neighbouring threads process neighbouring lines
  bool x_whole, dst_whole, weights_whole;  // 16 bytes can be read or written at once
};

constexpr int apart_threads = 1024;  // per block, at most

// The index of a thread of line_apart: its line within the block, and its rank among the line's threads. Values are
// combined across the threads in line_rows' order.
template <class A>
struct Seat {
  Apart const& p;
  char const *gamma, *beta;
  double eps;
  int64_t n;
  int line, place;
  A *seats, *warp_values, *results;  // a value per thread, per warp, per line

  __device__ Seat(Apart const& p, A* seats, A* warp_values, A* results)
      : p(p), gamma(p.lines.gamma), beta(p.lines.beta), eps(p.lines.eps), n(p.lines.n), seats(seats),
        warp_values(warp_values), results(results) {
    int const lines = blockDim.x / p.team;
    line = p.turned ? threadIdx.x % lines : threadIdx.x / p.team;
    place = p.turned ? threadIdx.x / lines : threadIdx.x % p.team;
  }

  // The index of a thread's value in shared memory, padded so that a warp has no bank conflicts.
  static __device__ int kept(int i) { return i + i / 32; }

  template <class Op>
  __device__ A over(A v, int k) const {
    if (p.turned) {
      seats[kept(line * p.team + place)] = v;
      __syncthreads();
      v = seats[kept(threadIdx.x)];
    }
#pragma unroll
    for (int mask = 1; mask < 32; mask *= 2) v = Op::apply(v, __shfl_xor_sync(~0u, v, mask));
    if (p.team > 32) {
      A* const values = warp_values + k * (apart_threads / 32);
      if (threadIdx.x % 32 == 0) values[threadIdx.x / 32] = v;
      __syncthreads();
      int const each = p.team / 32;
      v = values[threadIdx.x / p.team * each + threadIdx.x % each];
      for (int mask = 1; mask < each; mask *= 2) v = Op::apply(v, __shfl_xor_sync(~0u, v, mask));
    }
    if (p.turned) {
      if (threadIdx.x % p.team == 0) results[threadIdx.x / p.team] = v;
      __syncthreads();
      v = results[line];
    }
    return v;
  }
};

// Elements of a line, `step` apart, or contiguous where `whole`.
template <class T>
struct Spread {
  T* p;
  int64_t step;
  bool whole, weights_whole;

  static __device__ uint4 gathered(T const* q, int64_t step) {
    constexpr int V = vector_width<T>;
    T e[V];
#pragma unroll
    for (int i = 0; i < V; ++i) e[i] = q[i * step];
    uint4 v;
    memcpy(&v, e, sizeof v);
    return v;
  }
  __device__ uint4 weights(T const* q) const {
    return weights_whole ? *reinterpret_cast<uint4 const*>(q) : gathered(q, 1);
  }
  __device__ void put(int i, uint4 v) const {
    constexpr int V = vector_width<T>;
    T* const q = p + i * step;
    if (whole) {
      *reinterpret_cast<uint4*>(q) = v;
    } else {
      T e[V];
      memcpy(e, &v, sizeof v);
#pragma unroll
      for (int k = 0; k < V; ++k) q[k * step] = e[k];
    }
  }
};

// Computes what line_rows does, with the same number of threads per line, for any strides. If neighbouring lines are
// closer in memory than the elements of a line, neighbouring threads process neighbouring lines.
template <int op, class T, bool Blocks>
__global__ void __launch_bounds__(Blocks ? 512 : apart_threads, Blocks ? 2 : 1) line_apart(__grid_constant__ Apart const p) {
  begin();
  using A = typename computed<T>::type;
  constexpr int V = vector_width<T>, most = Blocks ? 512 : apart_threads;
  __shared__ A seats[Blocks ? 1 : most + most / 32], warp_values[2 * (apart_threads / 32)], results[most / 32];
  Seat<A> const seat(p, seats, warp_values, results);
  int64_t line = static_cast<int64_t>(blockIdx.x) * (blockDim.x / p.team) + seat.line;
  int at = seat.place * V, step = p.team * V;
  if constexpr (Blocks) {
    uint32_t const n = cluster_blocks();
    line = blockIdx.x / n;
    at += cluster_rank() * step;
    step *= n;
  }
  Lines const& l = p.lines;
  bool const mine = line < l.lines;
  T const* const x = reinterpret_cast<T const*>(l.x) + l.x_at(mine ? line : 0) + at * l.x_step;
  held_line<op, T, 0, held, Blocks>(
      seat, mine ? static_cast<int>(l.n) : 0, at, step,
      [&](int u) {
        T const* const q = x + u * step * l.x_step;
        return p.x_whole ? *reinterpret_cast<uint4 const*>(q) : Spread<T>::gathered(q, l.x_step);
      },
      [&] {
        T* const q = reinterpret_cast<T*>(l.dst) + l.dst_at(mine ? line : 0) + at * l.dst_step;
        return Spread<T>{q, l.dst_step, p.dst_whole, p.weights_whole};
      });
}

template <class T, class A>
__device__ A weight(char const* p, int64_t i, A without) {
  return p == nullptr ? without : static_cast<A>(convert<A>(reinterpret_cast<T const*>(p)[i]));
}

// A line of any length, a block per line. The block reads the line three times, from L2 if it fits.
constexpr int any_threads = 512;
template <int op, class T>
__global__ void __launch_bounds__(any_threads) line_any(__grid_constant__ Lines const p) {
  begin();
  using A = typename computed<T>::type;
  __shared__ A scratch[2][any_threads / 32];
  int64_t const line = blockIdx.x;
  T const* const x = reinterpret_cast<T const*>(p.x) + p.x_at(line);
  T* const dst = reinterpret_cast<T*>(p.dst) + p.dst_at(line);
  constexpr bool soft = op == op_softmax || op == op_log_softmax;
  constexpr int flight = 8;
  // Calls f(i, element i) for each of this thread's elements.
  auto each = [&](auto const& f) {
    int64_t i = threadIdx.x;
    for (; i + (flight - 1) * any_threads < p.n; i += flight * any_threads) {
      T v[flight];
#pragma unroll
      for (int u = 0; u < flight; ++u) v[u] = x[(i + u * any_threads) * p.x_step];
#pragma unroll
      for (int u = 0; u < flight; ++u) f(i + u * any_threads, convert<A>(v[u]));
    }
    for (; i < p.n; i += any_threads) f(i, convert<A>(x[i * p.x_step]));
  };
  A const n = static_cast<A>(p.n);
  A shift = 0, sum = 0;
  if constexpr (soft) {
    A m = lowest<A>();
    each([&](int64_t, A v) { m = Maximum::apply(m, v); });
    shift = over_team<Maximum, any_threads>(m, scratch[0]);
  } else if constexpr (op == op_layer_norm) {
    each([&](int64_t, A v) { sum += v; });
    shift = over_team<Add2, any_threads>(sum, scratch[0]) / n;
  }
  sum = 0;
  each([&](int64_t, A v) {
    A const d = v - shift;
    sum += soft ? exponential(d) : d * d;
  });
  sum = over_team<Add2, any_threads>(sum, scratch[1]);
  A const scale = op == op_softmax ? 1 / sum : op == op_log_softmax ? logarithm(sum) : 1 / sqrt(sum / n + static_cast<A>(p.eps));
  each([&](int64_t i, A v) {
    A const d = v - shift;
    A const y = op == op_softmax       ? exponential(d) * scale
                : op == op_log_softmax ? d - scale
                                       : normed(d, scale, weight<T>(p.gamma, i, A(1)), weight<T>(p.beta, i, A(0)));
    dst[i * p.dst_step] = convert<T>(y);
  });
}

template <int op, class T>
int line(Lines const& p, uint64_t stream) {
  constexpr int V = vector_width<T>, each = held * V;  // elements per thread
  auto aligned = [](void const* q) { return reinterpret_cast<uintptr_t>(q) % 16 == 0; };
  auto whole = [&](void const* q, int64_t step, int64_t const* stride) {
    bool yes = step == 1 && aligned(q);
    for (int d = 0; d < p.dims; ++d) yes = yes && stride[d] % V == 0;
    return yes;
  };
  bool const x_whole = whole(p.x, p.x_step, p.x_stride), dst_whole = whole(p.dst, p.dst_step, p.dst_stride);
  bool const weights_whole = aligned(p.gamma) && aligned(p.beta);
  // The choice of the kernel, and so the order, depends only on length and type.
  bool const vectors = p.n % V == 0, even = vectors && x_whole && dst_whole && weights_whole;
  auto teams = [&](auto kernel, int team) {
    int const block = team < 128 ? 128 : team;
    int64_t const grid = (p.lines - 1) / (block / team) + 1;
    return grid > INT32_MAX ? GPK_ERR_ARGUMENT : launch(kernel, static_cast<unsigned>(grid), block, stream, p);
  };
  if (even && p.n <= 32 * 2 * V) return teams(line_rows<op, T, 32, 2, false>, 32);
  if (even && p.n <= 32 * each) return teams(line_rows<op, T, 32, held, false>, 32);
  if (even && p.n <= 64 * each) return teams(line_rows<op, T, 64, held, false>, 64);
  if (even && p.n <= 128 * each) return teams(line_rows<op, T, 128, held, false>, 128);
  if (even && p.n <= 256 * each) return teams(line_rows<op, T, 256, held, false>, 256);
  if (even && p.n <= 512 * each) return teams(line_rows<op, T, 512, held, false>, 512);
  Apart apart = {p, 32, false, x_whole, dst_whole, weights_whole};
  while (apart.team < 512 && apart.team * each < p.n) apart.team *= 2;
  if (vectors && p.n <= 512 * each) {
    // If neighbouring lines are closer in memory than the elements of a line, a block processes 32 bytes of
    // neighbouring lines, and more if there are blocks enough.
    auto nearer = [&](int64_t step, int64_t const* stride) {
      return p.dims > 0 && step != 1 && (stride[0] < 0 ? -stride[0] : stride[0]) < (step < 0 ? -step : step);
    };
    apart.turned = nearer(p.x_step, p.x_stride) || nearer(p.dst_step, p.dst_stride);
    int block = apart.team < 128 ? 128 : apart.team;
    for (int64_t next; apart.turned && block < apart_threads; block *= 2) {
      next = block / apart.team * 2;
      if (next > p.lines || (next * static_cast<int64_t>(sizeof(T)) > 32 && p.lines / next < 256)) break;
    }
    int64_t const grid = (p.lines - 1) / (block / apart.team) + 1;
    if (grid > INT32_MAX) return GPK_ERR_ARGUMENT;
    return launch(line_apart<op, T, false>, static_cast<unsigned>(grid), block, stream, apart);
  }
  if (vectors && p.n <= max_blocks * 512 * each) {
    static uint64_t known = 0;
    auto const kernel = line_rows<op, T, 512, held, true>;
    int device = -1;
    unsigned blocks = 2;
    while (blocks * 512 * each < p.n) blocks *= 2;
    if (cudaGetDevice(&device) == cudaSuccess && waits_for_previous(reinterpret_cast<void const*>(kernel), device, &known) &&
        p.lines * blocks <= INT32_MAX) {
      unsigned const grid = static_cast<unsigned>(p.lines) * blocks;
      return even ? launch(kernel, grid, 512, stream, p, blocks)
                  : launch(line_apart<op, T, true>, grid, 512, stream, apart, blocks);
    }
  }
  if (p.lines > INT32_MAX) return GPK_ERR_ARGUMENT;
  return launch(line_any<op, T>, static_cast<unsigned>(p.lines), any_threads, stream, p);
}

}  // namespace

template <class T>
int64_t means_bytes(int64_t folds) {
  return (folds * static_cast<int64_t>(sizeof(typename Average<T>::A)) + 15) / 16 * 16;
}

// The reductions of this unit, called by gpk_reduce and gpk_reduce_workspace in ops.cu.
int64_t other_workspace(int op, int x_type, int dst_type, int64_t folds, int64_t terms) {
  if (dst_type != result_type(op, x_type)) return -GPK_ERR_UNSUPPORTED;
  int64_t bytes = 0;
  int const code = by_reduction(op, x_type, [&](auto reduction, auto x) {
    using P = decltype(reduction);
    using T = decltype(x);
    bytes = fold_workspace<P>(folds, terms);
    if constexpr (__is_same(P, Variance<T>)) {
      int64_t const first = fold_workspace<Average<T>>(folds, terms);
      bytes = (bytes > first ? bytes : first) + means_bytes<T>(folds);
    }
    return GPK_OK;
  });
  return code == GPK_OK ? bytes : -code;
}

int other_reduce(uint64_t stream, int op, int x_type, int64_t folds, int64_t terms, Sum const& s, Sum const& dense,
                 uint64_t dst, uint64_t workspace) {
  auto reduction_of = [&](Sum const& s) {
    Reduction p = {};
    p.x = s.x;
    p.folds = folds;
    p.terms = terms;
    p.kept_dims = s.kept_dims;
    p.folded_dims = s.summed_dims;
    memcpy(p.kept_n, s.kept_n, sizeof p.kept_n);
    memcpy(p.kept_stride, s.kept_stride, sizeof p.kept_stride);
    memcpy(p.folded_n, s.summed_n, sizeof p.folded_n);
    memcpy(p.folded_stride, s.summed_stride, sizeof p.folded_stride);
    return p;
  };
  Reduction p = reduction_of(s);
  Reduction const d = reduction_of(dense);
  return by_reduction(op, x_type, [&](auto reduction, auto x) -> int {
    using P = decltype(reduction);
    using T = decltype(x);
    if constexpr (__is_same(P, Variance<T>)) {
      // The means precede the partial results of both passes.
      uint64_t const rest = workspace + means_bytes<T>(folds);
      int const code = fold<Average<T>, T>(p, d, stream, workspace, rest);
      if (code != GPK_OK) return code;
      p.means = reinterpret_cast<double const*>(workspace);
      return fold<P, T>(p, d, stream, dst, rest);
    } else {
      return fold<P, T>(p, d, stream, dst, workspace);
    }
  });
}

}  // namespace gpk

using namespace gpk;

int gpk_ternary(int device, uint64_t stream, int op, int type, int ndim, int64_t const* shape, uint64_t x,
                int64_t const* x_strides, uint64_t y, int64_t const* y_strides, uint64_t z, int64_t const* z_strides,
                uint64_t y_lo, uint64_t y_hi, uint64_t z_lo, uint64_t z_hi, uint64_t dst, int64_t const* dst_strides) {
  int const size = size_of(type);
  if ((op != op_where && op != op_clamp) || size == 0) return GPK_ERR_UNSUPPORTED;
  int64_t const none[GPK_MAX_DIMS] = {};
  Triple triple = {};
  triple.scalar[2][0] = y_lo, triple.scalar[2][1] = y_hi;
  triple.scalar[3][0] = z_lo, triple.scalar[3][1] = z_hi;
  triple.scalars = (y == 0 ? 4 : 0) | (z == 0 ? 8 : 0);
  Nest t;
  Operand const ops[] = {{dst, dst_strides, size},
                         {x, x_strides, op == op_where ? 1 : size},
                         {y, y == 0 ? none : y_strides, size},
                         {z, z == 0 ? none : z_strides, size}};
  int code = make_nest(&t, ndim, shape, 4, ops);
  if (code != GPK_OK || t.elements == 0) return code;
  code = set_device(device);
  if (code != GPK_OK) return code;
  if (op == op_where) {
    switch (size) {
      case 1: return ternary<Where, uint8_t, uint8_t>(t, triple, stream);
      case 2: return ternary<Where, uint8_t, uint16_t>(t, triple, stream);
      case 4: return ternary<Where, uint8_t, uint32_t>(t, triple, stream);
      case 8: return ternary<Where, uint8_t, uint64_t>(t, triple, stream);
      default: return ternary<Where, uint8_t, ulonglong2>(t, triple, stream);
    }
  }
  return by_type(type, [&](auto v) -> int {
    using T = decltype(v);
    if constexpr (is_float<T> || is_integer<T>) {
      return ternary<Clamp, T, T>(t, triple, stream);
    } else {
      return GPK_ERR_UNSUPPORTED;
    }
  });
}

int gpk_line(int device, uint64_t stream, int op, int x_type, int dst_type, int ndim, int64_t const* shape, uint64_t x,
             int64_t const* x_strides, uint64_t dst, int64_t const* dst_strides, uint64_t gamma, uint64_t beta,
             double eps) {
  if (size_of(x_type) == 0) return GPK_ERR_UNSUPPORTED;
  if (ndim < 1 || ndim > GPK_MAX_DIMS) return GPK_ERR_ARGUMENT;
  if (dst_type != (op == op_cum_sum ? sum_type(x_type) : x_type)) return GPK_ERR_UNSUPPORTED;
  Lines p = {};
  int code = make_lines(&p, ndim, shape, x, x_strides, dst, dst_strides);
  p.gamma = reinterpret_cast<char const*>(gamma);
  p.beta = reinterpret_cast<char const*>(beta);
  p.eps = eps;
  if (code != GPK_OK || p.n == 0 || p.lines == 0) return code;
  code = set_device(device);
  if (code != GPK_OK) return code;
  if (op == op_cum_sum) {
    if (p.lines > INT32_MAX) return GPK_ERR_ARGUMENT;
    return by_type(x_type == GPK_U64 ? GPK_I64 : x_type, [&](auto v) -> int {
      if constexpr (__is_same(decltype(v), uint64_t)) {
        return GPK_ERR_UNSUPPORTED;
      } else {
        return launch(cum_sum<decltype(v)>, static_cast<unsigned>(p.lines), threads, stream, Scan{p});
      }
    });
  }
  return by_type(x_type, [&](auto v) -> int {
    using T = decltype(v);
    if constexpr (is_float<T>) {
      switch (op) {
        case op_softmax: return line<op_softmax, T>(p, stream);
        case op_log_softmax: return line<op_log_softmax, T>(p, stream);
        case op_layer_norm: return line<op_layer_norm, T>(p, stream);
        case op_rms_norm: return line<op_rms_norm, T>(p, stream);
      }
    }
    return GPK_ERR_UNSUPPORTED;
  });
}
