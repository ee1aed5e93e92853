// arithmetic.cuh: operations on two or three elements.
//
// Every operation rounds once to its result type. Add, Sub, Mul and Div give the same bits as their counterparts in
// internal/cpu. The compiler must therefore contract only what is written as fma: units that include this file are
// compiled with -fmad=false.
#pragma once
#include "element.cuh"

namespace gpk {

// Signed overflow is undefined in C++, and integers here wrap.
template <class T>
struct wrapping {
  using type = T;
};
template <>
struct wrapping<int8_t> {
  using type = uint8_t;
};
// Unsigned, because uint16_t would be promoted to int.
template <>
struct wrapping<int16_t> {
  using type = uint32_t;
};
template <>
struct wrapping<uint16_t> {
  using type = uint32_t;
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

// Returns 1 if v is infinite and 0 otherwise, with the sign of v.
__device__ inline double box_infinity(double v) { return copysign(isinf(v) ? 1.0 : 0.0, v); }

// (a + bi)/(c + di) = (ac + bd + (bc - ad)i) / (c^2 + d^2). If both parts of this are NaN, the result is C99's (Annex
// G).
__device__ inline c128 quotient(double a, double b, double c, double d) {
  double const den = c * c + d * d;
  double const e = (a * c + b * d) / den, f = (b * c - a * d) / den;
  if (e == e || f == f) return {e, f};
  double const inf = __longlong_as_double(0x7ff0000000000000);
  if (den == 0 && (a == a || b == b)) return {copysign(inf, c) * a, copysign(inf, c) * b};
  if ((isinf(a) || isinf(b)) && isfinite(c) && isfinite(d)) {
    a = box_infinity(a), b = box_infinity(b);
    return {inf * (a * c + b * d), inf * (b * c - a * d)};
  }
  if ((isinf(c) || isinf(d)) && isfinite(a) && isfinite(b)) {
    c = box_infinity(c), d = box_infinity(d);
    return {0 * (a * c + b * d), 0 * (b * c - a * d)};
  }
  return {e, f};
}

// Computed in double, where the products of floats are exact and nothing overflows.
__device__ inline c64 operator/(c64 x, c64 y) {
  c128 const q = quotient(x.re, x.im, y.re, y.im);
  return {static_cast<float>(q.re), static_cast<float>(q.im)};
}

// Returns the exponent of the larger of |a| and |b|, or 0 if that is 0, infinite or NaN.
__device__ inline int exponent(double a, double b) {
  if (a != a || b != b) return 0;
  double const v = fmax(fabs(a), fabs(b));
  return v > 0 && !isinf(v) ? ilogb(v) : 0;
}

// Powers of two scale dividend and divisor so that the larger part of each is in [1, 2). No intermediate result
// overflows. One that underflows is negligible compared with the other part.
__device__ inline c128 operator/(c128 x, c128 y) {
  int const m = exponent(x.re, x.im), n = exponent(y.re, y.im);
  c128 const q = quotient(scalbn(x.re, -m), scalbn(x.im, -m), scalbn(y.re, -n), scalbn(y.im, -n));
  return {scalbn(q.re, m - n), scalbn(q.im, m - n)};
}

// Applies Op to two elements. The result type D is T or boolean. Halves are computed in float and rounded once.
template <class Op, class T, class D = T>
__device__ inline D combine(T x, T y) {
  if constexpr (is_half<T> && __is_same(D, T)) {
    return to_half<T>(Op::apply(to_float(x), to_float(y)));
  } else if constexpr (is_half<T>) {
    return Op::apply(to_float(x), to_float(y));
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

template <class T>
__device__ inline bool negative(T x) {
  if constexpr (T(-1) > T(0)) {
    return false;
  } else {
    return x < 0;
  }
}

__device__ c128 complex_pow(c128 x, c128 y);

// x^y. Floats are computed in double, where the error of pow is at most two of double's ulps. Integers wrap. If y is
// negative, the result is truncated to an integer.
struct Pow {
  template <class T>
  static __device__ T apply(T x, T y) {
    if constexpr (is_integer<T>) {
      using W = typename wrapping<T>::type;
      if (negative(y)) return x == 1 ? 1 : x == T(-1) ? (y & 1 ? x : 1) : 0;
      W p = 1, b = static_cast<W>(x);
      for (; y > 0; y = static_cast<T>(y >> 1)) {
        if (y & 1) p = static_cast<W>(p * b);
        b = static_cast<W>(b * b);
      }
      return static_cast<T>(p);
    } else if constexpr (is_complex<T>) {
      using R = typename T::real;
      c128 const p = complex_pow({x.re, x.im}, {y.re, y.im});
      return {static_cast<R>(p.re), static_cast<R>(p.im)};
    } else {
      return static_cast<T>(pow(static_cast<double>(x), static_cast<double>(y)));
    }
  }
};

// The result is NaN if x or y is NaN. 0 is larger than -0.
struct Maximum {
  template <class T>
  static __device__ T apply(T x, T y) {
    if constexpr (is_integer<T>) {
      return x > y ? x : y;
    } else if constexpr (__is_same(T, float)) {
      T m;
      asm("max.NaN.f32 %0, %1, %2;" : "=f"(m) : "f"(x), "f"(y));
      return m;
    } else {
      return x > y ? x : x < y ? y : x == y ? (signbit(x) ? y : x) : x + y;
    }
  }
};
struct Minimum {
  template <class T>
  static __device__ T apply(T x, T y) {
    if constexpr (is_integer<T>) {
      return x < y ? x : y;
    } else if constexpr (__is_same(T, float)) {
      T m;
      asm("min.NaN.f32 %0, %1, %2;" : "=f"(m) : "f"(x), "f"(y));
      return m;
    } else {
      return x < y ? x : x > y ? y : x == y ? (signbit(x) ? x : y) : x + y;
    }
  }
};

struct Eq {
  template <class T>
  static __device__ boolean apply(T x, T y) {
    if constexpr (is_complex<T>) {
      return {static_cast<uint8_t>(x.re == y.re && x.im == y.im)};
    } else {
      return {static_cast<uint8_t>(x == y)};
    }
  }
};
struct Ne {
  template <class T>
  static __device__ boolean apply(T x, T y) {
    return {static_cast<uint8_t>(Eq::apply(x, y).bits ^ 1)};
  }
};
struct Lt {
  template <class T>
  static __device__ boolean apply(T x, T y) {
    return {static_cast<uint8_t>(x < y)};
  }
};
struct Le {
  template <class T>
  static __device__ boolean apply(T x, T y) {
    return {static_cast<uint8_t>(x <= y)};
  }
};
struct Gt {
  template <class T>
  static __device__ boolean apply(T x, T y) {
    return {static_cast<uint8_t>(x > y)};
  }
};
struct Ge {
  template <class T>
  static __device__ boolean apply(T x, T y) {
    return {static_cast<uint8_t>(x >= y)};
  }
};

struct And {
  template <class T>
  static __device__ T apply(T x, T y) {
    return static_cast<T>(x & y);
  }
};
struct Or {
  template <class T>
  static __device__ T apply(T x, T y) {
    return static_cast<T>(x | y);
  }
};
struct Xor {
  template <class T>
  static __device__ T apply(T x, T y) {
    return static_cast<T>(x ^ y);
  }
};

// A negative count is treated as a count of at least the type's width.
struct Shl {
  template <class T>
  static __device__ T apply(T x, T y) {
    using W = typename wrapping<T>::type;
    constexpr T width = 8 * sizeof(T);
    return !negative(y) && y < width ? static_cast<T>(static_cast<W>(x) << y) : T(0);
  }
};
struct Shr {
  template <class T>
  static __device__ T apply(T x, T y) {
    constexpr T width = 8 * sizeof(T);
    return !negative(y) && y < width ? static_cast<T>(x >> y) : negative(x) ? static_cast<T>(-1) : T(0);
  }
};

// ---- three operands

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

}  // namespace gpk
