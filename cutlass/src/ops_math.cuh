// ops_math.cuh: element types and what operations do to one element.
//
// Every operation rounds once to its result type, as its twin in internal/cpu
// does, and gives the same bits there: Add, Sub, Mul, Div, Neg, Conj, ReLU and
// conversions. For that nothing may be contracted that is not written as fma:
// units that include this are compiled with -fmad=false.
#pragma once
#include <cuda_runtime.h>
#include <stdint.h>

#include "gpk.h"

namespace gpk {

struct f16 {
  uint16_t bits;
};
struct bf16 {
  uint16_t bits;
};
struct boolean {
  uint8_t bits;
};
template <class R>
struct alignas(2 * sizeof(R)) cx {
  using real = R;
  R re, im;
};
using c64 = cx<float>;
using c128 = cx<double>;

template <class T>
constexpr bool is_half = false;
template <>
constexpr bool is_half<f16> = true;
template <>
constexpr bool is_half<bf16> = true;
template <class T>
constexpr bool is_complex = false;
template <class R>
constexpr bool is_complex<cx<R>> = true;
template <class T>
constexpr bool is_float = is_half<T>;
template <>
constexpr bool is_float<float> = true;
template <>
constexpr bool is_float<double> = true;
template <class T>
constexpr bool is_integer = !is_float<T> && !is_complex<T>;
template <>
constexpr bool is_integer<boolean> = false;

// ---- half types

__device__ inline float to_float(f16 x) {
  float f;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(x.bits));
  return f;
}
__device__ inline float to_float(bf16 x) { return __uint_as_float(static_cast<uint32_t>(x.bits) << 16); }

template <class H>
__device__ inline H to_half(float x) {
  H h;
  if constexpr (sizeof(H) == 2 && __is_same(H, f16)) {
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h.bits) : "f"(x));
  } else {
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h.bits) : "f"(x));
  }
  return h;
}

// x where float holds it, else the neighbour of x with an odd last bit: what
// rounds to a half as x does, since float has more than two bits beyond either
// half type (Boldo and Melquiond, 2005).
__device__ inline float round_to_odd(double x) {
  float const r = __double2float_rz(x);
  return static_cast<double>(r) == x || x != x ? r : __uint_as_float(__float_as_uint(r) | 1);
}

// v as a double that rounds to a half, by way of round_to_odd, as v does: the
// upper 32 bits that count, the last one set when a lower one is.
__device__ inline double sticky(int64_t v) {
  uint64_t u = v < 0 ? -static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
  int const n = 32 - __clzll(static_cast<long long>(u));
  if (n > 0) {
    uint64_t const low = (uint64_t{1} << n) - 1;
    u = (u & ~low) | ((u & low) != 0 ? low + 1 : 0);
  }
  double const d = __ull2double_rn(u);
  return v < 0 ? -d : d;
}

// ---- conversions: to integers truncate and saturate, NaN is 0; to boolean
// x != 0; complex to real drops the imaginary part

template <class D, class S>
__device__ inline D saturate(S x) {
  constexpr int64_t lo = sizeof(D) == 8 ? INT64_MIN : D(-1) > D(0) ? 0 : -(int64_t{1} << (8 * sizeof(D) - 1));
  constexpr int64_t hi = sizeof(D) == 8 ? INT64_MAX : lo == 0 ? 255 : -(lo + 1);
  if constexpr (__is_same(S, float)) {
    if (x != x) return 0;
    if constexpr (sizeof(D) == 8) return __float2ll_rz(x);
    int32_t const v = __float2int_rz(x);
    return static_cast<D>(v < lo ? lo : v > hi ? hi : v);
  } else if constexpr (__is_same(S, double)) {
    if (x != x) return 0;
    if constexpr (sizeof(D) == 8) return __double2ll_rz(x);
    int32_t const v = __double2int_rz(x);
    return static_cast<D>(v < lo ? lo : v > hi ? hi : v);
  } else {
    int64_t const v = x;
    return static_cast<D>(v < lo ? lo : v > hi ? hi : v);
  }
}

