// ops_rows.cu: operations on three operands, reductions other than Sum and Mean,
// and what works along one axis.
//
// Where a line (softmax, the norms) fits a team of threads, or the blocks of a
// cluster, it is read once, kept in registers and written once. Sums of a line are
// those of its threads, then of neighbouring threads in pairs, then of blocks:
// their order depends on the line's length and alignment alone.
#include "ops.cuh"
#include "ops_reduce.cuh"

namespace gpk {
namespace {

// The operations, as package expr numbers them.
enum {
  op_where = 150, op_clamp,
  op_max = 202, op_min, op_prod, op_var, op_any, op_all, op_arg_max, op_arg_min,
  op_cum_sum = 230, op_softmax, op_log_softmax, op_layer_norm, op_rms_norm
};

// ---- three operands

struct Triple {
  uint64_t scalar[4][2];  // of operands 2 and 3
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

// A reduction is what it accumulates in (A), its result, the fold of nothing
// (start), of one element more, number k (take), and of two (merge), the second
// of later elements or of others.

// What elements of T are compared in.
template <class T>
struct compared {
  using type = T;
  static __device__ T of(T x) { return x; }
};
template <>
struct compared<f16> {
  using type = float;
  static __device__ float of(f16 x) { return to_float(x); }
};
template <>
struct compared<bf16> {
  using type = float;
  static __device__ float of(bf16 x) { return to_float(x); }
};

template <class V>
constexpr V lowest() {
  if constexpr (is_float<V>) {
    return static_cast<V>(-HUGE_VALF);
  } else {
    return V(-1) > V(0) ? V(0) : sizeof(V) == 8 ? V(INT64_MIN) : V(-(int64_t{1} << (8 * sizeof(V) - 1)));
  }
}
template <class V>
constexpr V highest() {
  if constexpr (is_float<V>) {
    return static_cast<V>(HUGE_VALF);
  } else {
    return V(-1) > V(0) ? V(-1) : sizeof(V) == 8 ? V(INT64_MAX) : V((int64_t{1} << (8 * sizeof(V) - 1)) - 1);
  }
}

// The larger or the smaller; NaN where one is.
template <bool Largest, class V>
__device__ V extreme(V a, V b) {
  return Largest ? Maximum::apply(a, b) : Minimum::apply(a, b);
}

// Two halves at once, as words.
template <class T, bool Largest>
__device__ uint32_t extreme_pair(uint32_t a, uint32_t b) {
  uint32_t r;
  if constexpr (__is_same(T, f16)) {
    if constexpr (Largest) {
      asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    } else {
      asm("min.NaN.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    }
  } else {
    if constexpr (Largest) {
      asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    } else {
      asm("min.NaN.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    }
  }
  return r;
}

// Of the elements of a vector.
template <bool Largest, class T, int V>
__device__ typename compared<T>::type extreme_of(Vec<T, V> const& x) {
  if constexpr (is_half<T> && V >= 2) {
    uint32_t w[V / 2];
    memcpy(w, &x, sizeof w);
#pragma unroll
    for (int i = 1; i < V / 2; ++i) w[0] = extreme_pair<T, Largest>(w[0], w[i]);
    T const lo = {static_cast<uint16_t>(w[0])}, hi = {static_cast<uint16_t>(w[0] >> 16)};
    return extreme<Largest>(to_float(lo), to_float(hi));
  } else {
    auto m = compared<T>::of(x.v[0]);
#pragma unroll
    for (int e = 1; e < V; ++e) m = extreme<Largest>(m, compared<T>::of(x.v[e]));
    return m;
  }
}

template <class T, bool Largest>
struct Extreme {
  using A = typename compared<T>::type;
  using R = T;
  static __device__ A start(double const*, int64_t) { return Largest ? lowest<A>() : highest<A>(); }
  static __device__ void take(A& a, T x, int64_t) { a = merge(a, compared<T>::of(x)); }
  template <int V>
  static __device__ void take_vector(A& a, Vec<T, V> const& x, int64_t) {
    a = merge(a, extreme_of<Largest>(x));
  }
  static __device__ A merge(A a, A b) { return extreme<Largest>(a, b); }
  static __device__ R result(A a, double) { return convert<R>(a); }
};

template <class V>
struct Place {
  V v;
  int64_t k;  // -1: none
};

// v is to be found rather than u.
template <bool Largest, class V>
__device__ bool beats(V v, V u) {
  if constexpr (is_float<V>) {
    if (v != v || u != u) return v != v && u == u;
  }
  return Largest ? v > u : v < u;
}

template <class T, bool Largest>
struct ArgExtreme {
  using V = typename compared<T>::type;
  using A = Place<V>;
  using R = int64_t;
  static __device__ A start(double const*, int64_t) { return {V(0), -1}; }
  static __device__ void take(A& a, T x, int64_t k) { a = merge(a, {compared<T>::of(x), k}); }
  // Of a vector what is to be found, whether that beats what was, and the first
  // place where it is.
  template <int N>
  static __device__ V of(Vec<T, N> const& x) {
    return extreme_of<Largest>(x);
  }
  static __device__ bool beaten(V had, V v) { return beats<Largest>(v, had); }
  template <int N>
  static __device__ int find(V m, Vec<T, N> const& x) {
    int at = 0;
#pragma unroll
    for (int e = N - 1; e >= 0; --e) {
      V const v = compared<T>::of(x.v[e]);
      if (v == m || (v != v && m != m)) at = e;
    }
    return at;
  }
  static __device__ A merge(A a, A b) {
    if (b.k < 0) return a;
    if (a.k < 0 || beats<Largest>(b.v, a.v)) return b;
    return beats<Largest>(a.v, b.v) || a.k < b.k ? a : b;
  }
  static __device__ R result(A a, double) { return a.k; }
};

// Whether an element is not 0 (Any), whether none is (All).
template <class T, bool All>
struct Truth {
  using A = int;
  using R = boolean;
  static __device__ A start(double const*, int64_t) { return All; }
  static __device__ void take(A& a, T x, int64_t) { a = merge(a, convert<boolean>(x).bits); }
  static __device__ A merge(A a, A b) { return All ? a & b : a | b; }
  static __device__ R result(A a, double) { return {static_cast<uint8_t>(a)}; }
};

// What products accumulate in: wider than the elements where it can be, so that
// what over- or underflows on the way comes back.
template <class T>
struct wide {
  using type = long long;
  using result = int64_t;
};
template <>
struct wide<float> {
  using type = double;
  using result = float;
};
template <>
struct wide<double> {
  using type = double;
  using result = double;
};
template <>
struct wide<f16> {
  using type = double;
  using result = f16;
};
template <>
struct wide<bf16> {
  using type = double;
  using result = bf16;
};
template <>
struct wide<c64> {
  using type = c128;
  using result = c64;
};
template <>
struct wide<c128> {
  using type = c128;
  using result = c128;
};

template <class T>
struct Product {
  using A = typename wide<T>::type;
  using R = typename wide<T>::result;
  static __device__ A start(double const*, int64_t) { return convert<A>(1.0f); }
  static __device__ void take(A& a, T x, int64_t) { a = merge(a, convert<A>(x)); }
  static __device__ A merge(A a, A b) {
    if constexpr (__is_same(A, long long)) {
      return static_cast<long long>(static_cast<unsigned long long>(a) * static_cast<unsigned long long>(b));
    } else {
      return a * b;
    }
  }
  static __device__ R result(A a, double) { return convert<R>(a); }
};

// The sum in double, for Var's means; the result is the mean.
template <class T>
struct Average {
  using A = typename wide<T>::type;
  using R = A;
  static __device__ A start(double const*, int64_t) { return convert<A>(0.0f); }
  static __device__ void take(A& a, T x, int64_t) { a = a + convert<A>(x); }
  static __device__ A merge(A a, A b) { return a + b; }
  static __device__ R result(A a, double n) {
    if constexpr (is_complex<A>) {
      return {a.re / n, a.im / n};
    } else {
      return a / n;
    }
  }
};

template <class W>
struct Deviations {
  W mean, rest;  // rest is the sum of deviations, 0 but for the mean's rounding
  double squares;
};

__device__ inline double square_of(double v) { return v * v; }
__device__ inline double square_of(c128 v) { return v.re * v.re + v.im * v.im; }

template <class T>
struct real_type {
  using type = T;
};
template <class R>
struct real_type<cx<R>> {
  using type = R;
};

// The mean of the squares of what elements are more than their mean.
template <class T>
struct Variance {
  using W = typename wide<T>::type;
  using A = Deviations<W>;
  using R = typename real_type<T>::type;
  static __device__ A start(double const* means, int64_t i) {
    return {reinterpret_cast<W const*>(means)[i], convert<W>(0.0f), 0};
  }
  static __device__ void take(A& a, T x, int64_t) {
    W const d = convert<W>(x) - a.mean;
    a.rest = a.rest + d;
    a.squares += square_of(d);
  }
  static __device__ A merge(A a, A b) { return {a.mean, a.rest + b.rest, a.squares + b.squares}; }
  static __device__ R result(A a, double n) { return convert<R>((a.squares - square_of(a.rest) / n) / n); }
};

struct Reduction {
  char const* x;
  char* out;          // results, or partial ones: group by group
  double const* means;
  int64_t folds, terms, groups, per_group;
  int team;      // threads that share a fold, a power of two
  bool vectors;  // read 16 bytes at once
  int kept_dims, folded_dims;  // innermost first
  int64_t kept_n[GPK_MAX_DIMS], kept_stride[GPK_MAX_DIMS];
  int64_t folded_n[GPK_MAX_DIMS], folded_stride[GPK_MAX_DIMS];

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

template <class A>
__device__ A lane_below(A v, int distance) {
  constexpr unsigned words = (sizeof(A) + 3) / 4;
  uint32_t w[words] = {};
  memcpy(w, &v, sizeof v);
#pragma unroll
  for (unsigned i = 0; i < words; ++i) w[i] = __shfl_down_sync(~0u, w[i], distance);
  memcpy(&v, w, sizeof v);
  return v;
}

// Merges what the threads of a team have, neighbours in pairs; the first has it all.
template <class P>
__device__ typename P::A merge_team(typename P::A a, int team) {
  using A = typename P::A;
  __shared__ __align__(16) char bytes[warps * sizeof(A)];
  A* const shared = reinterpret_cast<A*>(bytes);
  int const lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int step = 1; step < team && step < 32; step *= 2) {
    A const other = lane_below(a, step);
    if (lane % (2 * step) == 0) a = P::merge(a, other);
  }
  if (team <= 32) return a;
  if (lane == 0) shared[warp] = a;
  __syncthreads();
  if (threadIdx.x % team != 0) return a;
  for (int step = 1; step < team / 32; step *= 2) {
    for (int w = warp; w < warp + team / 32; w += 2 * step) shared[w] = P::merge(shared[w], shared[w + step]);
  }
  return shared[warp];
}

// Whether P takes vectors at once; whether it finds its element in one later.
template <class P, class T>
constexpr bool takes_vectors = false;
template <class T, bool Largest>
constexpr bool takes_vectors<Extreme<T, Largest>, T> = true;
template <class P, class T>
constexpr bool finds = false;
template <class T, bool Largest>
constexpr bool finds<ArgExtreme<T, Largest>, T> = true;

// Blocks of fold_rows that a multiprocessor should hold.
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

// Terms of a fold are neighbours: `team` threads a branch, a block threads/team
// branches. Dense: in one dimension, vectors of 16 bytes.
template <class P, class T, bool Dense>
__global__ void __launch_bounds__(threads, fold_blocks<P, T, Dense>)
    fold_rows(__grid_constant__ Reduction const p) {
  begin();
  constexpr int V = vector_width<T>, flight = Dense ? 8 : 4;
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
        if (j + u * step < whole) v[u] = *reinterpret_cast<Vec<T, V> const*>(x + p.folded(j + u * step));
      }
#pragma unroll
      for (int u = 0; u < flight; ++u) {
        if (j + u * step < whole) take<P, T>(a, v[u], j + u * step);
      }
    }
    i = whole;
  }
  for (int64_t j = i + at; j < hi; j += flight * p.team) {
    T v[flight];
#pragma unroll
    for (int u = 0; u < flight; ++u) {
      int64_t const k = j + u * p.team;
      if (k < hi) v[u] = x[Dense ? k : p.folded(k)];
    }
#pragma unroll
    for (int u = 0; u < flight; ++u) {
      if (j + u * p.team < hi) P::take(a, v[u], j + u * p.team);
    }
  }
  a = merge_team<P>(a, p.team);
  if (mine && at == 0) finish<P>(p, fold, group, a);
}

// Neighbouring folds are neighbours in memory: `team` neighbouring threads own W
// folds each, and the teams of a block take terms in turn.
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

struct Last {
  char const* partial;
  char* out;
  int64_t folds, terms, groups;
  int team;
};

// Merges the branches of each fold, runs of neighbours a thread of its team.
template <class P>
__global__ void __launch_bounds__(threads) fold_last(Last p) {
  begin();
  using A = typename P::A;
  int64_t const fold = static_cast<int64_t>(blockIdx.x) * (threads / p.team) + threadIdx.x / p.team;
  int const at = threadIdx.x % p.team;
  bool const mine = fold < p.folds;
  A const* const x = reinterpret_cast<A const*>(p.partial) + (mine ? fold : 0);
  // Every thread of the team has a branch: there are no fewer branches than threads.
  int64_t const lo = p.groups * at / p.team, hi = p.groups * (at + 1) / p.team;
  A a = x[lo * p.folds];
  for (int64_t g = lo + 1; g < hi; ++g) a = P::merge(a, x[g * p.folds]);
  a = merge_team<P>(a, p.team);
  if (mine && at == 0) reinterpret_cast<typename P::R*>(p.out)[fold] = P::result(a, static_cast<double>(p.terms));
}

// Branches of a fold: a function of shape alone, because the workspace is. At
// least `least` terms each, and no more than keep any device busy.
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

template <class P, class T>
int fold(Reduction p, uint64_t stream, uint64_t dst, uint64_t workspace) {
  constexpr int V = vector_width<T>;
  auto magnitude = [](int64_t v) { return v < 0 ? -v : v; };
  auto even = [](int width, int dims, int64_t const* stride, int from) {
    bool yes = true;
    for (int d = from; d < dims; ++d) yes = yes && stride[d] % width == 0;
    return yes;
  };
  constexpr int most = sizeof(typename P::A) > 16 ? 4 : 8, W = V < most ? V : most;  // folds of a thread
  int64_t const kept = p.kept_stride[0], folded = p.folded_stride[0];
  bool const columns = p.folds > 1 && (p.terms < 8 || magnitude(kept) < magnitude(folded));
  bool const aligned = reinterpret_cast<uintptr_t>(p.x) % 16 == 0;
  p.vectors = columns ? W > 1 && aligned && kept == 1 && p.kept_n[0] % W == 0 && even(W, p.kept_dims, p.kept_stride, 1) &&
                            even(W, p.folded_dims, p.folded_stride, 0)
                      : aligned && folded == 1 && (p.folded_dims == 1 || p.folded_n[0] % V == 0) &&
                            even(V, p.folded_dims, p.folded_stride, 1) && even(V, p.kept_dims, p.kept_stride, 0);
  p.groups = branches(p.folds, p.terms);
  p.per_group = ((p.terms - 1) / p.groups + V) / V * V;  // whole vectors
  p.groups = (p.terms - 1) / p.per_group + 1;
  p.out = reinterpret_cast<char*>(p.groups > 1 ? workspace : dst);
  int code;
  if (columns) {
    int64_t const each = p.vectors ? W : 1;
    p.team = 32;
    while (p.team > 1 && p.team / 2 * each >= p.folds) p.team /= 2;
    // Teams of a block have terms enough for the loads in flight.
    while (p.team < threads && p.team * each < p.folds && threads / p.team * 8 > p.per_group) p.team *= 2;
    int64_t const grid = ((p.folds - 1) / (p.team * each) + 1) * p.groups;
    if (grid > INT32_MAX) return GPK_ERR_ARGUMENT;
    auto const kernel = p.vectors ? fold_columns<P, T, W> : fold_columns<P, T, 1>;
    code = launch(kernel, static_cast<unsigned>(grid), threads, stream, p);
  } else {
    // Up to 16 vectors a thread, 32 where merging costs more, but 128 bytes side by side.
    constexpr int most_vectors = finds<P, T> ? 32 : 16;
    p.team = 1;
    while (p.team < threads && p.team * V < p.per_group && (p.team < 8 || p.team * most_vectors * V < p.per_group)) p.team *= 2;
    int64_t const grid = (p.folds * p.groups - 1) / (threads / p.team) + 1;
    if (grid > INT32_MAX) return GPK_ERR_ARGUMENT;
    bool const dense = p.vectors && p.folded_dims == 1 && p.per_group < 1 << 30;
    code = launch(dense ? fold_rows<P, T, true> : fold_rows<P, T, false>, static_cast<unsigned>(grid), threads, stream, p);
  }
  if (code != GPK_OK || p.groups == 1) return code;
  Last last = {reinterpret_cast<char const*>(workspace), reinterpret_cast<char*>(dst), p.folds, p.terms, p.groups, 1};
  while (last.team < threads && last.team * 2 <= p.groups) last.team *= 2;
  int64_t const grid = (p.folds - 1) / (threads / last.team) + 1;
  if (grid > INT32_MAX) return GPK_ERR_ARGUMENT;
  return launch(fold_last<P>, static_cast<unsigned>(grid), threads, stream, last);
}

// Calls f with the reduction of op on elements of type `type` and one of them.
template <class F>
int by_reduction(int op, int type, F const& f) {
  if (type == GPK_BOOL && op != op_prod) type = GPK_U8;  // a byte, 0 or 1
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
    if constexpr (real || is_complex<T>) {
      switch (op) {
        case op_any: return f(Truth<T, false>{}, x);
        case op_all: return f(Truth<T, true>{}, x);
      }
    }
    if constexpr (is_float<T> || is_complex<T>) {
      if (op == op_var) return f(Variance<T>{}, x);
    }
    return op == op_prod ? f(Product<T>{}, x) : GPK_ERR_UNSUPPORTED;
  });
}

int result_type(int op, int type) {
  switch (op) {
    case op_arg_max:
    case op_arg_min: return GPK_I64;
    case op_any:
    case op_all: return GPK_BOOL;
    case op_prod: return type >= GPK_I8 && type <= GPK_BOOL ? GPK_I64 : type;
    case op_var: return type == GPK_C64 ? GPK_F32 : type == GPK_C128 ? GPK_F64 : type;
  }
  return type;
}

// ---- along an axis

struct Lines {
  char const* x;
  char* dst;
  int64_t lines, n, x_step, dst_step;  // of neighbours along a line
  char const *gamma, *beta;
  double eps;
  int dims;  // the other dimensions, innermost first
  int64_t outer_n[GPK_MAX_DIMS], x_stride[GPK_MAX_DIMS], dst_stride[GPK_MAX_DIMS];

