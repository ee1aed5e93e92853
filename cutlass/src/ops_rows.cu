// ops_rows.cu: operations on three operands, reductions other than Sum and Mean,
// and what works along one axis.
//
// Where a line (softmax, the norms) fits a team of threads, it is read once, kept
// in registers and written once. Sums of a line are those of its threads, then of
// neighbouring threads in pairs: their order depends on the line's length alone.
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

struct Where {
  template <class T>
  static __device__ T apply(uint8_t c, T x, T y) {
    return c != 0 ? x : y;
  }
};

struct Clamp {
  template <class T>
  static __device__ T apply(T x, T lo, T hi) {
    return combine<Minimum>(combine<Maximum>(x, lo), hi);
  }
};

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

template <class T, bool Largest>
struct Extreme {
  using A = typename compared<T>::type;
  using R = T;
  static __device__ A start(double const*, int64_t) { return Largest ? lowest<A>() : highest<A>(); }
  static __device__ void take(A& a, T x, int64_t) { a = merge(a, compared<T>::of(x)); }
  static __device__ A merge(A a, A b) { return Largest ? Maximum::apply(a, b) : Minimum::apply(a, b); }
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

// Merges what the threads of a team have, neighbours in pairs; the first has it all.
template <class P>
__device__ typename P::A merge_team(typename P::A a, int team) {
  using A = typename P::A;
  __shared__ __align__(16) char bytes[threads * sizeof(A)];
  A* const shared = reinterpret_cast<A*>(bytes);
  int const at = threadIdx.x % team;
  shared[threadIdx.x] = a;
  for (int step = 1; step < team; step *= 2) {
    __syncthreads();
    if (at % (2 * step) == 0) shared[threadIdx.x] = P::merge(shared[threadIdx.x], shared[threadIdx.x + step]);
  }
  return shared[threadIdx.x];
}

// Terms of a fold are neighbours: `team` threads a branch, a block threads/team
// branches.
template <class P, class T>
__global__ void __launch_bounds__(threads) fold_rows(__grid_constant__ Reduction const p) {
  begin();
  constexpr int V = vector_width<T>, flight = 4;
  int64_t const branch = static_cast<int64_t>(blockIdx.x) * (threads / p.team) + threadIdx.x / p.team;
  bool const mine = branch < p.folds * p.groups;
  int64_t const fold = mine ? branch / p.groups : 0, group = mine ? branch % p.groups : 0;
  int const at = threadIdx.x % p.team;
  T const* const x = reinterpret_cast<T const*>(p.x) + p.kept(fold);
  int64_t const lo = group * p.per_group;
  int64_t const hi = !mine ? lo : lo + p.per_group < p.terms ? lo + p.per_group : p.terms;
  typename P::A a = P::start(p.means, fold);
  int64_t i = lo;
  if (p.vectors) {
    int64_t const whole = lo + (hi - lo) / V * V, step = static_cast<int64_t>(p.team) * V;
    for (int64_t j = lo + at * V; j < whole; j += flight * step) {
      Vec<T, V> v[flight];
#pragma unroll
      for (int u = 0; u < flight; ++u) {
        if (j + u * step < whole) v[u] = *reinterpret_cast<Vec<T, V> const*>(x + p.folded(j + u * step));
      }
#pragma unroll
      for (int u = 0; u < flight; ++u) {
        if (j + u * step >= whole) continue;
#pragma unroll
        for (int e = 0; e < V; ++e) P::take(a, v[u].v[e], j + u * step + e);
      }
    }
    i = whole;
  }
  for (int64_t j = i + at; j < hi; j += p.team) P::take(a, x[p.folded(j)], j);
  a = merge_team<P>(a, p.team);
  if (mine && at == 0) finish<P>(p, fold, group, a);
}

// Neighbouring folds are neighbours in memory: a thread a branch.
template <class P, class T>
__global__ void __launch_bounds__(threads) fold_columns(__grid_constant__ Reduction const p) {
  begin();
  int64_t const strips = (p.folds - 1) / threads + 1;
  int64_t const group = blockIdx.x / strips, fold = blockIdx.x % strips * threads + threadIdx.x;
  if (fold >= p.folds) return;
  T const* const x = reinterpret_cast<T const*>(p.x) + p.kept(fold);
  int64_t const lo = group * p.per_group, hi = lo + p.per_group < p.terms ? lo + p.per_group : p.terms;
  typename P::A a = P::start(p.means, fold);
  int64_t j = lo;
  for (; j + 8 <= hi; j += 8) {
    T v[8];
#pragma unroll
    for (int u = 0; u < 8; ++u) v[u] = x[p.folded(j + u)];
#pragma unroll
    for (int u = 0; u < 8; ++u) P::take(a, v[u], j + u);
  }
  for (; j < hi; ++j) P::take(a, x[p.folded(j)], j);
  finish<P>(p, fold, group, a);
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
  constexpr int64_t least = 4096;
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
  auto even = [](int dims, int64_t const* stride, int from) {
    bool yes = true;
    for (int d = from; d < dims; ++d) yes = yes && stride[d] % V == 0;
    return yes;
  };
  int64_t const kept = p.kept_stride[0], folded = p.folded_stride[0];
  bool const columns = p.folds > 1 && (p.terms < 8 || magnitude(kept) < magnitude(folded));
  p.vectors = !columns && reinterpret_cast<uintptr_t>(p.x) % 16 == 0 && folded == 1 &&
              (p.folded_dims == 1 || p.folded_n[0] % V == 0) && even(p.folded_dims, p.folded_stride, 1) &&
              even(p.kept_dims, p.kept_stride, 0);
  p.groups = branches(p.folds, p.terms);
  p.per_group = ((p.terms - 1) / p.groups + V) / V * V;  // whole vectors
  p.groups = (p.terms - 1) / p.per_group + 1;
  p.out = reinterpret_cast<char*>(p.groups > 1 ? workspace : dst);
  int code;
  if (columns) {
    int64_t const grid = ((p.folds - 1) / threads + 1) * p.groups;
    if (grid > INT32_MAX) return GPK_ERR_ARGUMENT;
    code = launch(fold_columns<P, T>, static_cast<unsigned>(grid), threads, stream, p);
  } else {
    p.team = 1;
    while (p.team < threads && p.team * 2 * V < p.per_group) p.team *= 2;
    int64_t const grid = (p.folds * p.groups - 1) / (threads / p.team) + 1;
    if (grid > INT32_MAX) return GPK_ERR_ARGUMENT;
    code = launch(fold_rows<P, T>, static_cast<unsigned>(grid), threads, stream, p);
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

// Op over a value of each thread of a team, the same for all of them; scratch has
// room for one of each warp.
template <class Op, int Team, class A>
__device__ A over_team(A v, A* scratch) {
#pragma unroll
  for (int mask = 1; mask < 32; mask *= 2) v = Op::apply(v, __shfl_xor_sync(~0u, v, mask));
  if constexpr (Team > 32) {
    __syncthreads();  // scratch may still be read
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = v;
    __syncthreads();
    constexpr int each = Team / 32;
    int const first = threadIdx.x / Team * each;
    A part[each];
#pragma unroll
    for (int w = 0; w < each; ++w) part[w] = scratch[first + w];
#pragma unroll
    for (int step = 1; step < each; step *= 2) {
#pragma unroll
      for (int w = 0; w < each; w += 2 * step) part[w] = Op::apply(part[w], part[w + step]);
    }
    v = part[0];
  }
  return v;
}

template <class T, class A>
__device__ A weight(char const* p, int64_t i, A without) {
  return p == nullptr ? without : static_cast<A>(convert<A>(reinterpret_cast<T const*>(p)[i]));
}

// Lines that fit a team of threads: 32 registers of elements each.
template <int op, class T, int Team>
__global__ void __launch_bounds__(Team < 128 ? 128 : Team) line_rows(__grid_constant__ Lines const p) {
  begin();
  using A = typename computed<T>::type;
  constexpr int V = vector_width<T>, each = 128 / sizeof(A) / V, block = Team < 128 ? 128 : Team;
  __shared__ A scratch[block / 32];
  int64_t const line = static_cast<int64_t>(blockIdx.x) * (block / Team) + threadIdx.x / Team;
  bool const mine = line < p.lines;
  int const at = threadIdx.x % Team;
  T const* const x = reinterpret_cast<T const*>(p.x) + p.x_at(mine ? line : 0);
  constexpr bool soft = op == op_softmax || op == op_log_softmax;
  A const nothing = soft ? lowest<A>() : A(0);

  Vec<T, V> raw[each];
#pragma unroll
  for (int u = 0; u < each; ++u) {
    int64_t const i = (static_cast<int64_t>(u) * Team + at) * V;
    if (mine && i < p.n) raw[u] = *reinterpret_cast<Vec<T, V> const*>(x + i);
  }
  A v[each][V];
#pragma unroll
  for (int u = 0; u < each; ++u) {
    bool const in = mine && (static_cast<int64_t>(u) * Team + at) * V < p.n;
#pragma unroll
    for (int e = 0; e < V; ++e) v[u][e] = in ? convert<A>(raw[u].v[e]) : nothing;
  }
  A const n = static_cast<A>(p.n);
  A shift = 0, scale = 1;
  if constexpr (soft) {
    A m = nothing;
#pragma unroll
    for (int u = 0; u < each; ++u) {
#pragma unroll
      for (int e = 0; e < V; ++e) m = Maximum::apply(m, v[u][e]);
    }
    shift = over_team<Maximum, Team>(m, scratch);
    A sum = 0;
#pragma unroll
    for (int u = 0; u < each; ++u) {
#pragma unroll
      for (int e = 0; e < V; ++e) {
        A const power = exponential(v[u][e] - shift);
        bool const in = mine && (static_cast<int64_t>(u) * Team + at) * V < p.n;
        sum += in ? power : A(0);
        if constexpr (op == op_softmax) v[u][e] = power;
      }
    }
    sum = over_team<Add2, Team>(sum, scratch);
    scale = op == op_softmax ? 1 / sum : logarithm(sum);
  } else {
    if constexpr (op == op_layer_norm) {
      A sum = 0;
#pragma unroll
      for (int u = 0; u < each; ++u) {
#pragma unroll
        for (int e = 0; e < V; ++e) sum += v[u][e];
      }
      shift = over_team<Add2, Team>(sum, scratch) / n;
    }
    A squares = 0;
#pragma unroll
    for (int u = 0; u < each; ++u) {
      bool const in = mine && (static_cast<int64_t>(u) * Team + at) * V < p.n;
#pragma unroll
      for (int e = 0; e < V; ++e) {
        A const d = v[u][e] - shift;
        squares += in ? d * d : A(0);
      }
    }
    scale = 1 / sqrt(over_team<Add2, Team>(squares, scratch) / n + static_cast<A>(p.eps));
  }
  T* const dst = reinterpret_cast<T*>(p.dst) + p.dst_at(mine ? line : 0);
#pragma unroll
  for (int u = 0; u < each; ++u) {
    int64_t const i = (static_cast<int64_t>(u) * Team + at) * V;
    if (!mine || i >= p.n) continue;
#pragma unroll
    for (int e = 0; e < V; ++e) {
      A y;
      if constexpr (op == op_softmax) {
        y = v[u][e] * scale;
      } else if constexpr (op == op_log_softmax) {
        y = (v[u][e] - shift) - scale;
      } else {
        y = (v[u][e] - shift) * scale * weight<T>(p.gamma, i + e, A(1)) + weight<T>(p.beta, i + e, A(0));
      }
      raw[u].v[e] = convert<T>(y);
    }
    *reinterpret_cast<Vec<T, V>*>(dst + i) = raw[u];
  }
}

// Any line: a block each, which reads it three times.
template <int op, class T>
__global__ void __launch_bounds__(threads) line_any(__grid_constant__ Lines const p) {
  begin();
  using A = typename computed<T>::type;
  __shared__ A scratch[warps];
  int64_t const line = blockIdx.x;
  T const* const x = reinterpret_cast<T const*>(p.x) + p.x_at(line);
  T* const dst = reinterpret_cast<T*>(p.dst) + p.dst_at(line);
  constexpr bool soft = op == op_softmax || op == op_log_softmax;
  auto element = [&](int64_t i) { return convert<A>(x[i * p.x_step]); };
  A const n = static_cast<A>(p.n);
  A shift = 0, sum = 0;
  if constexpr (soft) {
    A m = lowest<A>();
    for (int64_t i = threadIdx.x; i < p.n; i += threads) m = Maximum::apply(m, element(i));
    shift = over_team<Maximum, threads>(m, scratch);
  } else if constexpr (op == op_layer_norm) {
    for (int64_t i = threadIdx.x; i < p.n; i += threads) sum += element(i);
    shift = over_team<Add2, threads>(sum, scratch) / n;
  }
  sum = 0;
  for (int64_t i = threadIdx.x; i < p.n; i += threads) {
    A const d = element(i) - shift;
    sum += soft ? exponential(d) : d * d;
  }
  sum = over_team<Add2, threads>(sum, scratch);
  A const scale = op == op_softmax ? 1 / sum : op == op_log_softmax ? logarithm(sum) : 1 / sqrt(sum / n + static_cast<A>(p.eps));
  for (int64_t i = threadIdx.x; i < p.n; i += threads) {
    A const d = element(i) - shift;
    A const y = op == op_softmax       ? exponential(d) * scale
                : op == op_log_softmax ? d - scale
                                       : d * scale * weight<T>(p.gamma, i, A(1)) + weight<T>(p.beta, i, A(0));
    dst[i * p.dst_step] = convert<T>(y);
  }
}

template <int op, class T>
int line(Lines const& p, uint64_t stream) {
  using A = typename computed<T>::type;
  constexpr int V = vector_width<T>, each = 128 / sizeof(A);  // elements of a thread
  bool even = p.x_step == 1 && p.dst_step == 1 && p.n % V == 0 && reinterpret_cast<uintptr_t>(p.x) % 16 == 0 &&
              reinterpret_cast<uintptr_t>(p.dst) % 16 == 0;
  for (int d = 0; d < p.dims; ++d) even = even && p.x_stride[d] % V == 0 && p.dst_stride[d] % V == 0;
  // A team of 1024 threads has too few registers for double.
  constexpr int most = sizeof(A) == 8 ? 512 : 1024;
  if (!even || p.n > most * each) {
    if (p.lines > INT32_MAX) return GPK_ERR_ARGUMENT;
    return launch(line_any<op, T>, static_cast<unsigned>(p.lines), threads, stream, p);
  }
  auto teams = [&](auto kernel, int team) {
    int const block = team < 128 ? 128 : team;
    int64_t const grid = (p.lines - 1) / (block / team) + 1;
    return grid > INT32_MAX ? GPK_ERR_ARGUMENT : launch(kernel, static_cast<unsigned>(grid), block, stream, p);
  };
  if (p.n <= 32 * each) return teams(line_rows<op, T, 32>, 32);
  if (p.n <= 128 * each) return teams(line_rows<op, T, 128>, 128);
  if (p.n <= 256 * each) return teams(line_rows<op, T, 256>, 256);
  if (p.n <= 512 * each) return teams(line_rows<op, T, 512>, 512);
  return teams(line_rows<op, T, most>, most);
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