template <class D, class S>
__device__ inline D convert(S x) {
  if constexpr (__is_same(D, S)) {
    return x;
  } else if constexpr (is_complex<D>) {
    using R = typename D::real;
    if constexpr (is_complex<S>) {
      return {convert<R>(x.re), convert<R>(x.im)};
    } else {
      return {convert<R>(x), R(0)};
    }
  } else if constexpr (__is_same(D, boolean)) {
    if constexpr (is_complex<S>) {
      return {static_cast<uint8_t>(x.re != 0 || x.im != 0)};
    } else if constexpr (is_half<S>) {
      return {static_cast<uint8_t>((x.bits & 0x7fff) != 0)};
    } else {
      return {static_cast<uint8_t>(x != 0)};
    }
  } else if constexpr (is_complex<S>) {
    return convert<D>(x.re);
  } else if constexpr (is_half<S>) {
    return convert<D>(to_float(x));
  } else if constexpr (__is_same(S, boolean)) {
    return convert<D>(static_cast<uint8_t>(x.bits != 0));
  } else if constexpr (is_half<D>) {
    if constexpr (__is_same(S, float)) {
      return to_half<D>(x);
    } else if constexpr (__is_same(S, double)) {
      return to_half<D>(round_to_odd(x));
    } else if constexpr (sizeof(S) == 1) {
      return to_half<D>(static_cast<float>(x));
    } else {
      return to_half<D>(round_to_odd(sticky(x)));
    }
  } else if constexpr (is_integer<D>) {
    return saturate<D>(x);
  } else {
    return static_cast<D>(x);  // rounds to nearest
  }
}

// ---- arithmetic

// Signed overflow is undefined in C++, and integers here wrap.
template <class T>
struct wrapping {
  using type = T;
};
template <>
struct wrapping<int8_t> {
  using type = uint8_t;
};
template <>
struct wrapping<int32_t> {
  using type = uint32_t;
};
template <>
struct wrapping<int64_t> {
  using type = uint64_t;
};

template <class R>
__device__ inline cx<R> operator+(cx<R> x, cx<R> y) {
  return {x.re + y.re, x.im + y.im};
}
template <class R>
__device__ inline cx<R> operator-(cx<R> x, cx<R> y) {
  return {x.re - y.re, x.im - y.im};
}
template <class R>
__device__ inline cx<R> operator*(cx<R> x, cx<R> y) {
  return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}

// 1 for an infinity, 0 for what is none, with v's sign.
__device__ inline double unit(double v) { return copysign(isinf(v) ? 1.0 : 0.0, v); }

// (a + bi)/(c + di) = (ac + bd + (bc - ad)i) / (c^2 + d^2). Where that has no
// number for an answer, infinities and zeros are as C99's Annex G has them.
__device__ inline c128 quotient(double a, double b, double c, double d) {
  double const den = c * c + d * d;
  double const e = (a * c + b * d) / den, f = (b * c - a * d) / den;
  if (e == e || f == f) return {e, f};
  double const inf = __longlong_as_double(0x7ff0000000000000);
  if (den == 0 && (a == a || b == b)) return {copysign(inf, c) * a, copysign(inf, c) * b};
  if ((isinf(a) || isinf(b)) && isfinite(c) && isfinite(d)) {
    a = unit(a), b = unit(b);
    return {inf * (a * c + b * d), inf * (b * c - a * d)};
  }
  if ((isinf(c) || isinf(d)) && isfinite(a) && isfinite(b)) {
    c = unit(c), d = unit(d);
    return {0 * (a * c + b * d), 0 * (b * c - a * d)};
  }
  return {e, f};
}

// In double the products of floats are exact and nothing overflows.
__device__ inline c64 operator/(c64 x, c64 y) {
  c128 const q = quotient(x.re, x.im, y.re, y.im);
  return {static_cast<float>(q.re), static_cast<float>(q.im)};
}