  __device__ int64_t x_at(int64_t line) const {
    return dims == 1 ? line * x_stride[0] : far_offset(dims, outer_n, x_stride, line);
  }
  __device__ int64_t dst_at(int64_t line) const {
    return dims == 1 ? line * dst_stride[0] : far_offset(dims, outer_n, dst_stride, line);
  }
};

// What lines of T are computed in.
template <class T>
struct computed {
  using type = float;
};
template <>
struct computed<double> {
  using type = double;
};

__device__ inline float exponential(float x) { return expf(x); }
__device__ inline double exponential(double x) { return exp(x); }
__device__ inline float logarithm(float x) { return logf(x); }
__device__ inline double logarithm(double x) { return log(x); }

struct Add2 {
  template <class A>
  static __device__ A apply(A a, A b) {
    return a + b;
  }
};

// Op over values of N places in pairs: the order is the same whatever N threads hold them.
template <class Op, int N, class A>
__device__ A over_pairs(A (&part)[N]) {
#pragma unroll
  for (int step = 1; step < N; step *= 2) {
#pragma unroll
    for (int w = 0; w + step < N; w += 2 * step) part[w] = Op::apply(part[w], part[w + step]);
  }
  return part[0];
}

// Op over a value of each thread of a team, the same for all of them; scratch has
// room for one of each warp, and is not used again.
template <class Op, int Team, class A>
__device__ A over_team(A v, A* scratch) {
#pragma unroll
  for (int mask = 1; mask < 32; mask *= 2) v = Op::apply(v, __shfl_xor_sync(~0u, v, mask));
  if constexpr (Team > 32) {
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = v;
    __syncthreads();
    constexpr int each = Team / 32;
    int const first = threadIdx.x / Team * each;
    A part[each];
#pragma unroll
    for (int w = 0; w < each; ++w) part[w] = scratch[first + w];
    v = over_pairs<Op>(part);
  }
  return v;
}

// ---- lines that span the blocks of a cluster, whose shared memories they can read

#if __CUDA_ARCH__ >= 900
__device__ inline uint32_t cluster_blocks() {
  uint32_t n;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(n));
  return n;
}
__device__ inline uint32_t cluster_rank() {
  uint32_t r;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
  return r;
}
// Every thread of the cluster has come here, and sees what the others wrote before.
__device__ inline void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
// What lies at p in the shared memory of block `rank`.
template <class A>
__device__ inline A of_block(A const* p, uint32_t rank) {
  uint32_t const here = static_cast<uint32_t>(__cvta_generic_to_shared(p));
  uint32_t there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(rank));
  A v;
  if constexpr (sizeof(A) == 4) {
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(there) : "memory");
  } else {
    asm volatile("ld.shared::cluster.f64 %0, [%1];" : "=d"(v) : "r"(there) : "memory");
  }
  return v;
}
#else
__device__ inline uint32_t cluster_blocks() { return 1; }
__device__ inline uint32_t cluster_rank() { return 0; }
__device__ inline void cluster_sync() {}
template <class A>
__device__ inline A of_block(A const* p, uint32_t) {
  return *p;
}
#endif

