// reduce.cuh: the definitions of reductions, for the precompiled kernels (reduction_kernels.cuh) and for those at the
// end of chains, which are compiled at run time (fold.cuh).
//
// A reduction has an accumulator type (A), a result type (R) and four functions. start returns the accumulator of no
// elements. accumulate adds element number k. merge combines two accumulators, the second of which covers later or
// other elements. result converts an accumulator.
#pragma once
#include "reduce_sum.cuh"

namespace gpk {

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

// Returns the larger or the smaller value, or NaN if a or b is NaN.
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

// Returns the extreme value of a vector.
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
  static __device__ void accumulate(A& a, T x, int64_t) { a = merge(a, compared<T>::of(x)); }
  template <class X>
  static __device__ void accumulate_vector(A& a, X const& x, int64_t) {
    a = merge(a, extreme_of<Largest>(x));
  }
  static __device__ A merge(A a, A b) { return extreme<Largest>(a, b); }
  static __device__ R result(A a, double) { return convert<R>(a); }
};

template <class V>
struct IndexedValue {
  V v;
  int64_t k;  // -1: none yet
};

// Whether v is larger (or smaller) than u, or v is NaN and u is not.
template <bool Largest, class V>
__device__ bool beats(V v, V u) {
  return !(Largest ? v <= u : v >= u) && u == u;
}