// The exponent of the larger of |a| and |b|; 0 when that is 0, infinite or NaN.
__device__ inline int exponent(double a, double b) {
  if (a != a || b != b) return 0;
  double const v = fmax(fabs(a), fabs(b));
  return v > 0 && !isinf(v) ? ilogb(v) : 0;
}

// Dividend and divisor are scaled by powers of two so that the larger part of
// each lies in [1, 2): nothing overflows on the way, and what underflows is too
// small to count beside the other part.
__device__ inline c128 operator/(c128 x, c128 y) {
  int const m = exponent(x.re, x.im), n = exponent(y.re, y.im);
  c128 const q = quotient(scalbn(x.re, -m), scalbn(x.im, -m), scalbn(y.re, -n), scalbn(y.im, -n));
  return {scalbn(q.re, m - n), scalbn(q.im, m - n)};
}

// Op on elements: halves are computed in float and rounded once.
template <class Op, class T>
__device__ inline T combine(T x, T y) {
  if constexpr (is_half<T>) {
    return to_half<T>(Op::apply(to_float(x), to_float(y)));
  } else {
    return Op::apply(x, y);
  }
}

struct Add {
  template <class T>
  static __device__ T apply(T x, T y) {
    using W = typename wrapping<T>::type;
    return static_cast<T>(static_cast<W>(x) + static_cast<W>(y));
  }
};
struct Sub {
  template <class T>
  static __device__ T apply(T x, T y) {
    using W = typename wrapping<T>::type;
    return static_cast<T>(static_cast<W>(x) - static_cast<W>(y));
  }
};
struct Mul {
  template <class T>
  static __device__ T apply(T x, T y) {
    using W = typename wrapping<T>::type;
    return static_cast<T>(static_cast<W>(x) * static_cast<W>(y));
  }
};
struct Div {
  template <class T>
  static __device__ T apply(T x, T y) {
    return x / y;
  }
};

// ---- unary operations

struct Neg {
  template <class T>
  static __device__ T apply(T x) {
    if constexpr (is_complex<T>) {
      return {-x.re, -x.im};
    } else if constexpr (is_half<T>) {
      return {static_cast<uint16_t>(x.bits ^ 0x8000)};
    } else if constexpr (is_float<T>) {
      return -x;
    } else {
      return static_cast<T>(-static_cast<typename wrapping<T>::type>(x));
    }
  }
};

struct Conj {
  template <class R>
  static __device__ cx<R> apply(cx<R> x) {
    return {x.re, -x.im};
  }
};

// NaN stays NaN; -0 becomes 0.
struct ReLU {
  template <class T>
  static __device__ T apply(T x) {
    if constexpr (is_half<T>) {
      return to_float(x) <= 0 ? T{0} : x;
    } else {
      return x <= 0 ? T(0) : x;
    }
  }
};

// ---- GELU, its tanh form, SiLU
//
// All are x times a smooth step, and computed as max(x, 0) - T(|x|), where T =
// |x| step(-|x|) is small and does not cancel:
//
//   GELU      T(a) = a Q(a), Q(a) = 1/2 erfc(a/sqrt 2)
//   GELUTanh  T(a) = a e^-w / (1 + e^-w), w = 2 sqrt(2/pi) (a + 0.044715 a^3)
//   SiLU      T(a) = a e^-a / (1 + e^-a)
//
// (Hendrycks and Gimpel, arXiv 1606.08415.) In float the error stays below 2 ulp
// of the exact value: what is lost in one step is carried to the next. In the
// half types two hardware approximations, good to 2^-22, are enough. -inf gives
// NaN, as the formulas do.

__device__ inline float approximate_reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ inline float approximate_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// e^-(hi + lo) = (1 + value) 2^n, where n is the low 9 bits of `shift`; hi >= 0,
// lo much smaller.
struct Exponential {
  float value;
  uint32_t shift;