constexpr int most_blocks = 8;  // of a cluster, on every device that has them

// Op over a value of each block of the cluster.
template <class Op, class A>
__device__ A over_cluster(A v, A* scratch) {
  if (threadIdx.x == 0) *scratch = v;
  cluster_sync();
  A part[most_blocks];
  uint32_t const n = cluster_blocks();
#pragma unroll
  for (uint32_t r = 0; r < most_blocks; ++r) part[r] = of_block(scratch, r % n);
  if (n == 2) part[1] = Op::apply(part[0], part[1]);
  A const four = Op::apply(Op::apply(part[0], part[1]), Op::apply(part[2], part[3]));
  if (n == 4) return four;
  if (n == 2) return part[1];
  return Op::apply(four, Op::apply(Op::apply(part[4], part[5]), Op::apply(part[6], part[7])));
}

// How lines of halves are exponentiated: 2^24 e^x, whose factor cancels and keeps
// the hardware from taking for 0 what a half is not.
__device__ inline float rough_power(float x) { return approximate_exp2(fmaf(x, 1.44269504f, 24.f)); }

template <class T, class A>
__device__ A power_of(A x) {
  if constexpr (is_half<T>) {
    return rough_power(x);
  } else {
    return exponential(x);
  }
}

// The normed element, from what it is more than the mean.
template <class A>
__device__ A normed(A more, A scale, A gamma, A beta) {
  return fma(more * scale, gamma, beta);
}

