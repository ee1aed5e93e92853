// factor_number.cuh: the arithmetic of the factorizations, on the four element types.
#pragma once
#ifndef GPK_EMULATED  // testdata/emulate compiles the kernels for the host
#include "dependent.cuh"
#define GPK_FACTOR_SHARED(name) extern __shared__ __align__(16) char name[]
#define GPK_FACTOR_HOST_DEVICE __host__ __device__ inline
#endif
#include <stdint.h>

namespace gpk {
namespace factor {
namespace {

template <class R>
struct alignas(2 * sizeof(R)) Complex {
  R re, im;
};

template <class T>
struct Number {
  using Real = T;
  static constexpr bool complex = false;
};
template <class R>
struct Number<Complex<R>> {
  using Real = R;
  static constexpr bool complex = true;
};
template <class T>
using Real = typename Number<T>::Real;

// The columns that are factored in registers, and of a diagonal block.
template <class T>
constexpr int micro = Number<T>::complex ? 4 : 8;
template <class T>
constexpr int block = 8 * micro<T>;

// Sixteen bytes of elements.
template <class T>
constexpr int wide = 16 / static_cast<int>(sizeof(T));
template <class T>
struct alignas(16) Wide {
  T v[wide<T>];
};

// Loads or stores COUNT elements of shared memory, at least 16 bytes, at an address that 16 divides.
template <int COUNT, class T>
__device__ inline void load_wide(T (&to)[COUNT], T const* from) {
#pragma unroll
  for (int i = 0; i < COUNT; i += wide<T>) {
    Wide<T> const w = *reinterpret_cast<Wide<T> const*>(from + i);
#pragma unroll
    for (int k = 0; k < wide<T>; ++k) to[i + k] = w.v[k];
  }
}
template <int COUNT, class T>
__device__ inline void store_wide(T* to, T const (&from)[COUNT]) {
#pragma unroll
  for (int i = 0; i < COUNT; i += wide<T>) {
    Wide<T> w;
#pragma unroll
    for (int k = 0; k < wide<T>; ++k) w.v[k] = from[i + k];
    *reinterpret_cast<Wide<T>*>(to + i) = w;
  }
}

__device__ inline float fused(float a, float b, float c) { return fmaf(a, b, c); }
__device__ inline double fused(double a, double b, double c) { return fma(a, b, c); }

template <class R>
__device__ inline R real_part(R x) { return x; }
template <class R>
__device__ inline R real_part(Complex<R> x) { return x.re; }

template <class T>
__device__ inline T from_real(Real<T> x) {
  if constexpr (Number<T>::complex) {
    return T{x, 0};
  } else {
    return x;
  }
}

template <class R>
__device__ inline R conjugate(R x, bool) { return x; }
template <class R>
__device__ inline Complex<R> conjugate(Complex<R> x, bool wanted) { return {x.re, wanted ? -x.im : x.im}; }

// c - a b and c - a conj(b).
template <class R>
__device__ inline R less(R c, R a, R b) { return fused(-a, b, c); }
template <class R>
__device__ inline Complex<R> less(Complex<R> c, Complex<R> a, Complex<R> b) {
  return {fused(a.im, b.im, fused(-a.re, b.re, c.re)), fused(-a.im, b.re, fused(-a.re, b.im, c.im))};
}
template <class T>
__device__ inline T less_conj(T c, T a, T b) { return less(c, a, conjugate(b, true)); }

template <class R>
__device__ inline R difference(R a, R b) { return a - b; }
template <class R>
__device__ inline Complex<R> difference(Complex<R> a, Complex<R> b) { return {a.re - b.re, a.im - b.im}; }

template <class R>
__device__ inline R scaled(R a, R s) { return a * s; }
template <class R>
__device__ inline Complex<R> scaled(Complex<R> a, R s) { return {a.re * s, a.im * s}; }

// a / b. A complex quotient is Smith's (Algorithm 116, CACM 5, 1962), which neither overflows nor underflows early.
template <class R>
__device__ inline R quotient(R a, R b) { return a / b; }
template <class R>
__device__ inline Complex<R> quotient(Complex<R> a, Complex<R> b) {
  if ((b.re < 0 ? -b.re : b.re) >= (b.im < 0 ? -b.im : b.im)) {
    R const s = b.im / b.re, den = fused(b.im, s, b.re);
    return {fused(a.im, s, a.re) / den, fused(-a.re, s, a.im) / den};
  }
  R const s = b.re / b.im, den = fused(b.re, s, b.im);
  return {fused(a.re, s, a.im) / den, fused(a.im, s, -a.re) / den};
}

// The square root of d and its inverse, within an ulp and two ulps: a step of Newton's corrects the root. Neither leaves
// the range of the type.
template <class R>
__device__ inline void roots(R d, R* root, R* inverse) {
  R r;
  if constexpr (sizeof(R) == 4) {
    r = rsqrtf(d);
  } else {
    r = rsqrt(d);
  }
  R const l = d * r;
  *root = fused(R(0.5) * r, fused(-l, l, d), l);
  *inverse = r;
}

// Whether d can be a pivot: positive and finite.
__device__ inline bool pivotal(float d) { return d > 0 && d <= 3.402823466e38f; }
__device__ inline bool pivotal(double d) { return d > 0 && d <= 1.7976931348623157e308; }

__device__ inline float shuffled(float x, int lane) { return __shfl_sync(0xffffffffu, x, lane); }
__device__ inline double shuffled(double x, int lane) { return __shfl_sync(0xffffffffu, x, lane); }
template <class R>
__device__ inline Complex<R> shuffled(Complex<R> x, int lane) { return {shuffled(x.re, lane), shuffled(x.im, lane)}; }

// Records that the leading minor of an order is not positive.
__device__ inline void record(long long* flags, int64_t member, int order) {
  atomicMin(flags, static_cast<long long>(member << 32 | order));
}

}  // namespace
}  // namespace factor
}  // namespace gpk