  __device__ Exponential(float hi, float lo) {
    float const t = fmaf(hi, -1.44269504f, 12582912.f);  // 1.5 * 2^23: the sum's last bit is 1
    float const n = t - 12582912.f;
    // log 2 in two parts; the first has 15 bits, so that its fma is exact.
    float const r = fmaf(n, -0.693145752f, -hi) + fmaf(n, -1.42860677e-6f, -lo);
    float q = 0.00139514134f;
    q = fmaf(q, r, 0.00836946417f);
    q = fmaf(q, r, 0.0416661935f);
    q = fmaf(q, r, 0.166665144f);
    q = fmaf(q, r, 0.50000001f);
    q = fmaf(q, r, 1.f);
    value = q * r;
    shift = __float_as_uint(t);
  }
  // v 2^n, where neither is subnormal.
  __device__ float scale(float v) const { return __uint_as_float(__float_as_uint(v) + (shift << 23)); }
};

// a e^-(hi + lo) / (1 + e^-(hi + lo))
__device__ inline float gate_tail(float a, float hi, float lo) {
  Exponential const e(hi, lo);
  float const n = fmaf(a, e.value, a), n_rest = fmaf(a, e.value, a - n);
  float const one = e.scale(1.f), power = fmaf(e.value, one, one);
  float const d = 1 + power, d_rest = power - (d - 1);
  float const r = approximate_reciprocal(d), q = n * r;
  return e.scale(fmaf(fmaf(-q, d_rest, fmaf(-q, d, n)) + n_rest, r, q));
}

// Smooth operations have two forms for float: `quick` up to |x| = limit, where
// nothing is subnormal, and `full`, by way of double, beyond.
template <class Op>
__device__ __noinline__ float full(float x) {
  return static_cast<float>(Op::exact(static_cast<double>(x)));
}

struct GELU {
  static constexpr float limit = 12.5f;

  // T(a) = a P(u) e^(-a^2/2) / (1.6875 + 2.09375 a), u = a/(1 + 0.27 a) - 1: the
  // divisor makes P flat, so that errors of u and in P hardly count.
  static __device__ float quick(float x) {
    float const a = fabsf(x);
    float const u = fmaf(a, approximate_reciprocal(fmaf(0.27f, a, 1.f)), -1.f);
    float p = 1.52334073e-6f;
    p = fmaf(p, u, -5.32420877e-6f);
    p = fmaf(p, u, -4.25812469e-5f);
    p = fmaf(p, u, 2.02949346e-4f);
    p = fmaf(p, u, 1.09805423e-3f);
    p = fmaf(p, u, -0.0123163491f);
    p = fmaf(p, u, 0.0479189011f);
    p = fmaf(p, u, -0.087622851f);
    p = fmaf(p, u, 0.00136130666f);
    float const c = 0.993828782f, pu = p * u, pu_rest = fmaf(p, u, -pu);
    float const P = pu + c, P_rest = (pu - (P - c)) + pu_rest;
    float const d = fmaf(2.09375f, a, 1.6875f), d_rest = fmaf(2.09375f, a, -(d - 1.6875f));
    float const r = approximate_reciprocal(d), v = a * r;
    float const v_rest = fmaf(-v, d_rest, fmaf(-v, d, a)) * r;
    float const half = 0.5f * a, hi = half * a, lo = fmaf(half, a, -hi);
    Exponential const e(hi, lo);
    float const m = fmaf(P, e.value, P_rest);
    float const t = fmaf(v, P, fmaf(v, m, v_rest * (P + m)));
    return fmaxf(x, 0.f) - e.scale(t);
  }
  static __device__ double exact(double x) { return x * normcdf(x); }
  // As quick, with fewer terms; u = 1/(1 + 0.31 a). The powers of 2 keep what
  // the hardware would take for 0 from being subnormal.
  static __device__ float rough(float x) {
    float const a = fabsf(x), u = approximate_reciprocal(fmaf(0.31f, a, 1.f));
    constexpr float s = 0x1p-24f;
    float p = -0.0739291439f * s;
    p = fmaf(p, u, 0.180450347f * s);
    p = fmaf(p, u, 0.0157447111f * s);
    p = fmaf(p, u, 0.133429784f * s);
    p = fmaf(p, u, 0.120441277f * s);
    p = fmaf(p, u, 0.123860703f * s);
    return fmaxf(x, 0.f) - a * (u * p * approximate_exp2(fmaf(-0.72134752f * a, a, 24.f)));
  }
};