// Keeps the compiler from holding, across a barrier, what it has computed from v:
// that would be more registers than v itself.
__device__ inline void forget(uint4& v) { asm volatile("" : "+r"(v.x), "+r"(v.y), "+r"(v.z), "+r"(v.w)); }

constexpr int held = 8;  // vectors that a thread of a team holds

// Element e of 16 bytes, and 16 bytes of elements: as words, because the compiler
// gives every half of a Vec that lives long a register of its own.
template <class T, class A>
__device__ A element_of(uint4 const& v, int e) {
  uint32_t const w[] = {v.x, v.y, v.z, v.w};
  if constexpr (__is_same(T, double)) {
    return __hiloint2double(static_cast<int>(w[2 * e + 1]), static_cast<int>(w[2 * e]));
  } else if constexpr (__is_same(T, float)) {
    return __uint_as_float(w[e]);
  } else if constexpr (__is_same(T, bf16)) {
    return __uint_as_float(e % 2 == 0 ? w[e / 2] << 16 : w[e / 2] & 0xffff0000);
  } else {
    return to_float(T{static_cast<uint16_t>(w[e / 2] >> e % 2 * 16)});
  }
}
template <class T, class A, int V>
__device__ uint4 bytes_of(A const (&x)[V]) {
  uint4 v;
  if constexpr (is_half<T>) {
    T h[V];
    to_halves(x, h);
    memcpy(&v, h, sizeof v);
  } else {
    memcpy(&v, x, sizeof v);
  }
  return v;
}

