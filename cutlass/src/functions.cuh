// functions.cuh: the functions of package ops whose kernels are generated.
//
// A function is a struct with a static `of` for each type in which it is computed: float (also for halves), double,
// 64-bit integers, and complex numbers in double. Their numbers and element types are in functions_gen.cuh. Functions
// of CUDA's math library have the errors that NVIDIA states.
#pragma once
#include "division.cuh"
#include "ops_math.cuh"

namespace gpk {

// ---- interface to the kernels: apply(x) and apply(x, y)

// Converts a function's return value to type D.
template <class D, class V>
__device__ inline D result_of(V v) {
  if constexpr (is_half<D>) {
    return to_half<D>(v);
  } else if constexpr (__is_same(D, c64)) {
    return {static_cast<float>(v.re), static_cast<float>(v.im)};
  } else {
    return static_cast<D>(v);
  }
}

// Converts an integer to int64_t, except for uint64_t: functions of integers have these two forms.
template <class T>
__device__ inline int64_t widest(T x) {
  return x;
}
__device__ inline uint64_t widest(uint64_t x) { return x; }

// Applies Op to x. The result has the same type.
template <class Op>
struct Function {
  template <class T>
  static __device__ T apply(T x) {
    if constexpr (is_half<T>) {
      return to_half<T>(Op::of(to_float(x)));
    } else if constexpr (is_complex<T>) {
      return result_of<T>(Op::of(c128{x.re, x.im}));
    } else if constexpr (is_integer<T>) {
      return static_cast<T>(Op::of(widest(x)));
    } else {
      return Op::of(x);
    }
  }
};

// The type of the parts of a complex T, or T itself.
template <class T, bool = is_complex<T>>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<T, true> {
  using type = typename T::real;
};

// Applies Op to x. The result is real. The return type is explicit, because host code that refers to a device function
// cannot deduce it.
template <class Op>
struct RealFunction {
  template <class T>
  static __device__ typename RealOf<T>::type apply(T x) {
    if constexpr (is_complex<T>) {
      return static_cast<typename T::real>(Op::of(c128{x.re, x.im}));
    } else {
      return Function<Op>::apply(x);
    }
  }
};

// Applies the test to x.
template <class Op>
struct Test {
  template <class T>
  static __device__ boolean apply(T x) {
    bool b;
    if constexpr (is_half<T>) {
      b = Op::of(to_float(x));
    } else if constexpr (is_complex<T>) {
      b = Op::of(c128{x.re, x.im});
    } else if constexpr (is_integer<T>) {
      b = Op::of(widest(x));
    } else {
      b = Op::of(x);
    }
    return {static_cast<uint8_t>(b)};
  }
};

// Applies Op to x and y, which are real. Halves are passed as float.
template <class Op>
struct Function2 {
  template <class T>
  static __device__ T apply(T x, T y) {
    if constexpr (is_integer<T>) {
      return static_cast<T>(Op::of(widest(x), widest(y)));
    } else {
      return Op::of(x, y);
    }
  }
};

// Defines a function by one expression in x (and y) for float and one for double, usually a call of the math library.
#define GPK_FUNCTION(Name, in_float, in_double)                 \
  struct Name : Function<Name> {                                \
    static __device__ float of(float x) { return in_float; }    \
    static __device__ double of(double x) { return in_double; } \
  };
#define GPK_FUNCTION2(Name, in_float, in_double)                          \
  struct Name : Function2<Name> {                                         \
    static __device__ float of(float x, float y) { return in_float; }     \
    static __device__ double of(double x, double y) { return in_double; } \
  };

__device__ inline double infinity() { return __longlong_as_double(0x7ff0000000000000); }
__device__ inline double not_a_number() { return __longlong_as_double(0x7ff8000000000000); }

// ---- angles

GPK_FUNCTION(Tan, tanf(x), tan(x))
GPK_FUNCTION(Asin, asinf(x), asin(x))
GPK_FUNCTION(Acos, acosf(x), acos(x))
GPK_FUNCTION(Atan, atanf(x), atan(x))
GPK_FUNCTION2(Atan2, atan2f(x, y), atan2(x, y))
GPK_FUNCTION2(Hypot, hypotf(x, y), hypot(x, y))

struct Angle : RealFunction<Angle> {
  static __device__ float of(float x) { return atan2f(0.f, x); }
  static __device__ double of(double x) { return atan2(0.0, x); }
  static __device__ double of(c128 x) { return atan2(x.im, x.re); }
};

// ---- exponentials, logarithms, hyperbolic functions

GPK_FUNCTION(Exp2, exp2f(x), exp2(x))
GPK_FUNCTION(Log2, log2f(x), log2(x))
GPK_FUNCTION(Log10, log10f(x), log10(x))
GPK_FUNCTION(Cbrt, cbrtf(x), cbrt(x))
GPK_FUNCTION(Sinh, sinhf(x), sinh(x))
GPK_FUNCTION(Cosh, coshf(x), cosh(x))
GPK_FUNCTION(Asinh, asinhf(x), asinh(x))
GPK_FUNCTION(Acosh, acoshf(x), acosh(x))
GPK_FUNCTION(Atanh, atanhf(x), atanh(x))

// The larger operand plus a correction from the other one. The result for equal infinities is that infinity.
struct LogAddExp : Function2<LogAddExp> {
  static __device__ float of(float x, float y) {
    float const d = x - y;
    return x == y ? x + 0x1.62e43p-1f : d > 0 ? x + log1pf(expf(-d)) : d <= 0 ? y + log1pf(expf(d)) : d;
  }
  static __device__ double of(double x, double y) {
    double const d = x - y;
    return x == y ? x + 0x1.62e42fefa39efp-1 : d > 0 ? x + log1p(exp(-d)) : d <= 0 ? y + log1p(exp(d)) : d;
  }
};

// ---- the error function and the gamma function

GPK_FUNCTION(Erfc, erfcf(x), erfc(x))
GPK_FUNCTION(Erfinv, erfinvf(x), erfinv(x))
GPK_FUNCTION(Lgamma, lgammaf(x), lgamma(x))

// For x >= 10, the asymptotic series (Abramowitz and Stegun 6.3.18), whose first omitted term is below 2^-58. The
// recurrence psi(x) = psi(x + 1) - 1/x (6.3.5) increases smaller x. The reflection psi(x) = psi(1 - x) - pi cot(pi x)
// (6.3.7) replaces negative x.
struct Digamma : Function<Digamma> {
  static __device__ float of(float x) { return static_cast<float>(of(static_cast<double>(x))); }
  static __device__ double of(double x) {
    if (x == 0) return copysign(infinity(), -x);
    double reflected = 0;
    if (x < 0) {
      double const fraction = x - rint(x);  // exact
      if (fraction == 0 || isinf(x)) return not_a_number();
      constexpr double pi = 0x1.921fb54442d18p+1;
      reflected = fabs(fraction) == 0.5 ? 0 : pi * cospi(fraction) / sinpi(fraction);
      x = 1 - x;
    }
    double shift = 0, rest = 0;  // a sum, and its rounding error
    for (; x < 10; x += 1) {
      double const term = 1 / x, sum = shift + term;
      double const large = fmax(shift, term), small = fmin(shift, term);
      rest += (large - sum) + small;
      shift = sum;
    }
    double const z = 1 / (x * x);
    double s = -3617.0 / 8160;
    s = s * z + 1.0 / 12;
    s = s * z - 691.0 / 32760;
    s = s * z + 1.0 / 132;
    s = s * z - 1.0 / 240;
    s = s * z + 1.0 / 252;
    s = s * z - 1.0 / 120;
    s = s * z + 1.0 / 12;
    return (log(x) - shift) - (0.5 / x + s * z + rest) - reflected;
  }
};

// ---- rounding, division, signs

struct Trunc : Function<Trunc> {
  static __device__ float of(float x) { return truncf(x); }
  static __device__ double of(double x) { return trunc(x); }
  static __device__ int64_t of(int64_t x) { return x; }
  static __device__ uint64_t of(uint64_t x) { return x; }
};

struct Reciprocal : Function<Reciprocal> {
  static __device__ float of(float x) { return 1 / x; }
  static __device__ double of(double x) { return 1 / x; }
  static __device__ c128 of(c128 x) { return c128{1, 0} / x; }
  template <class T>
  static __device__ T apply(T x) {
    if constexpr (is_complex<T>) {
      return T{1, 0} / x;
    } else {
      return Function<Reciprocal>::apply(x);
    }
  }
};

GPK_FUNCTION2(CopySign, copysignf(x, y), copysign(x, y))

// The definition of Python and NumPy: x minus the remainder is a multiple of y, except for rounding.
struct FloorDivide : Function2<FloorDivide> {
  static __device__ float of(float x, float y) {
    return static_cast<float>(of(static_cast<double>(x), static_cast<double>(y)));
  }
  static __device__ double of(double x, double y) {
    if (y == 0) return x / y;
    double n, r;
    if (divide_with_rest(x, y, &n, &r)) {
      if (r != 0 && (r < 0) != (y < 0)) n -= 1;
      return n == 0 ? copysign(0.0, x / y) : n;
    }
    r = fmod(x, y);
    double q = (x - r) / y;
    if (r != 0 && (r < 0) != (y < 0)) q -= 1;
    if (q == 0) return copysign(0.0, x / y);
    n = floor(q);
    return q - n > 0.5 ? n + 1 : n;
  }
  static __device__ int64_t of(int64_t x, int64_t y) {
    if (y == 0) return 0;
    if (y == -1) return static_cast<int64_t>(-static_cast<uint64_t>(x));  // the smallest integer wraps
    int64_t const q = x / y;
    return q * y != x && (x < 0) != (y < 0) ? q - 1 : q;
  }
  static __device__ uint64_t of(uint64_t x, uint64_t y) { return y == 0 ? 0 : x / y; }
};

struct Remainder : Function2<Remainder> {
  static __device__ float of(float x, float y) {
    return static_cast<float>(of(static_cast<double>(x), static_cast<double>(y)));
  }
  static __device__ double of(double x, double y) {
    double n, r;
    if (!divide_with_rest(x, y, &n, &r)) r = fmod(x, y);
    if (r == 0) return copysign(0.0, y);
    return (r < 0) != (y < 0) && r == r && y == y ? r + y : r;
  }
  static __device__ int64_t of(int64_t x, int64_t y) {
    if (y == 0 || y == -1) return 0;
    int64_t const r = x % y;
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
  }
  static __device__ uint64_t of(uint64_t x, uint64_t y) { return y == 0 ? 0 : x % y; }
};

// ---- tests

struct SignBit : Test<SignBit> {
  static __device__ bool of(float x) { return __float_as_int(x) < 0; }
  static __device__ bool of(double x) { return __double_as_longlong(x) < 0; }
  static __device__ bool of(int64_t x) { return x < 0; }
  static __device__ bool of(uint64_t) { return false; }
};
struct IsNaN : Test<IsNaN> {
  static __device__ bool of(float x) { return x != x; }
  static __device__ bool of(double x) { return x != x; }
  static __device__ bool of(c128 x) { return x.re != x.re || x.im != x.im; }
  static __device__ bool of(int64_t) { return false; }
  static __device__ bool of(uint64_t) { return false; }
};
struct IsInf : Test<IsInf> {
  static __device__ bool of(float x) { return isinf(x); }
  static __device__ bool of(double x) { return isinf(x); }
  static __device__ bool of(c128 x) { return isinf(x.re) || isinf(x.im); }
  static __device__ bool of(int64_t) { return false; }
  static __device__ bool of(uint64_t) { return false; }
};
struct IsFinite : Test<IsFinite> {
  static __device__ bool of(float x) { return x - x == 0; }
  static __device__ bool of(double x) { return x - x == 0; }
  static __device__ bool of(c128 x) { return x.re - x.re == 0 && x.im - x.im == 0; }
  static __device__ bool of(int64_t) { return true; }
  static __device__ bool of(uint64_t) { return true; }
};

#undef GPK_FUNCTION
#undef GPK_FUNCTION2

}  // namespace gpk