template <class T, bool Largest>
struct ArgExtreme {
  using V = typename compared<T>::type;
  using A = IndexedValue<V>;
  using R = int64_t;
  static __device__ A start(double const*, int64_t) { return {V(0), -1}; }
  // A thread accumulates elements in increasing order.
  static __device__ void accumulate(A& a, T x, int64_t k) {
    V const v = compared<T>::of(x);
    if (a.k < 0 || beats<Largest>(v, a.v)) a = {v, k};
  }
  // A kernel may search a vector in two steps: of returns its extreme value, and find returns the first index of that
  // value. beaten reports whether v beats the current value.
  template <class X>
  static __device__ V of(X const& x) {
    return extreme_of<Largest>(x);
  }
  static __device__ bool beaten(V current, V v) { return beats<Largest>(v, current); }
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

// Any (whether an element is not 0) and All (whether no element is 0).
template <class T, bool All>
struct Truth {
  using A = int;
  using R = boolean;
  static __device__ A start(double const*, int64_t) { return All; }
  static __device__ void accumulate(A& a, T x, int64_t) { a = merge(a, convert<boolean>(x).bits); }
  static __device__ A merge(A a, A b) { return All ? a & b : a | b; }
  static __device__ R result(A a, double) { return {static_cast<uint8_t>(a)}; }
};

// The type in which products accumulate. It is wider than the elements if possible, so that an intermediate overflow
// or underflow does not affect the result.
template <class T>
struct wide_accumulator {
  using type = long long;
  using result = int64_t;
};
template <>
struct wide_accumulator<float> {
  using type = double;
  using result = float;
};
template <>
struct wide_accumulator<double> {
  using type = double;
  using result = double;
};
template <>
struct wide_accumulator<f16> {
  using type = double;
  using result = f16;
};
template <>
struct wide_accumulator<bf16> {
  using type = double;
  using result = bf16;
};
template <>
struct wide_accumulator<c64> {
  using type = c128;
  using result = c64;
};
template <>
struct wide_accumulator<c128> {
  using type = c128;
  using result = c128;
};

template <class T>
struct Product {
  using A = typename wide_accumulator<T>::type;
  using R = typename wide_accumulator<T>::result;
  static __device__ A start(double const*, int64_t) { return convert<A>(1.0f); }
  static __device__ void accumulate(A& a, T x, int64_t) { a = merge(a, convert<A>(x)); }
  static __device__ A merge(A a, A b) {
    if constexpr (__is_same(A, long long)) {
      return static_cast<long long>(static_cast<unsigned long long>(a) * static_cast<unsigned long long>(b));
    } else {
      return a * b;
    }
  }
  static __device__ R result(A a, double) { return convert<R>(a); }
};

// The mean, in double, for Var.
template <class T>
struct Average {
  using A = typename wide_accumulator<T>::type;
  using R = A;
  static __device__ A start(double const*, int64_t) { return convert<A>(0.0f); }
  static __device__ void accumulate(A& a, T x, int64_t) { a = a + convert<A>(x); }
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
  W mean, rest;  // rest: the sum of the deviations, which is 0 if the mean is exact
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

// Var: the mean of the squared deviations from the mean.
template <class T>
struct Variance {
  using W = typename wide_accumulator<T>::type;
  using A = Deviations<W>;
  using R = typename real_type<T>::type;
  static __device__ A start(double const* means, int64_t i) {
    return {reinterpret_cast<W const*>(means)[i], convert<W>(0.0f), 0};
  }
  static __device__ void accumulate(A& a, T x, int64_t) {
    W const d = convert<W>(x) - a.mean;
    a.rest = a.rest + d;
    a.squares += square_of(d);
  }
  static __device__ A merge(A a, A b) { return {a.mean, a.rest + b.rest, a.squares + b.squares}; }
  static __device__ R result(A a, double n) { return convert<R>((a.squares - square_of(a.rest) / n) / n); }
};

template <class A>
__device__ A shuffle_down(A v, int distance) {
  constexpr unsigned words = (sizeof(A) + 3) / 4;
  uint32_t w[words] = {};
  memcpy(w, &v, sizeof v);
#pragma unroll
  for (unsigned i = 0; i < words; ++i) w[i] = __shfl_down_sync(~0u, w[i], distance);
  memcpy(&v, w, sizeof v);
  return v;
}

// Merges the accumulators of a team's threads, neighbours in pairs. The team's first thread gets the result.
template <class P>
__device__ typename P::A merge_team(typename P::A a, int team) {
  using A = typename P::A;
  __shared__ __align__(16) char bytes[warps * sizeof(A)];
  A* const shared = reinterpret_cast<A*>(bytes);
  int const lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int step = 1; step < team && step < 32; step *= 2) {
    A const other = shuffle_down(a, step);
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

// accumulates_vectors: P accumulates a vector at once. locates_later: P keeps the vector with the extreme value, and
// searches it for the index at the end.
template <class P, class T>
constexpr bool accumulates_vectors = false;
template <class T, bool Largest>
constexpr bool accumulates_vectors<Extreme<T, Largest>, T> = true;
template <class P, class T>
constexpr bool locates_later = false;
template <class T, bool Largest>
constexpr bool locates_later<ArgExtreme<T, Largest>, T> = true;

// Parameters of fold_partials.
struct PartialResults {
  char const* partial;
  char* out;
  int64_t folds, terms, groups;
  int team;
};

// Merges the partial results of each fold. Each thread of a team merges a run of neighbours.
template <class P>
__device__ void merge_partials(PartialResults const& p) {
  using A = typename P::A;
  int64_t const fold = static_cast<int64_t>(blockIdx.x) * (32 * warps / p.team) + threadIdx.x / p.team;
  int const at = threadIdx.x % p.team;
  bool const active = fold < p.folds;
  A const* const x = reinterpret_cast<A const*>(p.partial) + (active ? fold : 0);
  // Every thread has at least one branch, because there are at least as many branches as threads of a team.
  int64_t const lo = p.groups * at / p.team, hi = p.groups * (at + 1) / p.team;
  A a = x[lo * p.folds];
  for (int64_t g = lo + 1; g < hi; ++g) a = P::merge(a, x[g * p.folds]);
  a = merge_team<P>(a, p.team);
  if (active && at == 0) reinterpret_cast<typename P::R*>(p.out)[fold] = P::result(a, static_cast<double>(p.terms));
}

}  // namespace gpk