// A line is read once, held in registers by a team of threads (Blocks: by a
// cluster of blocks, a team each) and written once. Halves stay halves there.
template <int op, class T, int Team, int Held, bool Blocks>
__global__ void __launch_bounds__(Team < 128 ? 128 : Team, 1024 / (Team < 128 ? 128 : Team))
    line_rows(__grid_constant__ Lines const p) {
  begin();
  using A = typename computed<T>::type;
  constexpr int V = vector_width<T>, block = Team < 128 ? 128 : Team;
  constexpr bool soft = op == op_softmax || op == op_log_softmax;
  __shared__ A scratch[2][block / 32 + 1];
  int64_t line = static_cast<int64_t>(blockIdx.x) * (block / Team) + threadIdx.x / Team;
  int at = threadIdx.x % Team * V, step = Team * V;
  if constexpr (Blocks) {
    uint32_t const n = cluster_blocks();
    line = blockIdx.x / n;
    at += cluster_rank() * Team * V;
    step *= n;
  }
  bool const mine = line < p.lines;
  int const n = mine ? static_cast<int>(p.n) : 0;
  T const* const x = reinterpret_cast<T const*>(p.x) + p.x_at(mine ? line : 0) + at;
  auto over = [&](auto op2, A v, int k) {
    using Op = decltype(op2);
    v = over_team<Op, Team>(v, scratch[k]);
    if constexpr (Blocks) v = over_cluster<Op>(v, &scratch[k][block / 32]);
    return v;
  };

  auto get = [](uint4 const& w, int e) { return element_of<T, A>(w, e); };
  A none[V];
#pragma unroll
  for (int e = 0; e < V; ++e) none[e] = soft ? lowest<A>() : A(0);
  uint4 v[Held];
#pragma unroll
  for (int u = 0; u < Held; ++u) {
    v[u] = bytes_of<T>(none);
    if (at + u * step < n) v[u] = *reinterpret_cast<uint4 const*>(x + u * step);
  }
  A shift = 0, scale = 1;
  if constexpr (soft) {
    A m[4] = {lowest<A>(), lowest<A>(), lowest<A>(), lowest<A>()};
#pragma unroll
    for (int u = 0; u < Held; ++u) {
      Vec<T, V> x;
      memcpy(&x, &v[u], sizeof x);
      m[u % 4] = Maximum::apply(m[u % 4], static_cast<A>(extreme_of<true>(x)));
      if constexpr (is_half<T>) forget(v[u]);
    }
    shift = over(Maximum{}, over_pairs<Maximum>(m), 0);
    A sum[4] = {};
#pragma unroll
    for (int u = 0; u < Held; ++u) {
      A power[V];
#pragma unroll
      for (int e = 0; e < V; ++e) {
        power[e] = power_of<T>(get(v[u], e) - shift);
        sum[e % 4] += power[e];
      }
      if constexpr (op == op_softmax && !is_half<T>) v[u] = bytes_of<T>(power);
      if constexpr (is_half<T>) forget(v[u]);
    }
    A const total = over(Add2{}, over_pairs<Add2>(sum), 1);
    scale = op == op_softmax ? 1 / total : logarithm(is_half<T> ? total * A(0x1p-24f) : total);
  } else {
    A const count = static_cast<A>(p.n);
    if constexpr (op == op_layer_norm) {
      A sum[4] = {};
#pragma unroll
      for (int u = 0; u < Held; ++u) {
#pragma unroll
        for (int e = 0; e < V; ++e) sum[e % 4] += get(v[u], e);
        if constexpr (is_half<T>) forget(v[u]);
      }
      shift = over(Add2{}, over_pairs<Add2>(sum), 0) / count;
    }
    A squares[4] = {};
#pragma unroll
    for (int u = 0; u < Held; ++u) {
      if (at + u * step >= n) continue;
#pragma unroll
      for (int e = 0; e < V; ++e) {
        A const d = get(v[u], e) - shift;
        squares[e % 4] = fma(d, d, squares[e % 4]);
      }
      if constexpr (is_half<T>) forget(v[u]);
    }
    scale = 1 / sqrt(over(Add2{}, over_pairs<Add2>(squares), 1) / count + static_cast<A>(p.eps));
  }
  T* const dst = reinterpret_cast<T*>(p.dst) + p.dst_at(mine ? line : 0) + at;
  T const* const gamma = reinterpret_cast<T const*>(p.gamma) + at;
  T const* const beta = reinterpret_cast<T const*>(p.beta) + at;
#pragma unroll
  for (int u = 0; u < Held; ++u) {
    if (at + u * step >= n) continue;
    uint4 g, b;
    if constexpr (!soft) {
      if (p.gamma != nullptr) g = *reinterpret_cast<uint4 const*>(gamma + u * step);
      if (op == op_layer_norm && p.beta != nullptr) b = *reinterpret_cast<uint4 const*>(beta + u * step);
    }
    A y[V];
#pragma unroll
    for (int e = 0; e < V; ++e) {
      A const x = get(v[u], e);
      if constexpr (op == op_softmax) {
        y[e] = (is_half<T> ? power_of<T>(x - shift) : x) * scale;
      } else if constexpr (op == op_log_softmax) {
        y[e] = (x - shift) - scale;
      } else {
        y[e] = normed(x - shift, scale, p.gamma != nullptr ? get(g, e) : A(1),
                      op == op_layer_norm && p.beta != nullptr ? get(b, e) : A(0));
      }
    }
    *reinterpret_cast<uint4*>(dst + u * step) = bytes_of<T>(y);
  }
  if constexpr (Blocks) cluster_sync();  // no block ends while another reads its shared memory
}