// a E / (1 + E), E = 2^-y
__device__ inline float rough_tail(float a, float y) {
  float const e = 0x1p-24f * approximate_exp2(24 - y);
  return a * (e * approximate_reciprocal(1 + e));
}

__device__ inline double gated(double x, double v) {
  double const e = exp(-fabs(v));
  return v >= 0 ? x / (1 + e) : x * e / (1 + e);
}

struct GELUTanh {
  static constexpr float limit = 9.f;

  static __device__ float quick(float x) {
    // w = a (c1 + c3 a^2) in two floats.
    constexpr double c1 = 1.5957691216057308, c3 = c1 * 0.044715;
    constexpr float c1_hi = static_cast<float>(c1), c1_lo = static_cast<float>(c1 - c1_hi);
    constexpr float c3_hi = static_cast<float>(c3), c3_lo = static_cast<float>(c3 - c3_hi);
    float const a = fabsf(x);
    float const s = a * a, s_rest = fmaf(a, a, -s);
    float const m = c3_hi * s, m_rest = fmaf(c3_hi, s, -m);
    float const t = m + c1_hi, b = t - m;
    float const t_rest = fmaf(c3_hi, s_rest, fmaf(c3_lo, s, (m - (t - b)) + (c1_hi - b) + m_rest)) + c1_lo;
    float const w = a * t;
    return fmaxf(x, 0.f) - gate_tail(a, w, fmaf(a, t_rest, fmaf(a, t, -w)));
  }
  static __device__ double exact(double x) { return gated(x, 1.5957691216057308 * x * (1 + 0.044715 * x * x)); }
  static __device__ float rough(float x) {
    float const a = fabsf(x);
    return fmaxf(x, 0.f) - rough_tail(a, a * fmaf(0.10294324f * a, a, 2.3022082f));
  }
};

struct SiLU {
  static constexpr float limit = 80.f;

  static __device__ float quick(float x) {
    float const a = fabsf(x);
    return fmaxf(x, 0.f) - gate_tail(a, a, 0.f);
  }
  static __device__ double exact(double x) { return gated(x, x); }
  static __device__ float rough(float x) {
    float const a = fabsf(x);
    return fmaxf(x, 0.f) - rough_tail(a, 1.44269504f * a);
  }
};

template <class Op>
constexpr bool is_smooth = false;
template <>
constexpr bool is_smooth<GELU> = true;
template <>
constexpr bool is_smooth<GELUTanh> = true;
template <>
constexpr bool is_smooth<SiLU> = true;

// Op on each of N elements.
template <class Op, class T, int N>
__device__ inline void apply(T (&x)[N]) {
  if constexpr (!is_smooth<Op>) {
#pragma unroll
    for (int e = 0; e < N; ++e) x[e] = Op::apply(x[e]);
  } else if constexpr (is_half<T>) {
#pragma unroll
    for (int e = 0; e < N; ++e) {
      // Beyond 128 the result is x, +inf too, or 0, and NaN for -inf.
      float const v = to_float(x[e]), y = Op::rough(v);
      x[e] = to_half<T>(v > 128 ? v : y);
    }
  } else if constexpr (sizeof(T) == 8) {
#pragma unroll
    for (int e = 0; e < N; ++e) x[e] = Op::exact(x[e]);
  } else {
    bool quick = true;
#pragma unroll
    for (int e = 0; e < N; ++e) quick = quick && fabsf(x[e]) <= Op::limit;
    if (quick) {
#pragma unroll
      for (int e = 0; e < N; ++e) x[e] = Op::quick(x[e]);
    } else {
#pragma unroll
      for (int e = 0; e < N; ++e) x[e] = full<Op>(x[e]);
    }
  }
}

}  // namespace gpk
