// ops_math.cuh: element types and the operations on one element.
//
// Every operation rounds once to its result type. Add, Sub, Mul, Div, Neg, Conj, ReLU and conversions give the same
// bits as their counterparts in internal/cpu. So nothing may be contracted that is not written as fma: units that
// include this file are compiled with -fmad=false.
#pragma once
#include <cuda_runtime.h>
#include <stdint.h>

#include "gpk.h"
#include "smooth.cuh"

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

// F(number of gpk.h, type) for every element type.
#define GPK_TYPES(F)                                                                                             \
  F(GPK_F32, float) F(GPK_F64, double) F(GPK_F16, f16) F(GPK_BF16, bf16) F(GPK_I8, int8_t) F(GPK_U8, uint8_t)    \
  F(GPK_I32, int32_t) F(GPK_I64, int64_t) F(GPK_BOOL, boolean) F(GPK_C64, c64) F(GPK_C128, c128)                 \
  F(GPK_I16, int16_t) F(GPK_U16, uint16_t) F(GPK_U32, uint32_t) F(GPK_U64, uint64_t)

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
template <class T>
constexpr bool is_unsigned = __is_same(T, uint8_t) || __is_same(T, uint16_t) || __is_same(T, uint32_t) || __is_same(T, uint64_t);

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

// Converts N numbers to halves, two per instruction. If the results are needed as floats again, converting each alone
// would cost a slow instruction.
template <class H, int N>
__device__ inline void to_halves(float const (&x)[N], H (&y)[N]) {
#pragma unroll
  for (int e = 0; e + 1 < N; e += 2) {
    // The halves of one register: no move is needed while they stay together.
    if constexpr (__is_same(H, f16)) {
      asm("{\n\t.reg .b32 both;\n\tcvt.rn.f16x2.f32 both, %2, %3;\n\tmov.b32 {%0, %1}, both;\n\t}"
          : "=h"(y[e].bits), "=h"(y[e + 1].bits)
          : "f"(x[e + 1]), "f"(x[e]));
    } else {
      asm("{\n\t.reg .b32 both;\n\tcvt.rn.bf16x2.f32 both, %2, %3;\n\tmov.b32 {%0, %1}, both;\n\t}"
          : "=h"(y[e].bits), "=h"(y[e + 1].bits)
          : "f"(x[e + 1]), "f"(x[e]));
    }
  }
  if constexpr (N % 2 == 1) y[N - 1] = to_half<H>(x[N - 1]);
}

// x if float represents it, otherwise the neighbour of x with an odd last bit. It rounds to a half as x does, since
// float has more than two bits beyond either half type (Boldo and Melquiond, 2005).
__device__ inline float round_to_odd(double x) {
  float const r = __double2float_rz(x);
  return static_cast<double>(r) == x || x != x ? r : __uint_as_float(__float_as_uint(r) | 1);
}

// A double that rounds to the same half as v does, by way of round_to_odd: the significant upper 32 bits, with the
// last one set if a lower bit is.
__device__ inline double sticky_magnitude(uint64_t u) {
  int const n = 32 - __clzll(static_cast<long long>(u));
  if (n > 0) {
    uint64_t const low = (uint64_t{1} << n) - 1;
    u = (u & ~low) | ((u & low) != 0 ? low + 1 : 0);
  }
  return __ull2double_rn(u);
}
template <class T>
__device__ inline double sticky(T v) {
  if constexpr (is_unsigned<T>) {
    return sticky_magnitude(v);
  } else {
    double const d = sticky_magnitude(v < 0 ? -static_cast<uint64_t>(v) : static_cast<uint64_t>(v));
    return v < 0 ? -d : d;
  }
}

// ---- conversions: to integers truncate and saturate, NaN is 0; to boolean x != 0; complex to real drops the
// imaginary part