template <class T, class A>
__device__ A weight(char const* p, int64_t i, A without) {
  return p == nullptr ? without : static_cast<A>(convert<A>(reinterpret_cast<T const*>(p)[i]));
}

// Any line: a block each, which reads it three times, from the second-level cache
// where it can be.
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
  // Calls f(i, element i) on this thread's elements.
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
  constexpr int V = vector_width<T>, each = held * V;  // elements of a thread
  auto aligned = [](void const* q) { return reinterpret_cast<uintptr_t>(q) % 16 == 0; };
  bool even = p.x_step == 1 && p.dst_step == 1 && p.n % V == 0 && aligned(p.x) && aligned(p.dst) && aligned(p.gamma) &&
              aligned(p.beta);
  for (int d = 0; d < p.dims; ++d) even = even && p.x_stride[d] % V == 0 && p.dst_stride[d] % V == 0;
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
  if (even && p.n <= most_blocks * 512 * each) {
    static uint64_t known = 0;
    auto const kernel = line_rows<op, T, 512, held, true>;
    int device = -1;
    unsigned blocks = 2;
    while (blocks * 512 * each < p.n) blocks *= 2;
    if (cudaGetDevice(&device) == cudaSuccess && waits(reinterpret_cast<void const*>(kernel), device, &known) &&
        p.lines * blocks <= INT32_MAX) {
      return launch(kernel, static_cast<unsigned>(p.lines) * blocks, 512, stream, p, blocks);
    }
  }
  if (p.lines > INT32_MAX) return GPK_ERR_ARGUMENT;
  return launch(line_any<op, T>, static_cast<unsigned>(p.lines), any_threads, stream, p);
}

