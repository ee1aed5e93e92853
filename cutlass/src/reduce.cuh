// reduce.cuh: the definitions of reductions, for the precompiled ones (ops_reduce.cuh, ops_rows.cu) and for those at
// the end of chains, which are compiled at run time (fold.cuh).
#pragma once
#include "ops_math.cuh"

namespace gpk {

// ---- sums: their tree is described in ops_reduce.cuh

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

// The neutral term: -0, since adding 0 would change -0.
template <class A>
__device__ inline A nothing() {
  if constexpr (is_complex<A>) {
    return {-typename A::real(0), -typename A::real(0)};
  } else {
    return -A(0);
  }
}

// The element that equals the neutral term: -0, for integers 0.
template <class T>
__device__ inline T no_term() {
  if constexpr (is_half<T>) {
    return {0x8000};
  } else if constexpr (__is_same(T, boolean)) {
    return {0};
  } else {
    return nothing<T>();
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
__device__ inline A from_lane(A x, int mask) {
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

// Sums terms in pairs as they arrive: level l holds the sum of 2^l terms until 2^l more have arrived. It is in local
// memory, and terms are pushed about once per chunk.
template <class A, int N, int Levels>
struct Pile {
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
  // Adds the remaining levels to v, from the lowest level up.
  __device__ void close(A (&v)[N]) const {
#pragma unroll
    for (int e = 0; e < N; ++e) v[e] = nothing<A>();
    for (int l = 0; count >> l; ++l) {
      if (!(count >> l & 1)) continue;
#pragma unroll
      for (int e = 0; e < N; ++e) v[e] = plus(level[l][e], v[e]);
    }
  }
};

// Levels for a pile of at most 2^(levels-1) terms.
constexpr int levels = 32;

// Converts a sum to its result type; a mean is rounded once more.
template <class R, class A>
__device__ inline R rounded(A v, double over) {
  if (over == 0) return convert<R>(v);
  if constexpr (is_complex<A>) {
    using P = typename R::real;
    return {static_cast<P>(v.re / over), static_cast<P>(v.im / over)};
  } else if constexpr (is_float<A>) {
    return convert<R>(static_cast<double>(v) / over);
  } else {
    return convert<R>(v);
  }
}

// Adds up to N neighbours in pairs; the sum is in x[0].
template <int N, class A>
__device__ inline void pairs(A* x) {
#pragma unroll
  for (int step = 1; step < N; step *= 2) {
#pragma unroll
    for (int i = 0; i < N; i += 2 * step) x[i] = plus(x[i], x[i + step]);
  }
}

// Parameters of the kernel that adds the partial sums of branches.
struct Fold {
  char const* partial;
  char* out;
  int64_t sums, groups;
  int64_t step, pitch;  // distance between the groups of a sum, and between sums
  double over;
};

// Pushes the partial sums from `first` to `end`, with several loads in flight.
template <class A>
__device__ inline void push_all(Pile<A, 1, levels>& pile, A const* x, int64_t step, int64_t first, int64_t end) {
  constexpr int flight = 8;
  for (int64_t i = first; i < end; i += flight) {
    A v[flight];
#pragma unroll
    for (int u = 0; u < flight; ++u) {
      if (i + u < end) v[u] = x[(i + u) * step];
    }
#pragma unroll
    for (int u = 0; u < flight; ++u) {
      A one[1] = {v[u]};
      if (i + u < end) pile.push(one);
    }
  }
}

constexpr int fold_threads = 1024;  // at most

// A block per sum: thread t adds the t-th run of 2^n neighbours, then the runs' sums are added.
template <class T>
__device__ void add_long(Fold const& p) {
  using A = typename accumulator<T>::type;
  using R = typename accumulator<T>::result;
  __shared__ A shared[fold_threads];
  A const* const x = reinterpret_cast<A const*>(p.partial) + blockIdx.x * p.pitch;
  int64_t run = 1;
  while (run * blockDim.x < p.groups) run *= 2;
  Pile<A, 1, levels> pile;
  int64_t const first = threadIdx.x * run;
  push_all(pile, x, p.step, first, first + run < p.groups ? first + run : p.groups);
  A total[1];
  pile.close(total);
  shared[threadIdx.x] = total[0];
  for (int step = 1; step < blockDim.x; step *= 2) {
    __syncthreads();
    if (threadIdx.x % (2 * step) == 0) shared[threadIdx.x] = plus(shared[threadIdx.x], shared[threadIdx.x + step]);
  }
  if (threadIdx.x == 0) reinterpret_cast<R*>(p.out)[blockIdx.x] = rounded<R>(shared[0], p.over);
}

// Eight threads per sum: each adds a run of 2^n neighbours, then the runs' sums are added.
template <class T>
__device__ void add_wide(Fold const& p) {
  using A = typename accumulator<T>::type;
  using R = typename accumulator<T>::result;
  __shared__ A shared[warps][32];
  int const lane = threadIdx.x % 32, at = threadIdx.x / 32;
  int64_t const sum = static_cast<int64_t>(blockIdx.x) * 32 + lane;
  int64_t run = 1;
  while (run * warps < p.groups) run *= 2;
  A total[1] = {nothing<A>()};
  if (sum < p.sums) {
    Pile<A, 1, levels> pile;
    int64_t const first = at * run;
    push_all(pile, reinterpret_cast<A const*>(p.partial) + sum * p.pitch, p.step, first,
             first + run < p.groups ? first + run : p.groups);
    pile.close(total);
  }
  shared[at][lane] = total[0];
  for (int step = 1; step < warps; step *= 2) {
    __syncthreads();
    if (at % (2 * step) == 0) shared[at][lane] = plus(shared[at][lane], shared[at + step][lane]);
  }
  if (at == 0 && sum < p.sums) reinterpret_cast<R*>(p.out)[sum] = rounded<R>(shared[0][lane], p.over);
}

// ---- other reductions

// A reduction consists of its accumulator type (A), its result, and three functions: start is the value for no
// elements, take adds element number k, and merge combines two accumulators, the second of which covers later or
// other elements.

// The type in which elements of T are compared.
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

// The larger or the smaller value; NaN if either is.
template <bool Largest, class V>
__device__ V extreme(V a, V b) {
  return Largest ? Maximum::apply(a, b) : Minimum::apply(a, b);
}

// The same for two halves in a word.
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

// The extreme value of a vector.
template <bool Largest, template <class, int> class X, class T, int V>
__device__ typename compared<T>::type extreme_of(X<T, V> const& x) {
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
  template <class X>
  static __device__ void take_vector(A& a, X const& x, int64_t) {
    a = merge(a, extreme_of<Largest>(x));
  }
  static __device__ A merge(A a, A b) { return extreme<Largest>(a, b); }
  static __device__ R result(A a, double) { return convert<R>(a); }
};

template <class V>
struct Place {
  V v;
  int64_t k;  // -1: none yet
};

// Whether v beats u: it is larger (or smaller), or it is NaN and u is not.
template <bool Largest, class V>
__device__ bool beats(V v, V u) {
  return !(Largest ? v <= u : v >= u) && u == u;
}

template <class T, bool Largest>
struct ArgExtreme {
  using V = typename compared<T>::type;
  using A = Place<V>;
  using R = int64_t;
  static __device__ A start(double const*, int64_t) { return {V(0), -1}; }
  // A thread visits elements in increasing order.
  static __device__ void take(A& a, T x, int64_t k) {
    V const v = compared<T>::of(x);
    if (a.k < 0 || beats<Largest>(v, a.v)) a = {v, k};
  }
  // The extreme value of a vector, whether it beats the current one, and its first index in the vector.
  template <class X>
  static __device__ V of(X const& x) {
    return extreme_of<Largest>(x);
  }
  static __device__ bool beaten(V had, V v) { return beats<Largest>(v, had); }
  template <template <class, int> class X, int N>
  static __device__ int find(V m, X<T, N> const& x) {
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

// Whether any element is not 0 (Any), or all are not (All).
template <class T, bool All>
struct Truth {
  using A = int;
  using R = boolean;
  static __device__ A start(double const*, int64_t) { return All; }
  static __device__ void take(A& a, T x, int64_t) { a = merge(a, convert<boolean>(x).bits); }
  static __device__ A merge(A a, A b) { return All ? a & b : a | b; }
  static __device__ R result(A a, double) { return {static_cast<uint8_t>(a)}; }
};

// The type in which products accumulate: wider than the elements if possible, so that an intermediate overflow or
// underflow does not affect the result.
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

// The sum in double for the means of Var; the result is the mean.
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
  W mean, rest;  // rest is the sum of deviations, which is 0 except for the rounding of the mean
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

// The mean of the squared deviations from the mean.
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

// Merges the accumulators of a team's threads, neighbours in pairs; the first thread gets the result.
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

// Whether P folds vectors at once; whether it searches for the position within a vector later.
template <class P, class T>
constexpr bool takes_vectors = false;
template <class T, bool Largest>
constexpr bool takes_vectors<Extreme<T, Largest>, T> = true;
template <class P, class T>
constexpr bool finds = false;
template <class T, bool Largest>
constexpr bool finds<ArgExtreme<T, Largest>, T> = true;

// Parameters of the kernel that merges the partial results of branches.
struct Last {
  char const* partial;
  char* out;
  int64_t folds, terms, groups;
  int team;
};

// Merges the branches of each fold: each thread of a team merges a run of neighbours.
template <class P>
__device__ void merge_last(Last const& p) {
  using A = typename P::A;
  int64_t const fold = static_cast<int64_t>(blockIdx.x) * (32 * warps / p.team) + threadIdx.x / p.team;
  int const at = threadIdx.x % p.team;
  bool const mine = fold < p.folds;
  A const* const x = reinterpret_cast<A const*>(p.partial) + (mine ? fold : 0);
  // Every thread of the team has a branch: there are at least as many branches as threads.
  int64_t const lo = p.groups * at / p.team, hi = p.groups * (at + 1) / p.team;
  A a = x[lo * p.folds];
  for (int64_t g = lo + 1; g < hi; ++g) a = P::merge(a, x[g * p.folds]);
  a = merge_team<P>(a, p.team);
  if (mine && at == 0) reinterpret_cast<typename P::R*>(p.out)[fold] = P::result(a, static_cast<double>(p.terms));
}

}  // namespace gpk
