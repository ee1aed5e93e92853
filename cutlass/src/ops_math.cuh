// ops_math.cuh: operations on one element.
//
// Every operation rounds once to its result type. Neg, Conj and ReLU give the same bits as their counterparts in
// internal/cpu. As in arithmetic.cuh, the compiler must contract only what is written as fma.
#pragma once
#include "arithmetic.cuh"
#include "smooth.cuh"

namespace gpk {

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

struct Not {
  template <class T>
  static __device__ T apply(T x) {
    if constexpr (__is_same(T, boolean)) {
      return {static_cast<uint8_t>(x.bits == 0)};
    } else {
      return static_cast<T>(~x);
    }
  }
};

// sqrt(a^2 + b^2); infinite if a or b is infinite, even if the other is NaN.
__device__ inline float modulus(float a, float b) {
  if (isinf(a) || isinf(b)) return __uint_as_float(0x7f800000);
  double const x = a, y = b;  // the squares are exact, and do not overflow
  return static_cast<float>(sqrt(x * x + y * y));
}
__device__ inline double modulus(double a, double b) { return hypot(a, b); }

struct Abs {
  template <class T>
  static __device__ auto apply(T x) {
    if constexpr (is_complex<T>) {
      return modulus(x.re, x.im);
    } else if constexpr (is_half<T>) {
      return T{static_cast<uint16_t>(x.bits & 0x7fff)};
    } else if constexpr (is_float<T>) {
      return static_cast<T>(fabs(x));
    } else {
      return negative(x) ? Neg::apply(x) : x;
    }
  }
};

struct AbsSquare {
  template <class T>
  static __device__ auto apply(T x) {
    if constexpr (is_complex<T>) {
      return x.re * x.re + x.im * x.im;
    } else {
      return combine<Mul>(x, x);
    }
  }
};

struct Square {
  template <class T>
  static __device__ T apply(T x) {
    return combine<Mul>(x, x);
  }
};

// NaN stays NaN.
struct Sign {
  template <class T>
  static __device__ T apply(T x) {
    if constexpr (is_half<T>) {
      return to_half<T>(apply(to_float(x)));
    } else if constexpr (is_integer<T>) {
      return negative(x) ? static_cast<T>(-1) : static_cast<T>(x != 0);
    } else {
      return x > 0 ? T(1) : x < 0 ? static_cast<T>(-1) : x == 0 ? T(0) : x;
    }
  }
};

// Applies a function of real numbers. Halves are computed in float and rounded once. The error of CUDA's functions is
// at most 2 ulp, and 1 ulp for the exponential, the logarithms and the roots.
template <class Op, class T>
__device__ inline T real_function(T x) {
  if constexpr (is_half<T>) {
    return to_half<T>(Op::of(to_float(x)));
  } else {
    return Op::of(x);
  }
}

#define GPK_REAL_FUNCTION(Name, in_float, in_double)        \
  struct Name {                                             \
    static __device__ float of(float x) { return in_float; } \
    static __device__ double of(double x) { return in_double; } \
    template <class T>                                      \
    static __device__ T apply(T x) {                        \
      return real_function<Name>(x);                        \
    }                                                       \
  };

GPK_REAL_FUNCTION(Rsqrt, 1 / sqrtf(x), 1 / sqrt(x))
GPK_REAL_FUNCTION(Expm1, expm1f(x), expm1(x))
GPK_REAL_FUNCTION(Log1p, log1pf(x), log1p(x))
GPK_REAL_FUNCTION(Tanh, tanhf(x), tanh(x))
GPK_REAL_FUNCTION(Erf, erff(x), erf(x))
GPK_REAL_FUNCTION(Floor, floorf(x), floor(x))
GPK_REAL_FUNCTION(Ceil, ceilf(x), ceil(x))
GPK_REAL_FUNCTION(Round, rintf(x), rint(x))
#undef GPK_REAL_FUNCTION

// Complex numbers are computed in double. The result is the root with a nonnegative real part, from |x| + |a|, which
// does not cancel.
struct Sqrt {
  static __device__ float of(float x) { return sqrtf(x); }
  static __device__ double of(double x) { return sqrt(x); }
  template <class T>
  static __device__ T apply(T x) {
    if constexpr (is_complex<T>) {
      using R = typename T::real;
      double a = x.re, b = x.im, rescale = 1;
      if (isinf(b)) return {static_cast<R>(fabs(b)), x.im};
      if (fabs(a) > 0x1p1000 || fabs(b) > 0x1p1000) {
        a *= 0x1p-4, b *= 0x1p-4, rescale = 4;
      } else if (fabs(a) < 0x1p-1000 && fabs(b) < 0x1p-1000) {
        a *= 0x1p120, b *= 0x1p120, rescale = 0x1p-60;
      }
      if (a == 0 && b == 0) return {R(0), x.im};
      double const t = sqrt(0.5 * (fabs(a) + hypot(a, b)));
      // The results are scaled back before they are rounded, because they may be subnormal.
      double const u = isinf(a) ? (b == b ? 0 : b) : fabs(b) * rescale / (2 * t);
      double const re = a >= 0 ? t * rescale : u, im = a >= 0 ? u : t * rescale;
      return {static_cast<R>(re), static_cast<R>(copysign(im, b))};
    } else {
      return real_function<Sqrt>(x);
    }
  }
};

// Complex numbers are computed in double. Above e^709, sine and cosine are multiplied by powers of e one at a time:
// they may be as small as 2^-1074, and a single power would overflow.
struct Exp {
  static __device__ float of(float x) { return expf(x); }
  static __device__ double of(double x) { return exp(x); }
  template <class T>
  static __device__ T apply(T x) {
    if constexpr (is_complex<T>) {
      using R = typename T::real;
      double a = x.re, b = x.im;
      if (b == 0) return {static_cast<R>(exp(a)), x.im};
      if (isinf(a) && (isinf(b) || b != b)) {
        return a < 0 ? T{R(0), static_cast<R>(copysign(0.0, b))} : T{x.re, static_cast<R>(b - b)};
      }
      double s, c;
      sincos(b, &s, &c);
      for (int i = 0; i < 2 && a > 709; ++i) {
        constexpr double step = 0x1.d945df4f8ec8ep+1009;  // e^700
        a -= 700, s *= step, c *= step;
      }
      double const e = exp(a);
      return {static_cast<R>(c * e), static_cast<R>(s * e)};
    } else {
      return real_function<Exp>(x);
    }
  }
};

// log|x| + i Angle(x) for complex numbers, in double. If |x| is near 1, log|x| is half of log1p(|x|^2 - 1), with
// |x|^2 - 1 = (a - 1)(a + 1) + b^2 for the larger part a.
__device__ inline c128 complex_log(c128 x) {
  double const a = fmax(fabs(x.re), fabs(x.im)), b = fmin(fabs(x.re), fabs(x.im));
  double re;
  if (a > 0.7 && a < 1.5 && b == b) {
    double const p = (a - 1) * (a + 1), q = b * b;
    re = 0.5 * log1p(p + q + (fma(a - 1, a + 1, -p) + fma(b, b, -q)));
  } else if (a > 0x1p1000 && !isinf(a)) {
    re = log(hypot(x.re * 0x1p-4, x.im * 0x1p-4)) + 4 * 0x1.62e42fefa39efp-1;
  } else if (a > 0 && a < 0x1p-900) {
    re = log(hypot(x.re * 0x1p200, x.im * 0x1p200)) - 200 * 0x1.62e42fefa39efp-1;
  } else {
    re = log(hypot(x.re, x.im));
  }
  return {re, atan2(x.im, x.re)};
}

// Returns c cosh(b) and s sinh(b). For large |b| both hyperbolic functions equal e^|b|/2. Then c and s are multiplied
// by powers of e one at a time, as in Exp.
__device__ inline c128 times_hyperbolic(double c, double s, double b) {
  double a = fabs(b);
  if (!(a > 709)) return {c * cosh(b), s * sinh(b)};
  c *= 0.5, s *= copysign(0.5, b);
  for (int i = 0; i < 2 && a > 709; ++i) {
    constexpr double step = 0x1.d945df4f8ec8ep+1009;  // e^700
    a -= 700, c *= step, s *= step;
  }
  double const e = exp(a);
  return {c * e, s * e};
}

// sin(a) cosh(b) + i cos(a) sinh(b), with the zeros and infinities of C99's csinh(ix).
__device__ inline c128 complex_sin(c128 x) {
  double const a = x.re, b = x.im;
  if (isinf(b) && a - a != 0) return {a - a, b};
  double s, c;
  sincos(a, &s, &c);
  c128 r = times_hyperbolic(s, c, b);
  if (a == 0) r.re = a;
  if (b == 0) r.im = copysign(b, b == 0 && c < 0 ? -copysign(1.0, b) : copysign(1.0, b));
  return r;
}

// cos(a) cosh(b) - i sin(a) sinh(b).
__device__ inline c128 complex_cos(c128 x) {
  double const a = x.re, b = x.im;
  if (isinf(b) && a - a != 0) return {fabs(b), a - a};
  double s, c;
  sincos(a, &s, &c);
  c128 r = times_hyperbolic(c, s, b);
  if (a == 0 || b == 0) r.im = copysign(0.0, copysign(1.0, s) * copysign(1.0, b));
  return {r.re, -r.im};
}

#define GPK_COMPLEX_FUNCTION(Name, in_float, in_double, in_complex) \
  struct Name {                                                     \
    static __device__ float of(float x) { return in_float; }        \
    static __device__ double of(double x) { return in_double; }     \
    template <class T>                                              \
    static __device__ T apply(T x) {                                \
      if constexpr (is_complex<T>) {                                \
        using R = typename T::real;                                 \
        c128 const v = in_complex({x.re, x.im});                    \
        return {static_cast<R>(v.re), static_cast<R>(v.im)};        \
      } else {                                                      \
        return real_function<Name>(x);                              \
      }                                                             \
    }                                                               \
  };

GPK_COMPLEX_FUNCTION(Log, logf(x), log(x), complex_log)
GPK_COMPLEX_FUNCTION(Sin, sinf(x), sin(x), complex_sin)
GPK_COMPLEX_FUNCTION(Cos, cosf(x), cos(x), complex_cos)
#undef GPK_COMPLEX_FUNCTION

// Multiplies if y is a small integer. Otherwise the result is e^(y log x), whose error grows with |y log x|. x^0 is
// 1. A power of 0 is 0 if the real part of y is positive, otherwise NaN.
__device__ inline c128 complex_pow(c128 x, c128 y) {
  if (y.re == 0 && y.im == 0) return {1, 0};
  if (x.re == 0 && x.im == 0) {
    if (y.re > 0) return {0, 0};
    double const nan = __longlong_as_double(0x7ff8000000000000);
    return {nan, nan};
  }
  if (y.im == 0 && y.re == trunc(y.re) && fabs(y.re) <= 64) {
    c128 p = {1, 0};
    bool first = true;
    for (int k = static_cast<int>(fabs(y.re)); k > 0; k /= 2) {
      if (k % 2 == 1) p = first ? x : p * x, first = false;
      x = x * x;
    }
    return y.re < 0 ? c128{1, 0} / p : p;
  }
  return Exp::apply(y * complex_log(x));
}

// 1/(1 + e^-x), or e^x/(1 + e^x) if x is negative. In float the result for a positive x is 1 minus the result for -x.
struct Sigmoid {
  static __device__ float of(float x) {
    float const a = fabsf(x);
    if (!(a <= 80)) return static_cast<float>(of(static_cast<double>(x)));
    float const t = gate_tail(1.f, a, 0.f);
    return x < 0 ? t : 1 - t;
  }
  static __device__ double of(double x) {
    if (x >= 0) return 1 / (1 + exp(-x));
    double const e = exp(x);
    return e / (1 + e);
  }
  template <class T>
  static __device__ T apply(T x) {
    return real_function<Sigmoid>(x);
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

// The smooth operations in double. The exponential is computed as e^(x+100), which is not subnormal, and multiplied
// by e^-100 last, so that the result is rounded once.
constexpr double exp_minus_100 = 0x1.a8c1f14e2af5dp-145;

template <class Op>
__device__ inline double smooth_in_double(double x) {
  return Op::exact(x);
}
template <>
__device__ inline double smooth_in_double<SiLU>(double x) {
  return x < -600 ? x * exp(x + 100) * exp_minus_100 : SiLU::exact(x);
}
// The argument of exp reaches 745, so that its rounding error matters: it is computed as well (v_rest).
template <>
__device__ inline double smooth_in_double<GELUTanh>(double x) {
  constexpr double outer = 1.5957691216057308, outer_rest = -0x1.cbc0d30ebfd15p-54;
  constexpr double inner = 0.044715, inner_rest = 0x1.441355475a31ap-59;
  if (!(fabs(x) < 100)) return GELUTanh::exact(x);
  double const z = x * x, z_rest = fma(x, x, -z);
  double const w = inner * z, w_rest = fma(inner, z, -w) + (inner * z_rest + inner_rest * z);
  double const u = 1 + w, u_rest = (w - (u - 1)) + w_rest;
  double const y = outer * x, y_rest = fma(outer, x, -y) + outer_rest * x;
  double const v = y * u, v_rest = fma(y, u, -v) + (y * u_rest + y_rest * u);
  if (v < -600) {
    double const e = exp(v + 100);
    return x * fma(e, v_rest, e) * exp_minus_100;
  }
  double const e = exp(-fabs(v)), p = fma(e, v < 0 ? v_rest : -v_rest, e);
  return v < 0 ? x * p / (1 + p) : x / (1 + p);
}

// Applies Op to each of N elements.
template <class Op, class T, int N>
__device__ inline void apply(T (&x)[N]) {
  if constexpr (!is_smooth<Op>) {
#pragma unroll
    for (int e = 0; e < N; ++e) x[e] = Op::apply(x[e]);
  } else if constexpr (is_half<T>) {
    float r[N];
#pragma unroll
    for (int e = 0; e < N; ++e) r[e] = Op::template rough<__is_same(T, bf16)>(to_float(x[e]));
    to_halves(r, x);
  } else if constexpr (sizeof(T) == 8) {
#pragma unroll
    for (int e = 0; e < N; ++e) x[e] = smooth_in_double<Op>(x[e]);
  } else {
    bool quick = true;
#pragma unroll
    for (int e = 0; e < N; ++e) quick = quick && fabsf(x[e]) <= Op::limit;
    if (quick) {
#pragma unroll
      for (int e = 0; e < N; ++e) x[e] = Op::quick(x[e]);
    } else {
      // An element's result does not depend on its neighbours. The elements are passed to a single call through
      // memory: inlined code would need registers that the common path lacks.
      float y[N];
#pragma unroll
      for (int e = 0; e < N; ++e) y[e] = x[e];
      either<Op>(y, N);
#pragma unroll
      for (int e = 0; e < N; ++e) x[e] = y[e];
    }
  }
}

}  // namespace gpk