template <class A>
__device__ A from_below(A v, int distance) {
  if constexpr (is_complex<A>) {
    return {__shfl_up_sync(~0u, v.re, distance), __shfl_up_sync(~0u, v.im, distance)};
  } else {
    return __shfl_up_sync(~0u, v, distance);
  }
}

// The sums of a line up to each place, in the type that products accumulate in: a
// block a line, `run` neighbours a thread, what came before carried on.
template <class T>
__global__ void __launch_bounds__(threads) cum_sum(__grid_constant__ Lines const p) {
  begin();
  using A = typename wide<T>::type;
  using R = typename wide<T>::result;
  constexpr int run = 4;
  __shared__ __align__(16) char bytes[warps * sizeof(A)];
  A* const totals = reinterpret_cast<A*>(bytes);
  T const* const x = reinterpret_cast<T const*>(p.x) + p.x_at(blockIdx.x);
  R* const dst = reinterpret_cast<R*>(p.dst) + p.dst_at(blockIdx.x);
  int const warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  A const zero = convert<A>(static_cast<uint8_t>(0));
  A carry = zero;
  for (int64_t base = 0; base < p.n; base += threads * run) {
    int64_t const first = base + threadIdx.x * run;
    A v[run];
#pragma unroll
    for (int e = 0; e < run; ++e) {
      v[e] = first + e < p.n ? convert<A>(x[(first + e) * p.x_step]) : zero;
      if (e > 0) v[e] = plus(v[e - 1], v[e]);
    }
    A total = v[run - 1];
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
      A const below = from_below(total, d);
      if (lane >= d) total = plus(below, total);
    }
    if (lane == 31) totals[warp] = total;
    __syncthreads();
    A before = carry;
    for (int w = 0; w < warp; ++w) before = plus(before, totals[w]);
    A const below = from_below(total, 1);
    if (lane > 0) before = plus(before, below);
#pragma unroll
    for (int e = 0; e < run; ++e) {
      if (first + e < p.n) dst[(first + e) * p.dst_step] = convert<R>(plus(before, v[e]));
    }
    for (int w = 0; w < warps; ++w) carry = plus(carry, totals[w]);
    __syncthreads();
  }
}

}  // namespace