template <class D, class S>
__device__ inline D saturate(S x) {
  constexpr int64_t lo = sizeof(D) == 8 ? INT64_MIN : D(-1) > D(0) ? 0 : -(int64_t{1} << (8 * sizeof(D) - 1));
  constexpr int64_t hi = sizeof(D) == 8 ? INT64_MAX : lo == 0 ? (int64_t{1} << (8 * sizeof(D) % 64)) - 1 : -(lo + 1);
  if constexpr (__is_same(S, float)) {
    if (x != x) return 0;
    if constexpr (__is_same(D, uint64_t)) return __float2ull_rz(x);
    if constexpr (__is_same(D, uint32_t)) return __float2uint_rz(x);
    if constexpr (sizeof(D) == 8) return __float2ll_rz(x);
    int32_t const v = __float2int_rz(x);
    return static_cast<D>(v < lo ? lo : v > hi ? hi : v);
  } else if constexpr (__is_same(S, double)) {
    if (x != x) return 0;
    if constexpr (__is_same(D, uint64_t)) return __double2ull_rz(x);
    if constexpr (__is_same(D, uint32_t)) return __double2uint_rz(x);
    if constexpr (sizeof(D) == 8) return __double2ll_rz(x);
    int32_t const v = __double2int_rz(x);
    return static_cast<D>(v < lo ? lo : v > hi ? hi : v);
  } else if constexpr (__is_same(D, long long)) {
    return static_cast<D>(x);  // the type in which sums and products accumulate, which wrap
  } else if constexpr (__is_same(D, uint64_t)) {
    if constexpr (is_unsigned<S>) {
      return x;
    } else {
      return x < 0 ? 0 : static_cast<D>(x);
    }
  } else if constexpr (__is_same(S, uint64_t)) {
    return static_cast<D>(x > static_cast<uint64_t>(hi) ? hi : static_cast<int64_t>(x));
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
    } else if constexpr (sizeof(S) <= 2) {
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
// int would be the type of a product of two numbers of 16 bits.
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

// 1 for an infinity and 0 otherwise, with v's sign.
__device__ inline double unit(double v) { return copysign(isinf(v) ? 1.0 : 0.0, v); }

// (a + bi)/(c + di) = (ac + bd + (bc - ad)i) / (c^2 + d^2). If this gives NaN, infinities and zeros are as in C99's
// Annex G.
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

// The exponent of the larger of |a| and |b|; 0 if that is 0, infinite or NaN.
__device__ inline int exponent(double a, double b) {
  if (a != a || b != b) return 0;
  double const v = fmax(fabs(a), fabs(b));
  return v > 0 && !isinf(v) ? ilogb(v) : 0;
}

// Dividend and divisor are scaled by powers of two so that the larger part of each is in [1, 2). No intermediate
// result overflows, and one that underflows is negligible beside the other part.
__device__ inline c128 operator/(c128 x, c128 y) {
  int const m = exponent(x.re, x.im), n = exponent(y.re, y.im);
  c128 const q = quotient(scalbn(x.re, -m), scalbn(x.im, -m), scalbn(y.re, -n), scalbn(y.im, -n));
  return {scalbn(q.re, m - n), scalbn(q.im, m - n)};
}

// Applies Op to elements, with a result of type D, which is T or boolean. Halves are computed in float and rounded
// once.
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

// Whether an integer is negative.
template <class T>
__device__ inline bool negative(T x) {
  if constexpr (T(-1) > T(0)) {
    return false;
  } else {
    return x < 0;
  }
}

__device__ c128 complex_pow(c128 x, c128 y);

// x^y. Floats are computed in double, where pow is accurate to two of double's ulps. Integers wrap; for negative y
// the result is the integer part of the fraction.
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

// NaN if either is; 0 is larger than -0.
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

// A negative count behaves like one beyond the type's width.
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

// ---- of three operands

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

// sqrt(a^2 + b^2), infinite where a or b is.
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

// A function of real numbers. `in_float` computes it for float and, before one rounding, for the half types. CUDA's
// own functions are accurate to 2 ulp; the exponential, the logarithms and the roots to 1.
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

// For complex numbers, in double: the root with a nonnegative real part, from |x| + |a|, which does not cancel.
struct Sqrt {
  static __device__ float of(float x) { return sqrtf(x); }
  static __device__ double of(double x) { return sqrt(x); }
  template <class T>
  static __device__ T apply(T x) {
    if constexpr (is_complex<T>) {
      using R = typename T::real;
      double a = x.re, b = x.im, back = 1;
      if (isinf(b)) return {static_cast<R>(fabs(b)), x.im};
      if (fabs(a) > 0x1p1000 || fabs(b) > 0x1p1000) {
        a *= 0x1p-4, b *= 0x1p-4, back = 4;
      } else if (fabs(a) < 0x1p-1000 && fabs(b) < 0x1p-1000) {
        a *= 0x1p120, b *= 0x1p120, back = 0x1p-60;
      }
      if (a == 0 && b == 0) return {R(0), x.im};
      double const t = sqrt(0.5 * (fabs(a) + hypot(a, b)));
      // Scaled back before a subnormal result is rounded.
      double const u = isinf(a) ? (b == b ? 0 : b) : fabs(b) * back / (2 * t);
      double const re = a >= 0 ? t * back : u, im = a >= 0 ? u : t * back;
      return {static_cast<R>(re), static_cast<R>(copysign(im, b))};
    } else {
      return real_function<Sqrt>(x);
    }
  }
};

// For complex numbers, in double. Beyond e^709 the sine and the cosine are multiplied by powers of e one after the
// other: they may be as small as 2^-1074, while a single power would overflow.
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

// c cosh(b) and s sinh(b). Where both hyperbolic functions equal e^|b|/2, c and s are multiplied by powers of e one
// after the other, as in Exp.
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

// By multiplication for small integers y, otherwise e^(y log x), whose error grows with |y log x|. x^0 is 1; a power
// of 0 is 0 if the real part of y is positive, otherwise NaN.
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

// 1/(1 + e^-x), for negative x as e^x/(1 + e^x). In float a positive x gives 1 minus the result for -x.
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

// The smooth operations of double. A factor of e^-100, `lowered`, keeps a power from being subnormal before it is
// multiplied: the result is rounded once.
constexpr double lowered = 0x1.a8c1f14e2af5dp-145;

template <class Op>
__device__ inline double in_double(double x) {
  return Op::exact(x);
}
template <>
__device__ inline double in_double<SiLU>(double x) {
  return x < -600 ? x * exp(x + 100) * lowered : SiLU::exact(x);
}
// The argument of exp reaches 745, so its rounding error is carried along.
template <>
__device__ inline double in_double<GELUTanh>(double x) {
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
    return x * fma(e, v_rest, e) * lowered;
  }
  double const e = exp(-fabs(v)), p = fma(e, v < 0 ? v_rest : -v_rest, e);
  return v < 0 ? x * p / (1 + p) : x / (1 + p);
}

// Op on each of N elements.
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
    for (int e = 0; e < N; ++e) x[e] = in_double<Op>(x[e]);
  } else {
    bool quick = true;
#pragma unroll
    for (int e = 0; e < N; ++e) quick = quick && fabsf(x[e]) <= Op::limit;
    if (quick) {
#pragma unroll
      for (int e = 0; e < N; ++e) x[e] = Op::quick(x[e]);
    } else {
      // An element's result does not depend on its neighbours. A single call through memory: inlined, its registers
      // would slow down the common path.
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