template <class T>
int64_t means_bytes(int64_t folds) {
  return (folds * static_cast<int64_t>(sizeof(typename Average<T>::A)) + 15) / 16 * 16;
}

// The reductions of this unit, for gpk_reduce and gpk_reduce_workspace in ops.cu.
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

int other_reduce(uint64_t stream, int op, int x_type, int64_t folds, int64_t terms, Sum const& s, uint64_t dst,
                 uint64_t workspace) {
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
  return by_reduction(op, x_type, [&](auto reduction, auto x) -> int {
    using P = decltype(reduction);
    using T = decltype(x);
    if constexpr (__is_same(P, Variance<T>)) {
      // The means lie before the partial results of either pass.
      uint64_t const rest = workspace + means_bytes<T>(folds);
      int const code = fold<Average<T>, T>(p, stream, workspace, rest);
      if (code != GPK_OK) return code;
      p.means = reinterpret_cast<double const*>(workspace);
      return fold<P, T>(p, stream, dst, rest);
    } else {
      return fold<P, T>(p, stream, dst, workspace);
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
  if (op == op_cum_sum ? dst_type != (x_type >= GPK_I8 && x_type <= GPK_BOOL ? GPK_I64 : x_type) : dst_type != x_type) {
    return GPK_ERR_UNSUPPORTED;
  }
  Lines p = {};
  p.x = reinterpret_cast<char const*>(x);
  p.dst = reinterpret_cast<char*>(dst);
  p.gamma = reinterpret_cast<char const*>(gamma);
  p.beta = reinterpret_cast<char const*>(beta);
  p.eps = eps;
  p.n = shape[ndim - 1];
  p.x_step = x_strides[ndim - 1];
  p.dst_step = dst_strides[ndim - 1];
  p.lines = 1;
  for (int d = ndim - 2; d >= 0; --d) {
    if (shape[d] < 0) return GPK_ERR_ARGUMENT;
    p.lines *= shape[d];
    p.outer_n[p.dims] = shape[d];
    p.x_stride[p.dims] = x_strides[d];
    p.dst_stride[p.dims++] = dst_strides[d];
  }
  if (p.n < 0) return GPK_ERR_ARGUMENT;
  if (p.n == 0 || p.lines == 0) return GPK_OK;
  int const code = set_device(device);
  if (code != GPK_OK) return code;
  if (op == op_cum_sum) {
    if (p.lines > INT32_MAX) return GPK_ERR_ARGUMENT;
    return by_type(x_type, [&](auto v) {
      return launch(cum_sum<decltype(v)>, static_cast<unsigned>(p.lines), threads, stream, p);
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
